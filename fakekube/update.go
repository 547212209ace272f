package fakekube

import (
	"bytes"
	"errors"
	"maps"
	"reflect"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// target is the object that a write is about.
type target struct {
	res         *resource
	key         key
	subresource string // "" or "status"
}

// update replaces an object with obj, which it takes over. Created says that
// it did not exist and the kind lets an update create it.
func (s *Store) update(t target, obj runtime.Object, opts writeOptions) (rec *record, created bool, err error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	if err := checkNamespace(m, t.res, t.key.namespace); err != nil {
		return nil, false, err
	}
	if err := checkName(m, t.key.name); err != nil {
		return nil, false, err
	}
	given := given{uid: m.GetUID(), version: m.GetResourceVersion()}
	rec, err = s.replace(t, opts, func(cur *record) (runtime.Object, error) {
		return obj, given.check(t, cur)
	})
	if apierrors.IsNotFound(err) && t.res.createOnUpdate && t.subresource == "" && given.version == "" {
		rec, err = s.create(t.res, t.key.namespace, obj, opts)
		return rec, err == nil, err
	}
	return rec, false, err
}

// checkName refuses a body about another object than the URL's.
func checkName(m metav1.Object, name string) error {
	if m.GetName() == "" {
		m.SetName(name)
	}
	if m.GetName() != name {
		return apierrors.NewBadRequest("the name of the object (" + m.GetName() +
			") does not match the name on the URL (" + name + ")")
	}
	return nil
}

// given is what a write says of the state it was made from.
type given struct {
	uid     types.UID
	version string
}

func (g given) check(t target, cur *record) error {
	if err := checkUID(t.res, t.key.name, g.uid, cur.metadata().GetUID()); err != nil {
		return err
	}
	if g.version == "" && t.res.conditional {
		return apierrors.NewInvalid(t.res.gvk.GroupKind(), t.key.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	}
	if g.version != "" && g.version != cur.metadata().GetResourceVersion() {
		return errStale(t)
	}
	return nil
}

func errStale(t target) error {
	return apierrors.NewConflict(t.res.groupResource(), t.key.name, errors.New(
		"the object has been modified; please apply your changes to the latest version and try again"))
}

// replace stores what produce makes of the current state, again if the state
// changed meanwhile. Produce gives up what it returns, and may return the same
// object again.
func (s *Store) replace(t target, opts writeOptions, produce func(*record) (runtime.Object, error)) (*record, error) {
	for {
		cur, err := s.get(t.res, t.key.namespace, t.key.name)
		if err != nil {
			return nil, err
		}
		obj, err := produce(cur)
		if err != nil {
			return nil, err
		}
		rec, err := s.replaceOnce(t, cur, obj, opts)
		if errors.Is(err, errChanged) {
			continue
		}
		return rec, err
	}
}

func (s *Store) replaceOnce(t target, cur *record, obj runtime.Object, opts writeOptions) (*record, error) {
	res := t.res
	if res != res.storage {
		obj = convert(obj, res.storage)
	}
	setTypeMeta(obj, res.storage)
	switch {
	case t.subresource == "status":
		keepAllButStatus(obj, cur.object())
	case res.status:
		keepStatus(obj, cur.object())
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	setSystemFields(m, cur.metadata())
	if t.subresource == "" {
		setDefaults(obj)
		if err := s.prepareUpdate(obj, cur.object()); err != nil {
			return nil, err
		}
	}
	if err := s.merger.track(t, cur, obj, m, opts.manager); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if err := validateUpdate(res, m, cur); err != nil {
		return nil, err
	}
	return s.store(t, cur, obj, m, opts)
}

// store commits an updated object, unless nothing changed: then the current
// state stays and nobody is told, as in Kubernetes.
func (s *Store) store(t target, cur *record, obj runtime.Object, m metav1.Object, opts writeOptions) (*record, error) {
	res := t.res
	raw, err := encodeRaw(obj, m)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if same(cur, obj, m, raw) {
		return cur, nil
	}
	if res.generation && specChanged(res, cur, obj, raw) {
		m.SetGeneration(cur.metadata().GetGeneration() + 1)
		if raw, err = encodeRaw(obj, m); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	if opts.dryRun {
		return newRecord(t.key, obj, raw, cur.rv), nil
	}
	if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 && graceOver(m) {
		// The last finalizer is gone: the object goes, too.
		return s.finish(res, cur)
	}
	rec, err := s.commit(res, t.key, cur, obj, raw, nil)
	if err != nil {
		return nil, err
	}
	return rec, s.afterWrite(res, rec)
}

func same(cur *record, obj runtime.Object, m metav1.Object, raw []byte) bool {
	if raw != nil {
		return bytes.Equal(raw, cur.raw)
	}
	m.SetResourceVersion(cur.metadata().GetResourceVersion())
	return reflect.DeepEqual(obj, cur.object())
}

func specChanged(res *resource, cur *record, obj runtime.Object, raw []byte) bool {
	if raw == nil {
		now, ok := obj.(*unstructured.Unstructured)
		was, ok2 := cur.object().(*unstructured.Unstructured)
		return ok && ok2 && !sameSpec(now, was)
	}
	if now, ok := obj.(*discoveryv1.EndpointSlice); ok {
		// An EndpointSlice's labels count, too.
		if was, ok := cur.object().(*discoveryv1.EndpointSlice); ok && !maps.Equal(now.Labels, was.Labels) {
			return true
		}
	}
	return !bytes.Equal(specBytes(raw, res.status), specBytes(cur.raw, res.status))
}
