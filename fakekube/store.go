package fakekube

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Options are a store's limits. The zero value is a store with the defaults.
type Options struct {
	// HistoryEvents bounds the changes kept per resource, so how far a watcher
	// may fall behind. Default 8192.
	HistoryEvents int
	// HistoryBytes bounds the encoded size of the changes kept per resource;
	// in memory they take a few times as much. Default 32 MiB.
	HistoryBytes int
	// BookmarkInterval is the time between bookmarks on a watch that asked for
	// them. Default one minute, as in Kubernetes.
	BookmarkInterval time.Duration
	// WithoutIstio leaves out the CustomResourceDefinitions of Istio's kinds.
	WithoutIstio bool
}

// Store holds the objects of one API server. It is safe for concurrent use.
type Store struct {
	opts   Options
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	kinds  *registry
	merger *merger // server-side apply

	version atomic.Uint64 // the newest resourceVersion; see history.append

	// mu guards every table's objects and the services' addresses. A write
	// holds it only to publish what was prepared before.
	mu        sync.RWMutex
	tables    map[schema.GroupResource]*table
	addresses addressPool

	// closed is closed by Close, and every watch ends with it; watches counts
	// those in process.
	closed  chan struct{}
	closing sync.Once
	watches sync.WaitGroup
}

// table is one resource's objects, guarded by Store.mu, and their history.
type table struct {
	objects map[key]*record
	history history
}

// errChanged says that the object is no longer what the write was made from.
var errChanged = errors.New("the object changed meanwhile")

// NewStore makes a store with the namespaces default, kube-system and
// istio-system and, unless left out, Istio's custom resources.
func NewStore(opts Options) *Store {
	if opts.HistoryEvents <= 0 {
		opts.HistoryEvents = 8192
	}
	if opts.HistoryBytes <= 0 {
		opts.HistoryBytes = 32 << 20
	}
	if opts.BookmarkInterval <= 0 {
		opts.BookmarkInterval = time.Minute
	}
	s := &Store{
		opts: opts, scheme: scheme.Scheme, codecs: scheme.Codecs, kinds: newRegistry(),
		tables: map[schema.GroupResource]*table{}, closed: make(chan struct{}),
	}
	s.version.Store(1)
	s.merger = newMerger(s.scheme)
	s.seed()
	return s
}

// Close ends every watch, in-process ones too, and waits for them.
func (s *Store) Close() {
	s.closing.Do(func() { close(s.closed) })
	s.watches.Wait()
}

// tableFor returns the table of a resource, made when there is none. Its
// history begins now: older versions are expired.
func (s *Store) tableFor(gr schema.GroupResource) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[gr]
	if t == nil {
		t = &table{objects: map[key]*record{}}
		t.history.maxEvents, t.history.maxBytes = s.opts.HistoryEvents, s.opts.HistoryBytes
		t.history.watchers = map[*watcher]struct{}{}
		t.history.floor = s.version.Load()
		s.tables[gr] = t
	}
	return t
}

// lookup returns an object's current state, or nil.
func (s *Store) lookup(t *table, k key) *record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return t.objects[k]
}

// commit publishes obj as the state after old (nil: none). The caller owns
// obj and gives it up. It fails with errChanged if old is not current, and
// with what check says, which is called under the lock.
func (s *Store) commit(res *resource, k key, old *record, obj runtime.Object, raw []byte, check func() error) (*record, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	size := len(raw)
	if raw == nil {
		if size, err = untypedSize(obj); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	current := res.table.objects[k]
	if !current.is(old) {
		return nil, errChanged
	}
	if check != nil {
		if err := check(); err != nil {
			return nil, err
		}
	}
	var rec *record
	res.table.history.append(&s.version, func(rv uint64) *change {
		m.SetResourceVersion(strconv.FormatUint(rv, 10))
		rec = newRecord(k, obj, raw, rv)
		rec.size = size
		stored := rec.stored(res)
		res.table.objects[k] = stored
		if old == nil {
			return &change{kind: watch.Added, rec: stored}
		}
		return &change{kind: watch.Modified, rec: stored, prev: current}
	})
	return rec, nil
}

// commitDelete removes old and publishes its last state at a new version.
func (s *Store) commitDelete(res *resource, old *record) (*record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := res.table.objects[old.key]
	if !current.is(old) {
		return nil, errChanged
	}
	delete(res.table.objects, old.key)
	s.addresses.release(old)
	var rec *record
	res.table.history.append(&s.version, func(rv uint64) *change {
		rec = atVersion(old, rv)
		return &change{kind: watch.Deleted, rec: rec.stored(res), prev: current}
	})
	return rec, nil
}

// atVersion is a record's state under another version. Only the metadata is
// copied: the rest is immutable and shared.
func atVersion(old *record, rv uint64) *record {
	obj := shallowCopy(old.object())
	m, err := meta.Accessor(obj)
	if err != nil { // Every stored object has metadata.
		return old
	}
	m.SetResourceVersion(strconv.FormatUint(rv, 10))
	rec := newRecord(old.key, obj, old.raw, rv)
	rec.size = old.size
	return rec
}

// reader opens a consistent view: no write is published while fn runs, which
// gets the version that the view shows.
func (s *Store) reader(fn func(rv uint64)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	fn(s.version.Load())
}

// untypedSize is the size of a custom resource in the history.
func untypedSize(obj runtime.Object) (int, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return 0, errNotProto
	}
	data, err := u.MarshalJSON()
	return len(data), err
}

// nowSeconds is the time as the API writes it.
func nowSeconds() metav1.Time { return metav1.Time{Time: time.Now().Truncate(time.Second)} }
