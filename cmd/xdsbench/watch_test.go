package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/proxyconfig"
)

// watched is a proxy that `proxies --watch --dump --format json` runs.
type watched struct {
	t       *testing.T
	command *exec.Cmd
	output  fmt.Stringer
	address string
	variant string
	from    int // how many lines were looked at
}

func watch(t *testing.T, address, variant string) *watched {
	t.Helper()
	c, output := start(t, "proxies", "--watch", "--dump", "--format", "json", "--quiet", "--xds-address", address, "--variant", variant)
	w := &watched{t: t, command: c, output: output, address: address, variant: variant}
	w.await("ready", func(s *proxyconfig.Seen) bool { return s.Event == "ready" })
	return w
}

// await waits until the proxy has seen something, after what was awaited before.
func (w *watched) await(what string, is func(*proxyconfig.Seen) bool) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		lines := strings.Split(w.output.String(), "\n")
		for i := w.from; i < len(lines)-1; i++ {
			if !strings.HasPrefix(lines[i], "{") {
				continue
			}
			var s proxyconfig.Seen
			if err := json.Unmarshal([]byte(lines[i]), &s); err != nil {
				w.t.Fatalf("line %d: %v: %s", i, err, lines[i])
			}
			if is(&s) {
				w.from = i + 1
				return
			}
		}
	}
	w.t.Fatalf("%s: %s was not seen in:\n%s", w.variant, what, w.output)
}

// awaitChange waits until a resource of a type was added, changed or removed.
func (w *watched) awaitChange(what, typ, name string) *proxyconfig.Change {
	w.t.Helper()
	var found *proxyconfig.Change
	w.await(fmt.Sprintf("%s %s %s", typ, name, what), func(s *proxyconfig.Seen) bool {
		i := slices.IndexFunc(s.Changes, func(c proxyconfig.Change) bool { return c.What == what && c.Type == typ && c.Name == name })
		if i >= 0 {
			found = &s.Changes[i]
		}
		return i >= 0
	})
	return found
}

// end interrupts the watched proxy, and compares what it held with what a fresh one gets.
func (w *watched) end() {
	w.t.Helper()
	if err := w.command.Process.Signal(os.Interrupt); err != nil {
		w.t.Fatal(err)
	}
	if code := exitCode(w.t, w.command); code != exitDone {
		w.t.Errorf("exit %d", code)
	}
	var last struct{ Dump fakeproxy.Dump }
	for line := range strings.Lines(w.output.String()) { // among what is said on stderr
		if strings.HasPrefix(line, `{"dump":`) {
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	code, stdout, stderr := command(w.t.Context(), "proxies", "--dump", "--format", "json", "--quiet", "--xds-address", w.address, "--variant", w.variant)
	var fresh fakeproxy.Dump
	if err := json.Unmarshal([]byte(stdout), &fresh); err != nil || code != exitDone {
		w.t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	held := func(d fakeproxy.Dump) string {
		var b strings.Builder
		for _, t := range d.Types {
			for _, r := range t.Resources {
				fmt.Fprintf(&b, "%s %s %x\n", t.Type, r.Name, r.Content)
			}
		}
		return b.String()
	}
	if lived, now := held(last.Dump), held(fresh); lived != now || lived == "" {
		w.t.Errorf("%s: a proxy that lived through the changes holds\n%s\na fresh one\n%s", w.variant, lived, now)
	}
}

// clusterOf is the cluster of a port of the service web.
func clusterOf(port int) string { return fmt.Sprintf("outbound|%d||web.demo.svc.cluster.local", port) }

func TestAWatchedProxyTellsEachChangeAsItComes(t *testing.T) {
	t.Parallel()
	for _, variant := range []string{"sotw", "delta"} {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			kubeconfig := fakeCluster(t)
			api, err := harness.Connect(kubeconfig, "")
			if err != nil {
				t.Fatal(err)
			}
			defer api.Close()
			ctx := t.Context()
			services, endpoints := api.Client.CoreV1().Services("demo"), api.Client.DiscoveryV1().EndpointSlices("demo")
			must := func(_ any, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			service := func(ports ...int32) *corev1.Service {
				s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "demo"}}
				for _, p := range ports {
					s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("http-%d", len(s.Spec.Ports)), Port: p})
				}
				return s
			}
			slice := func(name string, addresses ...string) *discoveryv1.EndpointSlice {
				s := &discoveryv1.EndpointSlice{
					ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: "demo", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
					AddressType: discoveryv1.AddressTypeIPv4,
				}
				for i := range 2 {
					s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: new(fmt.Sprintf("http-%d", i)), Port: new(int32(8080 + i))})
				}
				for _, a := range addresses {
					s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
				}
				return s
			}
			create, update := metav1.CreateOptions{}, metav1.UpdateOptions{}
			must(api.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, create))
			must(services.Create(ctx, service(80, 90), create))
			must(endpoints.Create(ctx, slice("a", "10.1.0.1", "10.1.0.2"), create))
			must(endpoints.Create(ctx, slice("b", "10.1.0.3"), create))
			address := closedAddress(t)
			_, output := start(t, "controlplane", "--kubeconfig", kubeconfig, "--xds-address", address, "--http-address", closedAddress(t))
			awaitText(t, output, "ADS on")
			w := watch(t, address, variant)

			must(endpoints.Update(ctx, slice("a", "10.1.0.1"), update)) // a pod moves, and is nowhere for a while
			if c := w.awaitChange(proxyconfig.Changed, "eds", clusterOf(80)); !slices.Equal(c.Lost, []string{"10.1.0.2:8080 HEALTHY"}) || len(c.Gained) > 0 {
				t.Errorf("the pod that moves: lost %q, gained %q", c.Lost, c.Gained)
			}
			must(endpoints.Update(ctx, slice("b", "10.1.0.3", "10.1.0.2"), update))
			if c := w.awaitChange(proxyconfig.Changed, "eds", clusterOf(80)); !slices.Equal(c.Gained, []string{"10.1.0.2:8080 HEALTHY"}) || len(c.Lost) > 0 {
				t.Errorf("the pod that has moved: lost %q, gained %q", c.Lost, c.Gained)
			}
			must(services.Update(ctx, service(80, 91), update))
			w.awaitChange(proxyconfig.Removed, "cds", clusterOf(90))
			must(services.Update(ctx, service(80), update))
			w.awaitChange(proxyconfig.Removed, "cds", clusterOf(91))
			if err := services.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.awaitChange(proxyconfig.Removed, "cds", clusterOf(80))
			must(services.Create(ctx, service(80), create)) // so that something is left to compare
			w.awaitChange(proxyconfig.Added, "eds", clusterOf(80))
			w.end()
		})
	}
}

func TestWatchIsReadableAndDumpsOnASignal(t *testing.T) {
	t.Parallel()
	c, output := start(t, "proxies", "--watch", "--quiet", "--xds-address", demoControlPlane(t))
	awaitText(t, output, "ready\n")
	for _, want := range []string{"  connected\n", "  CDS  4 resources, ", "ACK\n", "    + eds " + demoCluster + "\n        + 10.1.0.1:8080 HEALTHY\n        + 10.1.0.2:8080 UNHEALTHY\n"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("no %q in:\n%s", want, output)
		}
	}
	if strings.Contains(output.String(), "VHOST NAME") {
		t.Error("dumped before it was asked to")
	}
	if err := c.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	awaitText(t, output, "VHOST NAME")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitDone || bytes.Count([]byte(output.String()), []byte("VHOST NAME")) != 1 {
		t.Errorf("exit %d:\n%s", code, output)
	}
}
