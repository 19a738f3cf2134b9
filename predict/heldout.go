package predict

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/stream"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// HeldOut is how well the rows of one group were predicted by a posterior that did not know them.
type HeldOut struct {
	Group string `json:"group"`
	Rows  int    `json:"rows"`
	// ELPD is the log of their joint predictive density given all other groups.
	ELPD Number `json:"elpd"`
	// Verdict is that of the computation without the group.
	Verdict string `json:"verdict"`
}

// ByGroup is how well groups are predicted, each from all others.
type ByGroup struct {
	Column string    `json:"column"`
	ELPD   Number    `json:"elpd"`
	SE     Number    `json:"se"` // over groups
	Groups []HeldOut `json:"groups"`
}

// Summarise sums the log predictive densities of the groups.
func (b *ByGroup) Summarise() {
	elpd := make([]float64, len(b.Groups))
	for i, g := range b.Groups {
		elpd[i] = float64(g.ELPD)
	}
	_, variance := stat.PopMeanVariance(elpd, nil)
	b.ELPD, b.SE = Number(floats.Sum(elpd)), Number(math.Sqrt(float64(len(elpd))*variance))
}

// Joint is the log of the joint predictive density of all rows, whose draws must not know them.
func (r *Rows) Joint() (float64, error) {
	if r.Y == nil {
		return 0, ErrNoResponse
	}
	total, eta, one := make([]float64, r.Draws()), make([]float64, r.Draws()*r.Planes()), make([]float64, r.Draws())
	for row := range r.Len() {
		r.Predictor(row, eta)
		r.LogDensities(row, eta, one)
		for s, l := range one {
			total[s] += l
		}
	}
	return logMean(total), nil
}

// Replace puts what a posterior without a row says of it in the place of the estimate by weights.
// fresh has this row alone, under draws that do not know it.
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
