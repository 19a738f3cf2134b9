package order

import (
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// Problem is a series of values with its models: the design of the largest model and, except for
// splines, the evidence of every model.
type Problem struct {
	// Options holds the caller's options, with defaults filled in.
	Options Options
	// Path is the file of the table.
	Path string
	// Notes are remarks on the table for the reader, in sentences.
	Notes []string

	levels *design
	// models lists all autoregressions or polynomials; it is empty for splines.
	models []*fit
	knots  *knots // candidate knots of splines; nil for other models

	times       []float64 // times of the rows
	first, last float64   // the first and the last of all times
	numbers     []int     // row numbers in the file
	unit        string
}

// NewProblem reads values and times from a table and checks them. It computes the evidences of all
// orders, except for splines, whose evidences Run computes. Errors name the cell of the table.
func NewProblem(t *table.Table, options Options) (*Problem, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	values, err := t.NumbersOf(options.Value, "numbers")
	if err != nil {
		return nil, err
	}
	n := len(values)
	fitted := options.MaxOrder + options.Degree
	// The number of rows in the likelihood must be at least twice the number of coefficients.
	if n < 3*fitted+4 {
		return nil, fmt.Errorf("%s: got %s for orders up to %d, want at least %s, or a smaller --max-order", t.Path, english.Count(n, "row"), options.MaxOrder, english.Count(3*fitted+4, "row"))
	}
	p := &Problem{Options: options, Path: t.Path}
	places, unit := t.Places()
	p.numbers, p.unit = slices.Clone(places), unit
	times := apply.UpTo(n, func(i int) float64 { return float64(i) })
	if options.Time != "" {
		if times, err = t.NumbersOf(options.Time, "numbers"); err != nil {
			return nil, err
		}
		even := ""
		if options.Kind == Autoregression {
			even = "an autoregression wants evenly spaced rows"
		}
		series, err := t.Series(options.Time, times, values, "want one row for each time", even)
		if err != nil {
			return nil, err
		}
		times, values, p.numbers = series.Times, series.Values, series.Places
	}
	if err := p.checkSpread(values); err != nil {
		return nil, err
	}
	p.times, p.first, p.last = times, times[0], times[n-1]
	switch options.Kind {
	case Autoregression:
		err = p.autoregressions(values)
	case Polynomial:
		p.overTime(values, options.MaxOrder, nil)
		err = p.addModels(p.levels, 0)
	default:
		err = p.splines(values)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: column %q: %w", t.Path, options.Value, err)
	}
	return p, nil
}

// checkSpread returns an error if all values are equal, or equal up to rounding.
func (p *Problem) checkSpread(values []float64) error {
	low, high := slices.Min(values), slices.Max(values)
	if low == high {
		return fmt.Errorf("%s: column %q is constant: every value is %g", p.Path, p.Options.Value, low)
	}
	if spread := high - low; math.IsInf(spread, 0) || spread < 1e-10*math.Max(math.Abs(low), math.Abs(high)) {
		return fmt.Errorf("%s: column %q: its range %g cannot be distinguished from rounding error at %g: subtract a constant", p.Path, p.Options.Value, spread, low)
	}
	return nil
}

// Rows returns the number of rows in the likelihood. It excludes the first rows of an
// autoregression, on which the likelihood is conditioned.
func (p *Problem) Rows() int { return len(p.levels.y) }

// Priors describes the model and the priors in sentences, one per line.
func (p *Problem) Priors() []string {
	o := p.Options
	var first string
	switch {
	case o.Kind == Spline:
		first = fmt.Sprintf("spline of degree %d: number of knots Poisson(%g) up to %d, at any of %s from %.6g to %.6g", o.Degree, o.MeanKnots, o.MaxOrder, english.Count(len(p.knots.places), "place"), p.knots.places[0], p.knots.places[len(p.knots.places)-1])
	case o.UnitRoot > 0:
		first = fmt.Sprintf("autoregression: order uniform on 0 to %d; of orders from 1 a unit root with probability %g", o.MaxOrder, o.UnitRoot)
	default:
		first = fmt.Sprintf("%s: order uniform on 0 to %d", o.Kind, o.MaxOrder)
	}
	return []string{
		fmt.Sprintf("%s; %d rows are explained", first, p.Rows()),
		fmt.Sprintf("coefficients: Zellner's prior with the information of one row (g = %d); intercept flat, σ² ∝ 1/σ²", p.Rows()),
	}
}
