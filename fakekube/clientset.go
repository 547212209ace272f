package fakekube

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"
)

// clientset connects a fake clientset to the store.
type clientset struct {
	store *Store
	set   *fake.Clientset
	calls atomic.Uint64
}

// forgetEvery is how many calls a clientset remembers at most.
const forgetEvery = 64

// Clientset returns a clientset whose calls act on the store directly: with
// the errors of the API server, without HTTP or encoding. Objects given and
// returned are the caller's own. It is safe for concurrent use.
//
// client-go's fake remembers every call in Actions, without bound, and runs
// one call at a time. Here a call lets go of the fake's lock while it acts on
// the store, so calls run in parallel, and every 64th forgets the actions:
// Actions shows only the newest calls. Reactors that a test prepends come
// first, as usual; the object tracker is not used.
func (s *Store) Clientset() *fake.Clientset {
	c := &clientset{store: s, set: fake.NewSimpleClientset()}
	for _, gv := range s.kinds.groupVersions() {
		c.set.Resources = append(c.set.Resources, s.kinds.resourceList(gv))
	}
	if d, ok := c.set.Discovery().(*fakediscovery.FakeDiscovery); ok {
		v := serverVersion()
		d.FakedServerVersion = &v
	}
	c.set.PrependReactor("*", "*", c.react)
	c.set.PrependWatchReactor("*", c.reactWatch)
	return c.set
}

// unlocked runs fn without the lock that Fake.Invokes holds around a reactor.
func (c *clientset) unlocked(fn func()) {
	c.set.Unlock()
	defer c.set.Lock()
	if c.calls.Add(1)%forgetEvery == 0 {
		c.set.ClearActions()
	}
	fn()
}

func (c *clientset) react(action testing.Action) (handled bool, obj runtime.Object, err error) {
	if _, ok := action.(testing.ActionImpl); ok {
		return true, nil, nil // Discovery announces itself so, and then reads Resources.
	}
	c.unlocked(func() { obj, err = c.do(action) })
	if err != nil {
		return true, nil, err
	}
	return true, obj, nil
}

func (c *clientset) do(action testing.Action) (runtime.Object, error) {
	if kind, ok := reviewKind(action.GetResource().GroupVersion(), action.GetResource().Resource); ok {
		return c.review(action, kind.Kind)
	}
	res, err := c.store.kinds.lookup(action.GetResource())
	if err != nil {
		return nil, err
	}
	if sub := action.GetSubresource(); sub != "" && (sub != "status" || !res.status) {
		return nil, errUnknownPath()
	}
	switch a := action.(type) {
	case testing.GetActionImpl:
		return result(res)(c.store.get(res, a.Namespace, a.Name))
	case testing.ListActionImpl:
		return c.list(res, a)
	case testing.CreateActionImpl:
		opts := writeOptions{dryRun: len(a.CreateOptions.DryRun) > 0, manager: a.CreateOptions.FieldManager}
		return result(res)(c.store.create(res, a.Namespace, a.Object, opts))
	case testing.UpdateActionImpl:
		return c.update(res, a)
	case testing.PatchActionImpl:
		return c.patch(res, a)
	case testing.DeleteActionImpl:
		_, _, err := c.store.remove(res, key{a.Namespace, a.Name}, a.DeleteOptions)
		return nil, err
	case testing.DeleteCollectionActionImpl:
		return nil, c.deleteCollection(res, a)
	}
	return nil, errMethod()
}

// result copies a record for the caller.
func result(res *resource) func(*record, error) (runtime.Object, error) {
	return func(rec *record, err error) (runtime.Object, error) {
		if err != nil {
			return nil, err
		}
		return rec.copyOut(res), nil
	}
}

func (c *clientset) update(res *resource, a testing.UpdateActionImpl) (runtime.Object, error) {
	m, err := meta.Accessor(a.Object)
	if err != nil {
		return nil, err
	}
	t := target{res: res, key: key{a.Namespace, m.GetName()}, subresource: a.Subresource}
	opts := writeOptions{dryRun: len(a.UpdateOptions.DryRun) > 0, manager: a.UpdateOptions.FieldManager}
	rec, _, err := c.store.update(t, a.Object, opts)
	return result(res)(rec, err)
}

func (c *clientset) patch(res *resource, a testing.PatchActionImpl) (runtime.Object, error) {
	t := target{res: res, key: key{a.Namespace, a.Name}, subresource: a.Subresource}
	opts := writeOptions{dryRun: len(a.PatchOptions.DryRun) > 0, manager: a.PatchOptions.FieldManager}
	p := patchRequest{kind: a.PatchType, data: a.Patch}
	p.force = a.PatchOptions.Force != nil && *a.PatchOptions.Force
	rec, _, err := c.store.patch(t, p, opts)
	return result(res)(rec, err)
}

func (c *clientset) list(res *resource, a testing.ListActionImpl) (runtime.Object, error) {
	opts, err := internalOptions(a.ListOptions)
	if err != nil {
		return nil, err
	}
	sel, err := newSelection(res, a.Namespace, opts)
	if err != nil {
		return nil, err
	}
	records, version := c.store.list(res, sel)
	if err := checkListVersion(res, opts, version); err != nil {
		return nil, err
	}
	list, err := c.store.newTyped(res.gvk.GroupVersion().WithKind(res.listKind))
	if err != nil {
		return nil, err
	}
	items := make([]runtime.Object, 0, len(records))
	for _, rec := range records {
		items = append(items, rec.copyOut(res))
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(strconv.FormatUint(version, 10))
	return list, nil
}

func (c *clientset) deleteCollection(res *resource, a testing.DeleteCollectionActionImpl) error {
	opts, err := internalOptions(a.ListOptions)
	if err != nil {
		return err
	}
	sel, err := newSelection(res, a.Namespace, opts)
	if err != nil {
		return err
	}
	_, _, err = c.store.removeAll(res, sel, a.DeleteOptions)
	return err
}

func (c *clientset) review(action testing.Action, kind string) (runtime.Object, error) {
	create, ok := action.(testing.CreateActionImpl)
	if !ok {
		return nil, fmt.Errorf("%s %s: %w", action.GetVerb(), kind, errMethod())
	}
	reviewed(create.Object)
	return create.Object, nil
}

func (c *clientset) reactWatch(action testing.Action) (handled bool, w watch.Interface, err error) {
	c.unlocked(func() { w, err = c.watch(action) })
	return true, w, err
}

func (c *clientset) watch(action testing.Action) (watch.Interface, error) {
	res, err := c.store.kinds.lookup(action.GetResource())
	if err != nil {
		return nil, err
	}
	var list metav1.ListOptions
	if a, ok := action.(testing.WatchActionImpl); ok {
		list = a.ListOptions
	}
	opts, err := internalOptions(list)
	if err != nil {
		return nil, err
	}
	sel, err := newSelection(res, action.GetNamespace(), opts)
	if err != nil {
		return nil, err
	}
	if _, err := parseVersion(opts.ResourceVersion); err != nil {
		return nil, err
	}
	from, err := c.store.watchFrom(opts)
	if err != nil {
		return failedWatch(err), nil
	}
	cursor, err := c.store.watch(res, sel, from)
	if err != nil {
		return failedWatch(err), nil
	}
	return c.store.localWatch(cursor, res), nil
}

// failedWatch is a watch that ends with an error event, as over HTTP.
func failedWatch(err error) *localWatch {
	w := &localWatch{out: make(chan watch.Event, 1), stopped: make(chan struct{})}
	w.out <- watch.Event{Type: watch.Error, Object: statusOf(err)}
	close(w.out)
	return w
}

// localWatch is a watch within the process. Its goroutine is the store's,
// which waits for it in Close.
type localWatch struct {
	out     chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

// errStopped says that the watcher has stopped the watch.
var errStopped = errors.New("the watch was stopped")

var _ watch.Interface = (*localWatch)(nil)

func (s *Store) localWatch(cursor *watcher, res *resource) *localWatch {
	w := &localWatch{out: make(chan watch.Event), stopped: make(chan struct{})}
	s.watches.Go(func() {
		defer close(w.out)
		send := func(e watch.Event) error {
			select {
			case w.out <- e:
				return nil
			case <-w.stopped:
			case <-s.closed:
			}
			return errStopped
		}
		err := cursor.run(w.stopped, func(batch []delivery) error {
			for _, d := range batch {
				obj, err := s.localObject(d, res)
				if err != nil {
					return err
				}
				if err := send(watch.Event{Type: d.kind, Object: obj}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			_ = send(watch.Event{Type: watch.Error, Object: statusOf(err)}) // Fails only when stopped.
		}
	})
	return w
}

func (s *Store) localObject(d delivery, res *resource) (runtime.Object, error) {
	if d.rec != nil {
		return d.rec.copyOut(res), nil
	}
	obj, err := s.newTyped(res.gvk)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(strconv.FormatUint(d.version, 10))
	if d.initial {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return obj, nil
}

// Stop ends the watch; the channel closes soon after.
func (w *localWatch) Stop() { w.once.Do(func() { close(w.stopped) }) }

// ResultChan gives the events.
func (w *localWatch) ResultChan() <-chan watch.Event { return w.out }
