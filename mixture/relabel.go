package mixture

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

// relabelRounds is the largest number of passes over the draws. Usually a few passes suffice.
const relabelRounds = 50

// relabel orders the components of every draw so that the draws agree best on the rows of each
// component. It is needed for several columns, where means have no natural order. The algorithm of
// Stephens (2000) alternates two steps: it averages over the draws the probabilities that rows
// belong to components, and then puts the components of each draw into the order nearest to it.
func (p *Problem) relabel(draws []kept) []kept {
	if len(draws) == 0 {
		return draws
	}
	k, n := draws[0].state.size(), p.Rows()
	shares := make([][][]float64, len(draws)) // [draw][component][row]
	row := make([]float64, k)
	for d := range draws {
		shares[d] = apply.UpTo(k, func(int) []float64 { return make([]float64, n) })
		for i := range n {
			p.shares(i, &draws[d].state, row)
			for j, share := range row {
				shares[d][j][i] = share
			}
		}
	}
	// Component orders[d][j] of draw d gets the label j.
	orders := apply.UpTo(len(draws), func(int) []int { return rank.UpTo(k) })
	for range relabelRounds {
		logMean := make([][]float64, k)
		for j := range logMean {
			logMean[j] = make([]float64, n)
			for d := range shares {
				for i, share := range shares[d][orders[d][j]] {
					logMean[j][i] += share / float64(len(draws))
				}
			}
			for i, mean := range logMean[j] {
				logMean[j][i] = math.Log(math.Max(mean, 1e-12))
			}
		}
		moved := false
		for d := range shares {
			cost := make([][]float64, k) // cost of label j for component c
			for j := range cost {
				cost[j] = make([]float64, k)
				for c, rowShares := range shares[d] {
					for i, share := range rowShares {
						cost[j][c] -= share * logMean[j][i]
					}
				}
			}
			if order := assign(cost); !slices.Equal(order, orders[d]) {
				orders[d], moved = order, true
			}
		}
		if !moved {
			break
		}
	}
	list := make([]kept, len(draws))
	for d, one := range draws {
		list[d] = kept{state: one.state.clone(), logP: one.logP, chain: one.chain}
		for j, c := range orders[d] {
			list[d].state.components[j] = one.state.components[c]
		}
	}
	return list
}

// assign returns a different column for every row of a square table of costs, with the least total
// cost. It uses the Hungarian algorithm by shortest augmenting paths (Jonker and Volgenant 1987).
func assign(cost [][]float64) []int {
	n := len(cost)
	rowOf, from := make([]int, n+1), make([]int, n+1) // indexed by columns, counted from 1; 0 is the root
	u, v := make([]float64, n+1), make([]float64, n+1)
	for row := 1; row <= n; row++ {
		rowOf[0] = row
		least, done := slices.Repeat([]float64{math.Inf(1)}, n+1), make([]bool, n+1)
		at := 0
		for rowOf[at] != 0 {
			done[at] = true
			delta, next := math.Inf(1), 0
			for c := 1; c <= n; c++ {
				if done[c] {
					continue
				}
				if reduced := cost[rowOf[at]-1][c-1] - u[rowOf[at]] - v[c]; reduced < least[c] {
					least[c], from[c] = reduced, at
				}
				if least[c] < delta {
					delta, next = least[c], c
				}
			}
			for c := range done {
				if done[c] {
					u[rowOf[c]] += delta
					v[c] -= delta
				} else {
					least[c] -= delta
				}
			}
			at = next
		}
		for at != 0 {
			rowOf[at] = rowOf[from[at]]
			at = from[at]
		}
	}
	columns := make([]int, n)
	for c := 1; c <= n; c++ {
		columns[rowOf[c]-1] = c - 1
	}
	return columns
}
