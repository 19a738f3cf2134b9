package models

import (
	"math"

	"github.com/transdim/vti/space"
)

// moments are what a weighted sample says of one coordinate given that it is in the model: with
// standard errors, which come from the differences between groups of draws.
type moments struct {
	inclusion              float64
	mean, meanSE, sd, sdSE float64
}

// moments are those of every coordinate. An estimate without draws is NaN.
func (s *WeightedSample) moments(masker space.RowMasker) []moments {
	_, dim := s.Theta.Dims()
	all := make([]moments, dim)
	group := func(i int) int { return i }
	groups := len(s.Codes)
	if s.Group != nil {
		group = func(i int) int { return s.Group[i] }
		groups = 0
		for _, g := range s.Group {
			groups = max(groups, g+1)
		}
	}
	masks := make([][]bool, len(s.Codes))
	known := map[string][]bool{}
	for i, code := range s.Codes {
		key := space.Key(code)
		if known[key] == nil {
			known[key] = masker.MaskRow(code, nil)
		}
		masks[i] = known[key]
	}
	deviation, square := make([]float64, groups), make([]float64, groups)
	for j := range all {
		m := &all[j]
		clear(deviation)
		clear(square)
		var sum float64
		for i, weight := range s.Weight {
			if masks[i][j] {
				m.inclusion += weight
				sum += weight * s.Theta.At(i, j)
			}
		}
		m.mean = sum / m.inclusion
		var variance float64
		for i, weight := range s.Weight {
			if masks[i][j] {
				d := s.Theta.At(i, j) - m.mean
				variance += weight * d * d
			}
		}
		variance /= m.inclusion
		m.sd = math.Sqrt(variance)
		for i, weight := range s.Weight {
			if masks[i][j] {
				d := s.Theta.At(i, j) - m.mean
				deviation[group(i)] += weight * d
				square[group(i)] += weight * (d*d - variance)
			}
		}
		var ofMean, ofVariance float64
		for g := range deviation {
			ofMean += deviation[g] * deviation[g]
			ofVariance += square[g] * square[g]
		}
		// as of a variance between so many groups
		few := math.Sqrt(float64(groups)/float64(max(groups-1, 1))) / m.inclusion
		m.meanSE = math.Sqrt(ofMean) * few
		m.sdSE = math.Sqrt(ofVariance) * few / (2 * m.sd)
	}
	return all
}
