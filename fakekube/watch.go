package fakekube

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// delivery is one event for one watcher. A bookmark has a version but no
// record.
type delivery struct {
	kind    watch.EventType
	rec     *record
	version uint64
	initial bool // one of the present objects, or the bookmark that ends them (WatchList)
}

// watchOptions say where a watch starts and what it is told.
type watchOptions struct {
	initial   bool   // begin with the present objects as Added
	endMark   bool   // then say with a bookmark that they are complete
	bookmarks bool   // send bookmarks from time to time
	from      uint64 // if not initial: the version after which it starts
	timeout   time.Duration
}

// watcher is one watch: a cursor on the history. Its owner calls run, which
// serves it to the end; nothing else touches its fields, but wake.
type watcher struct {
	store *Store
	res   *resource
	sel   selection
	opts  watchOptions

	wake    chan struct{} // holds one token when there may be more to read
	present []*record     // initial objects
	version uint64        // version of the initial objects
	next    uint64        // sequence number of the next change to read
}

// batchSize is how many changes a watcher reads at once.
const batchSize = 128

// watch opens a watcher; run must be called on it. An expired version is an
// error.
func (s *Store) watch(res *resource, sel selection, opts watchOptions) (*watcher, error) {
	w := &watcher{store: s, res: res, sel: sel, opts: opts, wake: make(chan struct{}, 1)}
	var err error
	s.reader(func(rv uint64) {
		h := &res.table.history
		h.mu.Lock()
		defer h.mu.Unlock()
		if opts.initial {
			w.present, w.version, w.next = s.selectLocked(res, sel), rv, h.endLocked()
		} else if w.next, err = h.seekLocked(opts.from); err != nil {
			return
		}
		h.watchers[w] = struct{}{}
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// close takes the watcher off the history. Run does it, too.
func (w *watcher) close() { w.res.table.history.leave(w) }

// run sends deliveries in batches until stop or the store is closed, the
// timeout is over (all nil), the cursor is overtaken (a 410), or send fails.
func (w *watcher) run(stop <-chan struct{}, send func([]delivery) error) error {
	defer w.close()
	if err := w.sendInitial(send); err != nil {
		return err
	}
	marks := w.newBookmarks(time.Now())
	defer marks.stop()
	var end <-chan time.Time
	if w.opts.timeout > 0 {
		timer := time.NewTimer(w.opts.timeout)
		defer timer.Stop()
		end = timer.C
	}
	buf := make([]*change, batchSize)
	for {
		current, err := w.drain(stop, buf, send)
		if err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		case <-w.store.closed:
			return nil
		case <-end:
			return nil
		case <-w.wake:
		case <-marks.due():
			marks.reset(time.Now())
			if err := send([]delivery{{kind: watch.Bookmark, version: current}}); err != nil {
				return err
			}
		}
	}
}

func (w *watcher) sendInitial(send func([]delivery) error) error {
	if !w.opts.initial {
		return nil
	}
	out := make([]delivery, 0, len(w.present)+1)
	for _, rec := range w.present {
		out = append(out, delivery{kind: watch.Added, rec: rec, initial: true})
	}
	w.present = nil
	if w.opts.endMark {
		out = append(out, delivery{kind: watch.Bookmark, version: w.version, initial: true})
	}
	return send(out)
}

// drain sends what the history has, and returns the version seen so far.
func (w *watcher) drain(stop <-chan struct{}, buf []*change, send func([]delivery) error) (uint64, error) {
	for {
		n, current, err := w.res.table.history.read(w.next, buf, &w.store.version)
		if err != nil {
			return 0, err
		}
		w.next += uint64(n)
		if out := w.choose(buf[:n]); len(out) > 0 {
			if err := send(out); err != nil {
				return 0, err
			}
		}
		clear(buf[:n])
		if current != 0 {
			return current, nil
		}
		select {
		case <-stop:
			return 0, nil
		case <-w.store.closed:
			return 0, nil
		default:
		}
	}
}

// choose turns changes into what this watcher's selectors let it see: an
// object that comes to match is Added, one that ceases to is Deleted.
func (w *watcher) choose(changes []*change) []delivery {
	var out []delivery
	for _, c := range changes {
		if c.rec.rv <= w.opts.from || !w.sel.inScope(c.rec.key) {
			continue
		}
		if w.sel.everything() {
			out = append(out, delivery{kind: c.kind, rec: c.rec})
			continue
		}
		now := c.kind != watch.Deleted && w.sel.matches(c.rec)
		before := c.prev != nil && w.sel.matches(c.prev)
		switch {
		case now && before:
			out = append(out, delivery{kind: watch.Modified, rec: c.rec})
		case now:
			out = append(out, delivery{kind: watch.Added, rec: c.rec})
		case before && c.kind == watch.Deleted:
			out = append(out, delivery{kind: watch.Deleted, rec: c.rec})
		case before:
			out = append(out, delivery{kind: watch.Deleted, rec: c.leaving()})
		}
	}
	return out
}

// bookmarks times a watch's bookmarks: every interval, and two seconds before
// the watch's timeout, as Kubernetes does, so that the client's next watch
// starts from a fresh version.
type bookmarks struct {
	timer    *time.Timer
	interval time.Duration
	deadline time.Time
}

const bookmarkLead = 2 * time.Second

func (w *watcher) newBookmarks(now time.Time) *bookmarks {
	if !w.opts.bookmarks {
		return &bookmarks{}
	}
	b := &bookmarks{interval: w.store.opts.BookmarkInterval}
	if w.opts.timeout > 0 {
		b.deadline = now.Add(w.opts.timeout)
	}
	b.timer = time.NewTimer(b.wait(now))
	return b
}

func (b *bookmarks) wait(now time.Time) time.Duration {
	wait := b.interval
	if before := b.deadline.Add(-bookmarkLead).Sub(now); !b.deadline.IsZero() && before > 0 {
		wait = min(wait, before)
	}
	return wait
}

func (b *bookmarks) due() <-chan time.Time {
	if b.timer == nil {
		return nil
	}
	return b.timer.C
}

func (b *bookmarks) reset(now time.Time) { b.timer.Reset(b.wait(now)) }

func (b *bookmarks) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}
