package profiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/profiles"
)

const route = `apiVersion: example.com/v1
kind: Route
metadata: {name: "{{.Name}}"}
`

// withTemplates writes a profile and the files beside it, and returns the profile's path.
func withTemplates(t *testing.T, profile string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["profile.yaml"] = profile
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "profile.yaml")
}

func TestResolvedProfileHoldsTheFilesThatItNames(t *testing.T) {
	t.Parallel()
	path := withTemplates(t, "mesh: {objects: [{perService: true, template: route.yaml}]}\n", map[string]string{"route.yaml": route})
	p, err := profiles.LoadFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	p, err = p.With("mesh.services=3")
	if err != nil {
		t.Fatal(err)
	}
	if f := p.Mesh.Objects[0].File; f.Text != route || f.Path != "route.yaml" {
		t.Errorf("template %+v", f)
	}
	other := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(other, []byte("# other\n"+route), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err = p.With("mesh.objects[0].template=" + other); err != nil || !strings.HasPrefix(p.Mesh.Objects[0].File.Text, "# other") {
		t.Errorf("a path that is set is not read: %+v, %v", p, err)
	}
}

func TestProblemsOfTemplatesAreFoundTogetherWithAllOthers(t *testing.T) {
	t.Parallel()
	path := withTemplates(t, `
mesh:
  services: 0
  crds: [no-crds.yaml]
  objects:
  - perService: true
    template: missing.yaml
  - perService: true
    once: true
    template: route.yaml
  - perNamespace: true
    template: broken.yaml
  - perService: true
    template: foreign.yaml
  - perService: true
    template: {text: "a: {{.Nope}}"}
`, map[string]string{
		"route.yaml": route, "broken.yaml": "a: b\nc: {{if}}\n",
		"foreign.yaml": strings.Replace(route, "{name:", "{namespace: prod, name:", 1),
	})
	_, err := profiles.LoadFile(path, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"mesh.services: line 3, column 13: 0: must be at least 1",
		"mesh.crds[0]: line 4, column 10: open ", "no-crds.yaml: no such file",
		"mesh.objects[0].template: line 7, column 15: open ", "missing.yaml: no such file",
		"mesh.objects[1]: line 8, column 5: 2 of perService, perNamespace and once are true",
		"mesh.objects[2].template: line 12, column 15: broken.yaml:2: missing value for if",
		`mesh.objects[3].template: line 14, column 15: foreign.yaml: rendered for service xb-0/svc-0: Route svc-0 is in the namespace "prod"`,
		"mesh.objects[4].template: line 16, column 15: text:1:5: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q", want)
		}
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.HasPrefix(line, path+": mesh.") {
			t.Errorf("line %q", line)
		}
	}
	if t.Failed() {
		t.Log("\n" + err.Error())
	}
}
