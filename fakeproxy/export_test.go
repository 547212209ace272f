package fakeproxy

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// TableSize is the number of entries in a fleet's shared tables.
func TableSize(f *Fleet) int {
	t := f.table
	return t.bodies.size() + t.items.size() + t.views.size() + t.names.size() + t.nodes.size()
}

// Feed hands frames to the first proxy of a fleet as if they had been received
// on a stream, and drops its requests. It stops at the first error.
func Feed(f *Fleet, frames ...[]byte) error {
	p := f.proxies[0]
	out := &outbox{stream: dropping{}}
	defer out.wait()
	if err := p.open(out); err != nil {
		return err
	}
	for _, b := range frames {
		if err := p.handle(context.Background(), &frame{buf: mem.SliceBuffer(b), received: f.cfg.Clock.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// dropping is a stream that takes messages and forgets them.
type dropping struct{ grpc.ClientStream }

func (dropping) SendMsg(any) error { return nil }
