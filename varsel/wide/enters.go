package wide

import (
	gocontext "context"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/parallel"
)

// Enters returns, for each of models, the posterior log odds of adding each predictor to the model.
// They come from the quadratic approximation of the log likelihood at the mode of the model. The
// log odds are NaN for the members of the model.
func (s Search) Enters(ctx gocontext.Context, models [][]int) (logOdds [][]float64, err error) {
	logOdds = make([][]float64, len(models))
	prior, limit := s.prior(), s.limit()
	parts, share := s.parts()
	err = parallel.For(ctx, len(models), func(k int) error {
		odds := make([]float64, len(s.Design.Predictors))
		for _, part := range parts {
			f := part.fit()
			f.find(models[k])
			floats.AddScaled(odds, share, f.evidences(models[k]))
		}
		for predictor := range odds {
			odds[predictor] += prior.Birth(min(len(models[k]), limit-1), predictor)
		}
		logOdds[k] = odds
		return nil
	})
	return logOdds, err
}
