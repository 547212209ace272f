package fakeproxy

import (
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// StreamState is what a proxy and the control plane have said to each other.
type StreamState struct {
	// Open says that the proxy has opened a stream, Connected that the control plane
	// has answered something on it.
	Open, Connected bool
	// Address is the index of the address that the latest stream goes to.
	Address int
	// Types are by xds.Type, without xds.OtherType.
	Types [xds.NumKnown]TypeExchange
}

// TypeExchange is what was said about one resource type.
type TypeExchange struct {
	// Asked says that the latest stream asked for the type.
	Asked bool
	// Responded is when the last response came, on any stream; 0 for never.
	Responded event.Time
	// Nonce is the one last received on the latest stream; empty for none.
	Nonce string
}

// Stream returns the state of a proxy's stream. A type that was asked for and has no
// response was never answered; where no proxy has had a response for long, the control
// plane has fallen silent.
func (f *Fleet) Stream(proxy int) StreamState {
	p := f.proxies[proxy]
	p.mu.Lock()
	defer p.mu.Unlock()
	s := StreamState{Open: p.stream != nil, Connected: p.connected, Address: p.address}
	for t := range p.types {
		of := &p.types[t]
		s.Types[t] = TypeExchange{Asked: of.asked, Responded: of.responded, Nonce: string(of.nonce)}
	}
	return s
}
