package sizing

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	confidence = 0.95
	// inflationLimit is the variance inflation factor above which a term counts as
	// explained by those before it: the usual rule of thumb.
	inflationLimit = 10
	// powerInflationLimit is the same for powers of one load, which are alike by
	// nature.
	powerInflationLimit = 10_000
	// minRuns is how many runs a fit needs.
	minRuns = 3
)

// Coefficient is one term of a fit, with its 95 % interval.
type Coefficient struct {
	Term  string  `json:"term"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// residual is one point of a fit: Error is (Fitted − Measured)/Measured.
type residual struct {
	Run      string  `json:"run"`
	Measured float64 `json:"measured"`
	Fitted   float64 `json:"fitted"`
	Error    float64 `json:"relativeError"`
}

// Fit is a fitted cost.
type Fit struct {
	// Name is "memory", "CPU", "connect CPU" or "latency p99"; Unit is of the cost.
	Name         string        `json:"name"`
	Unit         string        `json:"unit"`
	Coefficients []Coefficient `json:"coefficients"`
	Residuals    []residual    `json:"residuals"`
	// R2 is the share of the variance that the fit explains; 0 if nothing varied.
	R2               float64 `json:"r2"`
	MaxRelativeError float64 `json:"maxRelativeError"`
	DegreesOfFreedom int     `json:"degreesOfFreedom"`
	// Notes say which terms were left out, and why.
	Notes []string `json:"notes,omitempty"`

	cost    func(Point) *float64
	points  []Point
	terms   []term
	inverse *mat.SymDense // of X'X
	sigma   float64       // of the residuals, as a share of the cost if relative

	relative bool
}

// fitter says what to fit.
type fitter struct {
	name, unit string
	// maxInflation is the variance inflation factor that a term may have; zero for
	// inflationLimit.
	maxInflation float64
	// relative minimises relative errors, for a cost whose errors grow with it and
	// that jumps where the control plane is overloaded.
	relative bool
	// cost is nil at points that do not have it.
	cost  func(Point) *float64
	terms []term // the first is constant; the most trusted first
}

// fit fits the terms that the points with the cost can tell apart; nil, with the
// reason, if there are too few points.
func (f *fitter) fit(points []Point) (*Fit, string) {
	fit := &Fit{Name: f.name, Unit: f.unit, cost: f.cost, relative: f.relative}
	var y []float64
	for _, p := range points {
		if cost := f.cost(p); cost != nil {
			fit.points, y = append(fit.points, p), append(y, *cost)
		}
	}
	if len(y) < minRuns {
		return nil, fmt.Sprintf("%s: not fitted: %d usable runs, at least %d are needed", f.name, len(y), minRuns)
	}
	fit.terms = f.distinct(fit)
	for {
		values := fit.solve(y)
		worst := fit.mostNegative(values)
		if worst < 0 {
			fit.conclude(values, y)
			return fit, ""
		}
		t := fit.terms[worst]
		fit.note("%q came out negative (%.3g %s) and is left out: no cost is below zero", t.name, values[worst], t.unit)
		fit.terms = slices.Delete(slices.Clone(fit.terms), worst, worst+1)
		if len(fit.terms) == 0 {
			return nil, f.name + ": not fitted: no term is positive"
		}
	}
}

func (f *Fit) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// solve returns the coefficients, and keeps the inverse of X'X. Rows are divided
// by their cost to make errors relative.
func (f *Fit) solve(y []float64) []float64 {
	x, scale := design(f.terms, f.points)
	if f.relative {
		ones := make([]float64, len(y))
		for i := range y {
			ones[i] = 1
			floats.Scale(1/y[i], x.RawRowView(i))
		}
		y = ones
	}
	beta := solve(x, y)
	var normal mat.SymDense
	normal.SymOuterK(1, x.T())
	var chol mat.Cholesky
	f.inverse = mat.NewSymDense(len(beta), nil)
	if chol.Factorize(&normal) {
		_ = chol.InverseTo(f.inverse) // as in the function solve
	}
	for i := range beta {
		beta[i] /= scale[i]
		for j := i; j < len(beta); j++ {
			f.inverse.SetSym(i, j, f.inverse.At(i, j)/scale[i]/scale[j])
		}
	}
	return beta
}

// mostNegative returns the index of the most negative coefficient, each measured
// by the largest part it has of any point; −1 if none is negative.
func (f *Fit) mostNegative(beta []float64) int {
	worst, least := -1, 0.0
	for j, b := range beta {
		if part := b * slices.Max(f.terms[j].column(f.points)); part < least {
			worst, least = j, part
		}
	}
	return worst
}

// conclude fills in what a fit reports.
func (f *Fit) conclude(beta, y []float64) {
	f.DegreesOfFreedom = len(y) - len(beta)
	squares := 0.0
	for i, p := range f.points {
		r := residual{Run: p.Run, Measured: y[i]}
		for j, t := range f.terms {
			r.Fitted += beta[j] * t.of(p)
		}
		if y[i] != 0 {
			r.Error = r.Fitted/y[i] - 1
		}
		deviation := r.Fitted - y[i]
		if f.relative {
			deviation = r.Error
		}
		squares += deviation * deviation
		f.MaxRelativeError = max(f.MaxRelativeError, math.Abs(r.Error))
		f.Residuals = append(f.Residuals, r)
	}
	f.sigma = math.Sqrt(squares / float64(f.DegreesOfFreedom))
	if total := f.total(y); total > 0 {
		f.R2 = 1 - squares/total
	}
	for j, t := range f.terms {
		half := f.student() * f.sigma * math.Sqrt(f.inverse.At(j, j))
		f.Coefficients = append(f.Coefficients, Coefficient{t.name, t.unit, beta[j], beta[j] - half, beta[j] + half})
	}
}

// total is the sum of squares that the best constant leaves, of the errors that
// the fit minimises.
func (f *Fit) total(y []float64) float64 {
	if !f.relative {
		return aroundMean(y)
	}
	inverse := make([]float64, len(y))
	for i, v := range y {
		inverse[i] = 1 / v
	}
	// The best constant c minimises the sum of (c/y − 1)².
	sum, squares := floats.Sum(inverse), floats.Dot(inverse, inverse)
	return float64(len(y)) - sum*sum/squares
}

// student is the factor of a two-sided interval.
func (f *Fit) student() float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(f.DegreesOfFreedom)}.Quantile((1 + confidence) / 2)
}

// at predicts the cost of a point, with the 95 % interval of one more run there.
// The interval is cut off at zero, below which no cost can be.
func (f *Fit) at(p Point) *Estimate {
	if f == nil {
		return nil
	}
	x := mat.NewVecDense(len(f.terms), nil)
	e := &Estimate{Extrapolated: f.outside(p)}
	for j, t := range f.terms {
		x.SetVec(j, t.of(p))
		e.Value += f.Coefficients[j].Value * t.of(p)
	}
	own := 1.0 // the variance of one run, in units of sigma²
	if f.relative {
		own = e.Value * e.Value
	}
	half := f.student() * f.sigma * math.Sqrt(own+mat.Inner(x, f.inverse, x))
	e.Low, e.High = max(0, e.Value-half), e.Value+half
	return e
}

// Cost returns what a point measured of the fit's cost; nil if it did not.
func (f *Fit) Cost(p Point) *float64 { return f.cost(p) }

// Fitted returns the cost of a point by the fit; false if the point is not in it.
func (f *Fit) Fitted(p Point) (float64, bool) {
	i := slices.IndexFunc(f.Residuals, func(r residual) bool { return r.Run == p.Run })
	if i < 0 {
		return 0, false
	}
	return f.Residuals[i].Fitted, true
}
