package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/target"
)

// syncEntry is one proxy on istiod's page /debug/syncz, which istioctl
// proxy-status is made from.
type syncEntry struct {
	Proxy     string                 `json:"proxy"`
	Resources map[string]syncedNonce `json:"resources"` // by type URL
}

// syncedNonce are the nonces of the response last sent and last ACKed.
type syncedNonce struct {
	Sent  string `json:"sent"`
	Acked string `json:"acked"`
}

// shortName names the type of a URL as results do; false if proxies do not ask
// for it.
func shortName(url string) (string, bool) {
	t, ok := map[string]xds.Type{
		"envoy.config.cluster.v3.Cluster":                  xds.CDS,
		"envoy.config.endpoint.v3.ClusterLoadAssignment":   xds.EDS,
		"envoy.config.listener.v3.Listener":                xds.LDS,
		"envoy.config.route.v3.RouteConfiguration":         xds.RDS,
		"envoy.config.route.v3.ScopedRouteConfiguration":   xds.SRDS,
		"envoy.extensions.transport_sockets.tls.v3.Secret": xds.SDS,
		"envoy.config.core.v3.TypedExtensionConfig":        xds.ECDS,
		"istio.workload.Address":                           xds.Workload,
		"istio.security.Authorization":                     xds.Authorization,
	}[path.Base(url)]
	return t.String(), ok
}

// ownNonce is what a proxy itself says of a type: the nonce it received last,
// and whether it rejected that response.
type ownNonce struct {
	nonce    string
	rejected bool
}

// syncCheck compares the control plane's account of what proxies have ACKed with
// the proxies' own.
type syncCheck struct {
	status collect.ProxyStatus
	// own counts types that proxies accepted, unlike those in which the two
	// differ; absent the proxies that the page does not have.
	own, unlike, absent int
	example             string
}

// add counts one proxy. Of several entries with its name, as there are when an
// old connection is not yet given up, the one that differs least counts.
func (c *syncCheck) add(name string, entries []syncEntry, own map[string]ownNonce) {
	if len(entries) == 0 {
		c.absent++
		return
	}
	best := compareEntry(name, entries[0], own)
	for _, e := range entries[1:] {
		if other := compareEntry(name, e, own); other.unlike < best.unlike {
			best = other
		}
	}
	c.status.Proxies++
	c.status.Synced += best.status.Synced
	c.status.NotSent += best.status.NotSent
	c.status.Stale += best.status.Stale
	c.own += best.own
	c.unlike += best.unlike
	if c.example == "" {
		c.example = best.example
	}
}

func compareEntry(name string, e syncEntry, own map[string]ownNonce) syncCheck {
	var c syncCheck
	for _, url := range slices.Sorted(maps.Keys(e.Resources)) {
		typ, known := shortName(url)
		if !known {
			continue
		}
		theirs, ours := e.Resources[url], own[typ]
		synced := theirs.Sent == theirs.Acked
		switch {
		case theirs.Sent == "":
			c.status.NotSent++
		case synced:
			c.status.Synced++
		default:
			c.status.Stale++
		}
		accepted := ours.nonce != "" && !ours.rejected
		if accepted {
			c.own++
		}
		if theirs.Sent != ours.nonce || theirs.Sent != "" && synced != accepted {
			c.unlike++
			c.example = fmt.Sprintf("%s, %s: sent %q, ACKed %q; received %q, rejected %t",
				name, typ, theirs.Sent, theirs.Acked, ours.nonce, ours.rejected)
		}
	}
	return c
}

// warnings describes the differences, with the numbers of both sides.
func (c *syncCheck) warnings() []string {
	var found []string
	if c.unlike > 0 {
		found = append(found, fmt.Sprintf(
			"cross-check: types in sync, over all proxies: %d by our count, %d by the control plane's /debug/syncz; they differ in %d (%s)",
			c.own, c.status.Synced, c.unlike, c.example))
	}
	if c.absent > 0 {
		found = append(found, fmt.Sprintf("cross-check: connected proxies: %d by our count, of which the control plane's /debug/syncz has %d",
			c.status.Proxies+c.absent, c.status.Proxies))
	}
	return found
}

// checkSync reads /debug/syncz, if the target has it, and compares it with what
// the connected proxies say of themselves: each with the page of the replica that
// it is connected to.
func (r *run) checkSync(ctx context.Context) {
	pages := make([]map[string][]syncEntry, len(r.replicas))
	for i, p := range r.replicas {
		var err error
		if pages[i], err = syncPage(ctx, p); errors.Is(err, target.ErrNoSyncz) {
			return
		} else if err != nil {
			r.warn("cross-check: %sthe control plane's /debug/syncz: %v", r.which([]int{i}), err)
		}
	}
	if !slices.ContainsFunc(pages, func(page map[string][]syncEntry) bool { return page != nil }) {
		return
	}
	var c syncCheck
	for i, name := range r.crew.names {
		s := r.fleet.Stream(i)
		if page := pages[r.ownerOf(s.Address)]; s.Connected && page != nil {
			c.add(name, page[name], r.ownNonces(i, &s))
		}
	}
	r.observed.sync = &c
	r.warnAll(c.warnings())
}

// syncPage reads a replica's page, by the names of proxies.
func syncPage(ctx context.Context, p *replica) (map[string][]syncEntry, error) {
	text, err := p.Syncz(ctx)
	if err != nil {
		return nil, err
	}
	var entries []syncEntry
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, err
	}
	byName := make(map[string][]syncEntry, len(entries))
	for _, e := range entries {
		byName[e.Proxy] = append(byName[e.Proxy], e)
	}
	return byName, nil
}

func (r *run) ownNonces(proxy int, s *fakeproxy.StreamState) map[string]ownNonce {
	own := make(map[string]ownNonce, len(s.Types))
	for i := range s.Types {
		t := xds.Type(i)
		own[t.String()] = ownNonce{nonce: s.Types[i].Nonce, rejected: r.collector.Rejects(proxy, t)}
	}
	return own
}
