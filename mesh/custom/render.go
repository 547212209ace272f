package custom

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Object is one object to be created.
type Object struct {
	*unstructured.Unstructured
	// Field is the field of the profile that it is of, such as mesh.objects[0].template.
	Field string
	// Home is the namespace that it is put in if its kind is namespaced and it names
	// none; "" if there is no such.
	Home string
}

// Mesh is what the templates are rendered for. Labels are added to each object.
type Mesh struct {
	Namespaces []string
	Services   []*corev1.Service
	Labels     map[string]string
}

// Render makes the objects of the entries of mesh.objects. The error lists what is wrong
// with them, a line each, that begins with the profile's field. It tells of the first
// service or namespace alone for which an entry fails: what is wrong for one is mostly
// wrong for all.
func Render(templates []Template, m Mesh) ([]Object, error) {
	var objects []Object
	var problems []error
	whole := wholeOf(m.Namespaces, m.Services)
	seen := map[string]string{}
	for i := range templates {
		t := &templates[i]
		parsed, err := t.parse()
		if err != nil {
			continue // which Validate reports
		}
		field := fmt.Sprintf("mesh.objects[%d].template", i)
		for _, inst := range t.instances(whole) {
			var out bytes.Buffer
			var made []*unstructured.Unstructured
			err := oneLine(parsed.Execute(&out, inst.data))
			if err == nil {
				made, err = documents(out.Bytes())
				err = within(t.File.name()+": rendered for "+inst.what, err)
			}
			for _, o := range made {
				err = errors.Join(err, within(t.File.name()+": rendered for "+inst.what, m.admit(o, seen, inst.what)))
				objects = append(objects, Object{Unstructured: o, Field: field, Home: inst.home})
			}
			if err != nil {
				problems = append(problems, within(field, err))
				break
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return objects, nil
}

// admit checks an object and gives it the labels. seen has the objects before, by kind,
// namespace and name, and what they were rendered for.
func (m *Mesh) admit(o *unstructured.Unstructured, seen map[string]string, what string) error {
	name := o.GetKind() + " " + o.GetName()
	if namespace := o.GetNamespace(); namespace != "" && !slices.Contains(m.Namespaces, namespace) {
		return fmt.Errorf("%s is in the namespace %q, which is not one of the mesh: there are %s", name, namespace, someOf(m.Namespaces))
	}
	key := strings.Join([]string{o.GroupVersionKind().GroupKind().String(), o.GetNamespace(), o.GetName()}, "/")
	if o.GetNamespace() == "" {
		key += "/" + what // it may be put into the namespace of what it is rendered for
	}
	if before, ok := seen[key]; ok {
		return fmt.Errorf("%s was rendered for %s already: put the service's or the namespace's name into its name", name, before)
	}
	seen[key] = what
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, m.Labels)
	o.SetLabels(labels)
	return nil
}

// Definitions reads the CustomResourceDefinitions of the files of mesh.crds, and gives
// them the labels. The error lists what is wrong with them, a line each, that begins
// with the profile's field.
func Definitions(files []File, labels map[string]string) ([]Object, error) {
	var all []Object
	var problems []error
	for i := range files {
		f, field := &files[i], fmt.Sprintf("mesh.crds[%d]", i)
		if f.Text == "" && f.Path == "" {
			problems = append(problems, within(field, errNoFile))
		}
		made, err := documents([]byte(f.Text))
		for _, o := range made {
			if o.GetKind() != "CustomResourceDefinition" {
				err = errors.Join(err, fmt.Errorf("%s %s is no CustomResourceDefinition: other objects belong into mesh.objects", o.GetKind(), o.GetName()))
				continue
			}
			if o.GetAPIVersion() != "apiextensions.k8s.io/v1" {
				err = errors.Join(err, fmt.Errorf("%s is of %s: must be of apiextensions.k8s.io/v1", o.GetName(), o.GetAPIVersion()))
			}
			own := maps.Clone(o.GetLabels())
			if own == nil {
				own = map[string]string{}
			}
			maps.Copy(own, labels)
			o.SetLabels(own)
			all = append(all, Object{Unstructured: o, Field: field})
		}
		if err != nil {
			problems = append(problems, within(field+": "+f.name(), err))
		}
	}
	return all, errors.Join(problems...)
}

// documents reads the objects of a YAML text. Empty documents are left out. The
// error lists all problems, with their lines.
func documents(text []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	var problems []error
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for {
		var document yamlv3.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all, errors.Join(problems...)
		}
		if err != nil {
			problem := strings.TrimPrefix(err.Error(), "yaml: ")
			return all, errors.Join(append(problems, fmt.Errorf("not valid YAML: %s", strings.Join(strings.Fields(problem), " ")))...)
		}
		o, err := object(&document)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("line %d: %w", document.Content[0].Line, err))
		case o != nil:
			all = append(all, o)
		}
	}
}

// object makes an object of a document, nil of an empty one.
func object(document *yamlv3.Node) (*unstructured.Unstructured, error) {
	root := document.Content[0]
	if root.Kind == yamlv3.ScalarNode && root.Tag == "!!null" {
		return nil, nil //nolint:nilnil // there is no object, and nothing is wrong
	}
	if root.Kind != yamlv3.MappingNode {
		return nil, errors.New("the document is no object: it is not a mapping")
	}
	text, err := yamlv3.Marshal(root)
	if err != nil {
		return nil, oneLine(err)
	}
	content := map[string]any{}
	// As kubectl reads YAML: by way of JSON.
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err == nil {
		err = json.Unmarshal(asJSON, &content)
	}
	if err != nil {
		return nil, oneLine(err)
	}
	o := &unstructured.Unstructured{Object: content}
	var missing []string
	for _, field := range []struct{ name, value string }{
		{"apiVersion", o.GetAPIVersion()}, {"kind", o.GetKind()}, {"metadata.name", o.GetName()},
	} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the object has no %s", strings.Join(missing, " and no "))
	}
	return o, nil
}

// within puts a text before each line of an error.
func within(before string, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(before + ": " + strings.ReplaceAll(err.Error(), "\n", "\n"+before+": "))
}

// someOf lists names, not too many of them.
func someOf(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
