package fakekube

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
)

// patchRequest is a patch of any type.
type patchRequest struct {
	kind  types.PatchType
	data  []byte
	force bool // of an apply: take fields over from other managers
}

// patch changes an object. Created says that an apply made it.
func (s *Store) patch(t target, p patchRequest, opts writeOptions) (rec *record, created bool, err error) {
	switch p.kind {
	case types.ApplyYAMLPatchType:
		if opts.manager == "" {
			return nil, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "",
				field.ErrorList{field.Required(field.NewPath("fieldManager"), "is required for apply patch")})
		}
		return s.apply(t, p.data, p.force, opts)
	case types.StrategicMergePatchType:
		if !t.res.typed {
			return nil, false, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
				"the body of the request was in an unknown format - accepted media types include: "+
					"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
		}
	case types.JSONPatchType, types.MergePatchType:
	case types.ApplyCBORPatchType:
		fallthrough
	default:
		return nil, false, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"415: Unsupported Media Type")
	}
	rec, err = s.replace(t, opts, func(cur *record) (runtime.Object, error) { return s.patched(t, cur, p) })
	return rec, false, err
}

// patched is the current state with the patch.
func (s *Store) patched(t target, cur *record, p patchRequest) (runtime.Object, error) {
	was, err := cur.encode(t.res, formJSON)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	data, err := s.patchJSON(t, was.data, p)
	if err != nil {
		return nil, err
	}
	obj, err := s.fromJSON(t.res, data)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := checkName(m, t.key.name); err != nil {
		return nil, err
	}
	if err := checkNamespace(m, t.res, t.key.namespace); err != nil {
		return nil, err
	}
	// An unpatched object has the state's own version; one that a patch has
	// changed is a precondition.
	if v := m.GetResourceVersion(); v != "" && v != cur.metadata().GetResourceVersion() {
		return nil, errStale(t)
	}
	return obj, checkUID(t.res, t.key.name, m.GetUID(), cur.metadata().GetUID())
}

func (s *Store) patchJSON(t target, was []byte, p patchRequest) ([]byte, error) {
	switch p.kind { //nolint:exhaustive // The caller has sorted out the others.
	case types.JSONPatchType:
		ops, err := jsonpatch.DecodePatch(p.data)
		if err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		out, err := ops.Apply(was)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return out, nil
	case types.StrategicMergePatchType:
		typed, err := s.newTyped(t.res.gvk)
		if err != nil {
			return nil, err
		}
		out, err := strategicpatch.StrategicMergePatch(was, p.data, typed)
		if err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		return out, nil
	}
	var object map[string]any
	if err := json.Unmarshal(p.data, &object); err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	out, err := jsonpatch.MergePatch(was, p.data)
	if err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	return out, nil
}

// fromJSON decodes an object of a served version.
func (s *Store) fromJSON(res *resource, data []byte) (runtime.Object, error) {
	if !res.typed {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(data); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return u, nil
	}
	obj, err := s.newTyped(res.gvk)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, obj); err != nil {
		return nil, statusError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	}
	return obj, nil
}
