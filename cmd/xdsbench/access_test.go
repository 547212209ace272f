package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestClusterWithoutPermissionIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	var written []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			written = append(written, r.Method+" "+r.URL.Path)
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		deny(t, w, r)
	}))
	defer api.Close()
	code, _, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", out(t), "--kubeconfig", kubeconfigFor(t, api.URL))
	if code != exitFailed || !strings.Contains(stderr, "may not create endpointslices") || !strings.Contains(stderr, "may not delete nodes") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if len(written) > 0 {
		t.Errorf("requests in spite of that: %v", written)
	}
}

func TestClusterThatIsNotOnThisMachineMustBeNamed(t *testing.T) {
	kubeconfig := kubeconfigFor(t, "https://cluster.invalid:6443")
	for _, verb := range []string{"run", "clean"} {
		code, _, stderr := command(t.Context(), verb, "--kubeconfig", kubeconfig)
		if code != exitFailed || !strings.Contains(stderr, "--context") || !strings.Contains(stderr, "cluster.invalid") {
			t.Errorf("%s: exit %d: %s", verb, code, stderr)
		}
	}
}

// deny answers an access review with a no, in the content type it came in.
func deny(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Error(err)
	}
	review := authorizationv1.SelfSubjectAccessReview{}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	if err := json.NewEncoder(w).Encode(review); err != nil {
		t.Error(err)
	}
}

// kubeconfigFor writes a kubeconfig for an API server.
func kubeconfigFor(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"test": {Server: server}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"test": {Token: "a-secret-token"}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		CurrentContext: "test",
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTokensDoNotReachTheResults(t *testing.T) {
	dir := out(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer api.Close()
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir, "--kubeconfig", kubeconfigFor(t, api.URL))
	if code != exitFailed || strings.Contains(stdout+stderr, "a-secret-token") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if entries, err := os.ReadDir(dir); err == nil {
		t.Errorf("left behind: %v", entries)
	}
}
