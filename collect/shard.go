package collect

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/result"
)

// phase tells the traffic before the steady phase from that in it.
type phase int

const (
	syncPhase phase = iota
	steadyPhase
	numPhases
)

const numVariants = int(xds.Delta) + 1

// shard holds everything that belongs to a contiguous range of proxies. The
// streams of different shards do not contend. All but the first group is
// guarded by mu, and so are the range's words and elements in every cluster
// and in every mutation's pending set.
type shard struct {
	// Immutable.
	index      int
	first, end int // proxies, end excluded; first is a multiple of 64

	mu        sync.Mutex
	closed    bool   // Finish has begun: nothing more is counted
	ready     bitset // of the range, from first on
	lastReady event.Time
	connected int
	proxies   []proxy
	// open lists mutations that may have pairs pending in this range.
	open []*mutation

	all, arrived, fromAck, stampLag *samples
	answer, recent                  *samples  // coarse
	timeToReady, again, configBytes *samples  // packed
	timeToComplete, joined          *samples  // packed
	perPush                         *samples  // packed; mutations that a response delivered
	byReplica                       []replica // empty if there is one
	kinds                           []proxyKind
	configByType                    [xds.NumTypes]int64

	responses  int64
	duplicates [numPhases]int64
	resent     [numPhases][xds.NumTypes]int64
	// caused is what has been sent because of one mutation, not yet handed over to it.
	cause  *mutation
	caused effects

	acks, nacksInjected, nacksInvalid, nackLoops int64
	nacksByType                                  [xds.NumTypes]int64
	nackReasons                                  failures

	sums        deliverySums
	unknown     [numPhases]int64
	regressed   int64
	recurred    int64
	examples    []result.UnknownState
	outOfOrder  int64
	refused     int64
	failures    failures
	disconnects int64
	stampsBad   int64 // times of arrival missing, or after the receipt
}

// deliverySums count pairs by how they ended, and what there was to say of
// their latencies.
type deliverySums struct {
	expected, delivered, undelivered, interrupted, retired, pending int64

	coalesced, unobserved, unrecordable, beforeAck int64
}

// ended returns how many pairs are no longer pending.
func (d *deliverySums) ended() int64 {
	return d.delivered + d.undelivered + d.interrupted + d.retired + d.pending
}

func (d *deliverySums) add(o *deliverySums) {
	d.expected += o.expected
	d.delivered += o.delivered
	d.undelivered += o.undelivered
	d.interrupted += o.interrupted
	d.retired += o.retired
	d.pending += o.pending
	d.coalesced += o.coalesced
	d.unobserved += o.unobserved
	d.unrecordable += o.unrecordable
	d.beforeAck += o.beforeAck
}

// proxy is what is known of one proxy.
type proxy struct {
	connected, wasConnected, wasReady, retired bool
	// readyAt is when it last became ready: it has pairs only with later mutations.
	readyAt     event.Time
	joinedAt    event.Time // of those beyond Config.Initial; 0 if it never did
	pushes      int64      // responses by which mutations arrived
	arrived     event.Time // the latest response, at this machine
	timeToReady time.Duration
	configBytes int64
	// due counts the EDS resources of the baseline that it has to know, shown those of
	// them that it holds in a state of the mesh; complete says that it once held all.
	due, shown int32
	complete   bool
	replica    int         // that its latest response came from
	kind       int         // immutable
	variant    xds.Variant // immutable
	// cause is the mutation that its latest response of steady load was because of.
	cause *mutation
	// nacked has a bit per type whose last response was rejected.
	nacked                              uint16
	disconnects, refused                int64
	responses, bytes, nacks             int64
	delivered, undelivered, interrupted int64
	diverged                            int                           // clusters that are wrong at the end
	latencies                           *hdrhistogram.PackedHistogram // nil before the first
	longest                             int64                         // of latencies, exactly
}

func newShard(index, first, end int) *shard {
	return &shard{
		index: index, first: first, end: end,
		ready:   newBitset(end - first),
		proxies: make([]proxy, end-first),
		all:     newTimes(), arrived: newTimes(), fromAck: newTimes(), stampLag: newTimes(),
		answer: newCoarse(), recent: newCoarse(),
		timeToReady:    newPacked(timeUnit, maxTime),
		timeToComplete: newPacked(timeUnit, maxTime),
		joined:         newPacked(timeUnit, maxTime),
		perPush:        newPacked(1, maxPerPush),
		again:          newPacked(timeUnit, maxTime),
		failures:       make(failures),
		nackReasons:    make(failures),
		configBytes:    newPacked(1, maxBytes),
	}
}

// proxy returns proxy p of the locked shard.
func (s *shard) proxy(p int) *proxy { return &s.proxies[p-s.first] }

// words returns the range's part of a set over all proxies.
func (s *shard) words(b bitset) bitset { return b[s.first/64 : (s.end+63)/64] }

// tidyLocked drops mutations that have no pair pending here any more.
func (s *shard) tidyLocked() {
	kept := s.open[:0]
	for _, m := range s.open {
		if live := m.live.Load(); live != nil && live.parts[s.index].count > 0 {
			kept = append(kept, m)
		}
	}
	clear(s.open[len(kept):])
	s.open = kept
}
