package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// byService is the index of EndpointSlices by "namespace/service".
const byService = "service"

// watcher keeps a store up to date with the API server. Changes that come while
// others are worked through are taken together.
type watcher struct {
	factory  informers.SharedInformerFactory
	services listers.ServiceLister
	slices   cache.SharedIndexInformer
	store    store

	mu    sync.Mutex
	dirty map[string]bool // services to look at again, by "namespace/name"

	wake chan struct{} // holds a token while dirty is not empty
}

func newWatcher(client kubernetes.Interface, st store) *watcher {
	factory := informers.NewSharedInformerFactory(client, 0)
	return &watcher{
		factory:  factory,
		services: factory.Core().V1().Services().Lister(),
		slices:   factory.Discovery().V1().EndpointSlices().Informer(),
		store:    st,
		dirty:    map[string]bool{},
		wake:     make(chan struct{}, 1),
	}
}

// run watches until ctx is done. It closes ready when the store holds all that
// there was at the start.
func (w *watcher) run(ctx context.Context, ready chan<- struct{}) error {
	err := w.slices.AddIndexers(cache.Indexers{byService: func(obj any) ([]string, error) {
		return []string{serviceOf(obj)}, nil
	}})
	if err != nil {
		return err
	}
	for _, informer := range []cache.SharedIndexInformer{w.slices, w.factory.Core().V1().Services().Informer()} {
		if _, err := informer.AddEventHandler(w.handler()); err != nil {
			return err
		}
	}
	w.factory.Start(ctx.Done())
	defer w.factory.Shutdown()
	for kind, synced := range w.factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			if ctx.Err() != nil {
				return nil // stopped while starting
			}
			return fmt.Errorf("no list of %s", kind)
		}
	}
	// The handlers may lag behind the listers: mark everything.
	for _, obj := range w.factory.Core().V1().Services().Informer().GetStore().List() {
		w.mark(obj)
	}
	if err := w.sync(); err != nil {
		return err
	}
	close(ready)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
			if err := w.sync(); err != nil {
				return err
			}
		}
	}
}

func (w *watcher) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: w.mark,
		UpdateFunc: func(old, obj any) {
			w.mark(old) // a slice may move to another service
			w.mark(obj)
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			w.mark(obj)
		},
	}
}

// mark notes that the service of the object has to be looked at again.
func (w *watcher) mark(obj any) {
	key := serviceOf(obj)
	if key == "" {
		return
	}
	w.mu.Lock()
	w.dirty[key] = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// serviceOf returns "namespace/name" of a Service, or of the Service that an
// EndpointSlice belongs to; "" if there is none.
func serviceOf(obj any) string {
	switch o := obj.(type) {
	case *corev1.Service:
		return o.Namespace + "/" + o.Name
	case *discoveryv1.EndpointSlice:
		if name := o.Labels[discoveryv1.LabelServiceName]; name != "" {
			return o.Namespace + "/" + name
		}
	}
	return ""
}

// sync brings the store up to date with all services that are marked.
func (w *watcher) sync() error {
	w.mu.Lock()
	dirty := w.dirty
	w.dirty = map[string]bool{}
	w.mu.Unlock()

	changes := make(map[string][]cluster, len(dirty))
	var errs []error
	for key := range dirty {
		clusters, err := w.clusters(key)
		errs = append(errs, err)
		changes[key] = clusters
	}
	return errors.Join(append(errs, w.store.apply(changes))...)
}

// clusters returns the clusters of a service as the API server has it now; none
// if it does not exist.
func (w *watcher) clusters(key string) ([]cluster, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	service, err := w.services.Services(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	objects, err := w.slices.GetIndexer().ByIndex(byService, key)
	if err != nil {
		return nil, err
	}
	var slices []*discoveryv1.EndpointSlice
	for _, obj := range objects {
		if slice, ok := obj.(*discoveryv1.EndpointSlice); ok {
			slices = append(slices, slice)
		}
	}
	return clustersOf(service, slices), nil
}
