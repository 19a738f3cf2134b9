package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
)

// LOO holds leave-one-out predictions: each row is predicted from all other rows.
type LOO struct {
	// ELPD is the sum over rows of the log predictive density of each row given all other rows. SE
	// is its standard error over rows. P is the effective number of parameters.
	ELPD Number `json:"elpd"`
	SE   Number `json:"se"`
	P    Number `json:"p"`
	// R2 is the share of the variance of the response that the predictions explain. It is null for
	// responses of 0 and 1, and if some times are only lower bounds.
	R2 *Number `json:"r2,omitempty"`
	// KHat is the largest Pareto k̂ of the rows. Unreliable is the number of rows whose k̂ is above
	// Limit.
	KHat       Number `json:"khat"`
	Limit      Number `json:"limit"`
	Unreliable int    `json:"unreliable"`
	// Draws is the number of posterior draws.
	Draws int `json:"draws"`
	// Refits is the number of rows predicted by a posterior without the row.
	Refits int `json:"refits,omitempty"`
	// Rows holds the rows in the order of the table.
	Rows []LOORow `json:"rows"`
}

// LOORow is the leave-one-out prediction of one row. Row is the number of the row in the file.
type LOORow struct {
	Row int `json:"row"`
	// ELPD is the log predictive density of the row given all other rows. KHat is its Pareto k̂:
	// values up to 0.7 mean a reliable estimate.
	ELPD Number `json:"elpd"`
	KHat Number `json:"khat"`
	// Mean is the expected response given all other rows, null for categories without an order. PIT
	// is the probability integral transform: the probability of a smaller response or an earlier
	// category, plus half the probability of an equal response.
	Mean Number `json:"mean"`
	PIT  Number `json:"pit"`
	// Refit reports whether the numbers come from a posterior computed without the row, rather than
	// from importance weights.
	Refit bool `json:"refit,omitempty"`
}

// ErrNoResponse is the error for rows without observed responses.
var ErrNoResponse = errors.New("predict: leave-one-out needs the responses of the rows")

// LeaveOneOut predicts every row from all other rows by importance sampling. The weight of a draw
// is one over the density of the row under the draw, with Pareto smoothing.
func LeaveOneOut(ctx context.Context, rows *Rows, seed uint64) (*LOO, error) {
	if rows.Y == nil {
		return nil, ErrNoResponse
	}
	loo := &LOO{Limit: Number(psis.ReliableFor(rows.Draws())), Draws: rows.Draws(), Rows: make([]LOORow, rows.Len())}
	full := make([]float64, rows.Len())
	err := rows.each(ctx, "leave-one-out", func(row int, eta []float64) {
		logDensity := make([]float64, rows.Draws())
		rows.LogDensities(row, eta, logDensity)
		full[row] = logMean(logDensity)
		ratios := apply.To(logDensity, func(l float64) float64 { return -l })
		smoothed := psis.SmoothAsPublished(ratios)
		random := stream.Rand(seed, "loo/"+strconv.Itoa(row))
		var total, density, mean, below float64
		largest, shift := slices.Max(smoothed.LogWeights), slices.Max(logDensity)
		unsmoothed := math.Exp(-largest - shift) // weight times density, for draws with unsmoothed weights
		for s, l := range smoothed.LogWeights {
			w := math.Exp(l - largest)
			total += w
			if l == ratios[s] {
				density += unsmoothed
			} else {
				density += w * math.Exp(logDensity[s]-shift)
			}
			mean += w * rows.Mean(row, s, eta)
			below += w * rows.below(row, rows.Draw(row, s, eta, random))
		}
		loo.Rows[row] = LOORow{
			Row: rows.Places[row], ELPD: Number(shift + math.Log(density/total)), KHat: Number(smoothed.K),
			Mean: Number(mean / total), PIT: Number(below / total),
		}
	})
	if err != nil {
		return nil, err
	}
	for i, row := range loo.Rows {
		loo.P += Number(full[i]) - row.ELPD
	}
	loo.Summarise(rows)
	return loo, nil
}

// Summarise computes all fields except P from the predictions of the rows.
func (l *LOO) Summarise(rows *Rows) {
	elpd, residuals := make([]float64, rows.Len()), make([]float64, rows.Len())
	l.KHat, l.Unreliable, l.Refits = Number(math.Inf(-1)), 0, 0
	for i, row := range l.Rows {
		elpd[i], residuals[i] = float64(row.ELPD), rows.Y[i]-float64(row.Mean)
		l.KHat = max(l.KHat, row.KHat)
		switch {
		case row.Refit:
			l.Refits++
		case !(row.KHat <= l.Limit):
			l.Unreliable++
		}
	}
	l.ELPD, l.SE = sum(elpd)
	if rows.Labels == nil && rows.Categories == nil && !binary(rows.Y) && !rows.anyCensored() {
		_, unexplained := stat.PopMeanVariance(residuals, nil)
		_, all := stat.PopMeanVariance(rows.Y, nil)
		l.R2 = new(Number(1 - unexplained/all))
	}
}

func (r *Rows) anyCensored() bool {
	return slices.ContainsFunc(r.Y, func(y float64) bool { return r.Survival && y < 0 })
}

func binary(y []float64) bool {
	return !slices.ContainsFunc(y, func(v float64) bool { return v != 0 && v != 1 })
}

// Ranked is a run in a comparison of runs on the same rows.
type Ranked struct {
	// RunDir is the directory of the run, and LOO its leave-one-out predictions.
	RunDir string `json:"run_dir"`
	LOO    *LOO   `json:"loo"`
	// ByGroup holds predictions of whole groups of rows, if requested.
	ByGroup *ByGroup `json:"by_group,omitempty"`
	// Difference is the ELPD of the run minus the largest ELPD, and DifferenceSE its standard error
	// over rows.
	Difference   Number `json:"difference"`
	DifferenceSE Number `json:"difference_se"`
}

// Compare orders runs by their ELPD, the best first. It fails if the runs have different rows.
func Compare(runs []Ranked) ([]Ranked, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("predict: got no runs to compare, want at least one")
	}
	ranked := slices.SortedStableFunc(slices.Values(runs), func(a, b Ranked) int { return cmp.Compare(b.LOO.ELPD, a.LOO.ELPD) })
	best := ranked[0]
	for k := range ranked {
		other := &ranked[k]
		if len(other.LOO.Rows) != len(best.LOO.Rows) {
			return nil, fmt.Errorf("%s has %d rows and %s has %d", best.RunDir, len(best.LOO.Rows), other.RunDir, len(other.LOO.Rows))
		}
		differences := make([]float64, len(best.LOO.Rows))
		for i, row := range best.LOO.Rows {
			if other.LOO.Rows[i].Row != row.Row {
				return nil, fmt.Errorf("%s and %s use different rows of the table: row %d of the first is %d, of the second %d",
					best.RunDir, other.RunDir, i+1, row.Row, other.LOO.Rows[i].Row)
			}
			differences[i] = float64(other.LOO.Rows[i].ELPD - row.ELPD)
		}
		other.Difference, other.DifferenceSE = sum(differences)
	}
	return ranked, nil
}
