package fakekube

import (
	"fmt"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// change is one event of a resource. It never changes; leaving is made once.
type change struct {
	kind watch.EventType // Added, Modified or Deleted, before any selector
	rec  *record         // the new state; of a deletion the last, at its own version
	prev *record         // the state before, nil for Added

	once sync.Once
	left *record
}

// leaving is the record to show a watcher whose selector matched the state
// before this change and does not match the state after it: Kubernetes shows
// the state before, at this change's version.
func (c *change) leaving() *record {
	c.once.Do(func() { c.left = atVersion(c.prev, c.rec.rv) })
	return c.left
}

// history is the bounded log of one resource's changes and the watchers that
// wait for more. Sequence numbers count changes since the store began.
type history struct {
	maxEvents, maxBytes int

	mu       sync.RWMutex
	log      []*change // the newest, oldest first
	first    uint64    // sequence number of log[0]
	floor    uint64    // versions below may have changes that are not in the log
	bytes    int
	watchers map[*watcher]struct{}
}

// append logs a change at the next version and wakes the watchers. The version
// is taken under the history's lock, so that whoever reads the current version
// under that lock has seen every change up to it. Publish gets the version and
// returns the change.
func (h *history) append(version *atomic.Uint64, publish func(rv uint64) *change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := publish(version.Add(1))
	h.log = append(h.log, c)
	h.bytes += c.rec.size
	drop := 0
	for len(h.log)-drop > h.maxEvents || (h.bytes > h.maxBytes && len(h.log)-drop > 1) {
		h.bytes -= h.log[drop].rec.size
		h.floor = h.log[drop].rec.rv
		h.log[drop] = nil
		drop++
	}
	h.log = h.log[drop:]
	h.first += uint64(drop)
	for w := range h.watchers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// end is the sequence number of the next change.
func (h *history) endLocked() uint64 { return h.first + uint64(len(h.log)) }

// seekLocked finds the first change after a version.
func (h *history) seekLocked(rv uint64) (uint64, error) {
	if rv < h.floor {
		return 0, errExpired(rv, h.floor)
	}
	n := sort.Search(len(h.log), func(i int) bool { return h.log[i].rec.rv > rv })
	return h.first + uint64(n), nil
}

// read copies changes from a sequence number on into buf, and says how many.
// When it read to the end, current is the version the reader has now seen all
// of; otherwise 0.
func (h *history) read(seq uint64, buf []*change, version *atomic.Uint64) (n int, current uint64, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if seq < h.first {
		return 0, 0, apierrors.NewResourceExpired(fmt.Sprintf(
			"the watch fell behind: %d changes are no longer in the history", h.first-seq))
	}
	n = copy(buf, h.log[seq-h.first:])
	if seq+uint64(n) == h.endLocked() {
		current = version.Load()
	}
	return n, current, nil
}

func (h *history) leave(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
}

func errExpired(asked, oldest uint64) error {
	return apierrors.NewResourceExpired("too old resource version: " +
		strconv.FormatUint(asked, 10) + " (" + strconv.FormatUint(oldest, 10) + ")")
}
