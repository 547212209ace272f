// Package clientset connects client-go's fake clientset to a store, so that a
// process reads and writes it without HTTP.
package clientset

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
	"github.com/xdsbench/xdsbench/fakekube/internal/store"
)

// clientset connects a fake clientset to the store.
type clientset struct {
	store *store.Store
	fake  *fake.Clientset
	calls atomic.Uint64
}

// keptActions is how many calls the clientset remembers at most.
const keptActions = 64

// New returns a clientset whose calls act on the store: with the errors of the
// API server, without HTTP or encoding. Objects given and returned are the
// caller's own. It is safe for concurrent use.
//
// Reactors that a test prepends come first, as usual; the object tracker is not
// used. Actions shows only the newest calls.
func New(s *store.Store) *fake.Clientset {
	c := &clientset{store: s, fake: fake.NewClientset()}
	for _, core := range []bool{true, false} {
		_, resources := s.Kinds().LegacyDiscovery(core)
		for _, list := range resources {
			c.fake.Resources = append(c.fake.Resources, list)
		}
	}
	slices.SortFunc(c.fake.Resources, func(a, b *metav1.APIResourceList) int {
		return strings.Compare(a.GroupVersion, b.GroupVersion)
	})
	if d, ok := c.fake.Discovery().(*fakediscovery.FakeDiscovery); ok {
		d.FakedServerVersion = kinds.ServerVersion()
	}
	c.fake.PrependReactor("*", "*", c.react)
	c.fake.PrependWatchReactor("*", c.reactWatch)
	return c.fake
}

// withoutLock runs fn without the fake's lock.
//
// Fake.Invokes records every call, without bound, and holds its lock around the
// reactors. ClearActions takes the same lock, and nothing else drops what is
// recorded: neither a reactor that keeps the lock nor a hook outside of it (there
// is none) could. So the reactor lets go of it, through the fake's exported
// Unlock, and takes it again before it returns; calls then also run in parallel.
func (c *clientset) withoutLock(fn func()) {
	c.fake.Unlock()
	defer c.fake.Lock()
	if c.calls.Add(1)%keptActions == 0 {
		c.fake.ClearActions()
	}
	fn()
}

func (c *clientset) react(action testing.Action) (handled bool, obj runtime.Object, err error) {
	if _, ok := action.(testing.ActionImpl); ok {
		return true, nil, nil // Discovery announces itself so, and then reads Resources.
	}
	c.withoutLock(func() { obj, err = c.do(action) })
	if err != nil {
		return true, nil, err
	}
	return true, obj, nil
}

func (c *clientset) do(action testing.Action) (runtime.Object, error) {
	res, err := c.store.Kinds().Lookup(action.GetResource())
	if err != nil {
		return nil, err
	}
	if sub := action.GetSubresource(); sub != "" && (sub != "status" || !res.Status) {
		return nil, kinds.NotServed()
	}
	key := object.Key{Namespace: action.GetNamespace()}
	target := func(name string) store.Target {
		key.Name = name
		return store.Target{Resource: res, Key: key, Subresource: action.GetSubresource()}
	}
	var rev *object.Revision
	switch a := action.(type) {
	case testing.CreateActionImpl:
		if res.Review {
			kinds.AnswerReview(a.Object)
			return a.Object, nil
		}
		rev, err = c.store.Create(res, a.Namespace, a.Object, writeOptions(a.CreateOptions.DryRun, a.CreateOptions.FieldManager))
	case testing.GetActionImpl:
		rev, err = c.store.Get(res, target(a.Name).Key)
	case testing.ListActionImpl:
		return c.list(res, a)
	case testing.UpdateActionImpl:
		m, err := meta.Accessor(a.Object)
		if err != nil {
			return nil, err
		}
		opts := writeOptions(a.UpdateOptions.DryRun, a.UpdateOptions.FieldManager)
		rev, _, err = c.store.Update(target(m.GetName()), a.Object, opts)
		return copyOut(res, rev, err)
	case testing.PatchActionImpl:
		patch := store.Patch{Type: a.PatchType, Data: a.Patch, Force: ptr.Deref(a.PatchOptions.Force, false)}
		rev, _, err = c.store.Patch(target(a.Name), patch, writeOptions(a.PatchOptions.DryRun, a.PatchOptions.FieldManager))
	case testing.DeleteActionImpl:
		_, _, err := c.store.Delete(res, target(a.Name).Key, a.DeleteOptions)
		return nil, err
	case testing.DeleteCollectionActionImpl:
		_, _, err := c.store.DeleteCollection(res, a.Namespace, a.ListOptions, a.DeleteOptions)
		return nil, err
	default:
		return nil, kinds.MethodNotAllowed()
	}
	return copyOut(res, rev, err)
}

func writeOptions(dryRun []string, manager string) store.WriteOptions {
	return store.WriteOptions{DryRun: len(dryRun) > 0, FieldManager: manager}
}

// copyOut copies a revision's object for the caller.
func copyOut(res *kinds.Resource, rev *object.Revision, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return rev.CopyAs(res), nil
}

func (c *clientset) list(res *kinds.Resource, a testing.ListActionImpl) (runtime.Object, error) {
	revisions, version, err := c.store.List(res, a.Namespace, a.ListOptions)
	if err != nil {
		return nil, err
	}
	list, err := scheme.Scheme.New(res.GVK.GroupVersion().WithKind(res.ListKind))
	if err != nil {
		return nil, err
	}
	items := make([]runtime.Object, 0, len(revisions))
	for _, rev := range revisions {
		items = append(items, rev.CopyAs(res))
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
