package calibrate

import (
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/rows"
)

const (
	clusterA = "outbound|80||a.ns.svc.cluster.local"
	clusterB = "outbound|80||b.ns.svc.cluster.local"
)

// faulty is a run of three proxies: p0 has no fault, p1 unserved, and p2 stale in
// cluster a. Of the three mutations of a the second is lost, and of those of b
// the first and the last. The rows are what a correct harness reports.
func faulty() *outcome {
	return &outcome{
		record: faults.Record{
			Unserved: []string{"p1"}, Stale: []faults.StaleCluster{{Proxy: "p2", Cluster: clusterA}}, StaleResources: 2,
			Lost: []faults.LostUpdate{
				{Cluster: clusterB, Update: 1}, {Cluster: clusterA, Update: 2}, {Cluster: clusterB, Update: 3},
			},
			DuplicateResources: 1, EarlyResources: 3,
		},
		result: &result.Result{
			MutationRows: []rows.Mutation{
				{Seq: 1, Service: "ns/a", Delivered: 1, Undelivered: 2},
				{Seq: 2, Service: "ns/b", Delivered: 2, Coalesced: 2, Undelivered: 1},
				{Seq: 3, Service: "ns/a", Delivered: 1, Coalesced: 1, Undelivered: 2},
				{Seq: 4, Service: "ns/a", Delivered: 1, Undelivered: 2},
				{Seq: 5, Service: "ns/b", Delivered: 2, Undelivered: 1},
				{Seq: 6, Service: "ns/b", Undelivered: 3},
			},
			ProxyRows: []rows.Proxy{
				{Name: "p0", Deliveries: 5, Undelivered: 1, Diverged: 1},
				{Name: "p1", Undelivered: 6, Diverged: 2},
				{Name: "p2", Deliveries: 2, Undelivered: 4, Diverged: 2},
			},
			Propagation: &result.Propagation{Undelivered: 11},
			Volume:      &result.Volume{DuplicateResources: 3},
			Convergence: &result.Convergence{OrderingViolations: 3},
		},
	}
}

// verdicts runs the checks and returns the lines that failed.
func verdicts(o *outcome) []Line {
	var failed []Line
	for _, line := range checkFaults(nil, nil, o) {
		if !line.Pass {
			failed = append(failed, line)
		}
	}
	return failed
}

func TestRightReportPasses(t *testing.T) {
	if failed := verdicts(faulty()); len(failed) > 0 {
		t.Errorf("%+v", failed)
	}
}

func TestEveryWrongNumberFailsItsLine(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*outcome)
		fault string
		says  string
	}{
		"a proxy wrongly reached": {
			func(o *outcome) { o.result.ProxyRows[1].Undelivered, o.result.ProxyRows[0].Undelivered = 5, 2 },
			"unserved, stale and lost", "p1 has 5 instead of 6",
		},
		"an unserved proxy not found": {
			func(o *outcome) { o.result.ProxyRows[1].Deliveries = 1 }, "unserved proxies", "p1 was not found",
		},
		"another one in its place": {
			func(o *outcome) { o.result.ProxyRows[1].Deliveries, o.result.ProxyRows[2].Deliveries = 1, 0 },
			"unserved proxies", "p1 was not found, p2 was found wrongly",
		},
		"a lost mutation shown": {
			func(o *outcome) { o.result.MutationRows[2].Coalesced = 0 },
			"lost updates", "mutation 3 of ns/a was not found",
		},
		"a diverged proxy overlooked": {
			func(o *outcome) { o.result.ProxyRows[2].Diverged, o.result.ProxyRows[1].Diverged = 1, 3 },
			"unserved, stale (1 pairs) and lost", "p2 has 1 instead of 2",
		},
		"a duplicate too many": {
			func(o *outcome) { o.result.Volume.DuplicateResources++ }, "repeated and stale pushes", "",
		},
		"no disorder injected": {
			func(o *outcome) { o.record.EarlyResources, o.result.Convergence.OrderingViolations = 0, 0 },
			"endpoints before clusters", "nothing was injected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := faulty()
			test.spoil(o)
			for _, line := range verdicts(o) {
				if line.Fault == test.fault && strings.Contains(line.Problem, test.says) {
					return
				}
			}
			t.Errorf("failed lines: %+v", verdicts(o))
		})
	}
}

func TestDelayLineAllowsAMillisecondOrTwoPercent(t *testing.T) {
	for _, test := range []struct {
		injected, measured time.Duration
		pass               bool
	}{
		{10 * time.Millisecond, 10900 * time.Microsecond, true},
		{10 * time.Millisecond, 11100 * time.Microsecond, false},
		{10 * time.Millisecond, 8900 * time.Microsecond, false},
		{100 * time.Millisecond, 101900 * time.Microsecond, true},
		{100 * time.Millisecond, 102100 * time.Microsecond, false},
	} {
		if line := delayLine("delay", 0.5, test.injected.Seconds(), test.measured.Seconds()); line.Pass != test.pass {
			t.Errorf("%s against %s: pass %v", test.injected, test.measured, line.Pass)
		}
	}
}
