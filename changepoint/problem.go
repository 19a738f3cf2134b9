package changepoint

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// Problem is a series, or a set of events, with its priors.
type Problem struct {
	// Options holds the caller's options, with defaults filled in.
	Options Options
	// Path is the file of the table.
	Path string
	// Notes are remarks on the table, in sentences, for the reader of the answer.
	Notes []string

	times []float64 // times of the rows or events, increasing
	y     []float64 // values on the working scale; nil for events
	// A value in the table is centre + scale · y, with y the value on the working scale.
	centre, scale float64
	numbers       []int // row numbers in the file
	unit          string
	resolution    float64 // the smallest nonzero difference of two values, on the working scale
}

// fewestRows is the least accepted number of rows or events: two segments of two rows.
const fewestRows = 4

// MostRows is the largest number of rows or events. The time of a run grows with its square.
const MostRows = 20_000

// wanted says, in error messages, which contents a column must have.
const wanted = "numbers (times as decimal years, or days)"

// NewProblem reads times and values from a table and checks them. Its errors name the cell.
func NewProblem(t *table.Table, options Options) (*Problem, error) {
	asked := options.MaxChanges
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Problem{Options: options, Path: t.Path, scale: 1}
	p.numbers, p.unit = t.Places()
	if n := t.Rows(); n < fewestRows || n > MostRows {
		return nil, fmt.Errorf("%s: got %s, want %d to %d", t.Path, english.Count(n, "row"), fewestRows, MostRows)
	}
	if options.Time == "" { // times are row numbers of the file
		p.times = apply.UpTo(t.Rows(), func(i int) float64 { return float64(i + 1) })
	} else if p.times, err = t.NumbersOf(options.Time, wanted); err != nil {
		return nil, err
	}
	if options.Kind == Events {
		return p, p.readEvents(t)
	}
	values, err := t.NumbersOf(options.Value, wanted)
	if err != nil {
		return nil, err
	}
	even := "want evenly spaced rows, or --uneven for changes between whatever rows there are"
	if options.Uneven {
		even = ""
	}
	series, err := t.Series(options.Time, p.times, values, "want one row for each time (take their mean, or the sum of counts)", even)
	if err != nil {
		return nil, err
	}
	p.times, p.numbers = series.Times, series.Places
	if err := p.readSeries(t, series.Values); err != nil {
		return nil, err
	}
	return p, p.limit(t, asked)
}

// readSeries checks the values of a series and standardises them.
func (p *Problem) readSeries(t *table.Table, values []float64) error {
	name := p.Options.Value
	if p.Options.Kind == Rate {
		total := 0.0
		for i, y := range values {
			if y < 0 || y != math.Trunc(y) {
				return fmt.Errorf("%s: %s %d, column %q: got %g, want counts 0, 1, 2, … for the model rate", t.Path, p.unit, p.numbers[i], name, y)
			}
			total += y
		}
		if total == 0 {
			return fmt.Errorf("%s: column %q: all counts are 0", t.Path, name)
		}
		p.y = values
		p.Options.RateExposure = cmp.Or(p.Options.RateExposure, p.Options.RateShape*float64(len(values))/total)
		return nil
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(values)))
	if len(distinct) == 1 {
		return fmt.Errorf("%s: column %q is constant: every value is %g", t.Path, name, values[0])
	}
	p.centre, p.scale = stat.MeanStdDev(values, nil)
	if math.IsInf(p.scale, 0) || math.IsNaN(p.scale) || p.scale < 1e-12*math.Abs(p.centre) {
		return fmt.Errorf("%s: column %q: its standard deviation %g cannot be distinguished from rounding error at a mean of %g: subtract a constant", t.Path, name, p.scale, p.centre)
	}
	if p.Options.Spread > 0 {
		p.centre, p.scale = 0, p.Options.Spread
	}
	p.y = apply.To(values, func(y float64) float64 { return (y - p.centre) / p.scale })
	p.resolution = math.Inf(1)
	for i := 1; i < len(distinct); i++ {
		p.resolution = math.Min(p.resolution, (distinct[i]-distinct[i-1])/p.scale)
	}
	if share := 1 - float64(len(distinct))/float64(len(values)); share > 0.5 && p.Options.Kind != Rate {
		p.Notes = append(p.Notes, fmt.Sprintf("%s has %d different values in %d rows: ties are no trouble where noise is larger than the rounding, else give counts to the model rate", name, len(distinct), len(values)))
	}
	return nil
}

// limit checks that the rows can hold the largest number of changes that the caller requested,
// which is the argument named asked. If asked is 0, the default is used, and limit lowers a default
// that is too large.
func (p *Problem) limit(t *table.Table, asked int) error {
	n := len(p.y)
	if most := n/p.Options.Shortest - 1; p.Options.MaxChanges > most {
		switch {
		case most < 1:
			return fmt.Errorf("%s: %d rows cannot hold two segments of %d rows", t.Path, n, p.Options.Shortest)
		case asked > most:
			return fmt.Errorf("%s: %s can hold at most %s with segments of at least %s, got %d", t.Path, english.Count(n, "row"), english.Count(most, "change"), english.Count(p.Options.Shortest, "row"), asked)
		}
		p.Notes = append(p.Notes, fmt.Sprintf("%d rows cannot hold %d changes: the prior is cut at %d", n, p.Options.MaxChanges, most))
		p.Options.MaxChanges = most
	}
	return nil
}

// tiedShare is the share of events with equal times from which on times count as rounded.
// Continuous times are never equal, except for a few events that may have been entered twice.
const tiedShare = 0.1

func (p *Problem) readEvents(t *table.Table) error {
	order := make([]int, len(p.times))
	floats.ArgsortStable(p.times, order)
	first, last := p.times[0], p.times[len(p.times)-1]
	if p.Options.From == nil || p.Options.To == nil {
		p.Notes = append(p.Notes, "without --from and --to the window of observation is from the first event to the last, which it cannot be")
	}
	p.Options.From = cmp.Or(p.Options.From, &first)
	p.Options.To = cmp.Or(p.Options.To, &last)
	from, to := *p.Options.From, *p.Options.To
	switch {
	case !(from < to):
		return fmt.Errorf("%s: the window goes from %g to %g: want a later end", t.Path, from, to)
	case first < from:
		return fmt.Errorf("%s: %s, column %q: the event at %g lies before the window, which begins at %g", t.Path, t.Place(order[0]), p.Options.Time, first, from)
	case last > to:
		return fmt.Errorf("%s: %s, column %q: the event at %g lies after the window, which ends at %g", t.Path, t.Place(order[len(order)-1]), p.Options.Time, last, to)
	}
	tied := 0
	for i := 1; i < len(p.times); i++ {
		if p.times[i] == p.times[i-1] {
			tied++
		}
	}
	if float64(tied) > tiedShare*float64(len(p.times)) {
		return fmt.Errorf("%s: column %q: %d of %d events have the moment of another, as rounded moments have: count events by row instead, and give the counts as --value to --model rate",
			t.Path, p.Options.Time, tied, len(p.times))
	}
	if tied > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("events at the moment of another: %d", tied))
	}
	p.Options.RateExposure = cmp.Or(p.Options.RateExposure, p.Options.RateShape*(to-from)/float64(len(p.times)))
	return nil
}

// Rows returns the number of rows or events.
func (p *Problem) Rows() int { return len(p.times) }

// window returns the times of the first and the last boundary.
func (p *Problem) window() (from, to float64) {
	if p.Options.Kind == Events {
		return *p.Options.From, *p.Options.To
	}
	return p.times[0], p.times[len(p.times)-1]
}

// Priors describes the model and the priors, a line each.
func (p *Problem) Priors() []string {
	o := p.Options
	places := "uniform between rows"
	switch {
	case o.Kind == Events && o.Places == Uniform:
		places = "uniform in the window"
	case o.Places == Spaced:
		places = "the even-numbered ones of 2k+1 uniform places"
	}
	lines := []string{fmt.Sprintf("number of changes k: Poisson(%g) up to %d; places: %s", o.MeanChanges, o.MaxChanges, places)}
	noise := fmt.Sprintf("common noise: log σ ~ N(log %.4g, %g²)", noiseMedian*p.scale, noiseSD)
	level := fmt.Sprintf("levels: N(%.4g, %.4g²)", p.centre, o.LevelSD*p.scale)
	variance := fmt.Sprintf("variances: InverseGamma(%g, %.4g)", varianceShape, varianceScale*p.scale*p.scale)
	switch o.Kind {
	case Mean:
		lines = append(lines, level+"; "+noise)
	case Slope:
		lines = append(lines, level+fmt.Sprintf("; slopes: N(0, %.4g²) over the whole series; ", slopeSD*p.scale)+noise)
	case Variance:
		lines = append(lines, variance+fmt.Sprintf("; common mean: N(%.4g, %.4g²)", p.centre, p.scale))
	case Both:
		lines = append(lines, variance+fmt.Sprintf("; levels: N(%.4g, σ²/%g)", p.centre, levelWeight))
	case Rate:
		lines = append(lines, fmt.Sprintf("rates per row: Gamma(%g, %.4g)", o.RateShape, o.RateExposure))
	case Events:
		from, to := p.window()
		lines = append(lines, fmt.Sprintf("rates: Gamma(%g, %.4g); window %g to %g", o.RateShape, o.RateExposure, from, to))
	}
	return lines
}
