package store

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// Event is one event for one watcher. A bookmark has no revision.
type Event struct {
	Type     watch.EventType
	Revision *object.Revision
	Version  uint64
	// Initial marks the objects that were there when the watch began, and the
	// bookmark that ends them (WatchList).
	Initial bool
}

// Watcher is one watch: a cursor on the history. Its owner calls Run, which
// serves it to the end; nothing else touches its fields, but wake.
type Watcher struct {
	store   *Store
	history *history
	sel     selection

	timeout   time.Duration // 0 for none
	bookmarks bool          // send bookmarks from time to time
	from      uint64        // the version after which it starts, unless with initial objects

	wake    chan struct{} // holds one token when there may be more to read
	initial []Event       // the objects at the start
	next    uint64        // sequence number of the next change to read
	err     error         // why the watch cannot start
}

// batchSize is how many changes a watcher reads at once.
const batchSize = 128

// bookmarkLead is how long before its timeout a watch gets a bookmark, as in
// Kubernetes, so that the client's next watch starts from a fresh version.
const bookmarkLead = 2 * time.Second

// Watch opens a watch; Run or Close must be called on it. A version that is
// expired or still to come is no error here but of Run, for clients look for it
// in the stream of events.
func (s *Store) Watch(res *kinds.Resource, namespace string, opts metav1.ListOptions) (*Watcher, error) {
	q, err := newQuery(res, namespace, opts)
	if err != nil {
		return nil, err
	}
	w := &Watcher{store: s, sel: q.selection, bookmarks: q.opts.AllowWatchBookmarks, wake: make(chan struct{}, 1)}
	if q.opts.TimeoutSeconds != nil {
		w.timeout = time.Duration(*q.opts.TimeoutSeconds) * time.Second
	}
	initial, asked := q.version == 0, q.opts.SendInitialEvents != nil
	if asked {
		initial = *q.opts.SendInitialEvents
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, current := s.tableLocked(res), s.version.Load()
	w.history = &t.history
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	switch {
	case initial && q.version > current:
		w.err = errTooLarge(q.version, current)
	case initial:
		w.next = w.history.endLocked()
		for _, rev := range t.selectLocked(w.sel) {
			w.initial = append(w.initial, Event{Type: watch.Added, Revision: rev, Initial: true})
		}
		if asked && w.bookmarks {
			w.initial = append(w.initial, Event{Type: watch.Bookmark, Version: current, Initial: true})
		}
	default:
		if w.from = q.version; w.from == 0 {
			w.from = current
		}
		w.next, w.err = w.history.seekLocked(w.from)
	}
	w.history.watchers[w] = struct{}{}
	return w, nil
}

// Close takes the watcher off the history. Run does it, too.
func (w *Watcher) Close() { w.history.leave(w) }

// Run sends events in batches until stop or the store is closed or the timeout
// is over (nil), the watch cannot start or is overtaken by the history (an
// error for the client), or send fails.
func (w *Watcher) Run(stop <-chan struct{}, send func([]Event) error) error {
	defer w.Close()
	if w.err != nil {
		return w.err
	}
	if err := send(w.initial); err != nil {
		return err
	}
	w.initial = nil
	begin := time.Now()
	end, bookmark := newTimer(w.timeout, w.timeout > 0), newTimer(w.untilBookmark(begin), w.bookmarks)
	defer end.Stop()
	defer bookmark.Stop()
	more := make(chan struct{})
	close(more)
	buf := make([]*change, batchSize)
	for {
		n, current, err := w.history.read(w.next, buf)
		if err != nil {
			return err
		}
		w.next += uint64(n)
		if events := w.choose(buf[:n]); len(events) > 0 {
			if err := send(events); err != nil {
				return err
			}
		}
		clear(buf[:n])
		wake, due := (<-chan struct{})(w.wake), bookmark.C
		if current == 0 {
			wake, due = more, nil
		}
		select {
		case <-stop:
			return nil
		case <-w.store.closed:
			return nil
		case <-end.C:
			return nil
		case <-wake:
		case <-due:
			bookmark.Reset(w.untilBookmark(begin))
			if err := send([]Event{{Type: watch.Bookmark, Version: current}}); err != nil {
				return err
			}
		}
	}
}

// newTimer returns a timer, or one that never fires.
func newTimer(d time.Duration, fires bool) *time.Timer {
	t := time.NewTimer(d)
	if !fires {
		t.Stop()
	}
	return t
}

// untilBookmark is the time from now to the next bookmark of a watch.
func (w *Watcher) untilBookmark(begin time.Time) time.Duration {
	wait := w.store.opts.BookmarkInterval
	if last := time.Until(begin.Add(w.timeout - bookmarkLead)); w.timeout > 0 && last > 0 {
		wait = min(wait, last)
	}
	return wait
}

// choose turns changes into what this watcher's selectors let it see: an
// object that comes to match is Added, one that ceases to is Deleted.
func (w *Watcher) choose(changes []*change) []Event {
	var out []Event
	for _, c := range changes {
		if c.now.Version <= w.from || !w.sel.inScope(c.now.Key) {
			continue
		}
		if w.sel.everything() {
			out = append(out, Event{Type: c.kind, Revision: c.now})
			continue
		}
		now := c.kind != watch.Deleted && w.sel.matches(c.now)
		before := c.before != nil && w.sel.matches(c.before)
		switch {
		case now && before:
			out = append(out, Event{Type: watch.Modified, Revision: c.now})
		case now:
			out = append(out, Event{Type: watch.Added, Revision: c.now})
		case before && c.kind == watch.Deleted:
			out = append(out, Event{Type: watch.Deleted, Revision: c.now})
		case before:
			out = append(out, Event{Type: watch.Deleted, Revision: c.lastSelected()})
		}
	}
	return out
}
