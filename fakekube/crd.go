package fakekube

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// crdResource names the resource of custom resource definitions, which are
// served as untyped JSON: their Go types are not part of client-go.
func crdResource() schema.GroupResource {
	return schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

func crdKind() *resource {
	r := &resource{
		gvk:        schema.GroupVersionKind{Group: crdResource().Group, Version: "v1", Kind: "CustomResourceDefinition"},
		gvr:        schema.GroupVersionResource{Group: crdResource().Group, Version: "v1", Resource: crdResource().Resource},
		singular:   "customresourcedefinition",
		listKind:   "CustomResourceDefinitionList",
		shortNames: []string{"crd", "crds"},
		categories: []string{"api-extensions"},
		status:     true, generation: true, conditional: true,
		columns: []column{{name: "Created At", kind: "string", path: ".metadata.creationTimestamp"}},
	}
	r.prepareHeads()
	return r
}

func validateCustomDefinition(u *unstructured.Unstructured) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	text := func(path ...string) string {
		v, _, err := unstructured.NestedString(u.Object, path...)
		if err != nil || v == "" {
			at := field.NewPath(path[0], path[1:]...)
			errs = append(errs, field.Required(at, "must be a string that is not empty"))
		}
		return v
	}
	group, plural := text("spec", "group"), text("spec", "names", "plural")
	text("spec", "names", "kind")
	if scope := text("spec", "scope"); scope != "" && scope != "Namespaced" && scope != "Cluster" {
		errs = append(errs, field.NotSupported(spec.Child("scope"), scope, []string{"Cluster", "Namespaced"}))
	}
	if want := plural + "." + group; u.GetName() != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), u.GetName(), "must be spec.names.plural+\".\"+spec.group"))
	}
	storage := 0
	for _, v := range versionsOf(u) {
		if v["storage"] == true {
			storage++
		}
	}
	if storage != 1 {
		errs = append(errs, field.Invalid(spec.Child("versions"), storage, "must have exactly one version marked as storage version"))
	}
	return errs
}

func versionsOf(u *unstructured.Unstructured) []map[string]any {
	list, _, err := unstructured.NestedSlice(u.Object, "spec", "versions")
	if err != nil {
		return nil
	}
	var out []map[string]any
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// establish completes a definition as Kubernetes' controllers would: the
// names' defaults and the conditions NamesAccepted and Established.
func establish(u *unstructured.Unstructured) error {
	names, _, err := unstructured.NestedMap(u.Object, "spec", "names")
	if err != nil {
		return err
	}
	kind, _ := names["kind"].(string)
	if names["singular"] == nil {
		names["singular"] = strings.ToLower(kind)
	}
	if names["listKind"] == nil {
		names["listKind"] = kind + "List"
	}
	stored := []any{}
	for _, v := range versionsOf(u) {
		if v["storage"] == true {
			stored = append(stored, v["name"])
		}
	}
	now := nowSeconds().UTC().Format("2006-01-02T15:04:05Z")
	condition := func(kind, reason, message string) any {
		return map[string]any{
			"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message,
		}
	}
	u.Object["status"] = map[string]any{
		"acceptedNames":  names,
		"storedVersions": stored,
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found"),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
		},
	}
	spec, _ := u.Object["spec"].(map[string]any)
	spec["names"] = runtime.DeepCopyJSON(map[string]any{"n": names})["n"]
	if spec["conversion"] == nil {
		spec["conversion"] = map[string]any{"strategy": "None"}
	}
	return nil
}

// serveCustom registers what an established definition describes.
func (s *Store) serveCustom(rec *record) error {
	u, ok := rec.object().(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	gr := schema.GroupResource{Group: group, Resource: customName(u, "plural")}
	scope, _, _ := unstructured.NestedString(u.Object, "spec", "scope")
	table := s.tableFor(gr)
	var served []*resource
	var storage *resource
	for _, v := range versionsOf(u) {
		r := &resource{
			gvr: gr.WithVersion(textOf(v["name"])), singular: customName(u, "singular"), listKind: customName(u, "listKind"),
			shortNames: customNames(u, "shortNames"), categories: customNames(u, "categories"),
			namespaced: scope == "Namespaced", generation: true, conditional: true, table: table,
			columns: customColumns(v),
		}
		r.gvk = r.gvr.GroupVersion().WithKind(customName(u, "kind"))
		_, r.status, _ = unstructured.NestedMap(v, "subresources", "status")
		r.prepareHeads()
		if v["storage"] == true {
			storage = r
		}
		if v["served"] == true {
			served = append(served, r)
		}
	}
	for _, r := range served {
		r.storage = storage
	}
	s.kinds.add(served...)
	s.kinds.remove(gr, served...)
	return nil
}

// dropCustom deletes a definition's objects and stops serving them.
func (s *Store) dropCustom(crd *record) error {
	u, ok := crd.object().(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	gr := schema.GroupResource{Group: group, Resource: customName(u, "plural")}
	for _, r := range s.kinds.all() {
		if r.groupResource() != gr {
			continue
		}
		records, _ := s.list(r, selection{labels: labels.Everything(), fields: fields.Everything(), view: r})
		for _, rec := range records {
			if err := s.force(r, rec.key); err != nil {
				return err
			}
		}
		break
	}
	s.kinds.remove(gr)
	return nil
}

func customName(u *unstructured.Unstructured, name string) string {
	v, _, _ := unstructured.NestedString(u.Object, "spec", "names", name)
	return v
}

func customNames(u *unstructured.Unstructured, name string) []string {
	v, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "names", name)
	return v
}

func customColumns(version map[string]any) []column {
	list, _ := version["additionalPrinterColumns"].([]any)
	var out []column
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			priority, _ := m["priority"].(int64)
			out = append(out, column{name: textOf(m["name"]), kind: textOf(m["type"]), path: textOf(m["jsonPath"]), wide: priority > 0})
		}
	}
	if out == nil {
		out = []column{{name: "Age", kind: "date", path: ".metadata.creationTimestamp"}}
	}
	return out
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}
