package fakeproxy

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/node"
)

func TestBackoffDoublesUpToItsMaximumWithFullJitter(t *testing.T) {
	b := newBackoff(DefaultSpec().Reconnect)
	rng := rand.New(rand.NewPCG(1, 2))
	bound := 500 * time.Millisecond
	for i := range 20 {
		if d := b.next(rng); d < 0 || d > bound {
			t.Errorf("delay %d is %v, want at most %v", i, d, bound)
		}
		bound = min(2*bound, 30*time.Second)
	}
	if b.bound != 30*time.Second {
		t.Errorf("bound %v after 20 attempts", b.bound)
	}
	b.reset()
	if d := b.next(rng); d > 500*time.Millisecond {
		t.Errorf("delay %v after a reset", d)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if wait(ctx, time.Hour) == nil || time.Since(start) != time.Second {
			t.Errorf("waited %v", time.Since(start))
		}
		if wait(t.Context(), time.Minute) != nil {
			t.Error("the wait was cut short")
		}
	})
}

// A connection that comes up and is rejected, or never answered well, does not
// count as good.
func TestOnlyAnAcceptedResponseResetsTheBackoff(t *testing.T) {
	spec := DefaultSpec()
	spec.Count = 1
	f, err := New(Config{Spec: spec, Addresses: []string{"127.0.0.1:1"}, Identities: []node.Identity{{ID: "a"}}, Sink: ignoring{}})
	if err != nil {
		t.Fatal(err)
	}
	p := f.proxies[0]
	p.backoff.next(p.rng)
	raised := p.backoff.bound
	bad := []byte("\x12\x02\xff\xff\x22" + string(rune(len(xds.CDS.URL()))) + xds.CDS.URL())
	good := []byte("\x22" + string(rune(len(xds.CDS.URL()))) + xds.CDS.URL())
	if err := Feed(f, bad); err != nil || p.backoff.bound != raised || f.Counts().Nacks != 1 {
		t.Errorf("after a NACK: bound %v, counts %+v, %v", p.backoff.bound, f.Counts(), err)
	}
	if err := Feed(f, good); err != nil || p.backoff.bound != spec.Reconnect.Initial.Duration || f.Counts().Acks != 1 {
		t.Errorf("after an ACK: bound %v, counts %+v, %v", p.backoff.bound, f.Counts(), err)
	}
}

// ignoring is a Sink that ignores everything.
type ignoring struct{}

func (ignoring) Response(*event.Response) {}
func (ignoring) Proxy(*event.ProxyEvent)  {}
