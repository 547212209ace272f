package kinds

import (
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Definitions names the resource of CustomResourceDefinitions, which are served
// as untyped JSON: their Go types are not part of client-go.
func Definitions() schema.GroupResource {
	return schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group    string              `json:"group"`
		Scope    string              `json:"scope"`
		Names    definitionNames     `json:"names"`
		Versions []definitionVersion `json:"versions"`
	} `json:"spec"`
}

type definitionNames struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind"`
	ShortNames []string `json:"shortNames,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

type definitionVersion struct {
	Name         string             `json:"name"`
	Served       bool               `json:"served"`
	Storage      bool               `json:"storage"`
	Schema       any                `json:"schema,omitempty"`
	Columns      []definitionColumn `json:"additionalPrinterColumns,omitempty"`
	Subresources struct {
		Status *struct{} `json:"status,omitempty"`
	} `json:"subresources"`
}

type definitionColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	JSONPath string `json:"jsonPath"`
	Priority int    `json:"priority,omitempty"`
}

func parseDefinition(u *unstructured.Unstructured) (definition, error) {
	var d definition
	data, err := u.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	return d, err
}

// ValidateDefinition lists what is wrong with a CustomResourceDefinition.
func ValidateDefinition(u *unstructured.Unstructured) field.ErrorList {
	spec := field.NewPath("spec")
	d, err := parseDefinition(u)
	if err != nil {
		return field.ErrorList{field.Invalid(spec, "", err.Error())}
	}
	var errs field.ErrorList
	for _, required := range []struct {
		at    *field.Path
		value string
	}{
		{spec.Child("group"), d.Spec.Group},
		{spec.Child("names", "plural"), d.Spec.Names.Plural},
		{spec.Child("names", "kind"), d.Spec.Names.Kind},
		{spec.Child("scope"), d.Spec.Scope},
	} {
		if required.value == "" {
			errs = append(errs, field.Required(required.at, ""))
		}
	}
	if scope := d.Spec.Scope; scope != "" && scope != "Namespaced" && scope != "Cluster" {
		errs = append(errs, field.NotSupported(spec.Child("scope"), scope, []string{"Cluster", "Namespaced"}))
	}
	if u.GetName() != d.Spec.Names.Plural+"."+d.Spec.Group {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), u.GetName(), "must be spec.names.plural+\".\"+spec.group"))
	}
	if stored := d.storageVersions(); len(stored) != 1 {
		errs = append(errs, field.Invalid(spec.Child("versions"), len(stored), "must have exactly one version marked as storage version"))
	}
	return errs
}

func (d definition) storageVersions() []string {
	var out []string
	for _, v := range d.Spec.Versions {
		if v.Storage {
			out = append(out, v.Name)
		}
	}
	return out
}

// EstablishDefinition completes a valid definition as Kubernetes' controllers
// would: the names' defaults and the conditions NamesAccepted and Established.
func EstablishDefinition(u *unstructured.Unstructured) error {
	d, err := parseDefinition(u)
	if err != nil {
		return err
	}
	names, _, err := unstructured.NestedMap(u.Object, "spec", "names")
	if err != nil {
		return err
	}
	if d.Spec.Names.Singular == "" {
		names["singular"] = strings.ToLower(d.Spec.Names.Kind)
	}
	if d.Spec.Names.ListKind == "" {
		names["listKind"] = d.Spec.Names.Kind + "List"
	}
	if err := unstructured.SetNestedMap(u.Object, names, "spec", "names"); err != nil {
		return err
	}
	if _, ok, _ := unstructured.NestedMap(u.Object, "spec", "conversion"); !ok {
		if err := unstructured.SetNestedField(u.Object, "None", "spec", "conversion", "strategy"); err != nil {
			return err
		}
	}
	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(kind, reason, message string) any {
		return map[string]any{
			"type": kind, "status": string(metav1.ConditionTrue), "lastTransitionTime": now, "reason": reason, "message": message,
		}
	}
	stored := []any{}
	for _, name := range d.storageVersions() {
		stored = append(stored, name)
	}
	return unstructured.SetNestedMap(u.Object, map[string]any{
		"acceptedNames":  names,
		"storedVersions": stored,
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found"),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
		},
	}, "status")
}

// FromDefinition returns the resource that an established definition names, and
// its versions that are to be served.
func FromDefinition(u *unstructured.Unstructured) (gr schema.GroupResource, served []*Resource, err error) {
	d, err := parseDefinition(u)
	if err != nil {
		return gr, nil, err
	}
	names := d.Spec.Names
	gr = schema.GroupResource{Group: d.Spec.Group, Resource: names.Plural}
	var storage *Resource
	for _, v := range d.Spec.Versions {
		r := &Resource{
			GVR: gr.WithVersion(v.Name), Singular: names.Singular, ListKind: names.ListKind,
			ShortNames: names.ShortNames, Categories: names.Categories,
			Namespaced: d.Spec.Scope == "Namespaced", Status: v.Subresources.Status != nil,
			Generation: true, RequireVersion: true, Columns: v.columns(),
		}
		r.GVK = r.GVR.GroupVersion().WithKind(names.Kind)
		if v.Storage {
			storage = r
		}
		if v.Served {
			served = append(served, r)
		}
	}
	for _, r := range served {
		r.Storage = storage
	}
	return gr, served, nil
}

func (v definitionVersion) columns() []Column {
	if len(v.Columns) == 0 {
		return []Column{{Name: "Age", Type: "date", Path: ".metadata.creationTimestamp"}}
	}
	var out []Column
	for _, c := range v.Columns {
		out = append(out, Column{Name: c.Name, Type: c.Type, Path: c.JSONPath, Wide: c.Priority > 0})
	}
	return out
}
