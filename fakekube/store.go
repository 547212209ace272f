package fakekube

import (
	"k8s.io/client-go/kubernetes/fake"

	"github.com/xdsbench/xdsbench/fakekube/internal/clientset"
	"github.com/xdsbench/xdsbench/fakekube/internal/store"
)

// Options are a store's limits: HistoryEvents, HistoryBytes, BookmarkInterval
// and WithoutIstio. The zero value is a store with the defaults.
type Options = store.Options

// Store holds the objects of one API server. It is safe for concurrent use.
type Store struct{ objects *store.Store }

// NewStore makes a store with the namespaces default, kube-system and
// istio-system and, unless left out, Istio's custom resources.
func NewStore(opts Options) *Store { return &Store{objects: store.New(opts)} }

// Clientset returns a new clientset whose calls act on the store directly, with
// the errors of the API server. Objects given and returned are the caller's own.
// It is safe for concurrent use, and remembers only the newest of its Actions.
func (s *Store) Clientset() *fake.Clientset { return clientset.New(s.objects) }

// Close ends every watch of the clientsets, and waits for them.
func (s *Store) Close() { s.objects.Close() }
