package store

import (
	"encoding/json"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/xdsbench/xdsbench/fakekube/internal/kinds"
	"github.com/xdsbench/xdsbench/fakekube/internal/object"
)

// Patch is a patch of any type.
type Patch struct {
	Type  types.PatchType
	Data  []byte
	Force bool // of an apply: take fields over from other managers
}

// Patch changes an object. Created says that an apply made it.
func (s *Store) Patch(t Target, p Patch, opts WriteOptions) (rev *object.Revision, created bool, err error) {
	switch p.Type {
	case types.ApplyYAMLPatchType:
		if opts.FieldManager == "" {
			return nil, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "",
				field.ErrorList{field.Required(field.NewPath("fieldManager"), "is required for apply patch")})
		}
		return s.apply(t, p, opts)
	case types.StrategicMergePatchType:
		if !t.Resource.Typed {
			return nil, false, rejected(http.StatusUnsupportedMediaType,
				"the body of the request was in an unknown format - accepted media types include: "+
					"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
		}
	case types.JSONPatchType, types.MergePatchType:
	default:
		return nil, false, rejected(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
	}
	rev, err = s.replace(t, opts, func(old *object.Revision) (runtime.Object, error) { return patched(t, old, p) })
	return rev, false, err
}

// patched is the current state with the patch.
func patched(t Target, old *object.Revision, p Patch) (runtime.Object, error) {
	before, err := old.Encode(t.Resource, object.Format{})
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	data, err := patchJSON(t.Resource, before.Data, p)
	if err != nil {
		return nil, err
	}
	obj, err := fromJSON(t.Resource, data)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := t.claim(m); err != nil {
		return nil, err
	}
	// An object has the current version, unless the patch sets another: then
	// that is a precondition. A patch that removes it has none.
	must := precondition{uid: m.GetUID(), version: m.GetResourceVersion()}
	if must.version == "" {
		must.version = old.Meta().GetResourceVersion()
	}
	return obj, must.check(t, old)
}

func patchJSON(res *kinds.Resource, before []byte, p Patch) (after []byte, err error) {
	switch p.Type {
	case types.JSONPatchType:
		var ops jsonpatch.Patch
		if ops, err = jsonpatch.DecodePatch(p.Data); err == nil {
			if after, err = ops.Apply(before); err != nil {
				return nil, rejected(http.StatusUnprocessableEntity, err.Error())
			}
		}
	case types.StrategicMergePatchType:
		var typed runtime.Object
		if typed, err = scheme.Scheme.New(res.GVK); err == nil {
			after, err = strategicpatch.StrategicMergePatch(before, p.Data, typed)
		}
	default:
		var mustBeObject map[string]any
		if err = json.Unmarshal(p.Data, &mustBeObject); err == nil {
			after, err = jsonpatch.MergePatch(before, p.Data)
		}
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	return after, nil
}

// fromJSON decodes an object of a served version.
func fromJSON(res *kinds.Resource, data []byte) (runtime.Object, error) {
	if !res.Typed {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return u, nil
	}
	obj, err := scheme.Scheme.New(res.GVK)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, obj); err != nil {
		return nil, rejected(http.StatusUnprocessableEntity, err.Error())
	}
	return obj, nil
}

func rejected(code int, message string) error {
	err := apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, false)
	err.ErrStatus.Message = message
	return err
}
