package harness

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result/observed"
	"github.com/xdsbench/xdsbench/result/rows"
	"github.com/xdsbench/xdsbench/target"
)

// replica is one of the control plane's, with what the run knows of it.
type replica struct {
	*target.Replica

	// addresses are its indices among the addresses that the fleet has.
	addresses []int

	// tend is held by who takes it down or brings it back, and guards gone: that it
	// will not come back.
	lifecycle sync.Mutex
	gone      bool

	// countsAtRestart are our counts when it was last started again; nil if it never
	// was.
	countsAtRestart atomic.Pointer[observe.Counts]
}

// replicasOf lists a target's replicas; their addresses are the fleet's, in order.
func replicasOf(t *target.Target) []*replica {
	var all []*replica
	next := 0
	for _, r := range t.Replicas() {
		own := &replica{Replica: r}
		for range r.XDSAddresses() {
			own.addresses = append(own.addresses, next)
			next++
		}
		all = append(all, own)
	}
	return all
}

// replicaOfAddress lists, for each address that the fleet has, the number of the
// replica that it belongs to.
func replicaOfAddress(replicas []*replica) []int {
	var of []int
	for i, p := range replicas {
		for range p.addresses {
			of = append(of, i)
		}
	}
	return of
}

// exited reports whether its process has ended.
func (p *replica) exited() bool {
	select {
	case <-p.Exited():
		return true
	default:
		return false
	}
}

// several reports whether there is more than one replica.
func (r *run) several() bool { return len(r.replicas) > 1 }

// ownerOf returns the number of the replica that has an address.
func (r *run) ownerOf(address int) int {
	return slices.IndexFunc(r.replicas, func(p *replica) bool { return slices.Contains(p.addresses, address) })
}

// countReplicas returns the present counts of each replica.
func (r *run) countReplicas() []observe.Counts {
	counts := make([]observe.Counts, len(r.replicas))
	byAddress := r.fleet.ByAddress()
	for i, p := range r.replicas {
		for _, address := range p.addresses {
			c := &byAddress[address]
			counts[i].Connected += c.Connected
			counts[i].NACKs += c.Nacks
			counts[i].Broken += c.Disconnected
			for t, n := range c.Responses {
				counts[i].Responses[t] += n
			}
		}
	}
	return counts
}

// connections returns how many proxies are connected to each of several replicas;
// nil if there is one.
func (r *run) connections() []int {
	if !r.several() {
		return nil
	}
	connected := make([]int, len(r.replicas))
	for i, c := range r.countReplicas() {
		connected[i] = int(c.Connected)
	}
	return connected
}

// offer sets whether new connections may go to some replicas.
func (r *run) offer(replicas []int, offered bool) {
	for _, i := range replicas {
		for _, address := range r.replicas[i].addresses {
			r.fleet.Offer(address, offered)
		}
	}
}

// which names replicas in a sentence, such as "replica 1 "; "" if there is one.
func (r *run) replicaNames(replicas []int) string {
	if !r.several() {
		return ""
	}
	var numbers []string
	for _, i := range replicas {
		numbers = append(numbers, strconv.Itoa(i))
	}
	word := "replica "
	if len(numbers) > 1 {
		word = "replicas "
	}
	return word + strings.Join(numbers, ", ") + " "
}

// describeReplicas is what the result says of each of several replicas. compared says
// that the proxies were compared with the mesh.
func (r *run) describeReplicas(ctx context.Context, lines []rows.Timeline, compared bool) []observed.Replica {
	o := &r.observed
	if !r.several() || o.countsBefore == nil {
		return nil
	}
	after := o.countsAfter
	if after == nil { // the run was cut short
		after = r.countReplicas()
	}
	all := make([]observed.Replica, len(r.replicas))
	pairs := r.collector.ByReplica()
	for i, p := range r.replicas {
		x := &all[i]
		x.Address, x.PID = strings.Join(p.XDSAddresses(), ","), p.Info().PID
		x.ConnectionsAtSteadyStart, x.ConnectionsAtEnd = int(o.countsBefore[i].Connected), int(after[i].Connected)
		x.ConnectionsMin, x.ConnectionsMax = span(lines, i, x.ConnectionsAtSteadyStart, x.ConnectionsAtEnd)
		x.Responses = after[i].Minus(o.countsBefore[i]).AllResponses()
		if u, err := p.Usage(ctx); err == nil { // a target that does not tell was warned of
			peak := int64(u.PeakRSSBytes)
			x.CPUSeconds, x.PeakRSSBytes = &u.CPUSeconds, &peak
		}
		x.Deliveries, x.Undelivered, x.P50, x.P99 = &pairs[i].Deliveries, &pairs[i].Undelivered, pairs[i].P50, pairs[i].P99
		if compared {
			x.Diverged = &pairs[i].Diverged
		}
		if o.before[i] == nil || o.after == nil || o.after[i] == nil {
			continue
		}
		if m, err := observe.Gained(o.before[i], o.after[i]); err == nil { // else warned of with the sums
			x.Restarted, x.Pushes = m.Restarted, observe.Pushes(m)
		}
	}
	return all
}

// span returns the fewest and the most connections of a replica in steady load and
// drain.
func span(lines []rows.Timeline, replica int, ends ...int) (fewest, most int) {
	seen := ends
	for _, line := range lines {
		if (line.Phase == string(PhaseSteady) || line.Phase == string(PhaseDrain)) && replica < len(line.Connections) {
			seen = append(seen, line.Connections[replica])
		}
	}
	return slices.Min(seen), slices.Max(seen)
}
