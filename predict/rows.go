package predict

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/report"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Response is the distribution of a response given its linear predictor η and noise scale.
type Response interface {
	// LogKernelAt and LogConstant return two terms whose sum is the log density of y.
	LogKernelAt(y, eta, scale float64) float64
	LogConstant(y float64) float64
	// Mean returns the mean of the response, or NaN where it does not exist.
	Mean(eta, scale float64) float64
	// Draw draws a response.
	Draw(eta, scale float64, random *rand.Rand) float64
}

// Categorical is the distribution of a response over K categories, given the M linear predictors
// eta of a row.
type Categorical interface {
	// LogProbs returns the log probability of y, which holds the number of one category.
	LogProbs(y, eta []float64) float64
	// Probabilities writes the probabilities of the categories to dst [K].
	Probabilities(eta, dst []float64)
}

// Rows holds N rows of a table under S equally weighted posterior draws, in the units of the table.
type Rows struct {
	// Places [N] are the numbers of the rows in their file. Unit is "line" or "row".
	Places []int
	Unit   string
	// Y [N] are the observed responses; nil if unknown.
	Y []float64
	// Offset [N] is added to the linear predictor; nil for none.
	Offset []float64
	// Terms are the terms of the linear predictor without the offset.
	Terms []Term
	// Scale [S] is the noise scale of each draw. RowScale [N], if not nil, holds a factor for each
	// row that multiplies the noise scale.
	Scale, RowScale []float64
	// Response is the distribution of the response. Given [S], if not nil, holds a distribution for
	// each draw, which replaces Response.
	Response Response
	Given    []Response
	// Unordered is the distribution of a response whose Categories have no order; it is nil for
	// other responses. The linear predictors are then the log odds of each category against the
	// first category.
	Unordered Categorical
	// Chain [S] is the number, from 1, of the chain of each draw; nil for independent draws.
	Chain []int32
	// Discrete reports whether responses are whole numbers whose densities are probabilities.
	Discrete bool
	// Survival reports whether responses are times. A negative response −t is a censored time with
	// the lower bound t.
	Survival bool
	// Labels are the two texts for the responses 0 and 1; nil otherwise.
	Labels []string
	// Categories are the texts of the categories 0, 1, 2, …; nil for other responses.
	Categories []string
	// Notes are remarks on these rows for the reader, such as values outside the observed range.
	Notes []string
}

// Term adds x β to a linear predictor, x an entry of X and β a coefficient.
type Term struct {
	// Name is the name of the coefficient in files.
	Name string
	// Plane is the index of the linear predictor to which the term is added. It is 0 if a row has
	// only one linear predictor.
	Plane int
	// X [N] is the column of the design matrix that the coefficient multiplies.
	X []float64
	// Level [N] is, for each row, the index of its coefficient in Draws; nil stands for index 0.
	Level []int
	// Draws holds the draws [S] of each coefficient, 0 if the model of a draw lacks it.
	Draws [][]float64
}

// Len returns the number of rows N.
func (r *Rows) Len() int { return len(r.Places) }

// Draws returns the number of draws S.
func (r *Rows) Draws() int { return len(r.Scale) }

// Planes returns M, the number of linear predictors of a row.
func (r *Rows) Planes() int {
	if r.Unordered != nil {
		return len(r.Categories) - 1
	}
	return 1
}

// Part returns every k-th row under every l-th draw, for the smallest k and l with at most mostRows
// rows and mostDraws draws.
func (r *Rows) Part(mostRows, mostDraws int) *Rows {
	part := *r
	every := func(k, n int) []int { return apply.Where(n, func(i int) bool { return i%k == 0 }) }
	part.Terms = slices.Clone(r.Terms)
	if k := (r.Len() + mostRows - 1) / mostRows; k > 1 {
		rows := every(k, r.Len())
		part.Places, part.Y, part.Offset, part.RowScale = distinct.At(r.Places, rows), distinct.At(r.Y, rows), distinct.At(r.Offset, rows), distinct.At(r.RowScale, rows)
		for t, term := range r.Terms {
			part.Terms[t].X, part.Terms[t].Level = distinct.At(term.X, rows), distinct.At(term.Level, rows)
		}
	}
	if l := (r.Draws() + mostDraws - 1) / mostDraws; l > 1 {
		draws := every(l, r.Draws())
		part.Scale, part.Given, part.Chain = distinct.At(r.Scale, draws), distinct.At(r.Given, draws), distinct.At(r.Chain, draws)
		for t, term := range r.Terms {
			part.Terms[t].Draws = apply.To(term.Draws, func(values []float64) []float64 { return distinct.At(values, draws) })
		}
	}
	return &part
}

// Predictor writes to eta [S·M] the linear predictors of a row, draw by draw.
func (r *Rows) Predictor(row int, eta []float64) {
	planes := r.Planes()
	if len(eta) != r.Draws()*planes {
		panic(fmt.Sprintf("predict: Rows.Predictor: got room for %d numbers, want %d", len(eta), r.Draws()*planes))
	}
	offset := 0.0
	if r.Offset != nil {
		offset = r.Offset[row]
	}
	for s := range eta {
		eta[s] = offset
	}
	for _, term := range r.Terms {
		x, level := term.X[row], 0
		if x == 0 {
			continue
		}
		if term.Level != nil {
			level = term.Level[row]
		}
		for s, beta := range term.Draws[level] {
			eta[s*planes+term.Plane] += x * beta
		}
	}
}

// NoiseScale returns the noise scale of a row under a draw.
func (r *Rows) NoiseScale(row, draw int) float64 {
	if r.RowScale != nil {
		return r.RowScale[row] * r.Scale[draw]
	}
	return r.Scale[draw]
}

// LogDensities writes to dst [S] the log density of the observed response of a row under each draw,
// given the linear predictors eta of the row. With one linear predictor a row, dst may be eta.
func (r *Rows) LogDensities(row int, eta, dst []float64) {
	y := r.Y[row]
	if r.Unordered != nil {
		for s := range dst {
			dst[s] = r.Unordered.LogProbs(r.Y[row:row+1], r.predictorsOf(s, eta))
		}
		return
	}
	constant := r.Under(0).LogConstant(y)
	for s := range dst {
		dst[s] = r.Under(s).LogKernelAt(y, eta[s], r.NoiseScale(row, s)) + constant
	}
}

// predictorsOf returns the linear predictors under one draw from the linear predictors eta of a
// row.
func (r *Rows) predictorsOf(draw int, eta []float64) []float64 {
	planes := r.Planes()
	return eta[draw*planes : (draw+1)*planes]
}

// Mean returns the expected response of a row under a draw, or NaN for categories without an order.
func (r *Rows) Mean(row, draw int, eta []float64) float64 {
	if r.Unordered != nil {
		return math.NaN()
	}
	return r.Under(draw).Mean(eta[draw], r.NoiseScale(row, draw))
}

// Draw draws a new response of a row under a draw, given the linear predictors of the row.
func (r *Rows) Draw(row, draw int, eta []float64, random *rand.Rand) float64 {
	if r.Unordered == nil {
		return r.Under(draw).Draw(eta[draw], r.NoiseScale(row, draw), random)
	}
	p := make([]float64, len(r.Categories))
	r.Unordered.Probabilities(r.predictorsOf(draw, eta), p)
	return float64(pick.Func(len(p), random.Float64(), func(k int) float64 { return p[k] }))
}

// Under returns the distribution of the response under a draw, for responses with one linear
// predictor.
func (r *Rows) Under(draw int) Response {
	if r.Given != nil {
		return r.Given[draw]
	}
	return r.Response
}

func (r *Rows) censored(row int) bool { return r.Survival && r.Y[row] < 0 }

// below returns 1 if a drawn response is less than the observed response, and 0 if it is greater.
// It returns ½ if they are equal, or if the observed response is a lower bound that the drawn
// response exceeds.
func (r *Rows) below(row int, drawn float64) float64 {
	observed := math.Abs(r.Y[row])
	if !r.Survival {
		observed = r.Y[row]
	}
	switch {
	case drawn < observed:
		return 1
	case drawn == observed || r.censored(row):
		return 0.5
	}
	return 0
}

// each calls f for every row, on all cores. The order of the calls does not change the results.
func (r *Rows) each(ctx context.Context, activity string, f func(row int, eta []float64)) error {
	var done atomic.Int64
	err := parallel.Each(ctx, r.Len(), func(int) func(row int) error {
		eta := make([]float64, r.Draws()*r.Planes())
		return func(row int) error {
			r.Predictor(row, eta)
			f(row, eta)
			done.Add(1)
			return nil
		}
	})
	if err != nil {
		return fmt.Errorf("%s stopped after %d of %s: %w", activity, done.Load(), english.Count(r.Len(), "row"), ctx.Err())
	}
	return nil
}
