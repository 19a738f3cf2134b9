package predict

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// HeldOut is the prediction of the rows of one group by a posterior computed without these rows.
type HeldOut struct {
	// Group is the label of the group, and Rows its number of rows.
	Group string `json:"group"`
	Rows  int    `json:"rows"`
	// ELPD is the log joint predictive density of the rows of the group given all other groups.
	ELPD Number `json:"elpd"`
	// Verdict is the verdict on the posterior without the group.
	Verdict string `json:"verdict"`
}

// ByGroup holds the predictions of groups, each group predicted from all other groups.
type ByGroup struct {
	// Column is the column whose labels are the groups.
	Column string `json:"column"`
	// ELPD is the sum of the ELPDs of the groups.
	ELPD   Number    `json:"elpd"`
	SE     Number    `json:"se"` // standard error over groups
	Groups []HeldOut `json:"groups"`
}

// Summarise sets ELPD to the sum over groups of their log predictive densities, and SE to its
// standard error.
func (b *ByGroup) Summarise() {
	elpd := apply.To(b.Groups, func(g HeldOut) float64 { return float64(g.ELPD) })
	b.ELPD, b.SE = sum(elpd)
}

// sum returns the sum of independent values, and its standard error.
func sum(values []float64) (total, se Number) {
	_, variance := stat.PopMeanVariance(values, nil)
	return Number(floats.Sum(values)), Number(math.Sqrt(float64(len(values)) * variance))
}

// Joint returns the log joint predictive density of all rows. The draws must come from a posterior
// without these rows.
func (r *Rows) Joint() (float64, error) {
	if r.Y == nil {
		return 0, ErrNoResponse
	}
	total, eta, one := make([]float64, r.Draws()), make([]float64, r.Draws()*r.Planes()), make([]float64, r.Draws())
	for row := range r.Len() {
		r.Predictor(row, eta)
		r.LogDensities(row, eta, one)
		floats.Add(total, one)
	}
	return logMean(total), nil
}

// Replace replaces the importance sampling estimate of one row by the prediction of a posterior
// without this row. The argument place is the number of the row in the file. The argument fresh
// holds only this row, under draws from the posterior without it.
func (l *LOO) Replace(fresh *Rows, place int, seed uint64) error {
	at := slices.IndexFunc(l.Rows, func(row LOORow) bool { return row.Row == place })
	elpd, err := fresh.Joint()
	if err != nil {
		return err
	}
	eta := make([]float64, fresh.Draws()*fresh.Planes())
	fresh.Predictor(0, eta)
	random := stream.Rand(seed, "refit")
	var mean, below float64
	for s := range fresh.Draws() {
		mean += fresh.Mean(0, s, eta)
		below += fresh.below(0, fresh.Draw(0, s, eta, random))
	}
	n := float64(fresh.Draws())
	old := l.Rows[at]
	l.P += old.ELPD - Number(elpd)
	l.Rows[at] = LOORow{Row: place, ELPD: Number(elpd), KHat: old.KHat, Mean: Number(mean / n), PIT: Number(below / n), Refit: true}
	return nil
}
