//go:build realstack

package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
	"github.com/xdsbench/xdsbench/proxyconfig"
	"github.com/xdsbench/xdsbench/target"
)

const demoObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: demo}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: demo}
spec: {clusterIP: 10.96.0.77, ports: [{name: http-0, port: 80}, {name: http-1, port: 90}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: a, namespace: demo, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http-0, port: 8080}, {name: http-1, port: 8081}]
endpoints:
- {addresses: [10.1.0.1], conditions: {ready: true}}
- {addresses: [10.1.0.2], conditions: {ready: true}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: b, namespace: demo, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http-0, port: 8080}, {name: http-1, port: 8081}]
endpoints:
- {addresses: [10.1.0.3], conditions: {ready: true}}
`

// TestRealWatchedProxyTellsWhatKubectlDoes watches a proxy of a real istiod while kubectl
// moves a pod between slices, changes a port's number, removes a port and deletes the
// service.
func TestRealWatchedProxyTellsWhatKubectlDoes(t *testing.T) {
	kubeconfig := realstack.Start(t).Kubeconfig
	kubectl := func(input string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, realstack.Binary(t, "kubectl"), append([]string{"--kubeconfig=" + kubeconfig}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	kubectl(demoObjects, "apply", "-f", "-")
	spec := target.DefaultSpec()
	spec.Kind, spec.Binary = target.KindIstiod, realstack.Binary(t, "pilot-discovery")
	istiod, err := target.Start(t.Context(), target.Config{Spec: spec, Kubeconfig: kubeconfig, Dir: t.TempDir(), Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = istiod.Stop(context.Background()) })
	var proxies []*watched
	for _, variant := range []string{"sotw", "delta"} {
		proxies = append(proxies, watch(t, istiod.XDSAddresses()[0], variant))
	}
	each := func(see func(*watched)) {
		t.Helper()
		for _, w := range proxies {
			see(w)
		}
	}
	patch := func(kind, name, what string) {
		t.Helper()
		kubectl("", "-n", "demo", "patch", kind, name, "--type=merge", "-p", what)
	}

	patch("endpointslice", "a", `{"endpoints":[{"addresses":["10.1.0.1"],"conditions":{"ready":true}}]}`)
	each(func(w *watched) {
		if c := w.awaitChange(proxyconfig.Changed, "eds", clusterOf(80)); !slices.Equal(c.Lost, []string{"10.1.0.2:8080 HEALTHY"}) || len(c.Gained) > 0 {
			t.Errorf("%s: the pod that moves: lost %q, gained %q", w.variant, c.Lost, c.Gained)
		}
	})
	patch("endpointslice", "b", `{"endpoints":[{"addresses":["10.1.0.3"],"conditions":{"ready":true}},{"addresses":["10.1.0.2"],"conditions":{"ready":true}}]}`)
	each(func(w *watched) {
		if c := w.awaitChange(proxyconfig.Changed, "eds", clusterOf(80)); !slices.Equal(c.Gained, []string{"10.1.0.2:8080 HEALTHY"}) || len(c.Lost) > 0 {
			t.Errorf("%s: the pod that has moved: lost %q, gained %q", w.variant, c.Lost, c.Gained)
		}
	})
	patch("service", "web", `{"spec":{"ports":[{"name":"http-0","port":80},{"name":"http-1","port":91}]}}`)
	each(func(w *watched) { w.awaitChange(proxyconfig.Removed, "cds", clusterOf(90)) })
	patch("service", "web", `{"spec":{"ports":[{"name":"http-0","port":80}]}}`)
	each(func(w *watched) { w.awaitChange(proxyconfig.Removed, "cds", clusterOf(91)) })
	kubectl("", "-n", "demo", "delete", "service", "web")
	each(func(w *watched) { w.awaitChange(proxyconfig.Removed, "cds", clusterOf(80)) })
	each(func(w *watched) { w.end() })
}
