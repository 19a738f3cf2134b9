package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/table"
)

// Mixture draws mixtures of one column from the priors of vti mixture, and runs the command on
// them. Priors that refer to the midrange and the range of the column use 0 and 1 instead; the mean
// of counts is 5.
type Mixture struct {
	Options mixture.Options
	Sample  mixture.SampleConfig
	Rows    int
}

// Name identifies the study.
func (s Mixture) Name() string { return studyName("mixture", s.Rows, s.Options) }

// withDefaults returns the options, in which the default priors of vti mixture replace zeros. They
// are written down again here so that an error in the tested program is not repeated.
func (s Mixture) withDefaults() mixture.Options {
	o := s.Options
	o.Columns, o.Range = []string{"y"}, 1
	o.MaxComponents, o.Concentration = cmp.Or(o.MaxComponents, 30), cmp.Or(o.Concentration, 1)
	if o.Family == mixture.Poisson {
		o.RateShape = cmp.Or(o.RateShape, 1)
		o.RateExposure = cmp.Or(o.RateExposure, o.RateShape/5)
	} else {
		o.MeanSD, o.PrecisionShape = cmp.Or(o.MeanSD, 1), cmp.Or(o.PrecisionShape, 2)
		o.ScaleShape, o.ScaleRate = cmp.Or(o.ScaleShape, 0.2), cmp.Or(o.ScaleRate, 10)
	}
	if o.Family == mixture.Student {
		o.DF = cmp.Or(o.DF, 4)
	}
	return o
}

// Replicate draws a mixture and a table with a seed, runs the command on the table, and compares
// the answer with the truth.
func (s Mixture) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	o := s.withDefaults()
	if o.Family == mixture.Multivariate {
		return nil, fmt.Errorf("mixtures of several columns cannot be drawn")
	}
	random := stream.Rand(seed, "truth")
	k := 1 + random.IntN(o.MaxComponents)
	weights, means, sds := make([]float64, k), make([]float64, k), make([]float64, k)
	beta := 0.0
	if o.Family != mixture.Poisson {
		beta = gamma(o.ScaleShape, o.ScaleRate, random)
	}
	for j := range k {
		weights[j] = gamma(o.Concentration, 1, random)
		if o.Family == mixture.Poisson {
			means[j] = gamma(o.RateShape, o.RateExposure, random)
			continue
		}
		means[j] = o.MeanSD * random.NormFloat64()
		sds[j] = math.Sqrt(beta / gamma(o.PrecisionShape, 1, random))
	}
	floats.Scale(1/floats.Sum(weights), weights)
	y := make([]float64, s.Rows)
	for i := range y {
		j := pick.Index(weights, random.Float64())
		switch o.Family {
		case mixture.Poisson:
			y[i] = distuv.Poisson{Lambda: means[j], Src: random}.Rand()
		case mixture.Student:
			y[i] = means[j] + sds[j]*random.NormFloat64()/math.Sqrt(gamma(o.DF/2, o.DF/2, random))
		default:
			y[i] = means[j] + sds[j]*random.NormFloat64()
		}
	}
	c := &classic{about: fmt.Sprintf("%d %s components, %d rows, β %.2g", k, o.Family, s.Rows, beta), columns: []*table.Column{table.Numbers("y", y)}, number: k}
	c.functions = []functional{
		{"mean of a new row", floats.Dot(weights, means), func(d *draws.Draws, i int) (total float64) {
			row, weight, mean := d.Values(i), coordinate(d, "weight 1"), coordinate(d, "mean 1")
			for j := range int(d.Code(i)[0]) {
				total += row[weight+j] * row[mean+j]
			}
			return total
		}},
		{"largest mean", floats.Max(means), func(d *draws.Draws, i int) float64 {
			return d.Values(i)[coordinate(d, "mean 1")+int(d.Code(i)[0])-1]
		}},
	}
	if o.Family != mixture.Poisson {
		c.functions = append(c.functions, functional{"largest sd", floats.Max(sds), func(d *draws.Draws, i int) float64 {
			first := coordinate(d, "sd 1")
			return floats.Max(d.Values(i)[first : first+int(d.Code(i)[0])])
		}})
	}
	return answerClassic(ctx, c, dir, seed, random, mixture.NewProblem, o, func(problem *mixture.Problem, dir string) (*stated, error) {
		config := mixture.RunConfig{Dir: dir, Sample: s.Sample}
		config.Sample.Seed = seed
		r, err := mixture.Run(ctx, problem, config)
		if err != nil {
			return nil, err
		}
		out := newStated(r.Head, r.Certificate.Verdict, r.Certificate.Reasons, r.Counts, func(c mixture.Count) mixture.Number { return c.Probability })
		out.first = 1
		return out, nil
	})
}
