package models

import (
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/space"
)

// moments holds the inclusion probability of a coordinate of theta, and estimates of its mean and
// standard deviation, with standard errors, given that the model uses it.
type moments struct {
	inclusion float64
	weighted.Moments
}

// moments returns the moments of every coordinate. An estimate is NaN if no draw with weight uses
// the coordinate.
func (s *WeightedSample) moments(masker space.RowMasker) []moments {
	known, in := map[string][]int{}, make([][]int, masker.Dim()) // known holds, for each model, the coordinates that it uses; in holds the draws whose models use each coordinate
	for i, code := range s.Codes {
		key := space.Key(code)
		used, seen := known[key]
		if !seen {
			mask := masker.MaskRow(code, nil)
			used = apply.Where(len(mask), func(j int) bool { return mask[j] })
			known[key] = used
		}
		for _, j := range used {
			in[j] = append(in[j], i)
		}
	}
	all, dependent := make([]moments, len(in)), s.Dependent()
	for j, draws := range in {
		weight, value, group := make([]float64, len(draws)), make([]float64, len(draws)), []int(nil)
		for k, i := range draws {
			weight[k], value[k] = s.Weight[i], s.Theta.At(i, j)
			all[j].inclusion += weight[k]
			if dependent != nil {
				group = append(group, dependent[i])
			}
		}
		all[j].Moments = weighted.Plain(weight, value, group)
	}
	return all
}
