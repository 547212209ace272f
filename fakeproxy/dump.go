package fakeproxy

import (
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
)

// Dump is what one proxy holds.
type Dump struct {
	Proxy     int        `json:"proxy"`
	Node      string     `json:"node"`
	Variant   string     `json:"variant"`
	Connected bool       `json:"connected"`
	Ready     bool       `json:"ready"`
	Types     []TypeDump `json:"types"`
}

// TypeDump is what a proxy holds and waits for of one resource type.
type TypeDump struct {
	// Type is the short name, such as "cds".
	Type string `json:"type"`
	// Version is the one last accepted, Nonce the one last received.
	Version string `json:"version"`
	Nonce   string `json:"nonce"`
	// Asked says that the proxy subscribes to the type now.
	Asked bool `json:"asked"`
	// Subscription are the names asked for; none if Wildcard.
	Wildcard     bool           `json:"wildcard"`
	Subscription []string       `json:"subscription,omitempty"`
	Resources    []ResourceDump `json:"resources"`
	// Warming are the names awaited, Expired those that did not arrive in time.
	Warming []string `json:"warming,omitempty"`
	Expired []string `json:"expired,omitempty"`
}

// ResourceDump is one resource held.
type ResourceDump struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Bytes   int    `json:"bytes"`
	// Children are the endpoints or routes that the resource names, Secrets and
	// Extensions what else it takes from ADS by name. ScopedRoutes says that it
	// takes those too, all there are.
	Children     []string `json:"children,omitempty"`
	Secrets      []string `json:"secrets,omitempty"`
	Extensions   []string `json:"extensions,omitempty"`
	ScopedRoutes bool     `json:"scopedRoutes,omitempty"`
	// Endpoints is the number of usable endpoints, State their fingerprint.
	Endpoints int               `json:"endpoints,omitempty"`
	State     event.Fingerprint `json:"state,omitempty"`
	// Content is the encoded Any, if the fleet keeps bytes.
	Content []byte `json:"content,omitempty"`
}

// Dump describes the present state of a proxy.
func (f *Fleet) Dump(proxy int) Dump {
	p := f.proxies[proxy]
	p.mu.Lock()
	defer p.mu.Unlock()
	d := Dump{
		Proxy: proxy, Node: p.id.ID, Variant: p.id.Variant.String(),
		Connected: p.connected, Ready: p.ready,
	}
	for t := range xds.Type(numTypes) {
		n := p.nodes[t]
		td := TypeDump{
			Type: t.String(), Version: string(p.types[t].version), Nonce: string(p.types[t].nonce),
			Asked: p.asks(t), Wildcard: isWildcard(t), Subscription: p.subscription(t).names,
			Resources: []ResourceDump{}, Warming: n.warming.names, Expired: n.expired.names,
		}
		for _, it := range n.held.items {
			td.Resources = append(td.Resources, it.dump())
		}
		d.Types = append(d.Types, td)
	}
	return d
}

func (it *item) dump() ResourceDump {
	r := ResourceDump{
		Name: it.name, Version: it.version, Bytes: it.body.size,
		Endpoints: len(it.body.endpoints), State: it.body.state, Content: it.body.raw,
	}
	for _, c := range it.body.children {
		switch c.of {
		case xds.SDS:
			r.Secrets = append(r.Secrets, c.name)
		case xds.ECDS:
			r.Extensions = append(r.Extensions, c.name)
		case xds.SRDS:
			r.ScopedRoutes = true
		default:
			r.Children = append(r.Children, c.name)
		}
	}
	return r
}

// Nonces returns the nonce that a proxy received last of each type, by
// event.Type and empty for none, whether it is connected, and the index of the
// address to which.
func (f *Fleet) Nonces(proxy int) (byType []string, address int, connected bool) {
	p := f.proxies[proxy]
	p.mu.Lock()
	defer p.mu.Unlock()
	byType = make([]string, numTypes)
	for t := range p.types {
		byType[t] = string(p.types[t].nonce)
	}
	return byType, p.address, p.connected
}
