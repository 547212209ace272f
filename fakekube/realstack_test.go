//go:build realstack

package fakekube_test

import (
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/xdsbench/xdsbench/fakekube"
	"github.com/xdsbench/xdsbench/internal/subprocess"
	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
)

func TestRealAPIServerKeepsTheContract(t *testing.T) {
	t.Parallel()
	runContract(t, realstack.Start(t).Config)
}

// kubectl runs the real kubectl on a fakekube.
type kubectl struct {
	path, kubeconfig string
}

func (k kubectl) run(t *testing.T, input string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.path, append([]string{"--kubeconfig=" + k.kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func startKubectl(t *testing.T) kubectl {
	t.Helper()
	_, server := start(t, fakekube.Options{})
	k := kubectl{path: realstack.Binary(t, "kubectl"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := server.WriteKubeconfig(k.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return k
}

const objects = `
apiVersion: v1
kind: Service
metadata: {name: svc}
spec: {ports: [{port: 80, name: http}], selector: {a: b}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {a: b}}
spec: {containers: [{name: c, image: "i:1"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: es, labels: {kubernetes.io/service-name: svc}}
addressType: IPv4
endpoints: [{addresses: [10.1.1.1], conditions: {ready: true}}]
ports: [{port: 80, name: http}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: vs}
spec: {hosts: [a.b], http: [{route: [{destination: {host: svc}}]}]}
`

func TestRealKubectlWorksOnFakekube(t *testing.T) {
	k := startKubectl(t)
	changed := strings.ReplaceAll(objects, "hosts: [a.b]", "hosts: [c.d]")
	for _, step := range []struct {
		args, input string
		shows       []string
	}{
		{"version", "", []string{"Server Version"}},
		{"api-resources", "", []string{"virtualservices", "endpointslices", "customresourcedefinitions"}},
		{"create namespace foo", "", []string{"namespace/foo created"}},
		{"create -n foo configmap cm --from-literal=a=b", "", []string{"configmap/cm created"}},
		{"apply -n foo --validate=false -f -", objects, []string{"service/svc created", "virtualservice.networking.istio.io/vs created"}},
		{"apply -n foo --validate=false -f -", changed, []string{"vs configured", "service/svc unchanged"}},
		{"apply -n foo --validate=false --server-side --force-conflicts -f -", objects, []string{"vs serverside-applied"}},
		{"get -n foo all,endpointslices,vs", "", []string{"10.1.1.1", "ClusterIP", "0/1", "Pending", "a.b"}},
		{"get -n foo pods -o wide", "", []string{"NODE", "<none>"}},
		{"get -n foo svc svc -o yaml", "", []string{"clusterIP: 10.96.", "targetPort: 80"}},
		{"get -n foo cm -o json", "", []string{`"kind": "List"`, `"kind": "ConfigMap"`}},
		{"describe -n foo svc svc", "", []string{"10.1.1.1:80"}},
		{"describe -n foo pod p", "", []string{"Pending"}},
		{"describe -n foo vs vs", "", []string{"networking.istio.io/v1"}},
		{"label -n foo pod p x=y", "", []string{"labeled"}},
		{"annotate -n foo pod p x=y", "", []string{"annotated"}},
		{"get -n foo pods -l x=y --field-selector=status.phase=Pending", "", []string{"p "}},
		{`patch -n foo svc svc -p {"spec":{"ports":[{"port":81,"name":"more"}]}}`, "", []string{"patched"}},
		{`patch -n foo vs vs --type=merge -p {"spec":{"hosts":["e.f"]}}`, "", []string{"patched"}},
		{"get -n foo vs", "", []string{"e.f"}},
		{"wait -n foo --for=jsonpath={.status.phase}=Pending pod/p --timeout=5s", "", []string{"condition met"}},
		{"auth can-i create pods", "", []string{"yes"}},
		{"delete -n foo pod p", "", []string{"deleted"}},
		{"delete -n foo cm --all", "", []string{"deleted"}},
		{"get -n foo pods", "", []string{"No resources found"}},
		{"delete namespace foo", "", []string{"deleted"}},
		{"get namespaces -o name", "", []string{"namespace/default"}},
	} {
		out := k.run(t, step.input, strings.Fields(step.args)...)
		for _, s := range step.shows {
			if !strings.Contains(out, s) {
				t.Errorf("kubectl %s: no %q in\n%s", step.args, s, out)
			}
		}
	}
}

func TestRealKubectlWatchesFakekube(t *testing.T) {
	k := startKubectl(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.path, "--kubeconfig="+k.kubeconfig, "get", "configmaps", "-w", "--no-headers")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.run(t, "", "create", "configmap", "one")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k.run(t, "", "create", "configmap", "two")
	var seen strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), "two") {
		n, err := out.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			t.Errorf("kubectl get -w showed %q: %v", seen.String(), err)
			break
		}
	}
	cancel()
	_ = cmd.Wait() // Killed.
}

func TestRealIstiodReadsFakekube(t *testing.T) {
	store, server := start(t, fakekube.Options{})
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := server.WriteKubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	client := store.Clientset()
	create := func(name, address string) {
		t.Helper()
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
		if _, err := client.CoreV1().Services("default").Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), slice(name, address), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("before", "10.1.0.1")

	addresses, err := subprocess.FreeAddresses(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(realstack.Binary(t, "pilot-discovery"), "discovery", "--kubeconfig="+kubeconfig,
		"--grpcAddr="+addresses[0], "--httpAddr="+addresses[1], "--monitoringAddr="+addresses[2],
		"--secureGRPCAddr=", "--httpsAddr=", "--ctrlz_port=0")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "ENABLE_CA_SERVER=false", "PILOT_CERT_PROVIDER=none", "INJECT_ENABLED=false",
		"VALIDATION_WEBHOOK_CONFIG_NAME=", "INJECTION_WEBHOOK_CONFIG_NAME=", "POD_NAME=istiod-0", "POD_NAMESPACE=istio-system")
	p, err := subprocess.Start(cmd, subprocess.Same)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background(), 10*time.Second); err != nil {
			t.Error(err)
		}
	})
	page := func(url, contains string) {
		t.Helper()
		waitFor(t, url+" shows "+contains, func() bool {
			body, ok := fetch(t, url)
			return ok && strings.Contains(body, contains)
		})
	}
	page("http://"+addresses[1]+"/ready", "")
	endpoints := "http://" + addresses[2] + "/debug/endpointz"
	page(endpoints, "10.1.0.1")
	create("after", "10.1.0.2")
	page(endpoints, "10.1.0.2")
	changed := slice("before", "10.1.0.3")
	if _, err := client.DiscoveryV1().EndpointSlices("default").Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	page(endpoints, "10.1.0.3")
}

// fetch gets a page; false if there is none yet.
func fetch(t *testing.T, url string) (string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", false
	}
	defer func() { _ = resp.Body.Close() }()
	var b strings.Builder
	if _, err := io.Copy(&b, resp.Body); err != nil {
		return "", false
	}
	return b.String(), resp.StatusCode == http.StatusOK
}

// What is served must be what kube-apiserver serves, but for kinds left out.
func TestRealDiscoveryHasWhatFakekubeServes(t *testing.T) {
	_, server := start(t, fakekube.Options{})
	have, real := servedResources(t, server.RESTConfig()), servedResources(t, realstack.Start(t).Config)
	for name, r := range have {
		other, ok := real[name]
		if !ok {
			t.Errorf("kube-apiserver does not serve %s", name)
			continue
		}
		for _, x := range []*metav1.APIResource{&r, &other} {
			x.StorageVersionHash, x.Group, x.Version = "", "", ""
			slices.Sort(x.Verbs)
			slices.Sort(x.Categories)
		}
		if !reflect.DeepEqual(r, other) {
			t.Errorf("%s: fakekube %+v, kube-apiserver %+v", name, r, other)
		}
	}
	for name := range real {
		if _, ok := have[name]; !ok {
			t.Logf("not served: %s", name)
		}
	}
}

func servedResources(t *testing.T, cfg *rest.Config) map[string]metav1.APIResource {
	t.Helper()
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if rt, err := rest.TransportFor(cfg); err == nil {
			utilnet.CloseIdleConnectionsFor(rt)
		}
	})
	_, lists, err := disco.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]metav1.APIResource{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			out[list.GroupVersion+"/"+r.Name] = r
		}
	}
	return out
}
