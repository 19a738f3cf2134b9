package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// Prediction is the posterior prediction of one row.
type Prediction struct {
	// Row is the number of the row in the file.
	Row int `json:"row"`
	// Mean is the expected response; for a response of 0 or 1, it is the probability of 1.
	Mean Number `json:"mean"`
	// ExpectedSD, ExpectedLow and ExpectedHigh are the posterior standard deviation and the
	// interval of the expected response.
	ExpectedSD   Number `json:"expected_sd"`
	ExpectedLow  Number `json:"expected_low"`
	ExpectedHigh Number `json:"expected_high"`
	// SD, Low and High are the standard deviation and the interval of a new response.
	SD   Number `json:"sd"`
	Low  Number `json:"low"`
	High Number `json:"high"`
	// Probabilities are the probabilities of the categories of the response; absent for other
	// responses. The other fields then describe the number of the category, from 0, and are null
	// for categories without an order.
	Probabilities []Number `json:"probabilities,omitempty"`
	// Observed is the response in the table. It is nil if the table has no response or only a lower
	// bound of a time.
	Observed *Number `json:"observed,omitempty"`
}

// Config configures predictions.
type Config struct {
	// Level is the probability of the intervals, which are between the quantiles (1 − Level)/2 and
	// (1 + Level)/2; 0 stands for 0.95.
	Level float64
	// Seed is the seed of the draws of new responses.
	Seed uint64
}

// Result holds the predictions of rows: the object that the command "vti predict" prints as JSON.
type Result struct {
	// Schema names the form of the JSON object, RunDir is the directory of the run, and Data is the
	// file of the rows.
	Schema string `json:"schema"`
	RunDir string `json:"run_dir"`
	Data   string `json:"data"`
	// Level is the probability of the intervals, Draws the number of posterior draws.
	Level Number `json:"level"`
	Draws int    `json:"draws"`
	// Labels are the two texts for the responses 0 and 1.
	Labels []string `json:"labels,omitempty"`
	// Categories are the categories of the response, in the order of Probabilities.
	Categories []string `json:"categories,omitempty"`
	// Predictions has an entry for each row.
	Predictions []Prediction `json:"predictions"`
	// Observed compares the predictions with the responses in the table.
	Observed *Observed `json:"observed,omitempty"`
	// Notes are remarks for the reader, and Files are the names of the files written.
	Notes []string `json:"notes,omitempty"`
	Files []string `json:"files,omitempty"`
}

// Observed measures the errors of predictions.
type Observed struct {
	// Rows is the number of rows with a response that is not a lower bound.
	Rows int `json:"rows"`
	// RMSE is the root mean square of response − Mean. Covered is the share of responses that lie
	// in their intervals. Both are null for categories without an order.
	RMSE    Number `json:"rmse"`
	Covered Number `json:"covered"`
	// LogScore is the mean over rows of the log predictive density of the response.
	LogScore Number `json:"log_score"`
}

// Validate returns an error unless Level is 0 or a probability between 0 and 1.
func (c Config) Validate() error {
	if c.Level != 0 && !(c.Level > 0 && c.Level < 1) {
		return fmt.Errorf("probability of intervals: got %v, want a number between 0 and 1", c.Level)
	}
	return nil
}

// Summarise predicts every row. Each draw has its own model, so that averages over draws are
// averages over models. Mean is the average of expected responses, which have no noise, unlike new
// responses. The Monte Carlo error of Mean is ExpectedSD divided by the square root of the
// effective number of draws.
func Summarise(ctx context.Context, rows *Rows, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Level = cmp.Or(cfg.Level, 0.95)
	result := &Result{Level: Number(cfg.Level), Draws: rows.Draws(), Labels: rows.Labels, Categories: rows.Categories, Notes: rows.Notes, Predictions: make([]Prediction, rows.Len())}
	scores := make([]float64, rows.Len())
	err := rows.each(ctx, "predicting", func(row int, eta []float64) {
		expected, drawn, logDensity := make([]float64, rows.Draws()), make([]float64, rows.Draws()), make([]float64, rows.Draws())
		rows.draw(row, cfg.Seed, eta, expected, drawn)
		p := Prediction{Row: rows.Places[row], Probabilities: rows.probabilities(eta)}
		if rows.Y != nil {
			rows.LogDensities(row, eta, logDensity)
			scores[row] = logMean(logDensity)
			if !rows.censored(row) {
				p.Observed = new(Number(rows.Y[row]))
			}
		}
		p.Mean = Number(stat.Mean(expected, nil))
		p.ExpectedSD, p.ExpectedLow, p.ExpectedHigh = spread(expected, cfg.Level)
		if p.SD, p.Low, p.High = spread(drawn, cfg.Level); rows.Unordered != nil {
			p.SD, p.Low, p.High = p.Mean, p.Mean, p.Mean // no interval without an order
		}
		result.Predictions[row] = p
	})
	if err != nil {
		return nil, err
	}
	if rows.Y != nil {
		result.Observed = observe(result.Predictions, scores)
	}
	return result, nil
}

func (r *Rows) draw(row int, seed uint64, eta, expected, drawn []float64) {
	random := stream.Rand(seed, "predict/"+strconv.Itoa(row))
	for s := range expected {
		expected[s] = r.Mean(row, s, eta)
		drawn[s] = r.Draw(row, s, eta, random)
	}
}

// probabilities returns the probabilities of the categories, averaged over draws; nil without
// categories.
func (r *Rows) probabilities(eta []float64) (mean []Number) {
	if r.Categories == nil {
		return nil
	}
	mean, shares := make([]Number, len(r.Categories)), make([]float64, len(r.Categories))
	for s := range r.Draws() {
		categories := r.Unordered
		if categories == nil {
			categories = r.Under(s).(Categorical)
		}
		categories.Probabilities(r.predictorsOf(s, eta), shares)
		for k, p := range shares {
			mean[k] += Number(p / float64(r.Draws()))
		}
	}
	return mean
}

// spread returns the standard deviation of draws, and the ends of the interval with probability
// level. It sorts draws.
func spread(draws []float64, level float64) (sd, low, high Number) {
	_, variance := stat.PopMeanVariance(draws, nil)
	slices.Sort(draws)
	quantile := func(p float64) Number { return Number(stat.Quantile(p, stat.Empirical, draws, nil)) }
	return Number(math.Sqrt(variance)), quantile((1 - level) / 2), quantile((1 + level) / 2)
}

func observe(predictions []Prediction, scores []float64) *Observed {
	n, squares, covered := 0.0, 0.0, 0.0
	for _, p := range predictions {
		if p.Observed == nil {
			continue
		}
		n++
		squares += float64((*p.Observed - p.Mean) * (*p.Observed - p.Mean))
		switch {
		case math.IsNaN(float64(p.Low)):
			covered = math.NaN()
		case *p.Observed >= p.Low && *p.Observed <= p.High:
			covered++
		}
	}
	if n == 0 {
		return nil
	}
	return &Observed{Rows: int(n), RMSE: Number(math.Sqrt(squares / n)), Covered: Number(covered / n), LogScore: Number(stat.Mean(scores, nil))}
}

// logMean returns the log of the mean of exp(values).
func logMean(values []float64) float64 {
	return logsum.Of(values) - math.Log(float64(len(values)))
}
