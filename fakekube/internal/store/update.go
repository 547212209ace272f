package store

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// Target is the object that a write is about.
type Target struct {
	Resource    *kinds.Resource
	Key         object.Key
	Subresource string // "" or "status"
}

// Update replaces an object with obj, which it takes over. Created says that
// it did not exist and the kind lets an update create it.
func (s *Store) Update(t Target, obj runtime.Object, opts WriteOptions) (rev *object.Revision, created bool, err error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	if err := t.claim(m); err != nil {
		return nil, false, err
	}
	must := precondition{uid: m.GetUID(), version: m.GetResourceVersion()}
	rev, err = s.replace(t, opts, func(old *object.Revision) (runtime.Object, error) {
		return obj, must.check(t, old)
	})
	if apierrors.IsNotFound(err) && t.Resource.AllowCreateOnUpdate && t.Subresource == "" && must.version == "" {
		rev, err = s.Create(t.Resource, t.Key.Namespace, obj, opts)
		return rev, err == nil, err
	}
	return rev, false, err
}

// claim gives a body the name and namespace of the URL, and refuses one about
// another object.
func (t Target) claim(m metav1.Object) error {
	if m.GetName() == "" {
		m.SetName(t.Key.Name)
	}
	if m.GetName() != t.Key.Name {
		return apierrors.NewBadRequest("the name of the object (" + m.GetName() +
			") does not match the name on the URL (" + t.Key.Name + ")")
	}
	return setNamespace(m, t.Resource, t.Key.Namespace)
}

// precondition is what a write says of the state it was made from.
type precondition struct {
	uid     types.UID
	version string
}

func (p precondition) check(t Target, old *object.Revision) error {
	m := old.Meta()
	if p.uid != "" && p.uid != m.GetUID() {
		return apierrors.NewConflict(t.Resource.GroupResource(), t.Key.Name, fmt.Errorf(
			"precondition failed: UID in precondition: %v, UID in object meta: %v", p.uid, m.GetUID()))
	}
	if p.version == "" && t.Resource.RequireVersion {
		return apierrors.NewInvalid(t.Resource.GVK.GroupKind(), t.Key.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	}
	if p.version != "" && p.version != m.GetResourceVersion() {
		return apierrors.NewConflict(t.Resource.GroupResource(), t.Key.Name, errors.New(
			"the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// replace stores what produce makes of the current state, again if the state
// changed meanwhile. Produce gives up what it returns, and may return the same
// object again.
func (s *Store) replace(t Target, opts WriteOptions, produce func(*object.Revision) (runtime.Object, error)) (*object.Revision, error) {
	for {
		old, err := s.Get(t.Resource, t.Key)
		if err != nil {
			return nil, err
		}
		obj, err := produce(old)
		if err != nil {
			return nil, err
		}
		rev, err := s.replaceOnce(t, old, obj, opts)
		if errors.Is(err, errChanged) {
			continue
		}
		return rev, err
	}
}

func (s *Store) replaceOnce(t Target, old *object.Revision, obj runtime.Object, opts WriteOptions) (*object.Revision, error) {
	res := t.Resource
	obj = object.ToStorage(obj, res)
	switch {
	case t.Subresource == "status":
		keepAllButStatus(obj, old.Object())
	case res.Status:
		setStatus(obj, old.Object())
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	keepSystemFields(m, old.Meta())
	if t.Subresource == "" {
		setDefaults(obj)
		if err := s.prepareUpdate(obj, old.Object()); err != nil {
			return nil, err
		}
	}
	if err := s.updateManagers(t, old, obj, opts); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if err := validateUpdate(res, obj, m, old); err != nil {
		return nil, err
	}
	return s.store(t, old, obj, m, opts)
}

// store commits an updated object, unless nothing changed: then the current
// state stays and no watcher sees an event, as in Kubernetes.
func (s *Store) store(t Target, old *object.Revision, obj runtime.Object, m metav1.Object, opts WriteOptions) (*object.Revision, error) {
	res := t.Resource
	next, err := object.New(res.Storage, obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if old.EqualContent(next) {
		return old, nil
	}
	if res.Generation && !old.EqualSpec(next) {
		m.SetGeneration(old.Meta().GetGeneration() + 1)
		if next, err = object.New(res.Storage, obj); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	if opts.DryRun {
		next.SetVersion(old.Version)
		return next, nil
	}
	if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 && graceOver(m) {
		return s.deleteNow(res, old) // The last finalizer is gone: so is the object.
	}
	if err := s.commit(res, old, next, nil); err != nil {
		return nil, err
	}
	if res.GroupResource() == kinds.Definitions() {
		err = s.serveDefinition(obj)
	}
	return next, err
}
