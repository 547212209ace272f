package sizing

import (
	"math"
	"slices"
	"strings"
)

// The loads that latency can grow with.
const (
	LoadProxies = "proxies"
	LoadPushes  = "pushes/s"
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
	for _, load := range []string{LoadProxies, LoadPushes} {
		fit, why := fitLaw(load, points)
		if fit == nil {
			return nil, why
		}
		// Each load leaves out the runs that are overloaded by its law.
		if best == nil || len(fit.points) > len(best.points) ||
			len(fit.points) == len(best.points) && fit.sigma < best.sigma && !samePrecision(fit.sigma, best.sigma) {
			best = &USL{Fit: fit, Load: load}
		}
	}
	best.parameters()
	return best, ""
}

// overload is how many times the law's latency a run must have to count as one in
// which the control plane did not keep up: its latency is then a matter of how
// long the run was, and the law says nothing of it.
const overload = 3

// fitLaw fits the runs in which the control plane kept up.
func fitLaw(load string, points []Point) (*Fit, string) {
	var left []string
	for {
		fit, why := uslFitter(load).fit(points)
		if fit == nil {
			return nil, why
		}
		var kept []Point
		for i, r := range fit.Residuals {
			if r.Measured > overload*r.Fitted {
				left = append(left, r.Run)
			} else {
				kept = append(kept, points[i])
			}
		}
		if len(kept) == len(points) {
			if len(left) > 0 {
				fit.note("left out, since their p99 is more than %d times the law's, so that the control plane did not keep up: %s", overload, strings.Join(left, ", "))
			}
			return fit, ""
		}
		points = kept
	}
}

// samePrecision keeps rounding errors from choosing between equal loads.
func samePrecision(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(a, b) }

// loadOf returns a point's load.
func loadOf(load string) func(Point) float64 {
	if load == LoadProxies {
		return proxies
	}
	return func(p Point) float64 { return p.PushRate }
}

func uslFitter(load string) fitter {
	n, unit := loadOf(load), "proxy"
	if load == LoadPushes {
		unit = "push/s"
	}
	return fitter{
		name: "latency p99", unit: "s", inflation: polynomialInflation, relative: true,
		cost: func(p Point) float64 { return *p.P99 },
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
	n := loadOf(u.Load)
	u.Unit = math.Inf(1)
	for _, p := range u.points {
		u.Unit = min(u.Unit, n(p))
	}
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
		peak := math.Sqrt((1-u.Contention)/u.Coherency) * u.Unit
		u.Peak = &peak
	}
}
