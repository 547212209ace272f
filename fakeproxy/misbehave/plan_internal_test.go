package misbehave

import (
	"math"
	"slices"
	"testing"
	"time"
)

func take(n int, plan func(func(Disruption) bool)) []Disruption {
	var all []Disruption
	for d := range plan {
		if all = append(all, d); len(all) == n {
			break
		}
	}
	return all
}

func sameDisruption(a, b Disruption) bool {
	return a.At == b.At && a.Storm == b.Storm && slices.Equal(a.Proxies, b.Proxies)
}

func TestDisconnectsFollowTheSeedAtTheirRate(t *testing.T) {
	t.Parallel()
	const n, rate = 20_000, 50
	spec := Disconnects{Rate: rate}
	a := take(n, spec.Plan(1, 100))
	if !slices.EqualFunc(a, take(n, spec.Plan(1, 100)), sameDisruption) {
		t.Error("one seed gives two plans")
	}
	if slices.EqualFunc(a[:10], take(10, spec.Plan(2, 100)), sameDisruption) {
		t.Error("two seeds give one plan")
	}
	if got := n / a[n-1].At.Seconds(); math.Abs(got-rate) > rate/20 {
		t.Errorf("%.1f disconnects per second, want %d", got, rate)
	}
	hits := make([]int, 100)
	for _, d := range a {
		hits[d.Proxies[0]]++
	}
	if slices.Min(hits) < n/100/2 {
		t.Errorf("a proxy is hit %d times of %d", slices.Min(hits), n)
	}
	if take(1, Disconnects{}.Plan(1, 100)) != nil {
		t.Error("disconnects at a rate of 0")
	}
}

func TestStormsFollowTheSeedAndHitTheirShare(t *testing.T) {
	t.Parallel()
	spec := Storms{Share: 0.25}
	spec.Every.Duration = 3 * time.Second
	a := take(5, spec.Plan(7, 10))
	for i, d := range a {
		if d.At != time.Duration(i+1)*3*time.Second || len(d.Proxies) != 3 || !d.Storm {
			t.Errorf("storm %d: %+v", i, d)
		}
	}
	if !slices.EqualFunc(a, take(5, spec.Plan(7, 10)), sameDisruption) || slices.Equal(a[0].Proxies, a[1].Proxies) {
		t.Errorf("storms %+v", a)
	}
}

func TestChosenShareIsRoundedButNeverNone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		share float64
		want  int
	}{{0, 0}, {0.001, 1}, {0.05, 1}, {0.16, 2}, {1, 10}} {
		if got := chosen(generator(1, drawSlow, 0), tc.share, 10); len(got) != tc.want {
			t.Errorf("share %v of 10: %v", tc.share, got)
		}
	}
}

func TestPatternsMatchWholeNamesOrParts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		p    string
		name string
		want bool
	}{
		{"b", "abc", true},
		{"b", "ac", false},
		{"a*c", "abbc", true},
		{"a*c", "abcd", false},
		{"*", "", true},
		{"a*a", "a", false},
		{"*b*", "abc", true},
		{"a*b*c", "axbxc", true},
		{"a*b*c", "axc", false},
		{"*x", "x", true},
	} {
		if got := matches(tc.p, tc.name); got != tc.want {
			t.Errorf("%q matches %q: %v", tc.p, tc.name, got)
		}
	}
}
