package wide

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/regression"
)

// Sweeps over random subsets of the columns leave the posterior over all models invariant: chains
// agree with the sum over all models of at most five of seven predictors, whose odds differ, with
// inner products from stored rows and computed one by one. With limits of four standard errors, one
// of the 28 comparisons fails for one in 300 seeds.
func TestSubsetsLeaveThePosteriorInvariant(t *testing.T) {
	search := searchOf(correlated(60, 7), 0)
	search.Prior = space.Prior{Kind: space.InclusionPrior, Inclusion: []float64{0.5, 0.3, 0.2, 0.6, 0.1, 0.3, 0.4}, MaxSize: 5}
	search.Dim = len(search.Mean)
	code := func(model []int) []int32 {
		code := make([]int32, 7)
		for _, predictor := range model {
			code[predictor] = 1
		}
		return code
	}
	active := func(code []int32) regression.Active {
		a := regression.Active{Scale: search.Scale}
		search.Include(&a, 0, 0)
		for predictor, in := range code {
			if in == 1 {
				search.Include(&a, 1+predictor, 1+predictor)
			}
		}
		return a
	}
	var logs []float64
	var models [][]int
	for m := range 1 << 7 {
		var model []int
		for predictor := range 7 {
			if m>>predictor&1 == 1 {
				model = append(model, predictor)
			}
		}
		if len(model) <= 5 {
			models = append(models, model)
			logs = append(logs, search.prior().OfCode(code(model))+search.evidence(t, model...))
		}
	}
	total, inclusion := floats.LogSumExp(logs), make([]float64, 7)
	for i, model := range models {
		for _, predictor := range model {
			inclusion[predictor] += math.Exp(logs[i] - total)
		}
	}
	for _, kept := range []bool{true, false} {
		for _, often := range [][]int{nil, {2, 5}} {
			b := search.Births(code, active, nil).(*gaussian)
			b.known.Kept = kept
			b.setOften(often, 2)
			require.InDelta(t, 2/float64(7-len(often)), b.share, 1e-12)
			chains, err := rjmcmc.RunCollapsed(t.Context(), b, 7, func([]int32, []bool) []bool { return make([]bool, search.Dim) }, rjmcmc.CollapsedConfig{
				Chains: 4, BurnIn: 50, Iterations: 4000, Thin: 1, Powers: []float64{1}, Seed: 5,
			})
			require.NoError(t, err)
			for predictor, p := range inclusion {
				found := chains.Outcome(predictor, 1)
				require.InDelta(t, p, found.Mean, 4*found.MCSE, "%d often, predictor %d", len(often), predictor)
				require.Less(t, found.MCSE, 0.02)
			}
		}
	}
}

// A sweep has all members, all columns of the list often, and each other column with the stated
// probability.
func TestSubsetsHaveTheStatedColumns(t *testing.T) {
	b := &births{columns: 1001, fixed: 1, prior: space.LogTerms{}}
	b.setOften([]int{5, 9}, 100)
	p, random, counts := &birthProcess{births: b}, stream.Rand(1, "subsets"), make([]int, 1001)
	const sweeps = 2000
	for range sweeps {
		p.begin(&birthModel{members: []int{0, 700, 5}}, random)
		require.Equal(t, []int{0, 700, 5, 9}, p.columns[:4])
		for k, c := range p.columns {
			counts[c]++
			want := 1.0
			if c == 700 || k >= 4 {
				want = 1 / b.share
			}
			require.InDelta(t, want, p.weights[k], 1e-12, fmt.Sprint(c))
		}
	}
	// with limits of five standard deviations, one of the counts fails for one in 1,700 seeds
	for c := 1; c < 1001; c++ {
		if c != 700 && c != 5 && c != 9 {
			require.InDelta(t, b.share*sweeps, counts[c], 5*math.Sqrt(b.share*sweeps), "column %d", c)
		}
	}
}
