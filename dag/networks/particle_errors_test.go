package networks

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/lab/dagtest"
)

// fakeIslands returns random islands (estimates of an evidence) that are unbiased for an evidence
// of one. The function shape draws logarithms of estimates, from which the log of their mean is
// subtracted. The variance is inversely proportional to the length of the moves.
func fakeIslands(random *rand.Rand, count, level int, shape func(random *rand.Rand, sd float64) float64, sd float64) (islands []island) {
	for k := range count {
		one := island{Level: level}
		one.LogEvidence = shape(random, sd/math.Sqrt(one.moves(k)))
		islands = append(islands, one)
	}
	return islands
}

func normalLogs(random *rand.Rand, sd float64) float64 { return sd*random.NormFloat64() - sd*sd/2 }

// skewedLogs returns the logarithm of a gamma variate with mean one. It is skewed to the left, as
// log evidences are where some particles fall into poor modes.
func skewedLogs(random *rand.Rand, sd float64) float64 {
	// the variance of the log of a gamma variate of shape k is about 1/k + 1/(2k²)
	shape := (1 + math.Sqrt(1+2*sd*sd)) / (2 * sd * sd)
	return math.Log(distuv.Gamma{Alpha: shape, Beta: shape, Src: random}.Rand())
}

// The test combines simulated estimates of an evidence of 1, whose logarithms have standard
// deviations of 0.1 to 3. The error of the combined log evidence, divided by its stated error, has
// a root mean square near 1. This also holds if the variance taken from other families (nodes with
// sets of parents) is half or twice the true variance.
func TestErrorsOfIslands(t *testing.T) {
	random := dagtest.Random(5)
	for _, sd := range []float64{0.1, 0.5, 1, 2, 3} {
		for _, count := range []int{2, 4, 12, 40} {
			for _, others := range []float64{0.5, 1, 2} {
				var z []float64
				for range 2000 {
					islands := fakeIslands(random, count, 0, normalLogs, sd)
					logEvidence, se := combine(islands, others*sd*sd)
					z = append(z, logEvidence/se)
				}
				mean, spread := stat.MeanStdDev(z, nil)
				t.Logf("sd %v, %d islands, others %v: z %.2f ± %.2f", sd, count, others, mean, spread)
				most := 1.7 // a wrong variance from other families shifts all log evidences alike
				if others == 1 {
					most = 1.15
				}
				require.Less(t, math.Hypot(mean, spread), most)
				require.Greater(t, math.Hypot(mean, spread), 0.5)
			}
		}
	}
}

// One in ten groups of particles finds a mode that has much of the evidence. If at least one of 12
// groups found it, the combined log evidence is within 3 stated errors of the truth in more than
// 98% of cases.
func TestModesFewIslandsMeet(t *testing.T) {
	random := dagtest.Random(6)
	for _, gain := range []float64{3, 6} {
		truth := math.Log(0.9 + 0.1*math.Exp(gain))
		far, met := 0, 0
		for range 1000 {
			var islands []island
			found := false
			for range 12 {
				one := island{LogEvidence: 0.3*random.NormFloat64() - 0.045}
				if random.Float64() < 0.1 {
					one.LogEvidence += gain
					found = true
				}
				islands = append(islands, one)
			}
			if !found {
				continue
			}
			met++
			logEvidence, se := combine(islands, 0.09)
			if math.Abs(logEvidence-truth) > 3*se {
				far++
			}
		}
		t.Logf("gain %v: %d of %d", gain, far, met)
		require.Less(t, far, met/50)
	}
}

// settlingOf returns the estimated rise of log evidences with longer moves, and its standard error.
// The function shape draws log evidences for families with one to eight parents. They are then made
// too small by the argument lag, divided by the length of the moves.
func settlingOf(t *testing.T, random *rand.Rand, shape func(random *rand.Rand, sd float64) float64, lag float64) (rise, se float64) {
	t.Helper()
	s := &Scores{problem: &score.Problem{Structure: dgraph.FreeStructure(10)}}
	for k := range 400 {
		f := dgraph.Family{Node: k % 10, Parents: dgraph.SetOf(rank.UpTo(1 + k%8)...)}
		s.problem.Families = append(s.problem.Families, f)
		islands := fakeIslands(random, 2+2*(k%6), 0, shape, 0.25*float64(f.Parents.Len()))
		for i := range islands {
			islands[i].LogEvidence -= lag / islands[i].moves(i)
		}
		s.islands = append(s.islands, islands)
	}
	return s.settling()
}

// Unbiased evidences show no rise with longer moves of particles, however much they differ. Log
// evidences that are too small by two nats, and by one nat with moves twice as long, show a rise.
func TestSettling(t *testing.T) {
	random := dagtest.Random(7)
	for name, shape := range map[string]func(*rand.Rand, float64) float64{"normal": normalLogs, "skewed": skewedLogs} {
		rise, se := settlingOf(t, random, shape, 0)
		t.Logf("%s: %.2f ± %.2f", name, rise, se)
		require.Less(t, math.Abs(rise), math.Max(3*se, settledNats))
		rise, se = settlingOf(t, random, shape, 2)
		t.Logf("%s, late: %.2f ± %.2f", name, rise, se)
		require.InDelta(t, 1, rise, 0.5)
		require.Greater(t, rise, math.Max(3*se, settledNats))
	}
}

// The variance of a log evidence is estimated from families of the same node with about the same
// number of parents, and from families of all nodes if the node has no such family.
func TestSpreads(t *testing.T) {
	p := networkProblem(t, 10, score.ModelOptions{})
	s := NewScores(p, 1, 0, func(string) {})
	two := dgraph.Family{Node: 0, Parents: dgraph.SetOf(1, 2)}
	require.InDelta(t, 1, s.spreads().variance(two), 1e-12)
	for i, f := range p.Families {
		if f.Parents.Len() == 2 && f.Node == 0 {
			for k := range 40 {
				s.islands[i] = append(s.islands[i], island{LogEvidence: 3 * float64(k/2%2)})
			}
		}
	}
	variance := 38.0 / 37 * 9.0 / 4 * 1.5 // the factor 1.5 is the mean length of moves, because every second island moves twice as long
	require.InDelta(t, variance, s.spreads().variance(two), 0.3)
	require.InDelta(t, variance, s.spreads().variance(dgraph.Family{Node: 1, Parents: two.Parents}), 0.3)
	require.InDelta(t, 1, s.spreads().variance(dgraph.Family{Node: 0, Parents: dgraph.SetOf(1, 2, 3, 4)}), 1e-12)
}
