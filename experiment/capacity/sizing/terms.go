package sizing

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// term is one regressor.
type term struct {
	name, unit string
	of         func(Point) float64
}

func constant(name, unit string) term {
	return term{name, unit, func(Point) float64 { return 1 }}
}

// perHeldByte is a cost of each byte that all proxies together hold.
func perHeldByte(unit string) term {
	return term{"per byte of configuration that proxies hold", unit, func(p Point) float64 { return p.Proxies * p.ConfigBytes }}
}

func proxies(p Point) float64 { return p.Proxies }

func services(p Point) float64 { return p.Services }

func endpoints(p Point) float64 { return p.Endpoints }

func allEndpoints(p Point) float64 { return p.Services * p.Endpoints }

func rate(p Point) float64 { return p.Rate }

func pushRate(p Point) float64 { return p.PushRate }

// minSpread is the coefficient of variation below which a regressor counts as
// constant: rates and sizes differ by a few percent between equal runs.
const minSpread = 0.05

// distinct returns the terms that vary and that those before them do not explain,
// fewer than there are points. The fit's notes say which terms are left out.
func (f *fitter) distinct(fit *Fit) []term {
	kept := f.terms[:1:1]
	var constants []string
	for _, t := range f.terms[1:] {
		column := t.column(fit.points)
		total := aroundMean(column)
		switch {
		case total <= minSpread*minSpread*floats.Dot(column, column):
			constants = append(constants, strconv.Quote(t.name))
		case len(kept)+1 >= len(fit.points):
			fit.note("%q is left out: %d runs are too few for one more term", t.name, len(fit.points))
		case unexplained(column, kept, fit.points) < total/cmp.Or(f.maxInflation, inflationLimit):
			fit.note("%q varies together with the other terms (%s): its cost is in theirs", t.name, names(kept[1:]))
		default:
			kept = append(kept, t)
		}
	}
	if len(constants) > 0 {
		fit.note("%s did not vary: the cost is in %q", strings.Join(constants, " and "), f.terms[0].name)
	}
	return kept
}

// unexplained is the sum of squares of a column that the terms leave.
func unexplained(column []float64, terms []term, points []Point) float64 {
	x, scale := design(terms, points)
	beta := solve(x, column)
	rest := make([]float64, len(column))
	for i, p := range points {
		rest[i] = column[i]
		for j, t := range terms {
			rest[i] -= beta[j] * t.of(p) / scale[j]
		}
	}
	return floats.Dot(rest, rest)
}

// design returns a row per point and a column per term, each column divided by
// its largest value.
func design(terms []term, points []Point) (x *mat.Dense, scale []float64) {
	x, scale = mat.NewDense(len(points), len(terms), nil), make([]float64, len(terms))
	for j, t := range terms {
		column := t.column(points)
		for _, v := range column {
			scale[j] = max(scale[j], math.Abs(v))
		}
		if scale[j] == 0 {
			scale[j] = 1
		}
		floats.Scale(1/scale[j], column)
		x.SetCol(j, column)
	}
	return x, scale
}

// solve returns the least squares solution; the columns are independent.
func solve(x *mat.Dense, y []float64) []float64 {
	var qr mat.QR
	qr.Factorize(x)
	var beta mat.VecDense
	// An error says that the matrix is nearly singular, which distinct excludes.
	_ = qr.SolveVecTo(&beta, false, mat.NewVecDense(len(y), y))
	return beta.RawVector().Data
}

// column is the term at each point.
func (t term) column(points []Point) []float64 {
	v := make([]float64, len(points))
	for i, p := range points {
		v[i] = t.of(p)
	}
	return v
}

// aroundMean is the sum of squares about the mean.
func aroundMean(v []float64) float64 { return stat.Variance(v, nil) * float64(len(v)-1) }

func names(terms []term) string {
	var all []string
	for _, t := range terms {
		all = append(all, t.name)
	}
	return strings.Join(all, ", ")
}
