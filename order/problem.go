package order

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// Kind is what has an order.
type Kind int

// The kinds.
const (
	// Autoregression regresses a row on those before it.
	Autoregression Kind = iota
	// Polynomial is a polynomial in time.
	Polynomial
)

var kindNames = [...]string{Autoregression: "autoregression", Polynomial: "polynomial"}

// KindNames lists what ParseKind takes.
func KindNames() []string { return kindNames[:] }

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

// ParseKind reads a name that String writes.
func ParseKind(text string) (Kind, error) {
	if at := slices.Index(kindNames[:], text); at >= 0 {
		return Kind(at), nil
	}
	return 0, fmt.Errorf("unknown model %q: want %s", text, strings.Join(kindNames[:], " or "))
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

// Options say what is asked of a table. The zero value of MaxOrder is its default, 10, and 8 for
// polynomials.
type Options struct {
	// Value is the column of values; Time that of times, "" for rows in their order.
	Value string `json:"value"`
	Time  string `json:"time,omitempty"`
	Kind  Kind   `json:"model"`
	// MaxOrder is the largest order; orders from 0 have the same prior probability.
	MaxOrder int `json:"max_order,omitempty"`
}

// Record is everything that a run was asked for.
type Record struct {
	run.Header
	Options Options `json:"options"`
	Seed    uint64  `json:"seed"`
}

// Problem reads the table of the run and builds its problem.
func (r *Record) Problem() (*Problem, error) {
	t, err := r.Table()
	if err != nil {
		return nil, err
	}
	return NewProblem(t, r.Options)
}

// Problem is a response with the columns of the largest order. An order p uses the first p.
type Problem struct {
	// Options are those asked for, with defaults.
	Options Options
	// Path is the file of the table.
	Path string
	// Names are those of the columns, the intercept left out.
	Names []string

	y       []float64  // [n]
	x       *mat.Dense // [n,P], columns centred
	centres []float64  // of the columns
	numbers []int      // of the rows in the file
	unit    string
}

// NewProblem reads values and times from a table and checks them. Its errors name the cell.
func NewProblem(t *table.Table, options Options) (*Problem, error) {
	if options.Value == "" {
		return nil, errors.New("want the column of values: --value")
	}
	if options.Kind == Polynomial && options.Time == "" {
		return nil, errors.New("a polynomial wants the column of times: --time")
	}
	if options.MaxOrder == 0 {
		options.MaxOrder = 10
		if options.Kind == Polynomial {
			options.MaxOrder = 8
		}
	}
	values, err := numbers(t, options.Value)
	if err != nil {
		return nil, err
	}
	n := len(values)
	// Twice as many rows as numbers that are fitted, at least.
	if options.MaxOrder < 1 || n < 3*options.MaxOrder+4 {
		return nil, fmt.Errorf("%s: got %d rows for orders up to %d, want at least %d rows, or a smaller --max-order", t.Path, n, options.MaxOrder, 3*options.MaxOrder+4)
	}
	p := &Problem{Options: options, Path: t.Path}
	places, unit := t.Places()
	p.numbers, p.unit = slices.Clone(places), unit
	times := make([]float64, n)
	for i := range times {
		times[i] = float64(i)
	}
	if options.Time != "" {
		if times, err = numbers(t, options.Time); err != nil {
			return nil, err
		}
		if err := p.sort(times, values); err != nil {
			return nil, err
		}
	}
	if low, high := slices.Min(values), slices.Max(values); low == high {
		return nil, fmt.Errorf("%s: column %q is constant: every value is %g", t.Path, options.Value, low)
	}
	if options.Kind == Autoregression {
		p.lags(values)
	} else {
		p.powers(times, values)
	}
	p.centre()
	return p, nil
}

// numbers are the cells of a numeric column without missing ones.
func numbers(t *table.Table, name string) ([]float64, error) {
	c, err := t.Lookup(name)
	if err != nil {
		return nil, err
	}
	if c.Kind != table.Numeric {
		return nil, fmt.Errorf("%s: column %q: got texts such as %q, want numbers", t.Path, name, c.Text(0))
	}
	for row := range c.Values {
		if c.IsMissing(row) {
			return nil, fmt.Errorf("%s: %s, column %q: the value is missing", t.Path, t.Place(row), name)
		}
	}
	return slices.Clone(c.Values), nil
}

// sort orders rows by time, and fails where times repeat or, for autoregressions, have gaps.
func (p *Problem) sort(times, values []float64) error {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	t, v, places := slices.Clone(times), slices.Clone(values), slices.Clone(p.numbers)
	for k, i := range order {
		times[k], values[k], p.numbers[k] = t[i], v[i], places[i]
	}
	gaps := make([]float64, len(times)-1)
	for i := range gaps {
		if gaps[i] = times[i+1] - times[i]; gaps[i] == 0 {
			return fmt.Errorf("%s: %ss %d and %d have the same %s, %g: want one row for each time", p.Path, p.unit, p.numbers[i], p.numbers[i+1], p.Options.Time, times[i])
		}
	}
	if p.Options.Kind == Polynomial {
		return nil
	}
	usual := stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(gaps)), nil)
	for i, gap := range gaps {
		// Months and years of days differ by less.
		if gap > 1.5*usual || gap < usual/1.5 {
			return fmt.Errorf("%s: %s goes from %g (%s %d) to %g (%s %d), where rows are usually %g apart: an autoregression wants evenly spaced rows",
				p.Path, p.Options.Time, times[i], p.unit, p.numbers[i], times[i+1], p.unit, p.numbers[i+1], usual)
		}
	}
	return nil
}

// lags makes the columns of an autoregression. All orders explain the same rows, those that have
// MaxOrder rows before them.
func (p *Problem) lags(values []float64) {
	most := p.Options.MaxOrder
	p.y, p.numbers = values[most:], p.numbers[most:]
	p.x = mat.NewDense(len(p.y), most, nil)
	for lag := 1; lag <= most; lag++ {
		p.Names = append(p.Names, fmt.Sprintf("lag %d", lag))
		for i := range p.y {
			p.x.Set(i, lag-1, values[most+i-lag])
		}
	}
}

// powers makes the columns of a polynomial: Legendre polynomials of the time scaled to [−1, 1], so
// that columns are nearly orthogonal. They span the same models as powers.
func (p *Problem) powers(times, values []float64) {
	p.y = values
	p.x = mat.NewDense(len(values), p.Options.MaxOrder, nil)
	first, last := times[0], times[len(times)-1]
	for d := 1; d <= p.Options.MaxOrder; d++ {
		p.Names = append(p.Names, fmt.Sprintf("degree %d", d))
	}
	for i, t := range times {
		u := 2*(t-first)/(last-first) - 1
		before, now := 1.0, u
		for d := 1; d <= p.Options.MaxOrder; d++ {
			p.x.Set(i, d-1, now)
			before, now = now, (float64(2*d+1)*u*now-float64(d)*before)/float64(d+1)
		}
	}
}

// centre subtracts the means of the columns, so that the intercept is that of the response.
func (p *Problem) centre() {
	n, most := p.x.Dims()
	p.centres = make([]float64, most)
	for j := range most {
		mean := 0.0
		for i := range n {
			mean += p.x.At(i, j) / float64(n)
		}
		p.centres[j] = mean
		for i := range n {
			p.x.Set(i, j, p.x.At(i, j)-mean)
		}
	}
}

// Rows is the number of rows that are explained.
func (p *Problem) Rows() int { return len(p.y) }

// Priors says the model and the priors in words, a line each.
func (p *Problem) Priors() []string {
	return []string{
		fmt.Sprintf("%s: order uniform on 0 to %d; %d rows are explained", p.Options.Kind, p.Options.MaxOrder, len(p.y)),
		fmt.Sprintf("coefficients: Zellner's prior with the information of one row (g = %d); intercept flat, σ² ∝ 1/σ²", len(p.y)),
	}
}

// variance is the variance of a residual that counts as none, relative to the response.
const variance = 1e-20

var errExact = errors.New("a model explains the values without any noise: want values with noise")

// logBeta is the logarithm of the evidence of a model relative to that of order 0, from its share
// of explained variation.
func logBeta(explained float64, p, n int) float64 {
	g, size := float64(n), float64(n)
	return 0.5*(size-1-float64(p))*math.Log1p(g) - 0.5*(size-1)*math.Log1p(g*(1-explained))
}
