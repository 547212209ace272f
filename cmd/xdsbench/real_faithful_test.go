//go:build realstack

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/xdsbench/xdsbench/harness"
	"github.com/xdsbench/xdsbench/observe"
	"github.com/xdsbench/xdsbench/result"
)

func TestRealIstiodRestartedUnderLoadGetsEveryProxyBack(t *testing.T) {
	r := realRun(t, "quickstart", "--proxies", "300", "--rate", "10/s", "--duration", "40s",
		"--set", "target.outage.at=8s", "--set", "target.outage.for=6s", "--set", "phases.drain=90s")
	checkSound(t, r)
	if len(r.Outages) != 1 {
		t.Fatalf("outages: %+v", r.Outages)
	}
	o := r.Outages[0]
	if o.Held == nil || o.Held.StaleEndpoints == 0 || o.Held.Diverged != 300 {
		t.Errorf("held without a control plane: %+v", o.Held)
	}
	if most := r.Convergence.StaleEndpointsInOutage; o.Held != nil && (most == nil || *most != o.Held.StaleEndpoints) {
		t.Errorf("stale of the outage in the convergence: %v", most)
	}
	if o.Seconds == nil || *o.Seconds < 6 || o.ReadyAgain == nil {
		t.Errorf("outage: %+v", o)
	}
	if r.Proxies.Disconnects != 300 {
		t.Errorf("proxies: %+v", r.Proxies)
	}
	checkStatus(t, r, 300)
}

func TestRealIstiodCountsTheNACKsThatWeInject(t *testing.T) {
	kubeconfig := fakeCluster(t)
	stop := growServices(t, kubeconfig)
	dir := out(t)
	code, stdout, stderr := realCommand(t, dir, "quickstart", "--kubeconfig", kubeconfig, "--proxies", "300",
		"--set", "proxies.nack.rate=0.05", "--set", "proxies.nack.types=[cds]", "--set", "phases.readyTimeout=20s",
		"--allow-defects") // a proxy that rejects clusters does not get their endpoints
	grown := stop()
	t.Logf("%d services were added meanwhile\n%s%s", grown, stdout, stderr)
	if code != exitDone {
		t.Fatalf("exit %d", code)
	}
	r := load(t, dir)
	theirs := sumSeries(t, filepath.Join(dir, "metrics-after.prom"), "pilot_total_xds_rejects")
	responses := r.Volume.ByType["cds"].Responses + r.Sync.Volume.ByType["cds"].Responses
	t.Logf("NACKs: %d by our count, %v by istiod's, of %d CDS responses", r.Acks.NacksInjected, theirs, responses)
	if r.Acks.NacksInjected != int64(theirs) || r.Acks.NacksInjected != r.Proxies.Misbehaviour["nacksInjected"] {
		t.Errorf("NACKs: %d by our count, %d by the fleet's, %v by istiod's", r.Acks.NacksInjected, r.Proxies.Misbehaviour["nacksInjected"], theirs)
	}
	// Four standard deviations of a binomial count.
	want := 0.05 * float64(responses)
	if responses < 1000 || math.Abs(theirs-want) > 4*math.Sqrt(want) {
		t.Errorf("%v NACKs of %d CDS responses: want about %.0f, of 1,000 responses at least", theirs, responses, want)
	}
	if r.Acks.NacksInvalid != 0 || len(r.Acks.Reasons) != 1 {
		t.Errorf("NACKs for a fault %d, reasons %v", r.Acks.NacksInvalid, r.Acks.Reasons)
	}
	checkNoCrossCheck(t, r)
}

func TestRealIstiodSaysThatEveryProxyIsInSync(t *testing.T) {
	r := realRun(t, "quickstart", "--proxies", "200", "--set", "mesh.services=100")
	checkSound(t, r)
	checkStatus(t, r, 200)
}

func TestRealIstiodWithItsOwnConnectionLimitGetsEveryProxyReady(t *testing.T) {
	r := realRun(t, "quickstart", "--proxies", "500", "--set", "proxies.connectRate=100/s",
		"--set", "target.connectionLimit=default", "--set", "phases.readyTimeout=3m")
	checkSound(t, r)
	y := r.Sync.TimeToReady
	t.Logf("refused %d; time to ready p50 %.2f s, p99 %.2f s, max %.2f s", r.Proxies.Refused, y.P50, y.P99, y.Max)
	if r.Proxies.Refused == 0 {
		t.Error("no refusals at 100 connections/s: istiod's limit was not in force")
	}
	refused := int64(0)
	for reason, n := range r.Proxies.Failures {
		if strings.Contains(reason, "ResourceExhausted") {
			refused += n
		}
	}
	if refused != r.Proxies.Refused {
		t.Errorf("refused %d, by reason %v", r.Proxies.Refused, r.Proxies.Failures)
	}
	// 500 at the limit of 100/s or less take 5 s, and refused ones wait besides.
	if y.Count != 500 || y.Max < 1 {
		t.Errorf("time to ready: %+v", y)
	}
}

func TestRealIstiodServesEveryKindOfProxy(t *testing.T) {
	r := realRun(t, "smoke", "--proxies", "40", "--set", "target.env.PILOT_ENABLE_AMBIENT=true",
		"--set", "proxies.kinds={sidecar: 7, router: 1, waypoint: 1, ztunnel: 1}")
	checkSound(t, r)
	for _, typ := range []string{"cds", "eds", "lds", "rds", "workload", "authorization"} {
		if r.Sync.Volume.ByType[typ].Responses == 0 {
			t.Errorf("no %s response: %+v", typ, r.Sync.Volume.ByType)
		}
	}
	checkStatus(t, r, 40)
}

// checkStatus fails the test unless the control plane says of every proxy that
// it has ACKed everything that was sent to it, and our own account agrees.
func checkStatus(t *testing.T, r *result.Result, proxies int) {
	t.Helper()
	s := r.ControlPlane.ProxyStatus
	if s == nil || s.Proxies != proxies || s.Stale != 0 || s.Synced == 0 {
		t.Errorf("proxy status by istiod: %+v", s)
	} else {
		t.Logf("proxy status by istiod: %+v", *s)
	}
	checkNoCrossCheck(t, r)
}

func checkNoCrossCheck(t *testing.T, r *result.Result) {
	t.Helper()
	if i := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "cross-check") }); i >= 0 {
		t.Error(r.Warnings[i])
	}
}

// sumSeries adds up a counter in saved metrics.
func sumSeries(t *testing.T, file, name string) float64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	scrape, err := observe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	total, ok := scrape.Sum(name)
	if !ok {
		t.Errorf("%s: no %s", file, name)
	}
	return total
}

// growServices adds a service every two seconds, each of which makes istiod push
// clusters to every proxy. The function returned ends that and says how many it
// were.
func growServices(t *testing.T, kubeconfig string) (stop func() int) {
	t.Helper()
	api, err := harness.Connect(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() { done <- grow(ctx, t, api.Client) }()
	return func() int {
		cancel()
		return <-done
	}
}

func grow(ctx context.Context, t *testing.T, client kubernetes.Interface) int {
	t.Helper()
	const namespace = "growing"
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return n
		case <-tick.C:
		}
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("more-%d", n), Namespace: namespace},
			Spec: corev1.ServiceSpec{
				ClusterIP: fmt.Sprintf("10.99.0.%d", n+1), Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
			},
		}
		if _, err := client.CoreV1().Services(namespace).Create(ctx, s, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
}
