package harness

import (
	"slices"

	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/target"
)

// crossCheck compares our counts with the control plane's own, replica by replica.
// Each disagreement is a warning.
func (r *run) crossCheck() error {
	o := &r.observed
	if o.after == nil {
		return nil // the run was cut short
	}
	if r.several() && r.cfg.Profile.Target.Kind == target.KindExternal && slices.ContainsFunc(o.after, func(text []byte) bool { return text == nil }) {
		return nil // one URL may stand for all addresses: whose counts it has is not known
	}
	all := make([]observe.Replica, len(r.replicas))
	for i, p := range r.replicas {
		all[i] = observe.Replica{
			Start: o.start[i], Before: o.before[i], After: o.after[i],
			CountsBefore: o.countsBefore[i], CountsAfter: o.countsAfter[i], AtRestart: p.countsAtRestart.Load(),
		}
	}
	disagreements, err := observe.CrossCheck(all)
	r.warnAll(disagreements)
	return err
}
