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

// Feeder hands frames to one proxy as if they had been received on a stream,
// and drops its requests.
type Feeder struct {
	p   *proxy
	out *outbox
}

// NewFeeder opens a stream of a proxy.
func NewFeeder(f *Fleet, proxy int) (*Feeder, error) {
	if f.senders.ended == nil { // as if Run had ended: senders wait for nothing
		ended := make(chan struct{})
		close(ended)
		f.senders.ended = ended
	}
	d := &Feeder{p: f.proxies[proxy], out: &outbox{stream: dropping{}, senders: f.senders}}
	d.p.open(d.out)
	return d, nil
}

// Feed hands over a frame.
func (d *Feeder) Feed(b []byte) error {
	return d.p.handle(context.Background(), &frame{data: mem.BufferSlice{mem.SliceBuffer(b)}, received: d.p.fleet.cfg.Clock.Now()})
}

// Close waits for the sending to end.
func (d *Feeder) Close() { d.out.wait() }

// Feed hands frames to the first proxy of a fleet. It stops at the first error.
func Feed(f *Fleet, frames ...[]byte) error { return FeedTo(f, 0, frames...) }

// FeedTo hands frames to one proxy of a fleet.
func FeedTo(f *Fleet, proxy int, frames ...[]byte) error {
	d, err := NewFeeder(f, proxy)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, b := range frames {
		if err := d.Feed(b); err != nil {
			return err
		}
	}
	return nil
}

// dropping is a stream that takes messages and forgets them.
type dropping struct{ grpc.ClientStream }

func (dropping) SendMsg(any) error { return nil }
