package fakeproxy

import (
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/adsconn"
	"github.com/xdsbench/xdsbench/fakeproxy/resource"
)

// Field numbers of DiscoveryRequest; resource_names is field 3.
const (
	sotwVersion = 1
	sotwNode    = 2
	sotwTypeURL = 4
	sotwNonce   = 5
	sotwError   = 6
)

// sotw builds state-of-the-world requests. Each one carries the version last
// accepted, the nonce last received, and the full subscription; clusters and
// listeners are subscribed to by naming nothing (legacy wildcard).
// https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#ack-nack-and-resource-type-instance-version
type sotw struct{}

var _ dialect = sotw{}

func (sotw) request(p *proxy, t xds.Type, node []byte, reason string) *adsconn.Request {
	s := &p.types[t]
	r := newBuilder()
	r.bytes(sotwVersion, s.version)
	r.bytes(sotwNode, node)
	r.string(sotwTypeURL, t.URL())
	r.bytes(sotwNonce, s.nonce)
	if reason != "" {
		r.errorDetail(sotwError, reason)
	}
	return r.request(p.subscription(t))
}

func (d sotw) first(p *proxy, t xds.Type, node []byte) *adsconn.Request {
	return d.request(p, t, node, "")
}

func (d sotw) answer(p *proxy, t xds.Type, reason string) *adsconn.Request {
	return d.request(p, t, nil, reason)
}

func (d sotw) change(p *proxy, t xds.Type, _, _ *resource.NameSet) *adsconn.Request {
	return d.request(p, t, nil, "")
}
