// Package published simulates data sets of the robust variable selection in section 5.1 and table 2
// of Davies et al. (2025).
package published

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/varsel/design"
)

// Misspecification is a level of difference between a [Design] and the robust likelihood.
type Misspecification int

const (
	// NoMisspecification is the level at which the noise scales of most rows and of outliers are 1
	// and 10, as in the robust likelihood, and effects are the same in all rows.
	NoMisspecification Misspecification = iota
	// MediumMisspecification is the level at which the noise scales are 2 and 5.
	MediumMisspecification
	// HighMisspecification is the level at which both noise scales are 4, and each predictor
	// without an effect is mixed, with probability 0.4, with the predictors that have an effect.
	HighMisspecification
)

var misspecifications = enum.New[Misspecification]("misspecification", "none", "medium", "high")

// String returns "none", "medium" or "high".
func (m Misspecification) String() string { return misspecifications.String(m) }

// UnmarshalText sets m to the level that String calls text.
func (m *Misspecification) UnmarshalText(text []byte) error {
	return misspecifications.Unmarshal(text, m)
}

// Design describes a data set for robust variable selection in Davies et al. (2025). It has a
// column of ones, x0. Each predictor has an effect of 0.5 with probability 0.4, and a tenth of the
// rows has the noise of an outlier. With misspecification, the effect is 1.5 in the second half of
// the rows, as in the published data; in table 2 of the paper, the effect differs between data sets
// instead. Zero sizes stand for the defaults.
type Design struct {
	// Rows is the number of observations, by default 50, and Predictors the number of predictors,
	// by default 7.
	Rows, Predictors int
	// Misspecification is the level of difference from the robust likelihood.
	Misspecification Misspecification
	// Seed is the seed of all random numbers.
	Seed uint64
}

// These are the constants of the simulation in table 2.
const (
	paperInclusion = 0.4
	paperOutliers  = 0.1
	paperEffect    = 0.5
	paperEffect2   = 1.5 // in the second half of the rows, with misspecification
	// paperMixed is the probability that a predictor without an effect is mixed.
	paperMixed   = 0.4
	paperMixture = 0.1 // weight of the mixture
)

// Simulate draws a data set with columns x0, x1, …, y. The same design always gives the same data.
func (s Design) Simulate() *design.SimulatedData {
	s.Rows, s.Predictors = cmp.Or(s.Rows, 50), cmp.Or(s.Predictors, 7)
	random := stream.Rand(s.Seed, "simulate/paper")
	d := &design.SimulatedData{}
	scales := [...][2]float64{NoMisspecification: {1, 10}, MediumMisspecification: {2, 5}, HighMisspecification: {4, 4}}[s.Misspecification]
	in := make([]bool, s.Predictors)
	columns := make([][]float64, s.Predictors)
	for j := range columns {
		in[j] = random.Float64() < paperInclusion
		columns[j] = stream.Normals(random, s.Rows)
	}
	if s.Misspecification == HighMisspecification {
		for j, x := range columns {
			if !in[j] && random.Float64() < paperMixed {
				mix(x, columns, in, random)
			}
		}
	}
	d.Add("x0", slices.Repeat([]float64{1}, s.Rows))
	for j, x := range columns {
		d.Add(fmt.Sprintf("x%d", j+1), x)
		if in[j] {
			d.Effects = append(d.Effects, design.Effect{Name: d.Names[j+1], Size: paperEffect})
		}
	}
	y := make([]float64, s.Rows)
	for i := range y {
		effect, scale := paperEffect, scales[0]
		if i >= s.Rows/2 && s.Misspecification != NoMisspecification {
			effect = paperEffect2
		}
		if random.Float64() < paperOutliers {
			scale = scales[1]
		}
		y[i] = effect + scale*random.NormFloat64()
		for j, x := range d.Columns[1:] {
			if in[j] {
				y[i] += effect * x[i]
			}
		}
	}
	d.Add("y", y)
	return d
}

// mix replaces x by 0.9 x plus 0.1 times a combination of the columns that have an effect, with
// random shares and random signs.
func mix(x []float64, columns [][]float64, in []bool, random *rand.Rand) {
	shares, total := make([]float64, len(columns)), 0.0
	for j := range columns {
		if in[j] {
			shares[j] = random.ExpFloat64()
			total += shares[j]
			if random.IntN(2) == 1 {
				shares[j] = -shares[j]
			}
		}
	}
	if total == 0 {
		return
	}
	for i := range x {
		x[i] *= 1 - paperMixture
		for j, share := range shares {
			x[i] += paperMixture * share / total * columns[j][i]
		}
	}
}
