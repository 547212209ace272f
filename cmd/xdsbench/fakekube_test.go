package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestFakekubeIsNotOpenToTheNetworkUnasked(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"wildcard":          {[]string{"--address", "0.0.0.0:6443"}, []string{"--address", "0.0.0.0:6443", "127.0.0.1:6443", "--allow-remote"}},
		"IPv6 wildcard":     {[]string{"--address", "[::]:6443"}, []string{"[::]:6443", "--allow-remote"}},
		"no host":           {[]string{"--address", ":6443"}, []string{`":6443"`, "--allow-remote"}},
		"another machine's": {[]string{"--address", "192.0.2.1:6443"}, []string{"192.0.2.1:6443", "--allow-remote"}},
		"no port":           {[]string{"--address", "127.0.0.1"}, []string{"--address", `"127.0.0.1"`, "HOST:PORT"}},
		"no kubeconfig":     {[]string{"--address", "0.0.0.0:0", "--allow-remote"}, []string{"token", "--write-kubeconfig"}},
		"advertised alone":  {[]string{"--advertise-address", "192.0.2.1"}, []string{"--advertise-address 192.0.2.1", "127.0.0.1:0", "--allow-remote"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t.Context(), append([]string{"fakekube"}, test.args...)...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit %d, stdout %q", code, stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr does not say %q: %s", want, stderr)
				}
			}
		})
	}
}

func TestRemoteFakekubeWritesAKubeconfigThatWorks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	_, output := start(t, "fakekube", "--address", "0.0.0.0:0", "--allow-remote", "--advertise-address", "127.0.0.1", "--write-kubeconfig", path)
	awaitText(t, output, "API server on https://127.0.0.1:")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if config.BearerToken == "" || strings.Contains(output.String(), config.BearerToken) {
		t.Errorf("token %q, output %s", config.BearerToken, output)
	}
}
