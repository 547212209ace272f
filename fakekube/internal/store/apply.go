package store

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// fieldManager merges with Kubernetes' own code: the built-in kinds by their
// schemas, custom ones by the shape of their data.
func (s *Store) fieldManager(t Target) (*managedfields.FieldManager, error) {
	gvk := t.Resource.GVK
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	if t.Resource.Status && t.Subresource == "" {
		reset[fieldpath.APIVersion(gvk.GroupVersion().String())] = fieldpath.NewExcludeSetFilter(
			fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
	}
	if t.Resource.Typed {
		return managedfields.NewDefaultFieldManager(s.builtinTypes(), scheme.Scheme, scheme.Scheme, scheme.Scheme,
			gvk, gvk.GroupVersion(), t.Subresource, reset)
	}
	return managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), unconverted{scheme.Scheme},
		unstructuredscheme.NewUnstructuredDefaulter(), unstructuredscheme.NewUnstructuredCreator(),
		gvk, gvk.GroupVersion(), t.Subresource, reset)
}

// unconverted leaves objects as they are: they are already of the version that
// the field manager works in.
type unconverted struct{ runtime.ObjectConvertor }

// ConvertToVersion returns the object itself.
func (unconverted) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// merge applies a configuration to the current state, or to an empty object.
func (s *Store) merge(t Target, live, config runtime.Object, manager string, force bool) (runtime.Object, error) {
	fm, err := s.fieldManager(t)
	if err != nil {
		return nil, err
	}
	live.GetObjectKind().SetGroupVersionKind(t.Resource.GVK)
	out, err := fm.Apply(live, config, manager, force)
	var status apierrors.APIStatus
	if err != nil && !errors.As(err, &status) {
		err = apierrors.NewBadRequest(err.Error())
	}
	return out, err
}

// updateManagers keeps managedFields right on an object that server-side apply
// has touched; those of other objects are not kept, for they would cost each
// write a merge.
func (s *Store) updateManagers(t Target, old *object.Revision, obj runtime.Object, opts WriteOptions) error {
	if opts.managersSet {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if len(old.Meta().GetManagedFields()) == 0 {
		m.SetManagedFields(nil)
		return nil
	}
	if opts.FieldManager == "" {
		opts.FieldManager = "unknown"
	}
	fm, err := s.fieldManager(t)
	if err != nil {
		return err
	}
	live, stored := old.CopyAs(t.Resource), obj.GetObjectKind().GroupVersionKind()
	live.GetObjectKind().SetGroupVersionKind(t.Resource.GVK)
	obj.GetObjectKind().SetGroupVersionKind(t.Resource.GVK)
	defer obj.GetObjectKind().SetGroupVersionKind(stored)
	updated, err := meta.Accessor(fm.UpdateNoErrors(live, obj, opts.FieldManager))
	if err != nil {
		return err
	}
	m.SetManagedFields(updated.GetManagedFields())
	return nil
}

// apply is PATCH with an apply configuration: create or merge.
func (s *Store) apply(t Target, p Patch, opts WriteOptions) (rev *object.Revision, created bool, err error) {
	config := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(p.Data, &config.Object); err != nil {
		return nil, false, apierrors.NewBadRequest("error decoding YAML: " + err.Error())
	}
	if config.Object == nil {
		config.Object = map[string]any{}
	}
	if err := checkConfiguration(t, config); err != nil {
		return nil, false, err
	}
	must := precondition{uid: config.GetUID(), version: config.GetResourceVersion()}
	opts.managersSet = true
	for {
		rev, err = s.replace(t, opts, func(old *object.Revision) (runtime.Object, error) {
			if must.version != "" {
				if err := must.check(t, old); err != nil {
					return nil, err
				}
			}
			return s.merge(t, old.CopyAs(t.Resource), config.DeepCopy(), opts.FieldManager, p.Force)
		})
		if !apierrors.IsNotFound(err) || t.Subresource != "" || must.uid != "" {
			return rev, false, err
		}
		rev, err = s.applyNew(t, config.DeepCopy(), opts)
		if !apierrors.IsAlreadyExists(err) {
			return rev, err == nil, err
		}
	}
}

func (s *Store) applyNew(t Target, config *unstructured.Unstructured, opts WriteOptions) (*object.Revision, error) {
	var live runtime.Object = &unstructured.Unstructured{Object: map[string]any{}}
	if t.Resource.Typed {
		var err error
		if live, err = scheme.Scheme.New(t.Resource.GVK); err != nil {
			return nil, err
		}
	}
	obj, err := s.merge(t, live, config, opts.FieldManager, false)
	if err != nil {
		return nil, err
	}
	return s.Create(t.Resource, t.Key.Namespace, obj, opts)
}

func checkConfiguration(t Target, config *unstructured.Unstructured) error {
	if config.GetAPIVersion() == "" || config.GetKind() == "" {
		return apierrors.NewBadRequest("invalid object type: /, Kind=: an applied configuration must set apiVersion and kind")
	}
	if config.GroupVersionKind() != t.Resource.GVK {
		return apierrors.NewBadRequest("the applied configuration is a " + config.GroupVersionKind().String() +
			", the URL is of " + t.Resource.GVK.String())
	}
	if config.GetManagedFields() != nil {
		return apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	return t.claim(config)
}
