package store

import (
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// change is one event of a resource. It never changes, but that unselected is
// made once.
type change struct {
	kind   watch.EventType  // Added, Modified or Deleted, before any selector
	now    *object.Revision // the new state; of a deletion the last, at its own version
	before *object.Revision // the state before, nil for Added

	once       sync.Once
	unselected *object.Revision
}

// lastSelected is the state to show a watcher whose selector matched the state
// before this change and does not match the state after it: Kubernetes shows the
// state before, at this change's version.
func (c *change) lastSelected() *object.Revision {
	c.once.Do(func() { c.unselected = c.before.WithVersion(c.now.Version) })
	return c.unselected
}

// history is the bounded log of one resource's changes and the watchers that
// wait for more. Sequence numbers count changes since the store began.
type history struct {
	maxEvents, maxBytes int
	version             *atomic.Uint64 // the store's

	mu       sync.RWMutex
	log      []*change // the newest, oldest first
	first    uint64    // sequence number of log[0]
	floor    uint64    // versions below may have changes that are not in the log
	bytes    int
	watchers map[*Watcher]struct{}
}

// append logs a change at the next version and wakes the watchers. The version
// is taken under the history's lock, so that whoever reads the current version
// under that lock has seen every change up to it. Publish gets the version and
// returns the change.
func (h *history) append(publish func(version uint64) *change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := publish(h.version.Add(1))
	h.log = append(h.log, c)
	h.bytes += c.now.Size
	drop := 0
	for len(h.log)-drop > h.maxEvents || (h.bytes > h.maxBytes && len(h.log)-drop > 1) {
		h.bytes -= h.log[drop].now.Size
		h.floor = h.log[drop].now.Version
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

// endLocked is the sequence number of the next change.
func (h *history) endLocked() uint64 { return h.first + uint64(len(h.log)) }

// seekLocked finds the first change after a version.
func (h *history) seekLocked(version uint64) (uint64, error) {
	if version < h.floor {
		return 0, errExpired(version, h.floor)
	}
	n := sort.Search(len(h.log), func(i int) bool { return h.log[i].now.Version > version })
	return h.first + uint64(n), nil
}

// changedSince says whether the resource has changed after a version, or may
// have.
func (h *history) changedSince(version uint64) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	seq, err := h.seekLocked(version)
	return err != nil || seq != h.endLocked()
}

// read copies changes from a sequence number on into buf, and says how many.
// When it read to the end, current is the version that the reader has now seen
// all of; otherwise 0.
func (h *history) read(seq uint64, buf []*change) (n int, current uint64, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if seq < h.first {
		return 0, 0, apierrors.NewResourceExpired(fmt.Sprintf(
			"the watch fell behind: %d changes are no longer in the history", h.first-seq))
	}
	n = copy(buf, h.log[seq-h.first:])
	if seq+uint64(n) == h.endLocked() {
		current = h.version.Load()
	}
	return n, current, nil
}

func (h *history) leave(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
}

func errExpired(asked, oldest uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", asked, oldest))
}
