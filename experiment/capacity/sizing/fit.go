package sizing

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	confidence = 0.95
	// maxInflation is the variance inflation factor above which a term counts as
	// explained by those before it: the usual rule of thumb.
	maxInflation = 10
	// polynomialInflation is the same for powers of one load, which are alike by
	// nature.
	polynomialInflation = 10_000
)

// Coefficient is one term of a fit, with its 95 % interval.
type Coefficient struct {
	Term  string  `json:"term"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Residual is one point of a fit: Error is (Fitted − Measured)/Measured.
type Residual struct {
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
	Residuals    []Residual    `json:"residuals"`
	// R2 is the share of the variance that the fit explains; 0 if nothing varied.
	R2               float64 `json:"r2"`
	MaxRelativeError float64 `json:"maxRelativeError"`
	DegreesOfFreedom int     `json:"degreesOfFreedom"`
	// Notes say which terms were left out, and why.
	Notes []string `json:"notes,omitempty"`

	points  []Point
	terms   []term
	inverse *mat.SymDense // of X'X
	sigma   float64       // of the residuals, as a share of the cost if relative

	relative bool
}

// fitter holds what a fit is made from.
type fitter struct {
	name, unit string
	inflation  float64
	// relative minimises relative errors, for a cost whose errors grow with it and
	// that jumps where the control plane is overloaded.
	relative bool
	terms    []term // the first is constant; the most trusted first
	cost     func(Point) float64
}

// fit fits the terms that the points can tell apart; nil, with a note, if there
// are too few points.
func (f fitter) fit(points []Point) (*Fit, string) {
	if len(points) < 3 {
		return nil, fmt.Sprintf("%s: not fitted: %d usable runs, and it takes 3", f.name, len(points))
	}
	fit := &Fit{Name: f.name, Unit: f.unit, points: points, relative: f.relative}
	y := make([]float64, len(points))
	for i, p := range points {
		y[i] = f.cost(p)
	}
	fit.terms = f.distinct(fit, points)
	for {
		values := fit.solve(y)
		worst := fit.mostNegative(values)
		if worst < 0 {
			fit.conclude(values, y)
			return fit, ""
		}
		fit.note("%q came out negative (%.3g %s): left out, since nothing costs less than nothing", fit.terms[worst].name, values[worst], fit.terms[worst].unit)
		fit.terms = append(fit.terms[:worst:worst], fit.terms[worst+1:]...)
		if len(fit.terms) == 0 {
			return nil, f.name + ": not fitted: no term is positive"
		}
	}
}

func (f *Fit) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// solve returns the coefficients, and notes the inverse of X'X. Rows are divided
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
		_ = chol.InverseTo(f.inverse) // likewise
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
// by the largest part it has of any point; −1 if none is.
func (f *Fit) mostNegative(beta []float64) int {
	worst, least := -1, 0.0
	for j, b := range beta {
		part := 0.0
		for _, p := range f.points {
			part = min(part, b*f.terms[j].of(p))
		}
		if part < least {
			worst, least = j, part
		}
	}
	return worst
}

// conclude fills in what a fit says of itself.
func (f *Fit) conclude(beta, y []float64) {
	f.DegreesOfFreedom = len(y) - len(beta)
	squares := 0.0
	for i, p := range f.points {
		r := Residual{Run: p.Run, Measured: y[i]}
		for j, t := range f.terms {
			r.Fitted += beta[j] * t.of(p)
		}
		if y[i] != 0 {
			r.Error = r.Fitted/y[i] - 1
		}
		if f.relative {
			squares += r.Error * r.Error
		} else {
			squares += (r.Fitted - y[i]) * (r.Fitted - y[i])
		}
		f.MaxRelativeError = max(f.MaxRelativeError, math.Abs(r.Error))
		f.Residuals = append(f.Residuals, r)
	}
	f.sigma = math.Sqrt(squares / float64(f.DegreesOfFreedom))
	f.R2 = f.explained(y, squares)
	for j, t := range f.terms {
		half := f.student() * f.sigma * math.Sqrt(f.inverse.At(j, j))
		f.Coefficients = append(f.Coefficients, Coefficient{t.name, t.unit, beta[j], beta[j] - half, beta[j] + half})
	}
}

// explained is R²: how much better the fit is than the best constant, by the
// errors that it minimises.
func (f *Fit) explained(y []float64, squares float64) float64 {
	total := aroundMean(y)
	if f.relative {
		inverse := make([]float64, len(y))
		for i, v := range y {
			inverse[i] = 1 / v
		}
		best := floats.Sum(inverse) / floats.Dot(inverse, inverse)
		total = 0
		for _, x := range inverse {
			total += (best*x - 1) * (best*x - 1)
		}
	}
	if total == 0 {
		return 0
	}
	return 1 - squares/total
}

// student is the factor of a two-sided interval.
func (f *Fit) student() float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(f.DegreesOfFreedom)}.Quantile((1 + confidence) / 2)
}

// at predicts the cost of a point, with the 95 % interval of one more run there.
// The interval is cut off at zero, below which no cost can be.
func (f *Fit) at(p Point) Estimate {
	x := mat.NewVecDense(len(f.terms), nil)
	var e Estimate
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
