package varsel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// The density of a splitFit integrates to one: the mean over its draws of the ratio of another
// normalised density to it is one.
func TestSplitProposalIsADensity(t *testing.T) {
	o := unorderedTables()[1]
	problem := o.problem(t, likelihood.CategoricalKind)
	fit, err := fitOf(problem.Target, problem.Target.active([]int32{1}))
	require.NoError(t, err)
	s := fit.splitAlong(true)
	require.Greater(t, floats.Max(append(slices.Clone(s.above), s.below...)), 1.5, "nothing is skewed")
	random := stream.Rand(7, "split")
	theta, standard := make([]float64, 4), distuv.UnitNormal
	const n = 40000
	sum, squares := 0.0, 0.0
	for range n {
		log := -s.drawStep(random, theta)
		for _, v := range theta {
			log += standard.LogProb(v/2) - math.Ln2
		}
		ratio := math.Exp(log)
		sum, squares = sum+ratio, squares+ratio*ratio
	}
	mean := sum / n
	require.InDelta(t, 1, mean, 4.5*math.Sqrt((squares/n-mean*mean)/n)) // a false alarm in one of 150,000 seeds
}
