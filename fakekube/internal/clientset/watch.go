package clientset

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/store"
)

func (c *clientset) reactWatch(action testing.Action) (handled bool, w watch.Interface, err error) {
	c.withoutLock(func() { w, err = c.watch(action) })
	return true, w, err
}

// errStopped says that the watcher has stopped the watch.
var errStopped = errors.New("the watch was stopped")

// watch opens a watch, whose goroutine is the store's.
func (c *clientset) watch(action testing.Action) (watch.Interface, error) {
	res, err := c.store.Kinds().Lookup(action.GetResource())
	if err != nil {
		return nil, err
	}
	var opts metav1.ListOptions
	if a, ok := action.(testing.WatchActionImpl); ok {
		opts = a.ListOptions
	}
	watcher, err := c.store.Watch(res, action.GetNamespace(), opts)
	if err != nil {
		return nil, err
	}
	out := make(chan watch.Event)
	w := watch.NewProxyWatcher(out)
	c.store.Go(func() {
		defer close(out)
		send := func(kind watch.EventType, obj runtime.Object) error {
			select {
			case out <- watch.Event{Type: kind, Object: obj}:
				return nil
			case <-w.StopChan():
			case <-c.store.Closed():
			}
			return errStopped
		}
		err := watcher.Run(w.StopChan(), func(batch []store.Event) error {
			for _, e := range batch {
				obj, err := eventObject(res, e)
				if err != nil {
					return err
				}
				if err := send(e.Type, obj); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			_ = send(watch.Error, kinds.StatusOf(err)) // Fails only when stopped.
		}
	})
	return w, nil
}

// eventObject is the object of an event, for a caller who may change it.
func eventObject(res *kinds.Resource, e store.Event) (runtime.Object, error) {
	if e.Type != watch.Bookmark {
		return e.Revision.CopyAs(res), nil
	}
	obj, err := scheme.Scheme.New(res.GVK)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(strconv.FormatUint(e.Version, 10))
	if e.Initial {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return obj, nil
}
