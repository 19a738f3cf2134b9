package calibrate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/table"
)

// Changes draws series from the priors of vti changepoints, and runs it. Mean and sd of the
// column, to which priors refer, are 0 and 1; the prior mean of counts is 5. Places have the
// uniform prior.
type Changes struct {
	Options changepoint.Options
	Rows    int
}

// Name identifies what is drawn.
func (s Changes) Name() string { return studyName("changepoints", s.Rows, s.Options) }

// Priors of vti changepoints that no option sets, written down again.
const (
	changeNoiseMedian, changeNoiseSD       = 0.5, 1.5
	changeVarianceShape, changeVarianceAt  = 0.5, 0.05
	changeSlopeSD, changeLevelWeight       = 10.0, 0.01
	changeCount, changeMost, changeMeanAll = 5.0, 30, 3.0
)

// Replicate draws changes, levels and a series from a seed, answers it and compares.
func (s Changes) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	o := s.Options
	o.Time, o.Value, o.Spread, o.Places = "t", "y", 1, changepoint.Uniform
	if o.Kind == changepoint.AnyKind {
		o.Kind = changepoint.Mean
	}
	if o.Kind == changepoint.Events {
		return nil, fmt.Errorf("events are not drawn: want a model of a series")
	}
	if o.MaxChanges == 0 {
		o.MaxChanges = changeMost
	}
	if o.MeanChanges == 0 {
		o.MeanChanges = changeMeanAll
	}
	if o.LevelSD == 0 {
		o.LevelSD = 1
	}
	if o.RateShape == 0 {
		o.RateShape = 1
	}
	if o.RateExposure == 0 {
		o.RateExposure = o.RateShape / changeCount
	}
	o.Shortest = max(o.Shortest, 1)
	if o.Kind == changepoint.Variance || o.Kind == changepoint.Both {
		o.Shortest = max(o.Shortest, 2)
	}
	random := stream.Rand(seed, "truth")
	n := s.Rows
	if most := n/o.Shortest - 1; o.MaxChanges > most {
		o.MaxChanges = most
	}
	k := poissonNumber(o.MeanChanges, o.MaxChanges, random)
	// places of segments of at least Shortest rows: those of rows with the excess taken out
	free := n - (k+1)*(o.Shortest-1) - 1
	starts := random.Perm(free)[:k]
	slices.Sort(starts)
	bounds := []int{0}
	for j, place := range starts {
		bounds = append(bounds, place+1+(j+1)*(o.Shortest-1))
	}
	bounds = append(bounds, n)
	sigma := math.Exp(math.Log(changeNoiseMedian) + changeNoiseSD*random.NormFloat64())
	common := random.NormFloat64()
	y, t, levels := make([]float64, n), make([]float64, n), make([]float64, k+1)
	for i := range t {
		t[i] = float64(i)
	}
	for j := range k + 1 {
		from, to := bounds[j], bounds[j+1]
		level, sd, slope := o.LevelSD*random.NormFloat64(), sigma, 0.0
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
		levels[j] = level
		if o.Kind == changepoint.Variance {
			levels[j] = sd
		}
		for i := from; i < to; i++ {
			along := (float64(i) - float64(from+to-1)/2) / float64(n-1)
			y[i] = level + slope*along + sd*random.NormFloat64()
			if o.Kind == changepoint.Rate {
				y[i] = distuv.Poisson{Lambda: level, Src: random}.Rand()
			}
		}
	}
	row := random.IntN(n)
	at := 0
	for bounds[at+1] <= row {
		at++
	}
	c := &classic{about: fmt.Sprintf("%d changes of the %s, %d rows", k, o.Kind, n), names: []string{"t", "y"}, columns: [][]float64{t, y}, number: k}
	name := "level 1"
	if o.Kind == changepoint.Variance {
		name = "sd 1"
	}
	c.functions = []functional{{"level at a row", levels[at], func(d *draws.Draws, i int) float64 {
		values, segment := d.Values(i), 0
		place := coordinate(d, "place 1")
		for segment < int(d.Code(i)[0]) && values[place+segment] <= float64(row) {
			segment++
		}
		return values[coordinate(d, name)+segment]
	}}}
	if o.Kind == changepoint.Mean || o.Kind == changepoint.Slope {
		c.functions = append(c.functions, functional{"sigma", sigma, func(d *draws.Draws, i int) float64 { return d.Values(i)[coordinate(d, "sigma")] }})
	}
	return answerClassic(ctx, c, dir, seed, random, func(t *table.Table, dir string) (*stated, error) {
		problem, err := changepoint.NewProblem(t, o)
		if err != nil {
			return nil, err
		}
		result, err := changepoint.Run(ctx, problem, changepoint.RunConfig{Seed: seed, Dir: dir})
		if err != nil {
			return &stated{}, err
		}
		out := &stated{head: result.Head, verdict: result.Certificate.Verdict, reasons: result.Certificate.Reasons}
		for _, count := range result.Counts {
			out.probabilities = append(out.probabilities, float64(count.Probability))
		}
		return out, nil
	})
}
