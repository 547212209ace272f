package xds

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestEqualSubscriptionsShareASet(t *testing.T) {
	in := NewInterner()
	a := in.Of([]string{"x", "y", "z"})
	b := in.Of([]string{"z", "x", "y"})
	if a != b {
		t.Error("the order of names matters")
	}
	c := in.Of([]string{"x", "y"})
	if c == a || c.Has("z") || !c.Has("x") || len(c.Without(a)) != 0 || !slices.Equal(a.Without(c), []string{"z"}) {
		t.Errorf("a smaller subscription is %v", c.names)
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(c)
	deadline := time.Now().Add(10 * time.Second)
	for count(in) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d sets are kept that nobody uses", count(in))
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func count(in *Interner) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.sets)
}
