package fakeproxy

import (
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy/resource"
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
	for t := range xds.Type(xds.NumKnown) {
		n := p.states[t]
		td := TypeDump{
			Type: t.String(), Version: string(p.types[t].version), Nonce: string(p.types[t].nonce),
			Asked: p.subscribesTo(t), Wildcard: t.IsWildcard(), Subscription: p.subscription(t).Names,
			Resources: []ResourceDump{}, Warming: n.Warming.Names, Expired: n.Expired.Names,
		}
		for _, it := range n.Held.Items {
			td.Resources = append(td.Resources, dumpOf(it))
		}
		d.Types = append(d.Types, td)
	}
	return d
}

func dumpOf(it *resource.Item) ResourceDump {
	r := ResourceDump{
		Name: it.Name, Version: it.Version, Bytes: it.Body.Size,
		Endpoints: len(it.Body.Endpoints), State: it.Body.State, Content: it.Body.Raw,
	}
	for _, c := range it.Body.Children {
		switch c.Type {
		case xds.SDS:
			r.Secrets = append(r.Secrets, c.Name)
		case xds.ECDS:
			r.Extensions = append(r.Extensions, c.Name)
		case xds.SRDS:
			r.ScopedRoutes = true
		default:
			r.Children = append(r.Children, c.Name)
		}
	}
	return r
}
