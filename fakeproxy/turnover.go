package fakeproxy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/xdsbench/xdsbench/fakeproxy/node"
)

// Turnover makes proxies come and go with the pods that churn adds and removes.
type Turnover struct {
	// Share of these pods have a proxy, from 0 to 1.
	Share float64 `json:"share" role:"load"`
	// Kind is what these proxies are; sidecar if empty.
	Kind string `json:"kind,omitempty" role:"load"`
}

// KindOf returns the kind of the proxies that come and go.
func (t Turnover) KindOf() string {
	if t.Kind == "" {
		return node.Sidecar
	}
	return t.Kind
}

// Validate lists what is wrong in a fleet of these kinds, one line each.
func (t Turnover) Validate(kinds node.Shares) error {
	var errs []error
	if t.Share < 0 || t.Share > 1 {
		errs = append(errs, fmt.Errorf("proxies.turnover.share: %v: must be from 0 (none) to 1 (each pod)", t.Share))
	}
	if t.KindOf() != node.Sidecar && t.Kind != node.Router {
		errs = append(errs, fmt.Errorf("proxies.turnover.kind: %q: must be sidecar or router: the others are no pods of services", t.Kind))
	}
	if t.Share > 0 && len(kinds) > 0 && kinds[t.KindOf()] == 0 {
		errs = append(errs, fmt.Errorf("proxies.turnover.kind: %q: must be one of proxies.kinds, or no proxy could leave", t.KindOf()))
	}
	return errors.Join(errs...)
}

// errPresent says that a proxy cannot join.
var errPresent = errors.New("it is there already, or was")

// Join lets a proxy connect that is beyond Spec.Count, once. It fails if it has joined
// before.
func (f *Fleet) Join(proxy int) error {
	p := f.proxies[proxy]
	if proxy < f.cfg.Spec.Count || !p.joined.CompareAndSwap(false, true) {
		return fmt.Errorf("proxy %d: %w", proxy, errPresent)
	}
	f.joins <- p // has room for all of them
	return nil
}

// Leave makes a proxy close its stream, as an Envoy does that is shut down, and not
// come back. It is reported as Retired. One that has not begun to connect never does.
func (f *Fleet) Leave(proxy int) {
	p := f.proxies[proxy]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
	if p.leave != nil {
		p.leave()
	}
}

// present makes the context of a proxy that is to connect: it ends when the proxy leaves.
func (p *proxy) present(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave = cancel
	if p.left {
		cancel()
	}
	return ctx, cancel
}

// admit lets the proxies connect that join, until ctx ends.
func (f *Fleet) admit(ctx context.Context, proxies *sync.WaitGroup) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-f.joins:
			proxies.Go(func() { p.run(ctx) })
		}
	}
}
