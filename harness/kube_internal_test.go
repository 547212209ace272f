package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestOnlyLoopbackNeedsNoContext(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"http://127.0.0.1:8001": true, "https://localhost:6443/prefix": true, "https://[::1]:6443": true, "127.0.0.1:8080": true,
		"https://10.0.0.1:6443": false, "https://cluster.example:6443": false, "https://localhost.example": false, "": false,
	} {
		if got := onLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}

// writeKubeconfig writes a kubeconfig with two contexts, the first of them current.
func writeKubeconfig(t *testing.T, here, there string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"here": {Server: here}, "there": {Server: there}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"me": {Token: "a"}, "other": {Token: "b"}},
		Contexts:       map[string]*clientcmdapi.Context{"here": {Cluster: "here", AuthInfo: "me"}, "there": {Cluster: "there", AuthInfo: "other"}},
		CurrentContext: "here",
	}, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRequestsToARealAPIServerAreGuardedAndItsConfigIsCutDown(t *testing.T) {
	t.Parallel()
	file := writeKubeconfig(t, "http://127.0.0.1:1", "https://cluster.example:6443")
	api, err := Connect(file, "there")
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	if api.http.Transport != api.guard || api.http.Timeout != sweepLimit {
		t.Errorf("transport %T, timeout %s", api.http.Transport, api.http.Timeout)
	}
	if c := api.config; len(c.Contexts) != 1 || len(c.Clusters) != 1 || len(c.AuthInfos) != 1 || c.AuthInfos["other"] == nil {
		t.Errorf("the target's kubeconfig: %+v", c)
	}
}

func TestKubeconfigThatDoesNotServeIsNamed(t *testing.T) {
	t.Parallel()
	remote := writeKubeconfig(t, "https://cluster.example:6443", "http://127.0.0.1:1")
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("clusters: 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ file, context, want string }{
		{"no/such", "", "no/such"}, {broken, "", broken}, {remote, "", "--context"}, {remote, "nowhere", "nowhere"},
	} {
		if _, err := Connect(test.file, test.context); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %q: %v", test.file, test.context, err)
		}
	}
}

func TestInMemoryAPIServerLeavesNoFile(t *testing.T) {
	t.Parallel()
	k, err := openKube(t.Context(), "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(k.kubeconfig, ""); err != nil || k.real() {
		t.Errorf("real %t, kubeconfig: %v", k.real(), err)
	}
	k.limitRequests(t.Context()) // which it has none of
	if err := k.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(k.kubeconfig)); !os.IsNotExist(err) {
		t.Errorf("the folder of the kubeconfig: %v", err)
	}
}
