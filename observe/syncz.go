package observe

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result/observed"
)

// SyncPage is a replica's page /debug/syncz, by the names of proxies.
type SyncPage map[string][]syncEntry

// ParseSyncPage reads the page's JSON.
func ParseSyncPage(text []byte) (SyncPage, error) {
	var entries []syncEntry
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("/debug/syncz: %w", err)
	}
	page := make(SyncPage, len(entries))
	for _, e := range entries {
		page[e.Proxy] = append(page[e.Proxy], e)
	}
	return page, nil
}

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

// OwnNonce is what a proxy itself says of a type: the nonce it received last, and
// whether it rejected that response.
type OwnNonce struct {
	Nonce    string
	Rejected bool
}

// SyncCheck compares the control plane's account of what proxies have ACKed with
// the proxies' own.
type SyncCheck struct {
	status observed.ProxyStatus
	// own counts types that proxies accepted, unlike those in which the two
	// differ; absent the proxies that the page does not have.
	own, unlike, absent int
	example             string
}

// Add counts one proxy by the page of the replica that it is connected to. Of several entries with its name, as there are when an
// old connection is not yet given up, the one that differs least counts.
func (c *SyncCheck) Add(page SyncPage, name string, own map[xds.Type]OwnNonce) {
	entries := page[name]
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

func compareEntry(name string, e syncEntry, own map[xds.Type]OwnNonce) SyncCheck {
	var c SyncCheck
	for _, url := range slices.Sorted(maps.Keys(e.Resources)) {
		// By the name of the message, with or without the prefix of a type URL.
		typ := xds.TypeOfURL([]byte("type.googleapis.com/" + path.Base(url)))
		if typ == xds.OtherType {
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
		accepted := ours.Nonce != "" && !ours.Rejected
		if accepted {
			c.own++
		}
		if theirs.Sent != ours.Nonce || theirs.Sent != "" && synced != accepted {
			c.unlike++
			c.example = fmt.Sprintf("%s, %s: sent %q, ACKed %q; received %q, rejected %t",
				name, typ, theirs.Sent, theirs.Acked, ours.Nonce, ours.Rejected)
		}
	}
	return c
}

// Status counts what the control plane says.
func (c *SyncCheck) Status() observed.ProxyStatus { return c.status }

// Warnings describes the differences, with the numbers of both sides.
func (c *SyncCheck) Warnings() []string {
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
