package calibrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/controlplane/faults"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/rows"
	"github.com/xdsbench/xdsbench/mesh"
)

// smallFleet is the size below which larger shares are chosen, so that every
// fault hits somebody.
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

// prediction is what the record says that a result must show.
type prediction struct {
	unserved    map[string]bool // proxies
	lost        map[uint64]bool // mutations
	undelivered map[string]int  // pairs, by proxy
	diverged    map[string]int  // clusters, by proxy
	mutations   map[uint64]fate
}

// fate is what becomes of the pairs of one mutation.
type fate struct{ delivered, coalesced, undelivered int }

// predict follows the mutations in order. Each is one update of its service's
// one cluster.
func predict(run *outcome) *prediction {
	p := &prediction{
		unserved: make(map[string]bool), lost: make(map[uint64]bool),
		undelivered: make(map[string]int), diverged: make(map[string]int), mutations: make(map[uint64]fate),
	}
	for _, name := range run.record.Unserved {
		p.unserved[name] = true
	}
	stale := make(map[string]map[string]bool) // proxies by cluster
	for _, pair := range run.record.Stale {
		if stale[pair.Cluster] == nil {
			stale[pair.Cluster] = make(map[string]bool)
		}
		stale[pair.Cluster][pair.Proxy] = true
	}
	lost := make(map[faults.LostUpdate]bool)
	for _, update := range run.record.Lost {
		lost[update] = true
	}
	for cluster, changes := range byCluster(run.result.MutationRows) {
		last := 0 // the newest update that was not lost, counted from 1
		for i, row := range changes {
			p.lost[row.Seq] = lost[faults.LostUpdate{Cluster: cluster, Update: i + 1}]
			if !p.lost[row.Seq] {
				last = i + 1
			}
		}
		p.follow(run.result.ProxyRows, changes, stale[cluster], last)
	}
	return p
}

// follow adds the fate of one cluster's mutations, of which those after the
// last one that was pushed reach nobody.
func (p *prediction) follow(proxies []rows.Proxy, changes []rows.Mutation, stale map[string]bool, last int) {
	for _, proxy := range proxies {
		reached := last
		if p.unserved[proxy.Name] || stale[proxy.Name] {
			reached = 0
		}
		if reached < len(changes) {
			p.diverged[proxy.Name]++
		}
		for i, row := range changes {
			f := p.mutations[row.Seq]
			switch {
			case i >= reached:
				f.undelivered++
				p.undelivered[proxy.Name]++
			case p.lost[row.Seq]:
				f.delivered++
				f.coalesced++
			default:
				f.delivered++
			}
			p.mutations[row.Seq] = f
		}
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
		hit(countLine("repeated and stale pushes", "volume.duplicateResources",
			record.DuplicateResources+record.StaleResources, int(r.Volume.DuplicateResources))),
		hit(countLine("endpoints before clusters", "convergence.orderingViolations",
			record.EarlyResources, int(r.Convergence.OrderingViolations))),
	}
}

// hit fails a line whose fault was not injected at all.
func hit(line Line) Line {
	if line.Injected == 0 {
		line.Pass = false
		line.Problem = "nothing was injected: take more proxies"
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
	line := hit(countLine("unserved proxies", "proxies without a delivery, by name", len(p.unserved), len(found)))
	return differing(line, differences(p.unserved, found))
}

// checkLost compares, by number, the mutations that reached nobody themselves.
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
	line := hit(countLine("lost updates", "mutations no proxy showed, by number", len(want), len(found)))
	return differing(line, differences(want, found))
}

// checkPairs compares the pairs never reached, by proxy and by mutation.
func (p *prediction) checkPairs(r *result.Result) Line {
	total := 0
	var wrong []string
	for _, proxy := range r.ProxyRows {
		total += p.undelivered[proxy.Name]
		if int(proxy.Undelivered) != p.undelivered[proxy.Name] {
			wrong = append(wrong, fmt.Sprintf("%s has %d instead of %d", proxy.Name, proxy.Undelivered, p.undelivered[proxy.Name]))
		}
	}
	for _, m := range r.MutationRows {
		if got := (fate{int(m.Delivered), int(m.Coalesced), int(m.Undelivered)}); got != p.mutations[m.Seq] {
			wrong = append(wrong, fmt.Sprintf("mutation %d has %+v instead of %+v", m.Seq, got, p.mutations[m.Seq]))
		}
	}
	line := hit(countLine("unserved, stale and lost", "pairs undelivered, by proxy and mutation", total, int(r.Propagation.Undelivered)))
	return differing(line, wrong)
}

// checkDiverged compares, by proxy, the clusters that are wrong at the end.
func (p *prediction) checkDiverged(r *result.Result, stale int) Line {
	want, got := 0, 0
	var wrong []string
	for _, proxy := range r.ProxyRows {
		want += p.diverged[proxy.Name]
		got += proxy.Diverged
		if proxy.Diverged != p.diverged[proxy.Name] {
			wrong = append(wrong, fmt.Sprintf("%s has %d instead of %d", proxy.Name, proxy.Diverged, p.diverged[proxy.Name]))
		}
	}
	line := countLine(fmt.Sprintf("unserved, stale (%d pairs) and lost", stale), "clusters wrong at the end, by proxy", want, got)
	if stale == 0 {
		line.Injected = 0
	}
	return differing(hit(line), wrong)
}

// differences lists what is in one set only.
func differences(want, found map[string]bool) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !found[name] {
			out = append(out, name+" was not found")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !want[name] {
			out = append(out, name+" was found wrongly")
		}
	}
	return out
}

// maxDifferences is how many differences a line names.
const maxDifferences = 5

// differing fails a line if anything differs, though the sums may agree.
func differing(line Line, wrong []string) Line {
	if len(wrong) == 0 {
		return line
	}
	line.Pass = false
	line.Problem = strings.Join(wrong[:min(len(wrong), maxDifferences)], ", ")
	if more := len(wrong) - maxDifferences; more > 0 {
		line.Problem += fmt.Sprintf(" and %d more", more)
	}
	return line
}
