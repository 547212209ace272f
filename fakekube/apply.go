package fakekube

import (
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

// merger does server-side apply with Kubernetes' own field managers. The
// schemas of the built-in kinds are parsed when they are first needed; custom
// kinds are merged by the shape of their data.
type merger struct {
	scheme *runtime.Scheme
	types  func() managedfields.TypeConverter
}

func newMerger(scheme *runtime.Scheme) *merger {
	return &merger{scheme: scheme, types: sync.OnceValue(func() managedfields.TypeConverter {
		return applyconfigurations.NewTypeConverter(scheme)
	})}
}

func (m *merger) manager(t target) (*managedfields.FieldManager, error) {
	gvk := t.res.gvk
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	if t.res.status && t.subresource == "" {
		reset[fieldpath.APIVersion(gvk.GroupVersion().String())] = fieldpath.NewExcludeSetFilter(
			fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
	}
	if t.res.typed {
		return managedfields.NewDefaultFieldManager(m.types(), m.scheme, asIs{}, m.scheme,
			gvk, gvk.GroupVersion(), t.subresource, reset)
	}
	return managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), asIs{}, asIs{}, asIs{},
		gvk, gvk.GroupVersion(), t.subresource, reset)
}

// merge applies a configuration to the current state (an empty object when
// there is none).
func (m *merger) merge(t target, live, config runtime.Object, manager string, force bool) (runtime.Object, error) {
	fm, err := m.manager(t)
	if err != nil {
		return nil, err
	}
	out, err := fm.Apply(live, config, manager, force)
	if err != nil {
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			return nil, err
		}
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return out, nil
}

// track keeps managedFields right on an object that was applied before; those
// of other objects are not kept, for they would cost each write a merge.
func (m *merger) track(t target, cur *record, obj runtime.Object, om metav1.Object, manager string) error {
	if len(cur.metadata().GetManagedFields()) == 0 || manager == applied {
		if manager != applied {
			om.SetManagedFields(nil)
		}
		return nil
	}
	if manager == "" {
		manager = "unknown"
	}
	fm, err := m.manager(t)
	if err != nil {
		return err
	}
	live, next := cur.copyOut(t.res), obj
	live.GetObjectKind().SetGroupVersionKind(t.res.gvk)
	next.GetObjectKind().SetGroupVersionKind(t.res.gvk)
	out := fm.UpdateNoErrors(live, next, manager)
	setTypeMeta(next, t.res.storage)
	outMeta, err := meta.Accessor(out)
	if err != nil {
		return err
	}
	om.SetManagedFields(outMeta.GetManagedFields())
	return nil
}

// applied stands for the manager of a write whose managedFields merge has set.
const applied = "\x00applied"

// apply is PATCH with an apply configuration: create or merge.
func (s *Store) apply(t target, data []byte, force bool, opts writeOptions) (rec *record, created bool, err error) {
	config := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &config.Object); err != nil {
		return nil, false, apierrors.NewBadRequest("error decoding YAML: " + err.Error())
	}
	if config.Object == nil {
		config.Object = map[string]any{}
	}
	if err := checkApplied(t, config); err != nil {
		return nil, false, err
	}
	given := given{uid: config.GetUID(), version: config.GetResourceVersion()}
	manager := opts.manager
	opts.manager = applied
	for {
		rec, err = s.replace(t, opts, func(cur *record) (runtime.Object, error) {
			if given.version != "" {
				if err := given.check(t, cur); err != nil {
					return nil, err
				}
			}
			live := cur.copyOut(t.res)
			live.GetObjectKind().SetGroupVersionKind(t.res.gvk)
			return s.merger.merge(t, live, config.DeepCopy(), manager, force)
		})
		if !apierrors.IsNotFound(err) || t.subresource != "" || given.uid != "" {
			return rec, false, err
		}
		rec, err = s.applyNew(t, config.DeepCopy(), manager, opts)
		if !apierrors.IsAlreadyExists(err) {
			return rec, err == nil, err
		}
	}
}

func (s *Store) applyNew(t target, config *unstructured.Unstructured, manager string, opts writeOptions) (*record, error) {
	var live runtime.Object = &unstructured.Unstructured{Object: map[string]any{}}
	if t.res.typed {
		var err error
		if live, err = s.newTyped(t.res.gvk); err != nil {
			return nil, err
		}
	}
	live.GetObjectKind().SetGroupVersionKind(t.res.gvk)
	obj, err := s.merger.merge(t, live, config, manager, false)
	if err != nil {
		return nil, err
	}
	return s.create(t.res, t.key.namespace, obj, opts)
}

func checkApplied(t target, config *unstructured.Unstructured) error {
	if config.GetAPIVersion() == "" || config.GetKind() == "" {
		return apierrors.NewBadRequest("invalid object type: /, Kind=: an applied configuration must set apiVersion and kind")
	}
	if config.GroupVersionKind() != t.res.gvk {
		return apierrors.NewBadRequest("the applied configuration is a " + config.GroupVersionKind().String() +
			", the URL is of " + t.res.gvk.String())
	}
	if config.GetManagedFields() != nil {
		return apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	if err := checkName(config, t.key.name); err != nil {
		return err
	}
	return checkNamespace(config, t.res, t.key.namespace)
}
