package fakeproxy

import (
	"context"

	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
)

// TableSize is the number of entries in a fleet's shared tables.
func TableSize(f *Fleet) int { return f.table.Len() }

// Feeder hands messages to one proxy as if they had been received on a stream,
// and drops its requests.
type Feeder struct{ p *proxy }

// NewFeeder opens a stream of a proxy.
func NewFeeder(f *Fleet, proxy int) *Feeder {
	d := &Feeder{p: f.proxies[proxy]}
	d.p.attach(dropping{}, 0, nil)
	return d
}

// Feed hands over a message.
func (d *Feeder) Feed(b []byte) error {
	m := &adsconn.Message{Pieces: [][]byte{b}, Received: d.p.fleet.cfg.Clock.Now()}
	return d.p.handle(context.Background(), m)
}

// Feed hands messages to the first proxy of a fleet. It stops at the first error.
func Feed(f *Fleet, messages ...[]byte) error { return FeedTo(f, 0, messages...) }

// FeedTo hands messages to one proxy of a fleet.
func FeedTo(f *Fleet, proxy int, messages ...[]byte) error {
	d := NewFeeder(f, proxy)
	for _, b := range messages {
		if err := d.Feed(b); err != nil {
			return err
		}
	}
	return nil
}

// dropping is a stream that takes requests and forgets them.
type dropping struct{ adsStream }

func (dropping) Send(*adsconn.Request) {}
