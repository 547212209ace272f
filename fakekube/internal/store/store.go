// Package store keeps the objects of one API server in memory and does what a
// real one does with them: it versions, defaults, validates, patches and deletes
// them, and tells watchers. It knows nothing of HTTP.
//
// Read store.go first, then history.go and watch.go for what readers see, then
// create.go, update.go, patch.go, apply.go and delete.go for what writers do.
package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
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
	opts  Options
	kinds *kinds.Registry
	// builtinTypes are the schemas that server-side apply merges the built-in
	// kinds by. They are parsed when they are first needed.
	builtinTypes func() managedfields.TypeConverter

	version atomic.Uint64 // the newest resourceVersion; see history.append

	// mu guards the tables, their objects and the services' addresses. A write
	// holds it only to publish what was prepared before.
	mu         sync.RWMutex
	tables     map[schema.GroupResource]*table // by the resource that is stored
	clusterIPs ipPool

	// closed is closed by Close, and every watch ends with it; running counts
	// what Go started.
	closed  chan struct{}
	closing sync.Once
	running sync.WaitGroup
}

// table is one resource's objects, guarded by Store.mu, and their history.
type table struct {
	objects map[object.Key]*object.Revision
	history history
}

// errChanged says that the object is no longer what the write was made from.
var errChanged = errors.New("the object changed meanwhile")

// New makes a store with the namespaces default, kube-system and istio-system
// and, unless left out, Istio's custom resources.
func New(opts Options) *Store {
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
		opts: opts, kinds: kinds.NewRegistry(), tables: map[schema.GroupResource]*table{}, closed: make(chan struct{}),
		builtinTypes: sync.OnceValue(func() managedfields.TypeConverter {
			return applyconfigurations.NewTypeConverter(scheme.Scheme)
		}),
	}
	s.version.Store(1)
	for _, r := range s.kinds.All() {
		s.addTable(r.Storage.GroupResource())
	}
	if err := s.createInitialObjects(); err != nil {
		panic(fmt.Sprintf("fakekube: a built-in object is wrong: %v", err)) // They are constants.
	}
	return s
}

func (s *Store) createInitialObjects() error {
	namespaces, err := s.kinds.Lookup(corev1.SchemeGroupVersion.WithResource("namespaces"))
	if err != nil {
		return err
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, "istio-system"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := s.Create(namespaces, "", ns, WriteOptions{}); err != nil {
			return err
		}
	}
	if s.opts.WithoutIstio {
		return nil
	}
	definitions, err := s.kinds.Lookup(kinds.Definitions().WithVersion("v1"))
	if err != nil {
		return err
	}
	istio, err := kinds.IstioDefinitions()
	if err != nil {
		return err
	}
	for _, d := range istio {
		if _, err := s.Create(definitions, "", d, WriteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Kinds are the kinds that are served now.
func (s *Store) Kinds() *kinds.Registry { return s.kinds }

// Go runs fn in a goroutine that Close waits for. Fn must end when Closed is.
func (s *Store) Go(fn func()) { s.running.Go(fn) }

// Closed is closed by Close.
func (s *Store) Closed() <-chan struct{} { return s.closed }

// Close ends every watch, and waits for what Go started.
func (s *Store) Close() {
	s.closing.Do(func() { close(s.closed) })
	s.running.Wait()
}

// addTable adds the table of a resource, if there is none. Its history begins
// now: older versions are expired.
func (s *Store) addTable(gr schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[gr] == nil {
		s.tables[gr] = &table{objects: map[object.Key]*object.Revision{}, history: history{
			maxEvents: s.opts.HistoryEvents, maxBytes: s.opts.HistoryBytes, version: &s.version,
			floor: s.version.Load(), watchers: map[*Watcher]struct{}{},
		}}
	}
}

// tableLocked is the table that holds the objects of a resource, whatever its
// version.
func (s *Store) tableLocked(res *kinds.Resource) *table { return s.tables[res.Storage.GroupResource()] }

// lookup returns an object's current state, or nil.
func (s *Store) lookup(res *kinds.Resource, key object.Key) *object.Revision {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tableLocked(res).objects[key]
}

// Get returns an object's current state.
func (s *Store) Get(res *kinds.Resource, key object.Key) (*object.Revision, error) {
	if rev := s.lookup(res, key); rev != nil {
		return rev.Decoded(), nil
	}
	return nil, apierrors.NewNotFound(res.GroupResource(), key.Name)
}

// commit publishes next as the state after old (nil: none). It fails with
// errChanged if old is not current, and with what check says, which is called
// under the lock.
func (s *Store) commit(res *kinds.Resource, old, next *object.Revision, check func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(res)
	current := t.objects[next.Key]
	if !current.IsSame(old) {
		return errChanged
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	t.history.append(func(version uint64) *change {
		next.SetVersion(version)
		stored := next.Stored()
		t.objects[next.Key] = stored
		if old == nil {
			return &change{kind: watch.Added, now: stored}
		}
		return &change{kind: watch.Modified, now: stored, before: current}
	})
	return nil
}

// commitDelete removes old and publishes its last state at a new version.
func (s *Store) commitDelete(res *kinds.Resource, old *object.Revision) (*object.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tableLocked(res)
	current := t.objects[old.Key]
	if !current.IsSame(old) {
		return nil, errChanged
	}
	delete(t.objects, old.Key)
	if svc, ok := old.Object().(*corev1.Service); ok {
		s.clusterIPs.release(svc)
	}
	var last *object.Revision
	t.history.append(func(version uint64) *change {
		last = old.WithVersion(version)
		return &change{kind: watch.Deleted, now: last.Stored(), before: current}
	})
	return last, nil
}

// serveDefinition serves what a stored CustomResourceDefinition describes.
func (s *Store) serveDefinition(obj runtime.Object) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("a CustomResourceDefinition is a %T", obj)
	}
	gr, served, err := kinds.FromDefinition(u)
	if err != nil {
		return err
	}
	s.addTable(gr)
	s.kinds.Replace(gr, served...)
	return nil
}
