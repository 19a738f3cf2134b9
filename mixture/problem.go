package mixture

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// Problem is one or several columns of values with the priors of their mixture. On the working
// scale each column has midrange 0 and range 1; counts stay unchanged.
type Problem struct {
	// Options holds the caller's options, with defaults filled in.
	Options Options
	// Path is the file of the table.
	Path string
	// Notes are remarks on the table, in sentences, for the reader of the answer.
	Notes []string

	family  family
	columns []column
	numbers []int // numbers of the rows in the file
}

// column is a column on the working scale, with midrange 0 and range 1.
type column struct {
	name          string
	y             []float64 // [n]
	centre, scale float64   // a value of the table is centre + scale · y
}

func (c column) value(y float64) float64 { return c.centre + c.scale*y }

// Limits on the number of rows.
const (
	fewestRows = 3
	// MostRows is the largest number of rows.
	MostRows = 100_000
)

// fewestValues is the number of different values below which a column with equal values is taken
// for categories and refused. Of 200 normal values rounded to 6, 8, 10, 13 and 18 different values,
// answers are trusted with 13 and 18 only.
const fewestValues = 10

// NewProblem reads the columns and checks them. Its errors name the cell.
func NewProblem(t *table.Table, options Options) (*Problem, error) {
	asked := options.MaxComponents
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Problem{Options: options, Path: t.Path}
	p.numbers, _ = t.Places()
	for _, name := range options.Columns {
		if err := p.read(t, name); err != nil {
			return nil, err
		}
	}
	if n := p.Rows(); asked > n {
		return nil, fmt.Errorf("%s: got %s, fewer than the %s asked about", t.Path, english.Count(n, "row"), english.Count(asked, "component"))
	}
	y := p.columns[0].y
	switch options.Family {
	case Student:
		p.family = newStudents(y, options)
	case Poisson:
		p.family = newCounts(y, p.Options)
	case Multivariate:
		if err := p.checkRank(); err != nil {
			return nil, err
		}
		p.family = vectors{o: options, rows: apply.UpTo(len(y), func(i int) []float64 {
			return apply.To(p.columns, func(c column) float64 { return c.y[i] })
		})}
	default:
		p.family = newNormals(y, options)
	}
	return p, nil
}

func (p *Problem) read(t *table.Table, name string) error {
	values, err := t.NumbersOf(name, "numbers")
	if err != nil {
		return err
	}
	n := len(values)
	if n < fewestRows || n > MostRows {
		return fmt.Errorf("%s: got %s, want %d to %d", t.Path, english.Count(n, "row"), fewestRows, MostRows)
	}
	low, high := slices.Min(values), slices.Max(values)
	if low == high {
		return fmt.Errorf("%s: column %q is constant: every value is %g", t.Path, name, low)
	}
	one := column{name: name, centre: (low + high) / 2, scale: high - low}
	if p.Options.Range > 0 {
		one.centre, one.scale = 0, p.Options.Range
	}
	if p.Options.Family == Poisson {
		one.centre, one.scale = 0, 1
		total := 0.0
		for row, v := range values {
			if v < 0 || v != math.Trunc(v) {
				return fmt.Errorf("%s: %s, column %q: got %g, want counts 0, 1, 2, … for the family poisson", t.Path, t.Place(row), name, v)
			}
			total += v
		}
		p.Options.RateExposure = cmp.Or(p.Options.RateExposure, p.Options.RateShape*float64(n)/total)
	} else if spread := high - low; math.IsInf(spread, 0) || spread < 1e-12*math.Max(math.Abs(low), math.Abs(high)) {
		return fmt.Errorf("%s: column %q: its range %g cannot be distinguished from rounding error at %g: subtract a constant", t.Path, name, spread, one.centre)
	}
	one.y = apply.To(values, func(v float64) float64 { return (v - one.centre) / one.scale })
	p.columns = append(p.columns, one)
	if p.Options.Family == Poisson {
		return nil
	}
	shared := newTies(one.y)
	distinct := len(shared.values)
	if distinct < n && distinct < fewestValues {
		return fmt.Errorf("%s: column %q has %s in %s: a mixture of densities would give each a component of its own; want values that are not rounded, or counts with vti mixture --family poisson", t.Path, name, english.Count(distinct, "different value"), english.Count(n, "row"))
	} else if distinct < n {
		value, rows := shared.most()
		p.Notes = append(p.Notes, fmt.Sprintf("%s: %d of %s %s equal to another; most often %.4g, in %d rows",
			name, n-distinct, english.Count(n, "value"), english.Form(n-distinct, "is", "are"), one.value(value), rows))
	}
	return nil
}

// checkRank returns an error if a column is a linear combination of other columns, so that their
// covariance matrix is singular.
func (p *Problem) checkRank() error {
	n, d := p.Rows(), len(p.columns)
	if n < d+2 {
		return fmt.Errorf("%s: got %s for %s, want at least %d", p.Path, english.Count(n, "row"), english.Count(d, "column"), d+2)
	}
	m := mat.NewDense(n, d+1, nil)
	for i := range n {
		m.Set(i, 0, 1)
		for c := range d {
			m.Set(i, c+1, p.columns[c].y[i])
		}
	}
	upper := dense.R(m)
	for c := range d {
		if math.Abs(upper.At(c+1, c+1)) < 1e-9*mat.Norm(m.ColView(c+1), 2) {
			return fmt.Errorf("%s: column %q is a combination of those before it: leave it out", p.Path, p.columns[c].name)
		}
	}
	return nil
}

// Rows returns the number of rows.
func (p *Problem) Rows() int { return len(p.columns[0].y) }

// Priors describes the model and the priors, a line each.
func (p *Problem) Priors() []string {
	o := p.Options
	lines := []string{fmt.Sprintf("%s components; their number k: uniform on 1 to %d; weights: Dirichlet(%g)", o.Family, o.MaxComponents, o.Concentration)}
	if o.Family == Poisson {
		return append(lines, fmt.Sprintf("rates: Gamma(%g, %.4g), ordered", o.RateShape, o.RateExposure))
	}
	for _, c := range p.columns {
		name := ""
		if len(p.columns) > 1 {
			name = c.name + ": "
		}
		words := []string{"means", "precisions 1/σ²"}
		if o.Family == Student {
			words = []string{fmt.Sprintf("locations (of %g degrees of freedom)", o.DF), "squared scales σ², 1/σ²"}
		}
		lines = append(lines, fmt.Sprintf("%s%s: N(%.4g, %.4g²); %s: Gamma(%g, β), β ~ Gamma(%g, %.4g)",
			name, words[0], c.centre, o.MeanSD*c.scale, words[1], o.PrecisionShape, o.ScaleShape, o.ScaleRate/(c.scale*c.scale)))
	}
	if o.Family == Multivariate {
		lines = append(lines, "covariances: inverse Wishart, of which every column alone has the prior above")
	}
	return lines
}
