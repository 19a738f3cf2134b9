package likelihood

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// LogProbSums implements [UnorderedCategories]. With the most probable category t of a row,
//
//	−log p(y) = (score of t − score of y) + log1p(Σ_{k≠t} exp(score of k − score of t)),
//
// which loses no digits.
func (u *unordered) LogProbSums(y, times, eta, sums []float64) {
	n, predictors, others := len(y), u.Predictors(), u.Levels()-1
	scores := make([]float64, u.Levels())
	withBuffer(len(sums)*n*(others+2), func(work []float64) {
		odds, work := work[:len(sums)*n*others], work[len(sums)*n*others:]
		log, against := work[:len(sums)*n], work[len(sums)*n:]
		for set := range sums {
			setEta := eta[set*predictors*n:][:predictors*n]
			for i, v := range y {
				if others == 1 { // this form is three times as fast
					margin := (2*v - 1) * (u.contrasts[1][0] - u.contrasts[0][0]) * setEta[i]
					odds[set*n+i], against[set*n+i] = -math.Abs(margin), math.Max(-margin, 0)
					continue
				}
				for k := range scores {
					scores[k] = u.score(k, setEta, i, n)
				}
				top := floats.MaxIdx(scores)
				row := odds[(set*n+i)*others:][:0]
				for k, score := range scores {
					if k != top {
						row = append(row, score-scores[top])
					}
				}
				against[set*n+i] = scores[top] - scores[int(v)]
			}
		}
		vectors.Exp(odds, odds)
		if others == 1 {
			copy(log, odds)
		} else {
			for at := range log {
				log[at] = floats.Sum(odds[at*others:][:others])
			}
		}
		vectors.Log1p(log, log)
		for set := range sums {
			sum := 0.0
			for i := range y {
				sum -= timesOf(times, i) * (against[set*n+i] + log[set*n+i])
			}
			sums[set] = sum
		}
	})
}

// Newtons implements [UnorderedCategories].
func (u *unordered) Newtons(y, times, eta, slope, curvature []float64) {
	n, predictors := len(y), u.Predictors()
	row := u.newRow()
	for i, v := range y {
		row.expand(int(v), eta, i, n)
		t := timesOf(times, i)
		for m, s := range row.slope {
			slope[m*n+i] = t * s
		}
		at := i
		for m := range predictors {
			for other := range m + 1 {
				curvature[at] = t * row.curvature[m*predictors+other]
				at += n
			}
		}
	}
}

// unorderedRow is scratch memory for the expansion of one row.
type unorderedRow struct {
	*unordered
	shares, mean     []float64 // [K] and [M]
	slope, curvature []float64 // [M] and [M·M], the curvature is set on and below the diagonal only
}

func (u *unordered) newRow() *unorderedRow {
	m := u.Predictors()
	return &unorderedRow{u, make([]float64, u.Levels()), make([]float64, m), make([]float64, m), make([]float64, m*m)}
}

// expand sets the slopes and curvatures of row i of n, eta [M·n]. With the most probable category t
// and d = Σ_k p_k (C_k − C_t) the slopes are C_y − C_t − d, and the curvatures Σ_k p_k (C_k − C_t)
// (C_k − C_t)ᵀ − d dᵀ. No digits are lost where one category has nearly all of the probability.
func (r *unorderedRow) expand(y int, eta []float64, i, n int) {
	r.probabilities(y, eta, i, n, r.shares)
	top := r.contrasts[floats.MaxIdx(r.shares)]
	for m := range r.mean {
		r.mean[m] = 0
		for k, p := range r.shares {
			r.mean[m] += p * (r.contrasts[k][m] - top[m])
		}
		r.slope[m] = r.contrasts[y][m] - top[m] - r.mean[m]
	}
	for m := range r.mean {
		for other := range m + 1 {
			sum := -r.mean[m] * r.mean[other]
			for k, p := range r.shares {
				sum += p * (r.contrasts[k][m] - top[m]) * (r.contrasts[k][other] - top[other])
			}
			r.curvature[m*len(r.mean)+other] = sum
		}
	}
}
