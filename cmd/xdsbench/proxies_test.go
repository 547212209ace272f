package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xdsbench/xdsbench/fakeproxy"
	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/result"
)

// demoCluster is the cluster of demoControlPlane's one service.
const demoCluster = "outbound|80||web.demo.svc.cluster.local"

// demoControlPlane runs the embedded control plane on a mesh of one service with
// two endpoints, of which one is ready.
func demoControlPlane(t *testing.T) (xdsAddress string) {
	t.Helper()
	kubeconfig := fakeCluster(t)
	api, err := harness.Connect(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	ctx, create := t.Context(), metav1.CreateOptions{}
	meta := metav1.ObjectMeta{Name: "web", Namespace: "demo", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}
	_, err = api.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, create)
	if err == nil {
		_, err = api.Client.CoreV1().Services("demo").Create(ctx, &corev1.Service{
			ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}, create)
	}
	if err == nil {
		_, err = api.Client.DiscoveryV1().EndpointSlices("demo").Create(ctx, &discoveryv1.EndpointSlice{
			ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
			Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
			Endpoints: []discoveryv1.Endpoint{
				{Addresses: []string{"10.1.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}},
				{Addresses: []string{"10.1.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false), Terminating: new(false)}},
			},
		}, create)
	}
	if err != nil {
		t.Fatal(err)
	}
	xdsAddress = closedAddress(t)
	_, output := start(t, "controlplane", "--kubeconfig", kubeconfig, "--xds-address", xdsAddress, "--http-address", closedAddress(t))
	awaitText(t, output, "ADS on")
	return xdsAddress
}

func TestFleetStaysConnectedUntilCtrlCAndSumsUp(t *testing.T) {
	t.Parallel()
	c, output := start(t, "proxies", "--xds-address", demoControlPlane(t), "--count", "20", "--variant", "mixed")
	awaitText(t, output, "hold ")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitDone {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"20 of 20 ready (10 delta, 10 sotw)", "ready after p50", "responses, ", "sotw cds", "0 refused"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("no %q in:\n%s", want, output)
		}
	}
}

func TestFleetEndsByItselfAndSumsUpInJSON(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command(t.Context(), "proxies", "--xds-address", demoControlPlane(t), "--count", "5", "--duration", "2s", "--format", "json", "--quiet")
	var r result.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitDone {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if r.Proxies.Ready != 5 || r.Sync.TimeToReady.Count != 5 || r.Sync.Volume.ByType["eds"].Responses == 0 || r.Sync.Volume.WireBytes.In == 0 {
		t.Errorf("proxies %+v, sync %+v", r.Proxies, r.Sync)
	}
	if r.Mutations != nil || r.Propagation != nil {
		t.Errorf("mutations %+v, propagation %+v: there were none", r.Mutations, r.Propagation)
	}
}

func TestDumpShowsWhatOneProxyHolds(t *testing.T) {
	address := demoControlPlane(t)
	for _, variant := range []string{"sotw", "delta"} {
		code, stdout, stderr := command(t.Context(), "proxies", "--dump", "--xds-address", address, "--variant", variant, "--quiet")
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		for _, want := range []string{
			"sidecar~198.18.0.1~xdsbench-0.default~default.svc.cluster.local (" + variant + "): connected, ready",
			"TYPE", "SUBSCRIPTION", "WARMING",
			"SERVICE FQDN", "web.demo.svc.cluster.local  80",
			"10.1.0.1:8080  HEALTHY    " + demoCluster, "10.1.0.2:8080  UNHEALTHY",
			"LISTENER", "Route: 80", "VHOST NAME",
		} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: no %q in:\n%s", variant, want, stdout)
			}
		}
	}
	code, stdout, stderr := command(t.Context(), "proxies", "--dump", "endpoints", "--format", "json", "--xds-address", address, "--quiet")
	var d fakeproxy.Dump
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != exitDone {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if len(d.Types) != 1 || d.Types[0].Type != "eds" || len(d.Types[0].Resources) != 1 || d.Types[0].Resources[0].Name != demoCluster {
		t.Errorf("dump: %+v", d)
	}
}

func TestProxiesRefusesBadInputAndNamesEveryProblem(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"everything wrong":     {[]string{"--count", "0", "--kind", "gateway", "--format", "xml", "--duration", "-1s"}, exitUsage, []string{"proxies.count: 0", `"gateway"`, `"xml"`, "-1s", "xds-address"}},
		"no rate":              {[]string{"--connect-rate", "fast"}, exitUsage, []string{"--connect-rate", `"fast"`}},
		"section without dump": {[]string{"clusters"}, exitUsage, []string{`"clusters"`, "--dump"}},
		"unknown section":      {[]string{"--dump", "pods", "--xds-address", "127.0.0.1:1"}, exitUsage, []string{`"pods"`, "endpoints"}},
		"nobody there":         {[]string{"--xds-address", closedAddress(t), "--duration", "1s", "--count", "2"}, exitFailed, []string{"no proxy could connect", "refused"}},
		"nobody to dump from":  {[]string{"--dump", "--xds-address", closedAddress(t), "--timeout", "1s"}, exitFailed, []string{"no proxy could connect", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := command(t.Context(), append([]string{"proxies", "--quiet"}, test.args...)...)
			if code != test.code {
				t.Errorf("exit %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in:\n%s", want, stderr)
				}
			}
		})
	}
}

func TestPlannedOutageLeavesGhostsAndTheRunHealsThem(t *testing.T) {
	t.Parallel()
	dir := out(t)
	code, stdout, stderr := command(t.Context(), "run", "smoke", "--quiet", "-o", dir, "--duration", "8s",
		"--set", "target.outage.at=2s", "--set", "target.outage.for=3s", "--set", "phases.drain=40s")
	if code != exitDone {
		t.Fatalf("exit %d:\n%s%s", code, stdout, stderr)
	}
	r := load(t, dir)
	checkSound(t, r)
	if len(r.Outages) != 1 {
		t.Fatalf("outages: %+v", r.Outages)
	}
	o := r.Outages[0]
	if !o.Planned || o.At < 2 || o.Seconds == nil || *o.Seconds < 3 || o.ReadyAgain == nil {
		t.Errorf("outage: %+v", o)
	}
	if o.Held == nil || o.Held.StaleEndpoints == 0 || o.Held.MissingEndpoints == 0 || o.Held.Diverged != 20 {
		t.Errorf("held in the outage: %+v", o.Held)
	}
	if most := r.Convergence.StaleEndpointsInOutage; most == nil || o.Held != nil && *most != o.Held.StaleEndpoints {
		t.Errorf("stale in the outage: %v", most)
	}
	if !strings.Contains(stdout, "Outage") || !strings.Contains(stdout, "all proxies ready again") {
		t.Errorf("the report does not tell of it:\n%s", stdout)
	}
}
