package sizing

import (
	"math"
	"slices"
	"strings"

	"github.com/xdsbench/xdsbench/experiment"
)

const latencyName = "latency p99"

// The loads that latency can grow with.
const (
	loadProxies = "proxies"
	loadPushes  = "pushes/s"
)

// USL is the latency by the Universal Scalability Law.
type USL struct {
	*Fit
	// Load is what N counts, in multiples of Unit, the smallest measured load.
	Load string  `json:"load"`
	Unit float64 `json:"loadUnit"`
	// Contention is σ, Coherency κ: the shares of serial work and of mutual
	// waiting. Lambda is 1/latency at N = 1.
	Contention float64 `json:"contention"`
	Coherency  float64 `json:"coherency"`
	Lambda     float64 `json:"lambda"`
	// Peak is the load beyond which throughput falls; nil if κ is zero.
	Peak *float64 `json:"peakLoad,omitempty"`
}

// fitUSL takes the load that explains the latency best.
func fitUSL(points []Point) (best *USL, note string) {
	for _, load := range []string{loadProxies, loadPushes} {
		fit, why := fitLaw(load, points)
		if fit == nil {
			return nil, why
		}
		// Each load leaves out the runs that are overloaded by its law.
		if best == nil || len(fit.points) > len(best.points) ||
			len(fit.points) == len(best.points) && fit.sigma < best.sigma && !nearlyEqual(fit.sigma, best.sigma) {
			best = &USL{Fit: fit, Load: load}
		}
	}
	best.parameters()
	var notes []string
	for _, p := range best.points {
		notes = append(notes, p.P99Note)
	}
	if note := experiment.Note(notes); note != "" {
		best.note("some runs have too few samples for a p99, and the largest in its place (%s)", note)
	}
	return best, ""
}

// overload is how many times the law's latency a run must have to count as one in
// which the control plane did not keep up: its latency then depends on how long the
// run was, and the law does not apply.
const overload = 3

// fitLaw fits the runs in which the control plane kept up.
func fitLaw(load string, points []Point) (*Fit, string) {
	var overloaded []string
	for {
		fit, why := uslFitter(load).fit(points)
		if fit == nil {
			return nil, why
		}
		points = nil
		for i, r := range fit.Residuals {
			if r.Measured > overload*r.Fitted {
				overloaded = append(overloaded, r.Run)
			} else {
				points = append(points, fit.points[i])
			}
		}
		if len(points) == len(fit.points) {
			if len(overloaded) > 0 {
				fit.note("left out, because their p99 is more than %d times the law's, so that the control plane did not keep up: %s", overload, strings.Join(overloaded, ", "))
			}
			return fit, ""
		}
	}
}

// nearlyEqual keeps rounding errors from choosing between equal loads.
func nearlyEqual(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(a, b) }

// LoadOf returns the load of a point.
func (u *USL) LoadOf(p Point) float64 { return loadOf(u.Load)(p) }

func loadOf(load string) func(Point) float64 {
	if load == loadProxies {
		return proxies
	}
	return pushRate
}

func uslFitter(load string) *fitter {
	n, unit := loadOf(load), "proxy"
	if load == loadPushes {
		unit = "push/s"
	}
	return &fitter{
		name: latencyName, unit: "s", maxInflation: powerInflationLimit, relative: true,
		cost: func(p Point) *float64 { return p.P99 },
		terms: []term{
			constant("at no load", "s"),
			{"per " + unit, "s", n},
			{"per " + unit + " squared", "s", func(p Point) float64 { return n(p) * n(p) }},
		},
	}
}

// parameters translates the polynomial α + βL + γL², L = N·Unit:
// α = (1−σ)/λ, β·Unit = (σ−κ)/λ, γ·Unit² = κ/λ.
func (u *USL) parameters() {
	u.Unit = slices.Min(term{of: loadOf(u.Load)}.column(u.points))
	var power [3]float64
	for i, t := range uslFitter(u.Load).terms {
		if j := slices.IndexFunc(u.terms, func(x term) bool { return x.name == t.name }); j >= 0 {
			power[i] = u.Coefficients[j].Value
		}
	}
	first := power[0] + power[1]*u.Unit + power[2]*u.Unit*u.Unit
	u.Lambda = 1 / first
	u.Contention = 1 - power[0]/first
	u.Coherency = power[2] * u.Unit * u.Unit / first
	if u.Coherency > 0 {
		u.Peak = new(math.Sqrt((1-u.Contention)/u.Coherency) * u.Unit)
	}
}
