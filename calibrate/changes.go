package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/table"
)

// Changes draws series from the priors of vti changepoints, and runs the command on them. Priors
// that refer to the mean and the standard deviation of the column use 0 and 1 instead, and the
// prior mean of counts is 5. The places of changes have the uniform prior.
type Changes struct {
	Options changepoint.Options
	Rows    int
}

// Name identifies the study.
func (s Changes) Name() string { return studyName("changepoints", s.Rows, s.Options) }

// Priors of vti changepoints that no option sets. They are written down again here so that an error
// in the tested program is not repeated.
const (
	changeNoiseMedian, changeNoiseSD       = 0.5, 1.5
	changeVarianceShape, changeVarianceAt  = 0.5, 0.05
	changeSlopeSD, changeLevelWeight       = 10.0, 0.01
	changeCount, changeMost, changeMeanAll = 5.0, 30, 3.0
)

// Replicate draws changes, levels and a series with a seed, runs the command on the series, and
// compares the answer with the truth.
func (s Changes) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	if s.Options.Kind == changepoint.Events {
		return nil, fmt.Errorf("models of events cannot be drawn: want a model of a series")
	}
	o, random := s.options(), stream.Rand(seed, "truth")
	series := drawSeries(o, s.Rows, random)
	c := &classic{about: fmt.Sprintf("%d changes of the %s, %d rows", series.changes(), o.Kind, s.Rows), columns: []*table.Column{table.Numbers("t", series.t), table.Numbers("y", series.y)}, number: series.changes()}
	c.functions = series.functions(o.Kind, random.IntN(s.Rows))
	return answerClassic(ctx, c, dir, seed, random, changepoint.NewProblem, o, func(problem *changepoint.Problem, dir string) (*stated, error) {
		r, err := changepoint.Run(ctx, problem, changepoint.RunConfig{Seed: seed, Dir: dir})
		if err != nil {
			return nil, err
		}
		return newStated(r.Head, r.Certificate.Verdict, r.Certificate.Reasons, r.Counts, func(c changepoint.Count) changepoint.Number { return c.Probability }), nil
	})
}

// options returns the options with which a series is drawn, in which defaults replace zeros.
func (s Changes) options() changepoint.Options {
	o := s.Options
	o.Time, o.Value, o.Spread, o.Places = "t", "y", 1, changepoint.Uniform
	if o.Kind == changepoint.AnyKind {
		o.Kind = changepoint.Mean
	}
	o.MaxChanges, o.MeanChanges = cmp.Or(o.MaxChanges, changeMost), cmp.Or(o.MeanChanges, changeMeanAll)
	o.LevelSD, o.RateShape = cmp.Or(o.LevelSD, 1), cmp.Or(o.RateShape, 1)
	o.RateExposure = cmp.Or(o.RateExposure, o.RateShape/changeCount)
	o.Shortest = max(o.Shortest, 1)
	if o.Kind == changepoint.Variance || o.Kind == changepoint.Both {
		o.Shortest = max(o.Shortest, 2)
	}
	o.MaxChanges = min(o.MaxChanges, s.Rows/o.Shortest-1)
	return o
}

// changedSeries is a series with changes, and its true parameters.
type changedSeries struct {
	t, y   []float64
	bounds []int     // the first row of each segment, and at the end the number of rows
	levels []float64 // the level of each segment, or its standard deviation if only the standard deviation changes
	sigma  float64
}

func (c *changedSeries) changes() int { return len(c.levels) - 1 }

func drawSeries(o changepoint.Options, n int, random *rand.Rand) *changedSeries {
	c := &changedSeries{t: apply.UpTo(n, func(i int) float64 { return float64(i) }), y: make([]float64, n)}
	c.bounds = drawBounds(o, n, random)
	c.sigma = math.Exp(math.Log(changeNoiseMedian) + changeNoiseSD*random.NormFloat64())
	common := random.NormFloat64()
	c.levels = apply.UpTo(len(c.bounds)-1, func(j int) float64 { return c.drawSegment(o, common, c.bounds[j], c.bounds[j+1], random) })
	return c
}

// drawBounds draws the places of changes, uniform among all places whose segments have at least
// Shortest rows. It draws places in a series that is shorter by Shortest − 1 rows for each segment,
// and then lengthens every segment by these rows.
func drawBounds(o changepoint.Options, n int, random *rand.Rand) []int {
	k := poissonNumber(o.MeanChanges, o.MaxChanges, random)
	free := n - (k+1)*(o.Shortest-1) - 1
	starts := random.Perm(free)[:k]
	slices.Sort(starts)
	bounds := []int{0}
	for j, place := range starts {
		bounds = append(bounds, place+1+(j+1)*(o.Shortest-1))
	}
	return append(bounds, n)
}

// drawSegment draws the rows from, …, to − 1, which are a segment, and returns its level.
func (c *changedSeries) drawSegment(o changepoint.Options, common float64, from, to int, random *rand.Rand) float64 {
	level, sd, slope := o.LevelSD*random.NormFloat64(), c.sigma, 0.0
	switch o.Kind {
	case changepoint.Slope:
		slope = changeSlopeSD * random.NormFloat64()
	case changepoint.Variance, changepoint.Both:
		sd = math.Sqrt(changeVarianceAt / gamma(changeVarianceShape, 1, random))
		level = common
		if o.Kind == changepoint.Both {
			level = sd / math.Sqrt(changeLevelWeight) * random.NormFloat64()
		}
	case changepoint.Rate:
		level = gamma(o.RateShape, o.RateExposure, random)
	}
	for i := from; i < to; i++ {
		along := (float64(i) - float64(from+to-1)/2) / float64(len(c.y)-1)
		c.y[i] = level + slope*along + sd*random.NormFloat64()
		if o.Kind == changepoint.Rate {
			c.y[i] = distuv.Poisson{Lambda: level, Src: random}.Rand()
		}
	}
	if o.Kind == changepoint.Variance {
		return sd
	}
	return level
}

// functions returns the parameters that are ranked among posterior draws: the level at a row, and
// the standard deviation of the noise if all segments share it.
func (c *changedSeries) functions(kind changepoint.Kind, row int) []functional {
	at := 0
	for c.bounds[at+1] <= row {
		at++
	}
	name := "level 1"
	if kind == changepoint.Variance {
		name = "sd 1"
	}
	list := []functional{{"level at a row", c.levels[at], func(d *draws.Draws, i int) float64 {
		values, segment := d.Values(i), 0
		place := coordinate(d, "place 1")
		for segment < int(d.Code(i)[0]) && values[place+segment] <= float64(row) {
			segment++
		}
		return values[coordinate(d, name)+segment]
	}}}
	if kind == changepoint.Mean || kind == changepoint.Slope {
		list = append(list, functional{"sigma", c.sigma, func(d *draws.Draws, i int) float64 { return d.Values(i)[coordinate(d, "sigma")] }})
	}
	return list
}
