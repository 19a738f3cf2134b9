package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/table"
)

// Source is a finished run for which effects can be computed.
type Source interface {
	// Predictors returns the name of the response, the predictors of the model, including offsets,
	// and a table of the fitted rows.
	Predictors() (response string, predictors []Variable, seen *table.Table, err error)
	// Population returns the rows of a new table under the posterior draws of the run. Effects of
	// groups are left out of the linear predictors.
	Population(fresh *table.Table) (*Rows, error)
}

// Contrast selects the comparisons of marginal means.
type Contrast int

const (
	// NoContrast compares no means.
	NoContrast Contrast = iota
	// Pairwise takes the difference of every pair of means, the earlier minus the later.
	Pairwise
	// ToReference takes the difference between each mean and the first mean.
	ToReference
)

// EffectsConfig configures EffectsOf.
type EffectsConfig struct {
	// Of lists the predictors whose values are combined: each combination of values has a mean. If
	// By is not nil, the means and contrasts are repeated for each value of this predictor.
	Of []Focus
	By *Focus
	// Curve evaluates the response along the range of Of, which is then a single numeric predictor
	// without values.
	Curve bool
	// Fixed are other predictors that have one value each.
	Fixed []Focus
	// OverData averages over the rows of the table, with the chosen values in place of the observed
	// values. If it is false, numeric predictors other than Of, By and Fixed have their mean
	// values, and averages give equal weights to the labels of other predictors.
	OverData bool
	// Link averages linear predictors. If it is false, averages are over expected responses or, for
	// categories without an order, over probabilities.
	Link bool
	// Contrast selects the comparisons of means. Means are compared within each value of By.
	Contrast Contrast
	// Level is the probability of the intervals; 0 stands for 0.95.
	Level float64
}

// Effects holds marginal means, their differences, or a curve. It is the JSON object that the
// command "vti effects" prints.
type Effects struct {
	// Schema names the form of the JSON object, and RunDir is the directory of the run.
	Schema string `json:"schema"`
	RunDir string `json:"run_dir"`
	// Of and By are the names of the predictors. Scale is "response" or "link".
	Response string   `json:"response"`
	Of       []string `json:"of"`
	By       string   `json:"by,omitempty"`
	Scale    string   `json:"scale"`
	// Held lists the predictors that are neither in Of nor By, with their values.
	Held []Held `json:"held,omitempty"`
	// Level is the probability of the intervals, Draws the number of posterior draws.
	Level Number `json:"level"`
	Draws int    `json:"draws"`
	// Labels are the two texts for the responses 0 and 1. Means are then probabilities of the
	// response 1, the second text.
	Labels []string `json:"labels,omitempty"`
	// Categories are the categories of a response without an order. Each category has separate
	// means: of its probability or, on the link scale, of its log odds against the first category.
	Categories []string         `json:"categories,omitempty"`
	Means      []MarginalMean   `json:"means"`
	Contrasts  []MarginalChange `json:"contrasts,omitempty"`
	// Notes are remarks for the reader, and Files are the names of the files written.
	Notes []string `json:"notes,omitempty"`
	Files []string `json:"files,omitempty"`
}

// Held is a predictor that is neither in Effects.Of nor Effects.By. It has the value of the
// predictor, or a description of the values averaged over.
type Held struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// MarginalMean is the mean at one combination of values of the predictors.
type MarginalMean struct {
	// Category is the category to which the mean belongs. It is set only for a response with
	// categories without an order.
	Category string `json:"category,omitempty"`
	// Values holds the value of each predictor in Effects.Of, in order. By is the value of the
	// predictor Effects.By.
	Values []string `json:"values"`
	By     string   `json:"by,omitempty"`
	Marginal
}

// Marginal summarises a number: its posterior mean and standard deviation, and the ends of its
// interval.
type Marginal struct {
	Mean Number `json:"mean"`
	SD   Number `json:"sd"`
	Low  Number `json:"low"`
	High Number `json:"high"`
}

// marginalOf summarises draws, which it sorts.
func marginalOf(draws []float64, level float64) (m Marginal) {
	m.Mean = Number(stat.Mean(draws, nil))
	m.SD, m.Low, m.High = spread(draws, level)
	return m
}

// MarginalChange is the difference of two marginal means.
type MarginalChange struct {
	// Category is the category whose means are compared, as in MarginalMean.
	Category string `json:"category,omitempty"`
	// First and Second hold values of the predictors in Effects.Of. The difference is the mean at
	// First minus the mean at Second.
	First  []string `json:"first"`
	Second []string `json:"second"`
	// By is the value of the predictor Effects.By for both means.
	By string `json:"by,omitempty"`
	Marginal
	// Positive is the probability that the difference is above zero. Zero is the probability that
	// it is exactly zero, as in models without the predictor.
	Positive Number `json:"positive"`
	Zero     Number `json:"zero"`
}

// CurvePoints is the number of values along a curve.
const CurvePoints = 41

// EffectsOf computes marginal means of a run, without effects of groups, averaged over its models.
// Under each draw, the mean at a combination of values is an average over the rows with these
// values, and a difference is the difference of two such means. The results summarise the draws.
// Intervals are pointwise, not simultaneous. With a link other than the identity, means of
// responses are means of expected responses, not expected responses at mean predictors. For
// hierarchical models the means describe a group whose effects are zero, not averages over groups.
func EffectsOf(ctx context.Context, source Source, cfg EffectsConfig) (*Effects, error) {
	cfg.Level = cmp.Or(cfg.Level, 0.95)
	if err := (Config{Level: cfg.Level}).Validate(); err != nil {
		return nil, err
	}
	response, variables, seen, err := source.Predictors()
	if err != nil {
		return nil, err
	}
	g, axes, err := cfg.grid(variables, seen)
	if err != nil {
		return nil, err
	}
	rows, err := source.Population(g.table)
	if err != nil {
		return nil, err
	}
	if rows.Len() != g.table.Rows() {
		return nil, fmt.Errorf("effects: got %d predicted rows, want %d", rows.Len(), g.table.Rows())
	}
	e := &Effects{Response: response, Of: apply.To(cfg.Of, func(f Focus) string { return f.Name }), Scale: "response", Held: g.held, Level: Number(cfg.Level), Draws: rows.Draws(), Labels: rows.Labels, Notes: append(g.notes, rows.Notes...)}
	if rows.Categories != nil && rows.Unordered == nil && !cfg.Link {
		cfg.Link = true
		e.Notes = append(e.Notes, "means are of the linear predictor: categories have none")
	}
	if cfg.Link {
		e.Scale = "link"
	}
	outcomes := []string{""}
	if rows.Unordered != nil {
		e.Categories = rows.Categories
		if outcomes = rows.Categories; cfg.Link {
			outcomes = rows.Categories[1:]
		}
	}
	blocks := 1
	if cfg.By != nil {
		e.By = cfg.By.Name
		blocks = len(axes[0].texts)
	}
	all, err := rows.averages(ctx, len(outcomes), len(g.cells), g.each, cfg.Link)
	if err != nil {
		return nil, err
	}
	size := len(g.cells) / blocks
	for o, category := range outcomes {
		means := all[o]
		for b := range blocks {
			e.compare(category, g.cells[b*size:(b+1)*size], means[b*size:(b+1)*size], cfg.Contrast)
		}
		for c, values := range g.cells {
			m := MarginalMean{Category: category, Values: values, Marginal: marginalOf(means[c], cfg.Level)}
			if cfg.By != nil {
				m.By, m.Values = values[0], values[1:]
			}
			e.Means = append(e.Means, m)
		}
	}
	return e, nil
}

// grid makes the rows to average over. The value of By changes slowest.
func (c EffectsConfig) grid(variables []Variable, seen *table.Table) (*grid, []*axis, error) {
	if len(c.Of) == 0 {
		return nil, nil, errors.New("effects: got no predictor, want at least one")
	}
	asked := c.Of
	if c.By != nil {
		asked = append([]Focus{*c.By}, asked...)
	}
	var axes, fixed []*axis
	for _, f := range asked {
		a, err := newAxis(seen, variables, f)
		if err != nil {
			return nil, nil, err
		}
		axes = append(axes, a)
	}
	if c.Curve {
		last := axes[len(axes)-1]
		if len(c.Of) != 1 || last.factor != nil || len(c.Of[0].Values) > 0 {
			return nil, nil, fmt.Errorf("a curve is of one predictor of numbers, without values; got %s", c.Of[0].Name)
		}
		curve, err := newAxis(seen, variables, Focus{last.column.Name, along(last.column, CurvePoints)})
		if err != nil {
			return nil, nil, err
		}
		axes[len(axes)-1] = curve
	}
	for _, f := range c.Fixed {
		a, err := newAxis(seen, variables, f)
		if err != nil {
			return nil, nil, err
		}
		if len(f.Values) != 1 {
			return nil, nil, fmt.Errorf("%s: got %d values to fix it at, want one", f.Name, len(f.Values))
		}
		fixed = append(fixed, a)
	}
	g, err := newGrid(seen, variables, axes, fixed, c.OverData)
	return g, axes, err
}

// averages returns, for each cell and draw, means over the rows of the cell [outcomes, cells, S]. A
// cell is a combination of values, and the argument each is its number of rows. The averaged
// numbers are linear predictors, expected responses, or probabilities of categories without an
// order. Rows are added in order, so that the number of cores does not change the sums.
func (r *Rows) averages(ctx context.Context, outcomes, cells, each int, link bool) ([][][]float64, error) {
	means := apply.UpTo(outcomes, func(int) [][]float64 {
		return apply.UpTo(cells, func(int) []float64 { return make([]float64, r.Draws()) })
	})
	err := parallel.Each(ctx, cells, func(int) func(c int) error {
		eta, values := make([]float64, r.Draws()*r.Planes()), make([]float64, outcomes)
		return func(c int) error {
			for row := c * each; row < (c+1)*each && ctx.Err() == nil; row++ {
				r.Predictor(row, eta)
				for s := range r.Draws() {
					r.outcomes(row, s, eta, link, values)
					for o, v := range values {
						means[o][c][s] += v / float64(each)
					}
				}
			}
			return nil
		}
	})
	if err != nil {
		return nil, fmt.Errorf("effects %w", err)
	}
	return means, nil
}

// outcomes writes to dst the quantities that are averaged, for a row under a draw.
func (r *Rows) outcomes(row, draw int, eta []float64, link bool, dst []float64) {
	switch {
	case link:
		copy(dst, r.predictorsOf(draw, eta))
	case r.Unordered != nil:
		r.Unordered.Probabilities(r.predictorsOf(draw, eta), dst)
	default:
		dst[0] = r.Mean(row, draw, eta)
	}
}

func (e *Effects) compare(category string, cells [][]string, means [][]float64, contrast Contrast) {
	add := func(first, second int) {
		draws := make([]float64, len(means[first]))
		positive, zero := 0.0, 0.0
		for s := range draws {
			draws[s] = means[first][s] - means[second][s]
			switch {
			case draws[s] == 0: // exact in a model without the predictor: both means are equal sums
				zero++
			case draws[s] > 0:
				positive++
			}
		}
		n := float64(len(draws))
		change := MarginalChange{Category: category, First: cells[first], Second: cells[second], Marginal: marginalOf(draws, float64(e.Level)), Positive: Number(positive / n), Zero: Number(zero / n)}
		if e.By != "" {
			change.By, change.First, change.Second = cells[first][0], cells[first][1:], cells[second][1:]
		}
		e.Contrasts = append(e.Contrasts, change)
	}
	for a := range cells {
		switch contrast {
		case Pairwise:
			for b := a + 1; b < len(cells); b++ {
				add(a, b)
			}
		case ToReference:
			if a > 0 {
				add(a, 0)
			}
		}
	}
}

func name(values []string) string { return strings.Join(values, ", ") }

// ReadContrast reads "pairwise" or "reference"; "" stands for NoContrast.
func ReadContrast(text string) (Contrast, error) {
	at := slices.Index([]string{"", "pairwise", "reference"}, text)
	if at < 0 {
		return 0, fmt.Errorf("unknown contrast %q; want pairwise or reference", text)
	}
	return Contrast(at), nil
}
