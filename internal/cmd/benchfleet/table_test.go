package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/metric"
)

func TestFitFindsTheLine(t *testing.T) {
	f := fit([]float64{1, 2, 3, 4}, []float64{5, 7, 9, 11})
	if math.Abs(f.at0-3) > 1e-9 || math.Abs(f.slope-2) > 1e-9 || math.Abs(f.r2-1) > 1e-9 {
		t.Errorf("fit %+v, want 3 + 2x with R² 1", f)
	}
}

func TestSlopeIsTakenUpToTenThousandProxies(t *testing.T) {
	s := series{points: []point{
		{proxies: 1000, values: map[string]float64{peakRSS: 100}},
		{proxies: 10_000, values: map[string]float64{peakRSS: 9100}},
		{proxies: 20_000, values: map[string]float64{peakRSS: 1 << 40}},
	}}
	if got := s.slope(); got != 1 {
		t.Errorf("slope %v, want 1 byte per proxy", got)
	}
}

func TestSectionHasARowPerFleetAndPerFit(t *testing.T) {
	points := []point{
		{proxies: 1000, values: map[string]float64{syncCPU: 1, steadyCPU: 2, deliveries: 100}},
		{proxies: 20_000, values: map[string]float64{syncCPU: 3, steadyCPU: 4}, saturated: true},
	}
	text, err := section(&options{}, []series{{name: "bare streams", points: points}, {name: "100 services", points: points}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 100 | 20,000 |", "| 1,000 | 0 s | 0 MiB |", "| bare streams | ", "| 100 services | ", "20 ms |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if !strings.HasPrefix(text, beginMark+"\n") || !strings.HasSuffix(text, endMark+"\n") {
		t.Errorf("no marks around:\n%s", text)
	}
}

func TestSectionReplacesTheOldOneAndKeepsTheRest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(file, []byte("before\n"+beginMark+"\nold\n"+endMark+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeSection(file, beginMark+"\nnew\n"+endMark+"\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + beginMark + "\nnew\n" + endMark + "\nafter\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCPUIsSplitByPhase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "timeline.csv")
	text := strings.Join([]string{
		"t,phase,harness_cores", "-3,connect,1", "-2,connect,0.5", "-1,warm up,9", "0,steady,0.25", "2,steady,0.5", "3,drain,1", "",
	}, "\n")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sync, steady, err := splitCPU(file)
	if err != nil || sync != 0.5 || steady != 0.25+1+1 {
		t.Errorf("sync %v, steady %v, error %v; want 0.5 and 2.25", sync, steady, err)
	}
}

func TestPointHasTheMetricsOfTheTable(t *testing.T) {
	for _, name := range []string{
		peakRSS, deliveries, "harness.cpuSeconds", "proxies.ready", "sync.timeToReady.p99", "sync.configBytesPerProxy.p50",
		"propagation.undelivered", "propagation.lastProxy.p50", "controlPlane.cpuSeconds", "controlPlane.peakRSSBytes",
	} {
		if !metric.Exists(name) {
			t.Errorf("%s is no metric", name)
		}
	}
	used := 5.0
	p := newPoint(7, &result.Result{Harness: &result.Harness{CPUSeconds: &used, Saturated: true}})
	if p.proxies != 7 || !p.saturated || p.values["harness.cpuSeconds"] != used {
		t.Errorf("%+v", p)
	}
}
