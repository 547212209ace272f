package custom_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/xdsbench/xdsbench/mesh/custom"
)

// twoServices is a mesh of two namespaces with a service each, the second headless.
func twoServices() custom.Mesh {
	service := func(name, namespace, ip string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{
				{Name: "http-80", Port: 80, TargetPort: intstr.FromInt32(8080)},
				{Name: "dns", Port: 53, TargetPort: intstr.FromInt32(53), Protocol: corev1.ProtocolUDP},
			}},
		}
	}
	return custom.Mesh{
		Namespaces: []string{"xb-0", "xb-1"},
		Services:   []*corev1.Service{service("svc-0", "xb-0", ""), service("svc-1", "xb-1", corev1.ClusterIPNone)},
		Labels:     map[string]string{"run": "one"},
	}
}

// perService is an entry for each service with this template.
func perService(text string) custom.Template {
	return custom.Template{PerService: true, File: custom.File{Path: "t.yaml", Text: text}}
}

const header = "apiVersion: example.com/v1\nkind: Route\n"

func TestTemplatesSeeServicesNamespacesAndPorts(t *testing.T) {
	t.Parallel()
	ports := `{{range .Ports}}{{.Name}}={{.Number}}:{{.TargetPort}}/{{.Protocol}} {{end}}`
	objects, err := custom.Render([]custom.Template{
		perService(header + "metadata: {name: '{{.Name}}', labels: {own: 'yes'}}\nspec: {at: '{{.Index}} {{.Host}} {{.Namespace}} {{.Headless}}', ports: '" + ports + "'}"),
		{PerNamespace: true, File: custom.File{Text: header + "metadata: {name: 'of-{{.Index}}-{{.Name}}'}\nspec: {services: '{{range .Services}}{{.Name}} {{end}}'}"}},
		{Once: true, File: custom.File{Text: `{{range .Namespaces}}---
` + header + `metadata: {name: once, namespace: {{.Name}}}
spec: {services: {{len $.Services}}}
{{end}}---
`}},
	}, twoServices())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		text, err := json.Marshal(o.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{o.GetName(), o.GetNamespace(), o.Home, string(text)}, "|"))
		if o.GetLabels()["run"] != "one" {
			t.Errorf("%s: labels %v", o.GetName(), o.GetLabels())
		}
	}
	want := []string{
		`svc-0||xb-0|{"at":"0 svc-0.xb-0.svc.cluster.local xb-0 false","ports":"http-80=80:8080/TCP dns=53:53/UDP "}`,
		`svc-1||xb-1|{"at":"1 svc-1.xb-1.svc.cluster.local xb-1 true","ports":"http-80=80:8080/TCP dns=53:53/UDP "}`,
		`of-0-xb-0||xb-0|{"services":"svc-0 "}`,
		`of-1-xb-1||xb-1|{"services":"svc-1 "}`,
		`once|xb-0||{"services":2}`,
		`once|xb-1||{"services":2}`,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	if objects[0].GetLabels()["own"] != "yes" {
		t.Errorf("a label of the template's own is gone: %v", objects[0].GetLabels())
	}
}

func TestProblemsOfRenderedObjectsNameFileLineAndService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"unknown field":     {header + "metadata:\n  name: {{.Nope}}\n", "mesh.objects[0].template: t.yaml:4:10: "},
		"not YAML":          {header + "metadata: {name: x\n", "t.yaml: rendered for service xb-0/svc-0: not valid YAML: line "},
		"no name":           {"\n\nspec: {}\n", "t.yaml: rendered for service xb-0/svc-0: line 3: the object has no apiVersion and no kind and no metadata.name"},
		"no object":         {"- a\n", "rendered for service xb-0/svc-0: line 1: the document is no object"},
		"key given twice":   {header + "metadata: {name: '{{.Name}}'}\nspec: {a: 1, a: 2}\n", "rendered for service xb-0/svc-0: line 1: "},
		"foreign namespace": {header + "metadata: {name: '{{.Name}}', namespace: prod}\n", `Route svc-0 is in the namespace "prod", which is not one of the mesh: there are xb-0, xb-1`},
		"same name twice":   {header + "metadata: {name: x, namespace: xb-0}\n", "service xb-1/svc-1: Route x was rendered for service xb-0/svc-0 already"},
	} {
		_, err := custom.Render([]custom.Template{perService(test.text)}, twoServices())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !strings.HasPrefix(line, "mesh.objects[0].template: ") {
				t.Errorf("%s: a line without its field: %q", name, line)
			}
		}
	}
}

func TestEntryWithoutExactlyOneScopeOrWithABrokenTemplateIsRefused(t *testing.T) {
	t.Parallel()
	for want, entry := range map[string]custom.Template{
		"0 of perService, perNamespace and once are true": {File: custom.File{Text: header}},
		"2 of perService, perNamespace and once are true": {Once: true, PerService: true, File: custom.File{Text: header}},
		"template: no file":     {Once: true},
		"template: t.yaml:2: ":  perService("a: b\nc: {{range}}\n"),
		"template: t.yaml:1: f": perService("{{toUpper .Name}}"),
	} {
		if err := entry.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestFileIsAPathOrItsTextToo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]custom.File{
		"t.yaml":                  {Path: "t.yaml"},
		"{path: t.yaml, text: x}": {Path: "t.yaml", Text: "x"},
		"{text: x}":               {Text: "x"},
	} {
		got := custom.File{Text: "of before"}
		if err := yaml.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	var f custom.File
	if err := yaml.Unmarshal([]byte("{pth: x}"), &f); err == nil {
		t.Error("a misspelled field was accepted")
	}
}

func TestFilesOfDefinitionsHoldNothingElse(t *testing.T) {
	t.Parallel()
	good := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: routes.example.com}\n"
	all, err := custom.Definitions([]custom.File{{Text: good + "---\n" + "# nothing\n"}}, map[string]string{"run": "one"})
	if err != nil || len(all) != 1 || all[0].GetLabels()["run"] != "one" {
		t.Errorf("%v, %v", all, err)
	}
	_, err = custom.Definitions([]custom.File{{Path: "a.yaml", Text: header + "metadata: {name: x}"}, {}}, nil)
	for _, want := range []string{"mesh.crds[0]: a.yaml: Route x is no CustomResourceDefinition", "mesh.crds[1]: no file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
