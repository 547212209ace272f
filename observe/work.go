package observe

import (
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/observed"
)

// AddWork fills in what the control plane did, by the metrics in the result. It is
// for results of older versions too, which have the metrics alone.
func AddWork(r *result.Result) {
	c := r.ControlPlane
	if c == nil || c.Metrics == nil {
		return
	}
	m := c.Metrics
	w := &observed.Work{ConvergenceTime: m.Histograms["pilot_proxy_convergence_time"]}
	if !m.Restarted { // else they count from the restart
		w.Pushes = Pushes(m)
		if q := m.Histograms["pilot_debounce_time"]; q != nil {
			w.DebounceRounds = &q.Count
		}
	}
	if *w != (observed.Work{}) {
		c.Work = w
	}
}
