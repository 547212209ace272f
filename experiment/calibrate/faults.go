package calibrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/mesh"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/rows"
)

// smallFleet is the size below which larger shares are chosen, so that every
// fault affects somebody.
const smallFleet = 200

// faultScenario is the run with everything but delays.
func faultScenario(cfg Config) scenario {
	unserved, order := "0.03", "0.1"
	if cfg.Proxies < smallFleet {
		unserved, order = "0.15", "0.3"
	}
	return scenario{name: "faults", drain: faultDrain, check: checkFaults, env: map[string]string{
		faults.EnvUnserved:  unserved,
		faults.EnvStale:     "0.02",
		faults.EnvLost:      "5",
		faults.EnvDuplicate: "0.05",
		faults.EnvOrder:     order,
	}}
}

// prediction is what a result must show according to the record.
type prediction struct {
	unserved    map[string]bool // proxies
	lost        map[uint64]bool // mutations
	undelivered map[string]int  // pairs, by proxy
	diverged    map[string]int  // clusters, by proxy
	mutations   map[uint64]pairs
}

// pairs is how the pairs of one mutation end.
type pairs struct{ delivered, coalesced, undelivered int }

// predict follows the mutations in order. Each is one update of its service's
// one cluster.
func predict(run *outcome) *prediction {
	p := &prediction{
		unserved: make(map[string]bool), lost: make(map[uint64]bool),
		undelivered: make(map[string]int), diverged: make(map[string]int), mutations: make(map[uint64]pairs),
	}
	for _, name := range run.record.Unserved {
		p.unserved[name] = true
	}
	stale := make(map[faults.StaleCluster]bool)
	for _, pair := range run.record.Stale {
		stale[pair] = true
	}
	lost := make(map[faults.LostUpdate]bool)
	for _, update := range run.record.Lost {
		lost[update] = true
	}
	for cluster, changes := range byCluster(run.result.MutationRows) {
		pushed := 0 // the newest update that was not lost, counted from 1
		for i, row := range changes {
			p.lost[row.Seq] = lost[faults.LostUpdate{Cluster: cluster, Update: i + 1}]
			if !p.lost[row.Seq] {
				pushed = i + 1
			}
		}
		for _, proxy := range run.result.ProxyRows {
			received := pushed
			if p.unserved[proxy.Name] || stale[faults.StaleCluster{Proxy: proxy.Name, Cluster: cluster}] {
				received = 0
			}
			p.follow(proxy.Name, changes, received)
		}
	}
	return p
}

// follow adds what one proxy shows of a cluster's mutations, if it received the
// updates up to this one.
func (p *prediction) follow(proxy string, changes []rows.Mutation, received int) {
	if received < len(changes) {
		p.diverged[proxy]++
	}
	for i, row := range changes {
		end := p.mutations[row.Seq]
		switch {
		case i >= received:
			end.undelivered++
			p.undelivered[proxy]++
		case p.lost[row.Seq]:
			end.coalesced++
			fallthrough
		default:
			end.delivered++
		}
		p.mutations[row.Seq] = end
	}
}

// byCluster groups mutations, in order, by the EDS resource they change.
func byCluster(changes []rows.Mutation) map[string][]rows.Mutation {
	groups := make(map[string][]rows.Mutation)
	for _, row := range changes {
		namespace, service, _ := strings.Cut(row.Service, "/")
		name := strings.NewReplacer("{namespace}", namespace, "{service}", service, "{port}", "80").Replace(mesh.DefaultClusterName)
		groups[name] = append(groups[name], row)
	}
	return groups
}

func checkFaults(_ *scenario, _, run *outcome) []Line {
	p := predict(run)
	r, record := run.result, &run.record
	return []Line{
		p.checkUnserved(r),
		p.checkLost(r),
		p.checkPairs(r),
		p.checkDiverged(r, len(record.Stale)),
		faultLine("repeated and stale pushes", "volume.duplicateResources",
			record.DuplicateResources+record.StaleResources, int(r.Volume.DuplicateResources), nil),
		faultLine("endpoints before clusters", "convergence.orderingViolations",
			record.EarlyResources, int(r.Convergence.OrderingViolations), nil),
	}
}

// maxDifferences is how many differences a line names.
const maxDifferences = 5

// faultLine compares a count of faults. It fails if none was injected, and if
// anything differs in detail, though the sums may agree.
func faultLine(fault, figure string, injected, measured int, differences []string) Line {
	line := countLine(fault, figure, injected, measured)
	if injected == 0 {
		differences = []string{"nothing was injected: use more proxies"}
	}
	if len(differences) == 0 {
		return line
	}
	line.Pass = false
	line.Problem = strings.Join(differences[:min(len(differences), maxDifferences)], ", ")
	if more := len(differences) - maxDifferences; more > 0 {
		line.Problem += fmt.Sprintf(" and %d more", more)
	}
	return line
}

// checkUnserved compares, by name, the proxies that nothing was delivered to.
func (p *prediction) checkUnserved(r *result.Result) Line {
	found := make(map[string]bool)
	for _, proxy := range r.ProxyRows {
		if proxy.Deliveries == 0 {
			found[proxy.Name] = true
		}
	}
	return setLine("unserved proxies", "proxies without a delivery, by name", p.unserved, found)
}

// checkLost compares, by number, the mutations that were delivered to nobody other
// than through a later state.
func (p *prediction) checkLost(r *result.Result) Line {
	want, found := make(map[string]bool), make(map[string]bool)
	for _, m := range r.MutationRows {
		name := fmt.Sprintf("mutation %d of %s", m.Seq, m.Service)
		if p.lost[m.Seq] {
			want[name] = true
		}
		if m.Delivered == m.Coalesced {
			found[name] = true
		}
	}
	return setLine("lost updates", "mutations no proxy showed, by number", want, found)
}

// setLine compares two sets of names.
func setLine(fault, figure string, want, found map[string]bool) Line {
	var differences []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !found[name] {
			differences = append(differences, name+" was not found")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !want[name] {
			differences = append(differences, name+" was found wrongly")
		}
	}
	return faultLine(fault, figure, len(want), len(found), differences)
}

// byProxy compares a count of each proxy; it returns the sums, and the differences.
func byProxy(r *result.Result, want map[string]int, count func(*rows.Proxy) int) (wanted, measured int, differences []string) {
	for i := range r.ProxyRows {
		name, n := r.ProxyRows[i].Name, count(&r.ProxyRows[i])
		wanted, measured = wanted+want[name], measured+n
		if n != want[name] {
			differences = append(differences, fmt.Sprintf("%s has %d instead of %d", name, n, want[name]))
		}
	}
	return wanted, measured, differences
}

// checkPairs compares the undelivered pairs, by proxy and by mutation.
func (p *prediction) checkPairs(r *result.Result) Line {
	total, _, wrong := byProxy(r, p.undelivered, func(x *rows.Proxy) int { return int(x.Undelivered) })
	for _, m := range r.MutationRows {
		if got := (pairs{int(m.Delivered), int(m.Coalesced), int(m.Undelivered)}); got != p.mutations[m.Seq] {
			wrong = append(wrong, fmt.Sprintf("mutation %d has %+v instead of %+v", m.Seq, got, p.mutations[m.Seq]))
		}
	}
	return faultLine("unserved, stale and lost", "pairs undelivered, by proxy and mutation", total, int(r.Propagation.Undelivered), wrong)
}

// checkDiverged compares, by proxy, the clusters that are wrong at the end.
func (p *prediction) checkDiverged(r *result.Result, stale int) Line {
	want, got, wrong := byProxy(r, p.diverged, func(x *rows.Proxy) int { return x.Diverged })
	if stale == 0 {
		want = 0
	}
	return faultLine(fmt.Sprintf("unserved, stale (%d pairs) and lost", stale), "clusters wrong at the end, by proxy", want, got, wrong)
}
