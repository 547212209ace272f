package harness

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/xdsbench/xdsbench/event"
)

// page is one page of a replica, such as its metrics, and whether it answers. Only
// the first call of a page that never answers has the whole time: what a run asks of
// it later must not add up.
type page struct {
	// missed is when the first of the calls was made that got no answer, since the
	// last that got one; 0 while the page answers.
	missed atomic.Int64
	// silent says that one of these calls had the whole time.
	silent atomic.Bool
}

// ask makes a call for the page within the bound that the package target has for it.
// The answer is to take so long by itself.
func (p *page) ask(ctx context.Context, clock event.Clock, takes time.Duration, call func(context.Context) error) error {
	if p.silent.Load() {
		ctx, cancel := context.WithTimeout(ctx, silentPageTime)
		defer cancel()
		return p.glance(ctx, clock, takes, call)
	}
	err := p.glance(ctx, clock, takes, call)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		p.silent.Store(true)
	}
	return err
}

// glance makes a call for the page within ctx, which may be too short for a page
// that is only slow.
func (p *page) glance(ctx context.Context, clock event.Clock, takes time.Duration, call func(context.Context) error) error {
	due := clock.Now().Add(takes)
	err := call(ctx)
	switch {
	case err == nil:
		p.missed.Store(0)
		p.silent.Store(false)
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil && clock.Now().Sub(due) >= silenceAfter:
		p.missed.CompareAndSwap(0, int64(due))
	}
	return err
}

// read is ask for a page that is text.
func (p *page) read(ctx context.Context, clock event.Clock, call func(context.Context) ([]byte, error)) (text []byte, err error) {
	err = p.ask(ctx, clock, 0, func(ctx context.Context) error {
		text, err = call(ctx)
		return err
	})
	return text, err
}

// silentSince returns since when the page has not answered; false if it has, or if
// that is too short a time to say.
func (p *page) silentSince(now event.Time) (since event.Time, silent bool) {
	since = event.Time(p.missed.Load())
	return since, since != 0 && (p.silent.Load() || now.Sub(since) >= silenceAfter)
}
