package sizing_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xdsbench/xdsbench/experiment/capacity/sizing"
)

// The true costs of the synthetic control plane.
const (
	fixedBytes   = 50e6
	proxyBytes   = 90e3
	serviceBytes = 20e3
	idleCores    = 0.02
	pushSeconds  = 80e-6
	byteSeconds  = 40e-9
	startSeconds = 0.2
	proxyConnect = 1.5e-3
	restSeconds  = 0.1
	loadSeconds  = 50e-6
)

// measured is a run of the synthetic control plane; each figure is off by a
// relative error of the given size.
func measured(s sizing.Size, noise float64, rng *rand.Rand) sizing.Point {
	off := func(x float64) *float64 {
		x *= 1 + noise*rng.NormFloat64()
		return &x
	}
	p := sizing.Point{Run: fmt.Sprint(s, rng.Uint32()), Size: s, Ready: int(s.Proxies), PushesPerMutation: 0.7, Duty: 1, Setting: "synthetic"}
	p.PushRate = s.Proxies * s.Rate * p.PushesPerMutation
	p.ByteRate = p.PushRate * (200 + 60*s.Endpoints)
	p.ConfigBytes = 10e3 + 800*s.Services + 100*s.Services*s.Endpoints
	p.PeakRSS = off(fixedBytes + proxyBytes*s.Proxies + serviceBytes*s.Services)
	p.Cores = off(idleCores + pushSeconds*p.PushRate + byteSeconds*p.ByteRate)
	p.ConnectCPU = off(startSeconds + proxyConnect*s.Proxies)
	p.P99 = off(restSeconds + loadSeconds*s.Proxies)
	return p
}

// grid has all combinations, so that every term can be told apart.
func grid(noise float64, seed uint64) []sizing.Point {
	rng := rand.New(rand.NewPCG(seed, 0))
	var points []sizing.Point
	for _, proxies := range []float64{50, 100, 200, 400} {
		for _, services := range []float64{50, 200} {
			for _, endpoints := range []float64{5, 50} {
				for _, rate := range []float64{2, 8} {
					points = append(points, measured(sizing.Size{Proxies: proxies, Services: services, Endpoints: endpoints, Rate: rate}, noise, rng))
				}
			}
		}
	}
	return points
}

func coefficient(t *testing.T, f *sizing.Fit, term string) sizing.Coefficient {
	t.Helper()
	if f == nil {
		t.Fatalf("no fit with %q", term)
	}
	for _, c := range f.Coefficients {
		if c.Term == term {
			return c
		}
	}
	t.Fatalf("%s has no term %q: %+v, notes %q", f.Name, term, f.Coefficients, f.Notes)
	return sizing.Coefficient{}
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*math.Abs(want) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

func TestExactPointsGiveTheTrueCoefficients(t *testing.T) {
	t.Parallel()
	m := sizing.NewModel(grid(0, 1))
	for _, c := range []struct {
		fit  *sizing.Fit
		term string
		want float64
	}{
		{m.Memory, "fixed", fixedBytes},
		{m.Memory, "per proxy", proxyBytes},
		{m.Memory, "per service", serviceBytes},
		{m.CPU, "idle", idleCores},
		{m.CPU, "per push", pushSeconds},
		{m.CPU, "per byte pushed", byteSeconds},
		{m.Connect, "per proxy", proxyConnect},
		{m.Latency.Fit, "at no load", restSeconds},
		{m.BytesPerPush, "per endpoint of a service", 60},
		{m.ConfigBytes, "per service", 800},
	} {
		near(t, c.fit.Name+" "+c.term, coefficient(t, c.fit, c.term).Value, c.want, 1e-6)
		near(t, c.fit.Name+" R²", c.fit.R2, 1, 1e-9)
	}
	if m.Latency.Load != "proxies" || len(m.Notes) > 0 {
		t.Errorf("load %q, notes %q", m.Latency.Load, m.Notes)
	}
}

func TestIntervalsCoverTheTruthAsOftenAsTheySay(t *testing.T) {
	t.Parallel()
	const rounds = 200
	covered := 0
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var points []sizing.Point
		for i := range 10 {
			p := measured(sizing.Size{Proxies: 100 + 50*float64(i), Services: 100, Endpoints: 5, Rate: 4}, 0, rng)
			*p.PeakRSS += 2e6 * rng.NormFloat64()
			points = append(points, p)
		}
		c := coefficient(t, sizing.NewModel(points).Memory, "per proxy")
		if c.Low <= proxyBytes && proxyBytes <= c.High {
			covered++
		}
	}
	if covered < 0.9*rounds || covered == rounds {
		t.Errorf("%d of %d intervals of 95 %% cover the truth", covered, rounds)
	}
}

func TestWhatDidNotVaryIsNotTakenForKnown(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	var points []sizing.Point
	for _, n := range []float64{100, 200, 400, 800} {
		points = append(points, measured(sizing.Size{Proxies: n, Services: 100, Endpoints: 5, Rate: 4}, 0, rng))
	}
	m := sizing.NewModel(points)
	near(t, "per proxy", coefficient(t, m.Memory, "per proxy").Value, proxyBytes, 1e-6)
	near(t, "fixed, with the services in it", coefficient(t, m.Memory, "fixed").Value, fixedBytes+100*serviceBytes, 1e-6)
	near(t, "per push, with the bytes in it", coefficient(t, m.CPU, "per push").Value, pushSeconds+500*byteSeconds, 1e-6)
	for fit, want := range map[*sizing.Fit]string{
		m.Memory: `"per service" and "per endpoint" did not vary: the cost is in "fixed"`,
		m.CPU:    `"per byte pushed" varies together with the other terms (per push)`,
	} {
		if notes := strings.Join(fit.Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("notes of %s: %q: want %q", fit.Name, notes, want)
		}
	}
	e := m.At(sizing.Size{Proxies: 1600, Services: 1000, Endpoints: 5, Rate: 4}).Memory
	want := []sizing.Beyond{
		{Quantity: "proxies", Value: 1600, Factor: 2, Low: 100, High: 800},
		{Quantity: "services", Value: 1000, Factor: 10, Low: 100, High: 100},
	}
	if !slices.Equal(e.Extrapolated, want) {
		t.Errorf("extrapolated: %+v", e.Extrapolated)
	}
	if inside := m.At(sizing.Size{Proxies: 300, Services: 100, Endpoints: 5, Rate: 4}); len(inside.Memory.Extrapolated)+len(inside.CPU.Extrapolated) > 0 {
		t.Errorf("within the range, yet extrapolated: %+v", inside)
	}
}

func TestPredictionHoldsWhatOneMoreRunMeasures(t *testing.T) {
	t.Parallel()
	m := sizing.NewModel(grid(0.01, 3))
	size := sizing.Size{Proxies: 300, Services: 100, Endpoints: 20, Rate: 5}
	truth, got := measured(size, 0, rand.New(rand.NewPCG(1, 1))), m.At(size)
	for name, x := range map[string]struct {
		e     *sizing.Estimate
		truth float64
	}{
		"CPU": {got.CPU, *truth.Cores}, "memory": {got.Memory, *truth.PeakRSS}, "p99": {got.P99, *truth.P99}, "connecting": {got.ConnectCPU, *truth.ConnectCPU},
	} {
		if x.e.Low > x.truth || x.e.High < x.truth {
			t.Errorf("%s: %+v does not hold %g", name, *x.e, x.truth)
		}
		near(t, name, x.e.Value, x.truth, 0.05)
	}
	near(t, "pushes/s", got.PushRate, truth.PushRate, 1e-9)
}

func TestDrainDilutesTheCPUButNotTheCostOfAPush(t *testing.T) {
	t.Parallel()
	points := grid(0, 1)
	for i := range points {
		p := &points[i]
		p.Duty = 0.5 + 0.1*float64(i%5)
		*p.Cores = idleCores + p.Duty*(pushSeconds*p.PushRate+byteSeconds*p.ByteRate)
	}
	m := sizing.NewModel(points)
	near(t, "per push", coefficient(t, m.CPU, "per push").Value, pushSeconds, 1e-6)
	last := points[len(points)-1]
	near(t, "CPU of the last run", m.Like(last).CPU.Value, *last.Cores, 1e-6)
	near(t, "CPU of steady load", m.At(last.Size).CPU.Value, idleCores+pushSeconds*last.PushRate+byteSeconds*last.ByteRate, 1e-6)
}

func TestRunCannotUseMoreThanTheHarnessLeaves(t *testing.T) {
	t.Parallel()
	points := grid(0, 1)
	for i := range points {
		p := &points[i]
		p.CPUs, p.HarnessCores = 2, new(*p.Cores/3)
	}
	m := sizing.NewModel(points)
	big := points[len(points)-1]
	big.Proxies *= 1000
	demand := m.At(big.Size).CPU
	if got := m.Like(big).CPU; math.Abs(got.Value-1.5) > 1e-6 || got.High > 1.500001 || got.Demand != demand.Value || demand.Demand != 0 {
		t.Errorf("got %+v where %g cores are wanted", got, demand.Value)
	}
	small := points[0]
	if got := m.Like(small).CPU; got.Demand != 0 {
		t.Errorf("a small run is limited: %+v", got)
	}
}

func TestNegativeTermsAreLeftOutAndSaidSo(t *testing.T) {
	t.Parallel()
	points := grid(0, 1)
	for i := range points {
		*points[i].PeakRSS = fixedBytes + proxyBytes*points[i].Proxies - 1e3*points[i].Services
	}
	m := sizing.NewModel(points)
	for _, c := range m.Memory.Coefficients {
		if c.Value < 0 {
			t.Errorf("%+v is negative", c)
		}
	}
	if notes := strings.Join(m.Memory.Notes, "\n"); !strings.Contains(notes, `"per service" came out negative (-1e+03 bytes)`) {
		t.Errorf("notes: %q", notes)
	}
}

func TestQuestionableRunsStayOutOfCPUAndLatency(t *testing.T) {
	t.Parallel()
	points := grid(0, 1)
	bad := measured(sizing.Size{Proxies: 800, Services: 50, Endpoints: 5, Rate: 8}, 0, rand.New(rand.NewPCG(1, 1)))
	*bad.Cores, *bad.P99, bad.Questionable = 99, 99, []string{"the harness was the bottleneck: it lagged"}
	m := sizing.NewModel(append(points, bad))
	near(t, "per push", coefficient(t, m.CPU, "per push").Value, pushSeconds, 1e-6)
	if len(m.LeftOut) != 1 || m.LeftOut[0].Run != bad.Run || len(m.Memory.Residuals) != len(points)+1 {
		t.Errorf("left out %+v, %d points of memory", m.LeftOut, len(m.Memory.Residuals))
	}
}

func TestScalabilityLawComesBack(t *testing.T) {
	t.Parallel()
	const lambda, sigma, kappa, unit = 10, 0.05, 0.001, 100
	rng := rand.New(rand.NewPCG(1, 1))
	var points []sizing.Point
	for n := 1.0; n <= 16; n *= 2 {
		p := measured(sizing.Size{Proxies: n * unit, Services: 100, Endpoints: 5, Rate: 4}, 0, rng)
		*p.P99 = (1 + sigma*(n-1) + kappa*n*(n-1)) / lambda
		points = append(points, p)
	}
	u := sizing.NewModel(points).Latency
	near(t, "λ", u.Lambda, lambda, 1e-6)
	near(t, "σ", u.Contention, sigma, 1e-6)
	near(t, "κ", u.Coherency, kappa, 1e-6)
	near(t, "unit", u.Unit, unit, 1e-9)
	if u.Peak == nil {
		t.Fatal("no peak")
	}
	near(t, "peak", *u.Peak, unit*math.Sqrt((1-sigma)/kappa), 1e-6)
}

func TestOverloadedRunsStayOutOfTheLatency(t *testing.T) {
	t.Parallel()
	points := grid(0.02, 1)
	for range 3 {
		p := measured(sizing.Size{Proxies: 450, Services: 50, Endpoints: 5, Rate: 8}, 0, rand.New(rand.NewPCG(1, 1)))
		*p.P99 = 5
		points = append(points, p)
	}
	m := sizing.NewModel(points)
	got := m.At(sizing.Size{Proxies: 400, Services: 50, Endpoints: 5, Rate: 8}).P99
	near(t, "p99 below the knee", got.Value, restSeconds+400*loadSeconds, 0.05)
	if notes := strings.Join(m.Latency.Notes, "\n"); !strings.Contains(notes, "did not keep up: "+points[len(points)-1].Run) {
		t.Errorf("notes %q", notes)
	}
}

func TestReplicasFollowTheBindingLimit(t *testing.T) {
	t.Parallel()
	m := sizing.NewModel(grid(0, 1))
	size := sizing.Size{Proxies: 4000, Services: 100, Endpoints: 5, Rate: 4}
	all := m.At(size)
	for _, c := range []struct {
		limits  sizing.Limits
		count   int
		binding string
	}{
		{sizing.Limits{CPU: 2 * all.CPU.Value}, 1, "CPU"},
		{sizing.Limits{CPU: idleCores + (all.CPU.Value-idleCores)/3 + 1e-6}, 3, "CPU"},
		{sizing.Limits{CPU: 2 * all.CPU.Value, Memory: fixedBytes + 100*serviceBytes + 1001*proxyBytes}, 4, "memory"},
		{sizing.Limits{P99: restSeconds + 801*loadSeconds}, 5, "p99"},
		{sizing.Limits{PushRate: all.PushRate/7 + 1}, 7, "the knee"},
	} {
		r := m.Replicas(size, c.limits)
		if r == nil || r.Count != c.count || r.Binding != c.binding {
			t.Errorf("%+v: %+v, want %d by %s", c.limits, r, c.count, c.binding)
		}
	}
	if r := m.Replicas(size, sizing.Limits{Memory: 1e6, CPU: 100}); r.Count != 0 || len(r.Impossible) != 1 || r.Impossible[0] != "memory" {
		t.Errorf("less memory than the fixed part: %+v", r)
	}
	if r := m.Replicas(size, sizing.Limits{}); r != nil {
		t.Errorf("without limits: %+v", r)
	}
}

func TestTooFewOrMixedRunsAreSaid(t *testing.T) {
	t.Parallel()
	points := grid(0, 1)
	m := sizing.NewModel(points[:2])
	if m.CPU != nil || m.Memory != nil || m.Latency != nil || !strings.Contains(strings.Join(m.Notes, "\n"), "CPU: not fitted: 2 usable runs, at least 3 are needed") {
		t.Errorf("two runs: notes %q", m.Notes)
	}
	points[0].Setting = "another"
	if notes := strings.Join(sizing.NewModel(points).Notes, "\n"); !strings.Contains(notes, "1 runs of another; 31 runs of synthetic") {
		t.Errorf("mixed: %q", notes)
	}
}
