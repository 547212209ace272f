package result_test

import (
	"testing"

	"github.com/xdsbench/xdsbench/result"
)

func TestWorstOutageIsInTheConvergence(t *testing.T) {
	r := result.Result{Convergence: &result.Convergence{}}
	r.AddOutages([]result.Outage{
		{Held: &result.Drift{StaleEndpoints: 3}}, {Held: &result.Drift{StaleEndpoints: 8}}, {}, {Held: &result.Drift{}},
	})
	if most := r.Convergence.StaleEndpointsInOutage; most == nil || *most != 8 || len(r.Outages) != 4 {
		t.Errorf("most %v, outages %+v", most, r.Outages)
	}
}
