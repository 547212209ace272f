package fakeproxy

import (
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
	"github.com/xdsbench/xdsbench/fakeproxy/resource"
)

// Field numbers of DeltaDiscoveryRequest; resource_names_subscribe is field 3.
const (
	deltaNode        = 1
	deltaTypeURL     = 2
	deltaUnsubscribe = 4
	deltaInitial     = 5
	deltaNonce       = 6
	deltaError       = 7
)

// delta builds incremental requests: differences of the subscription, and the
// nonce of the response they answer.
type delta struct{}

var _ dialect = delta{}

// first tells on a new stream which versions are held: those last accepted. A
// wildcard type gives versions only, no names.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#incremental-xds
func (delta) first(p *proxy, t xds.Type, node []byte) *adsconn.Request {
	r := newBuilder()
	r.bytes(deltaNode, node)
	r.string(deltaTypeURL, t.URL())
	for _, it := range p.states[t].Held.Items {
		r.entry(deltaInitial, it.Name, it.Version)
	}
	return r.request(p.subscription(t))
}

func (delta) answer(p *proxy, t xds.Type, reason string) *adsconn.Request {
	r := newBuilder()
	r.string(deltaTypeURL, t.URL())
	r.bytes(deltaNonce, p.types[t].nonce)
	if reason != "" {
		r.errorDetail(deltaError, reason)
	}
	return r.request(nil)
}

// change carries no nonce, as it answers nothing.
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#unsubscribing-from-resources
func (delta) change(_ *proxy, t xds.Type, subscribe, unsubscribe *resource.NameSet) *adsconn.Request {
	r := newBuilder()
	r.string(deltaTypeURL, t.URL())
	for _, name := range unsubscribe.Names {
		r.string(deltaUnsubscribe, name)
	}
	return r.request(subscribe)
}
