package models

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// TestProbabilitiesByOdds checks probabilities of items from odds in sets without them. An item in
// all sets has none.
func TestProbabilitiesByOdds(t *testing.T) {
	lists, err := space.NewLists(slices.Repeat([]int{1}, 4), 3, 0)
	require.NoError(t, err)
	asItems, ok := itemsOf(lists)
	require.True(t, ok)
	x := (&Engine{Space: lists}).Visit()
	unknown, err := x.byOdds(t.Context(), asItems, nil, nil)
	require.NoError(t, err)
	require.Nil(t, unknown)
	x.Known.Enters = func(_ context.Context, codes [][]int32) (logOdds [][]float64, err error) {
		require.Len(t, codes, 2, "each model once")
		for _, code := range codes {
			odds := []float64{1, -1, -2, -3}
			for _, item := range lists.Set(code) {
				odds[item] = math.NaN()
			}
			logOdds = append(logOdds, odds)
		}
		return logOdds, nil
	}
	probability, err := x.byOdds(t.Context(), asItems, [][]int32{{0}, {0, 2}, {0}}, stream.Rand(1, "odds"))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0, 1 / (1 + math.Exp(1)), 1 / (1 + math.Exp(2)), 1 / (1 + math.Exp(3))}, probability, 1e-12)
}

// TestSeenModels checks that models are drawn with their posterior probabilities among the seen
// models, whatever list they come from.
func TestSeenModels(t *testing.T) {
	list := func(codes [][]int32, logEvidences ...float64) *Visited {
		x := (&Engine{}).Visit()
		for k, code := range codes {
			x.codes, x.logPrior, x.evidence = append(x.codes, code), append(x.logPrior, -1), append(x.evidence, Closed(logEvidences[k]))
		}
		return x
	}
	one, two, three := []int32{1}, []int32{2}, []int32{3}
	seen := seenBy(list([][]int32{one, two}, 0, math.Log(3)), list([][]int32{two, three}, math.Log(3), math.Inf(-1)))
	require.Len(t, seen.codes, 3)
	require.InDelta(t, math.Log(0.25), seen.logProb(one), 1e-12)
	require.InDelta(t, math.Log(0.75), seen.logProb(two), 1e-12)
	require.True(t, math.IsInf(seen.logProb(three), -1))
	require.True(t, math.IsInf(seen.logProb([]int32{4}), -1))
	require.Equal(t, two, seen.codes[seen.table.Index(0.9)])
}

// tallied computes evidences that favour small models, and counts them.
type tallied struct {
	dim       int // of parameters
	evidences *atomic.Int64
}

func (tallied) Exact() bool { return true }

func (c tallied) Of(_ context.Context, codes [][]int32, _ uint64) (found []Evidence, err error) {
	c.evidences.Add(int64(len(codes)))
	for _, code := range codes {
		found = append(found, Closed(-2*float64(len(code))))
	}
	return found, nil
}

func (c tallied) Parameters(_ []int32, evidence Evidence, n int, _ *rand.Rand) (Parameters, error) {
	return Parameters{Theta: mat.NewDense(n, c.dim, nil), LogJoint: make([]float64, n), Weights: slices.Repeat([]float64{1}, n), Evidence: evidence}, nil
}

// emptyModels is a distribution over models that draws the same model always.
type emptyModels struct{ code []int32 }

func (p emptyModels) Draw(*rand.Rand) (codes [][]int32, fromQ int, err error) {
	return slices.Repeat([][]int32{p.code}, 100), 100, nil
}

func (p emptyModels) LogProb(codes [][]int32) ([]float64, error) {
	return make([]float64, len(codes)), nil
}

// wideOnly is a Proposal that is only asked for its wider version.
type wideOnly struct {
	Proposal
	wide Reference
}

func (p wideOnly) Wide() Reference { return p.wide }

// TestWeightsAfterTheTime checks that certificates of few draws end soon if the time is over: they
// compute at most 2,000 evidences, where a burn-in of the chains alone has 19,200 proposals.
func TestWeightsAfterTheTime(t *testing.T) {
	lists, err := space.NewLists(slices.Repeat([]int{1}, 40), 8, 0)
	require.NoError(t, err)
	for name, weigh := range map[string]func(x *Visited, cfg Config) (*Certificate, error){
		"fitted":   func(x *Visited, cfg Config) (*Certificate, error) { return x.WeighFitted(t.Context(), cfg) },
		"proposed": func(x *Visited, cfg Config) (*Certificate, error) { return x.WeighProposed(t.Context(), cfg) },
	} {
		t.Run(name, func(t *testing.T) {
			var evidences atomic.Int64
			e := &Engine{
				Space: lists, AnswerOnly: true, Seed: 1, Q: wideOnly{wide: emptyModels{lists.Code(nil, nil)}},
				LogPrior: func(codes [][]int32) ([]float64, error) { return make([]float64, len(codes)), nil },
				Known:    Known{Evidences: tallied{lists.Dim(), &evidences}},
			}
			c, err := weigh(e.Visit(), Config{Stream: name, Draws: 100_000, Preliminary: true, Late: func() bool { return true }})
			require.NoError(t, err)
			require.NotEmpty(t, c.Models)
			require.Less(t, evidences.Load(), int64(2000))
		})
	}
}
