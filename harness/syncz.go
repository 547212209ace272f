package harness

import (
	"context"
	"errors"

	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/target"
)

// checkSync reads /debug/syncz, if the target has it, and compares it with what
// the connected proxies say of themselves: each with the page of the replica that
// it is connected to.
func (r *run) checkSync(ctx context.Context) {
	pages := make([]observe.SyncPage, len(r.replicas))
	read := false
	for i, p := range r.replicas {
		text, err := p.Syncz(ctx)
		if errors.Is(err, target.ErrNoSyncz) {
			return
		}
		if err == nil {
			pages[i], err = observe.ParseSyncPage(text)
		}
		if err != nil {
			r.warn("cross-check: %s%v", r.replicaNames([]int{i}), err)
			continue
		}
		read = true
	}
	if !read {
		return
	}
	var c observe.SyncCheck
	for i, name := range r.roster.names {
		s := r.fleet.Stream(i)
		if page := pages[r.ownerOf(s.Address)]; s.Connected && page != nil {
			c.Add(page, name, r.ownNonces(i, &s))
		}
	}
	r.observed.sync = &c
	r.warnAll(c.Warnings())
}

func (r *run) ownNonces(proxy int, s *fakeproxy.StreamState) map[xds.Type]observe.OwnNonce {
	own := make(map[xds.Type]observe.OwnNonce, len(s.Types))
	for i := range s.Types {
		t := xds.Type(i)
		own[t] = observe.OwnNonce{Nonce: s.Types[i].Nonce, Rejected: r.collector.Rejects(proxy, t)}
	}
	return own
}
