package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/xdsbench/xdsbench/collect"
	"github.com/xdsbench/xdsbench/event"
	"github.com/xdsbench/xdsbench/event/xds"
	"github.com/xdsbench/xdsbench/internal/doc"
	"github.com/xdsbench/xdsbench/internal/testutil/golden"
	"github.com/xdsbench/xdsbench/report"
	"github.com/xdsbench/xdsbench/result"
	"github.com/xdsbench/xdsbench/result/effect"
	"github.com/xdsbench/xdsbench/result/observed"
)

// spread returns a distribution of n samples of evenly spread durations.
func spread(t *testing.T, n int, from, to time.Duration) *result.Distribution {
	t.Helper()
	h := hdrhistogram.New(int64(time.Microsecond), int64(time.Hour), 3)
	for i := range n {
		if err := h.RecordValue(int64(from) + int64(to-from)*int64(i)/int64(n)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := result.Summarize(h, int64(from), int64(from)+int64(to-from)*int64(n-1)/int64(n), 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// fullResult is the result of a run in which everything was measured.
func fullResult(t *testing.T) *result.Result {
	t.Helper()
	eds := result.Traffic{Responses: 5930, Resources: 5990, Bytes: 3_450_000}
	cds := result.Traffic{Responses: 4, Resources: 400, Removed: 1, Bytes: 99_000}
	return &result.Result{
		Schema:      result.Schema,
		Profile:     json.RawMessage(`{"name":"quickstart","seed":7,"mesh":{"namespaces":5,"services":100,"endpointsPerService":5},"phases":{"steady":"20s"}}`),
		Environment: &result.Environment{StartedAt: "2026-01-02T15:04:05Z", Target: "embedded on an in-memory API server", CPUs: 8, Memory: 16 << 30},
		Proxies: &result.Proxies{Requested: 200, Connected: 200, Ready: 200, Disconnects: 1, ByVariant: map[string]int{"sotw": 100, "delta": 100}, ByKind: map[string]*effect.Proxies{
			"router":  {Count: 20, Ready: 20, ConfigBytes: 900_000, Deliveries: 1000, P50: new(0.1), P99: new(0.2), Max: new(0.21)},
			"sidecar": {Count: 180, Ready: 180, ConfigBytes: 1_900_000, Volume: map[string]effect.Sent{"eds": {Responses: 5, Bytes: 5000}}, Deliveries: 11_000},
		}},
		Sync: &result.Sync{
			TimeToReady:         spread(t, 200, 20*time.Millisecond, 1200*time.Millisecond),
			ConfigBytesPerProxy: &result.Distribution{Count: 200, Mean: 1_723_000, Max: 1_810_000},
		},
		Mutations: &result.Mutations{Scheduled: 80, Applied: 80, Complete: 60, Noop: 20, Late: 1, Effects: map[string]*effect.Kind{
			"service-add": {
				Applied: 60, Operations: 20, Cost: &effect.Cost{WallSeconds: 4, NetCPUSeconds: new(0.5), NetAllocatedBytes: new(4e6)},
				Effect: effect.Effect{
					Types:     map[string]effect.Sent{"cds": {Responses: 4, Resources: 400, Bytes: 99_000}, "eds": {Responses: 90, Resources: 90, Bytes: 9_000}},
					FullShare: 1, ProxiesReached: 200, ChangedBytes: 54_000, Amplification: new(2.0), P50: new(0.108), Last: new(0.2),
				},
			},
			"noop-update": {Applied: 20, Noop: 20, Operations: 20},
		}},
		Propagation: &result.Propagation{
			All: spread(t, 12000, 90*time.Millisecond, 260*time.Millisecond), FromAck: spread(t, 12000, 88*time.Millisecond, 258*time.Millisecond),
			FirstProxy: spread(t, 60, 80*time.Millisecond, 120*time.Millisecond), LastProxy: spread(t, 60, 200*time.Millisecond, 260*time.Millisecond),
			Spread:   spread(t, 60, 900*time.Microsecond, 140*time.Millisecond),
			Expected: 12001, Deliveries: 12000, Interrupted: 1, Coalesced: 70,
		},
		Volume: &result.Volume{
			ByVariant: map[string]result.VariantTraffic{
				"sotw":  {ByType: map[string]result.Traffic{"eds": eds, "cds": cds}},
				"delta": {ByType: map[string]result.Traffic{"eds": eds}},
			},
			WireBytes: &result.WireBytes{In: 7_100_000, Out: 900_000},
		},
		Acks:        &result.Acks{Sent: 11_000, NacksInjected: 12},
		Convergence: &result.Convergence{StuckWarming: new(0)},
		ControlPlane: &observed.ControlPlane{
			Kind: "embedded", Version: "1.2.3", CPUSeconds: new(3.21), PeakRSSBytes: new(int64(84_000_000)),
			Work:    &observed.Work{ConvergenceTime: &observed.Quantiles{Count: 12000, P99: 0.0985, P99Bucket: &observed.Bucket{High: new(0.1)}}},
			Metrics: &observed.Metrics{},
			Idle:    observed.NewIdle(2, 0.02, new(2e6), new(0.0)),
			Signals: &observed.Signals{Traffic: map[string]float64{`xds_cache_reads{type="hit"}`: 30, `xds_cache_reads{type="miss"}`: 10, `xds_cache_evictions{type="clear"}`: 4}},
			Steady:  &observed.Cost{WallSeconds: 22, CPUSeconds: 2.2, Cores: 0.1, PeakCores: 0.35, PeakRSSBytes: 80_000_000, NetCPUPerMutation: new(0.0247), NetAllocatedPerMutation: new(120_000.0)},
			Stages: &observed.Stages{
				Write: &observed.Stage{Source: observed.SourceOurs, Count: 80, Mean: 0.0012, P50: new(0.001), P99: new(0.004), Share: new(0.0107)},
				Watch: &observed.Stage{Source: observed.SourceEstimated, Mean: 0.0098, Share: new(0.0875)},
				Debounce: &observed.Stage{
					Source: observed.SourceScraped, Count: 70, Mean: 0.101, P50: new(0.101), P99: new(0.26), Share: new(0.902),
					P50Bucket: &observed.Bucket{Low: 0.1, High: new(0.26)}, P99Bucket: &observed.Bucket{Low: 0.26},
				},
				Total: &observed.Stage{Source: observed.SourceOurs, Count: 12000, Mean: 0.112, P50: new(0.108), P99: new(0.25), Share: new(1.0)},
			},
			Profiles: []observed.ProfileSummary{
				{Kind: "cpu", File: "pprof/cpu.pb.gz", Seconds: 10, Total: 1000, Parts: map[string]float64{"eds": 0.5, "gc": 0.301, "other": 0.196, "cds": 0.003}, Top: []observed.FunctionShare{
					{Function: "runtime.scanobject", Part: "gc", Share: 0.2},
					{Function: "istio.io/istio/pkg/util/sets.Set[go.shape.struct { a/b.Kind }].Insert", Part: "eds", Share: 0.125},
				}},
				{Kind: "goroutine", File: "pprof/goroutine.pb.gz", Total: 9, Parts: map[string]float64{"grpc": 1}},
			},
		},
		Harness: &result.Harness{
			CPUSeconds: new(4.2), WallSeconds: new(30.0), PeakRSSBytes: new(int64(110_000_000)), GOMAXPROCS: 8,
			ScheduleLag: spread(t, 80, 50*time.Microsecond, 900*time.Microsecond), StampLag: spread(t, 12000, 5*time.Microsecond, 80*time.Microsecond),
		},
		SLO: []result.SLO{
			{Metric: "propagation.all.p99", Limit: "2s", Value: new(0.2583), Unit: "s", Pass: true},
			{Metric: "propagation.unreached", Limit: "0", Value: new(0.0), Pass: true},
		},
		Warnings: []string{"writes without an answer when the run ended: 1"},
	}
}

// overlapping are stages that take up more time than there was.
func overlapping() *observed.Stages {
	s := &observed.Stages{
		Write:    &observed.Stage{Source: observed.SourceOurs, Count: 80, Mean: 0.004, P50: new(0.001), P99: new(0.008)},
		Debounce: &observed.Stage{Source: observed.SourceScraped, Count: 20, Mean: 0.12, P50Bucket: &observed.Bucket{Low: 0.1, High: new(0.26)}, P99Bucket: &observed.Bucket{Low: 0.1, High: new(0.26)}},
		Watch:    &observed.Stage{Source: observed.SourceEstimated, Mean: -0.029},
		Wire:     &observed.Stage{Source: observed.SourceEstimated, Mean: 0.017},
		Total:    &observed.Stage{Source: observed.SourceOurs, Count: 12000, Mean: 0.112, P50: new(0.108), P99: new(0.25)},
	}
	s.Attribute()
	return s
}

// failedResult is the result of a run in which much went wrong.
func failedResult(t *testing.T) *result.Result {
	t.Helper()
	r := fullResult(t)
	r.Proxies.Ready = 198
	r.Propagation.Undelivered, r.Propagation.UnknownStates = 3, 1
	r.Convergence = &result.Convergence{Diverged: 2, StaleEndpoints: 5, MissingEndpoints: 1, StuckWarming: new(2), OrderingViolations: 1}
	r.Acks.NacksInvalid, r.Acks.NackLoopRate = 40, 1.5
	r.Acks.Reasons = map[string]int64{`cluster "a": has no name`: 40, "rejected on purpose by the profile's proxies.nack": 12}
	r.Proxies.Misbehaviour = map[string]int64{"nacksInjected": 12}
	r.Outages = []result.Outage{
		{At: 5, Planned: true, Seconds: new(6.25), ReadyAgain: new(3.5), Held: &result.Drift{StaleEndpoints: 1200, MissingEndpoints: 300, Diverged: 200}},
		{At: 14, Seconds: new(1.5)},
		{At: 17},
		{At: 18, Planned: true, Replicas: []int{1}, Seconds: new(6.5), ProxiesAway: new(2.25)},
		{At: 26, Planned: true, Replicas: []int{0, 2}, Seconds: new(1.0)},
	}
	r.ControlPlane.Replicas = []observed.Replica{
		{
			Address: "127.0.0.1:21000", PID: 17, ConnectionsAtSteadyStart: 100, ConnectionsMin: 100, ConnectionsMax: 200, ConnectionsAtEnd: 198,
			CPUSeconds: new(4.5), PeakRSSBytes: new(int64(200e6)), Responses: 1500, Pushes: new(int64(1500)),
		},
		{Address: "127.0.0.1:21003", ConnectionsAtSteadyStart: 100, ConnectionsMax: 100, Responses: 400, Restarted: true},
	}
	r.Propagation.Noise = &result.Noise{
		Blocks: 20, BlockSeconds: 1,
		P50: result.Range{Low: 0.17, High: 0.18}, P90: result.Range{Low: 0.24, High: 0.245}, P99: result.Range{Low: 0.25, High: 0.26},
	}
	r.ControlPlane.Stages = overlapping()
	r.Harness.Saturated = true
	r.Harness.Reasons = []string{"mutations were issued late (p99 31 ms, limit 10ms): lower churn rates"}
	r.ControlPlane.Metrics.Restarted = true
	r.ControlPlane.Work.ConvergenceTime = &observed.Quantiles{Count: 3, P99: 30, P99Bucket: &observed.Bucket{Low: 30}}
	r.SLO = []result.SLO{
		{Metric: "propagation.all.p99", Limit: "100ms", Value: new(0.2583), Unit: "s"},
		{Metric: "propagation.lastProxy.p99", Limit: "100ms", Value: new(0.2590), Unit: "s", Note: "max of 60"},
		{Metric: "propagation.fromAck.p50", Limit: "100ms", Unit: "s"},
		{Metric: "volume.byType.eds.bytes", Limit: "10MB", Value: new(6_900_000.0), Unit: "bytes", Pass: true},
	}
	return r
}

// bareResult is the result of a run that was cut short before it measured much.
func bareResult() *result.Result {
	return &result.Result{
		Schema: result.Schema, Partial: true,
		Proxies:     &result.Proxies{Requested: 10, Connected: 4, ByVariant: map[string]int{"sotw": 10}},
		Mutations:   &result.Mutations{Scheduled: 5},
		Propagation: &result.Propagation{},
	}
}

// writeText writes a result that is saved in dir for a terminal.
func writeText(w io.Writer, r *result.Result, dir string, o doc.TextOptions) error {
	d, err := report.Document(r, dir)
	if err != nil {
		return err
	}
	return d.Text(w, o)
}

func TestTextIsAsInTheGoldenFiles(t *testing.T) {
	for name, r := range map[string]*result.Result{"full": fullResult(t), "failed": failedResult(t), "bare": bareResult()} {
		golden.Check(t, name+".txt", func(w io.Writer) error { return writeText(w, r, "results/quickstart", doc.TextOptions{}) })
	}
	golden.Check(t, "color.txt", func(w io.Writer) error {
		return writeText(w, failedResult(t), "", doc.TextOptions{Color: true})
	})
}

func TestSummaryOfAFleetIsAsInTheGoldenFile(t *testing.T) {
	full := fullResult(t)
	r := &result.Result{
		Proxies:     &result.Proxies{Requested: 200, Connected: 200, Ready: 199, Refused: 7, ByVariant: map[string]int{"sotw": 100, "delta": 100}, Failures: map[string]int64{"refused": 7}, Misbehaviour: map[string]int64{"nacksInjected": 2}},
		Sync:        &result.Sync{TimeToReady: full.Sync.TimeToReady, ConfigBytesPerProxy: full.Sync.ConfigBytesPerProxy, Volume: full.Volume},
		Acks:        &result.Acks{Sent: 790, NacksInjected: 2, Reasons: map[string]int64{"on purpose": 2}},
		Convergence: &result.Convergence{StuckWarming: new(3)},
		Warnings:    []string{"a caveat"},
	}
	r.Sync.Volume.ByType = map[string]result.Traffic{"eds": {Responses: 800, Bytes: 1_200_000}, "cds": {Responses: 400, Bytes: 300_000}}
	golden.Check(t, "fleet.txt", func(w io.Writer) error { return report.Fleet(r).Text(w, doc.TextOptions{}) })
}

func TestMarkdownIsAsInTheGoldenFiles(t *testing.T) {
	for name, r := range map[string]*result.Result{"full.md": fullResult(t), "failed.md": failedResult(t)} {
		d, err := report.Document(r, "")
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, d.Markdown)
	}
}

func TestTheVerdictComesFirst(t *testing.T) {
	for want, change := range map[string]func(*result.Result){
		"PASSED ":     func(*result.Result) {},
		"DEFECTS ":    func(r *result.Result) { r.Convergence.Diverged = 1 },
		"SATURATED ":  func(r *result.Result) { r.Harness.Saturated, r.Harness.Reasons = true, []string{"late"} },
		"SLO MISSED ": func(r *result.Result) { r.SLO[0].Pass = false },
		"PARTIAL ":    func(r *result.Result) { r.Partial = true },
	} {
		r := fullResult(t)
		change(r)
		var got bytes.Buffer
		if err := writeText(&got, r, "", doc.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got.String(), want) {
			t.Errorf("no verdict %q in %q", want, got.String()[:40])
		}
	}
}

func TestHistogramLogReadsBack(t *testing.T) {
	dir := t.TempDir()
	r := fullResult(t)
	if err := report.Files(dir, r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, report.LatencyFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("[Histogram log format version 1.3]")) {
		t.Errorf("no version in %.200s", data)
	}
	found := make(map[string]int64)
	reader := hdrhistogram.NewHistogramLogReader(bytes.NewReader(data))
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		found[h.Tag()] = h.TotalCount()
	}
	want := map[string]int64{
		"propagation.all": 12000, "propagation.fromAck": 12000, "propagation.firstProxy": 60, "propagation.lastProxy": 60,
		"propagation.spread": 60, "sync.timeToReady": 200, "harness.scheduleLag": 80, "harness.stampLag": 12000,
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, report.MarkdownFile)); err != nil {
		t.Error(err)
	}
}

func TestBrokenInputIsAnError(t *testing.T) {
	r := fullResult(t)
	r.Profile = json.RawMessage(`[]`)
	if err := writeText(io.Discard, r, "", doc.TextOptions{}); err == nil {
		t.Error("no error for a profile that is a list")
	}
	r = fullResult(t)
	r.Propagation.All.Histogram = "?"
	if err := report.Histograms(io.Discard, r); err == nil {
		t.Error("no error for a damaged histogram")
	}
	r.Environment.StartedAt = "yesterday"
	if err := report.Histograms(io.Discard, r); err == nil {
		t.Error("no error for a start that is no time")
	}
}

// A result as the Collector makes it, not by hand.
func TestCollectedResultRenders(t *testing.T) {
	c, err := collect.New(collect.Config{
		Proxies: 1, Variants: []xds.Variant{xds.Delta}, Clock: event.NewClock(),
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeText(&out, c.Finish(collect.Final{}), "", doc.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte("0 of 1 ready (1 delta)")) {
		t.Errorf("text = %s", out.String())
	}
}
