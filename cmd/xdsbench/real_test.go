//go:build realstack

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/internal/testutil/realstack"
	"github.com/xdsbench/xdsbench/result"
)

// realRun is one run on a real istiod.
func realRun(t *testing.T, args ...string) *result.Result {
	t.Helper()
	dir := out(t)
	code, stdout, stderr := realCommand(t, dir, args...)
	t.Logf("\n%s%s", stdout, stderr)
	if code != exitDone {
		t.Fatalf("exit %d", code)
	}
	return load(t, dir)
}

// realCommand is the command of a run on a real istiod.
func realCommand(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return command(t.Context(), append([]string{
		"run", "--quiet", "-o", dir, "--target", "istiod", "--istiod-binary", realstack.Binary(t, "pilot-discovery"),
	}, args...)...)
}

func TestRealIstiodDeliversEverythingAndAgreesWithOurCounts(t *testing.T) {
	for _, api := range []string{"fakekube", "kube-apiserver"} {
		for _, rate := range []string{"4/s", "20/s"} {
			t.Run(api+" at "+rate, func(t *testing.T) {
				args := []string{
					"quickstart", "--proxies", "300", "--set", "mesh.services=200", "--rate", rate, "--duration", "30s",
				}
				if api == "kube-apiserver" {
					args = append(args, "--kubeconfig", realstack.Start(t).Kubeconfig)
				}
				r := realRun(t, args...)
				checkSound(t, r)
				checkIstiodAgrees(t, r)
			})
		}
	}
}

func TestCtrlCOnTheRealAPIServerRemovesEverything(t *testing.T) {
	kubeconfig := realstack.Start(t).Kubeconfig
	dir := out(t)
	c, output := start(t, "run", "smoke", "-o", dir, "--duration", "60s", "--kubeconfig", kubeconfig,
		"--target", "istiod", "--istiod-binary", realstack.Binary(t, "pilot-discovery"))
	awaitText(t, output, "steady")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitInterrupted {
		t.Errorf("exit %d:\n%s", code, output)
	}
	if !load(t, dir).Partial {
		t.Error("the result is not marked partial")
	}
	code, stdout, stderr := command(t.Context(), "clean", "--kubeconfig", kubeconfig)
	if code != exitDone || !strings.Contains(stdout, "removed 0 ") {
		t.Errorf("the run left something behind: exit %d: %s%s", code, stdout, stderr)
	}
}

// checkIstiodAgrees compares our counts with istiod's own.
func checkIstiodAgrees(t *testing.T, r *result.Result) {
	t.Helper()
	m := r.ControlPlane.Metrics
	if m == nil {
		t.Fatal("no metrics of istiod")
	}
	if connected := sum(m.Gauges, "pilot_xds"); int(connected) != r.Proxies.Ready {
		t.Errorf("pilot_xds %v, proxies %+v", connected, r.Proxies)
	}
	if rejects := sum(m.Counters, "pilot_total_xds_rejects"); rejects != 0 {
		t.Errorf("pilot_total_xds_rejects %v", rejects)
	}
	for _, kind := range []string{"cds", "eds", "lds", "rds"} {
		pushes := m.Counters[fmt.Sprintf("pilot_xds_pushes{type=%q}", kind)]
		if ours := r.Volume.ByType[kind].Responses; int64(pushes) != ours {
			t.Errorf("%s: %v pushes by istiod's count, %d responses by ours", kind, pushes, ours)
		}
	}
}

// sum adds up all series of a metric.
func sum(series map[string]float64, name string) float64 {
	total := 0.0
	for key, value := range series {
		if base, _, _ := strings.Cut(key, "{"); base == name {
			total += value
		}
	}
	return total
}
