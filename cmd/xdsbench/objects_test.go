package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// objectsProfile is a small run with an object of a kind of its own per service.
const objectsProfile = `
mesh:
  services: 10
  crds: [crds.yaml]
  objects:
  - perService: true
    template: route.yaml
proxies: {count: 4}
churn: [{kind: pod-add, rate: 5/s}]
phases: {warmup: 100ms, steady: 1s}
`

const routeCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: routes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: routes, kind: Route}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// objectsIn writes the profile and its files to a folder, and returns the profile's path.
func objectsIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"profile.yaml": objectsProfile, "crds.yaml": routeCRD,
		"route.yaml": "apiVersion: example.com/v1\nkind: Route\nmetadata: {name: '{{.Name}}'}\nspec: {host: '{{.Host}}'}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "profile.yaml")
}

func TestObjectsFromTemplatesAreRemovedAtTheEndAndKeptInTheResult(t *testing.T) {
	t.Parallel()
	kubeconfig, dir := fakeCluster(t), out(t)
	code, stdout, stderr := command(t.Context(), "run", "--quiet", "-o", dir, "-f", objectsIn(t), "--kubeconfig", kubeconfig)
	if code != exitDone {
		t.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
	}
	r := load(t, dir)
	checkSound(t, r)
	if profile := string(r.Profile); !strings.Contains(profile, "{{.Host}}") || !strings.Contains(profile, "routes.example.com") {
		t.Errorf("the result's profile lacks the files: %s", profile)
	}
	code, stdout, stderr = command(t.Context(), "clean", "--kubeconfig", kubeconfig)
	if code != exitDone || !strings.Contains(stdout, "removed 0 ") {
		t.Errorf("the run left something behind: exit %d: %s%s", code, stdout, stderr)
	}
}

func TestObjectOfAKindThatIsNotServedIsRefusedBeforeTheControlPlaneStarts(t *testing.T) {
	t.Parallel()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "--quiet", "-o", dir, "-f", objectsIn(t), "--set", "mesh.crds=[]")
	if code == exitDone || !strings.Contains(stderr, "does not serve the kind Route of example.com/v1") || !strings.Contains(stderr, "mesh.crds") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if entries, err := os.ReadDir(dir); err == nil {
		t.Errorf("left behind: %v", entries)
	}
}
