package mixture

import (
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/table"
)

// Problem is a column of values with the priors of its mixture. On the working scale the midrange
// is 0 and the range 1.
type Problem struct {
	// Options are those asked for, with defaults.
	Options Options
	// Path is the file of the table.
	Path string
	// Notes are what a reader should know of the table, in sentences.
	Notes []string

	y             []float64 // [n] on the working scale, in the order of the rows
	centre, scale float64   // a value of the table is centre + scale · y
	numbers       []int     // of the rows in the file
	unit          string
}

// Rows: fewer say nothing of components, of more a sweep takes too long; chosen by hand.
const (
	fewestRows = 3
	// MostRows is the largest number of rows.
	MostRows = 100_000
)

// tiedShare is the share of values equal to another from which on they look rounded; chosen by
// hand.
const tiedShare = 0.5

// NewProblem reads a column and checks it. Its errors name the cell.
func NewProblem(t *table.Table, options Options) (*Problem, error) {
	asked := options.MaxComponents
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := t.Lookup(options.Column)
	if err != nil {
		return nil, err
	}
	if c.Kind != table.Numeric {
		return nil, fmt.Errorf("%s: column %q: got texts such as %q, want numbers", t.Path, c.Name, c.Text(0))
	}
	for row := range c.Values {
		if c.IsMissing(row) {
			return nil, fmt.Errorf("%s: %s, column %q: the value is missing", t.Path, t.Place(row), c.Name)
		}
	}
	p := &Problem{Options: options, Path: t.Path}
	p.numbers, p.unit = t.Places()
	n := len(c.Values)
	switch {
	case n < fewestRows || n > MostRows:
		return nil, fmt.Errorf("%s: got %d rows, want %d to %d", t.Path, n, fewestRows, MostRows)
	case asked > n:
		return nil, fmt.Errorf("%s: got %d rows, fewer than the %d components asked about", t.Path, n, asked)
	}
	low, high := slices.Min(c.Values), slices.Max(c.Values)
	p.centre, p.scale = (low+high)/2, high-low
	if p.scale == 0 {
		return nil, fmt.Errorf("%s: column %q is constant: every value is %g", t.Path, c.Name, low)
	}
	if math.IsInf(p.scale, 0) || p.scale < 1e-12*math.Abs(p.centre) {
		return nil, fmt.Errorf("%s: column %q: its range %g cannot be told from rounding at %g: subtract a constant", t.Path, c.Name, p.scale, p.centre)
	}
	for _, v := range c.Values {
		p.y = append(p.y, (v-p.centre)/p.scale)
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(p.y)))
	if tied := 1 - float64(len(distinct))/float64(n); tied > tiedShare {
		return nil, fmt.Errorf("%s: column %q has %d different values in %d rows: a mixture of normals would give each tie a component of its own; want values that are not rounded", t.Path, c.Name, len(distinct), n)
	} else if len(distinct) < n {
		p.Notes = append(p.Notes, fmt.Sprintf("%d of %d values are equal to another", n-len(distinct), n))
	}
	return p, nil
}

// Rows is the number of values.
func (p *Problem) Rows() int { return len(p.y) }

// Priors says the model and the priors in words, a line each.
func (p *Problem) Priors() []string {
	o := p.Options
	return []string{
		fmt.Sprintf("number of components k: uniform on 1 to %d; weights: Dirichlet(%g)", o.MaxComponents, o.Concentration),
		fmt.Sprintf("means: N(%.4g, %.4g²), ordered; precisions 1/σ²: Gamma(%g, β), β ~ Gamma(%g, %.4g)",
			p.centre, o.MeanSD*p.scale, o.PrecisionShape, o.ScaleShape, o.ScaleRate/(p.scale*p.scale)),
	}
}
