package dag

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/verdict"
)

// precision says how evidences by particles are known.
type precision struct {
	draws, islands int
	rough          float64 // share of graphs with a family that has no fine islands
	settling       float64 // mean rise of log evidences when particles move twice as long
}

// judge holds against the limits how many of the families of the graphs that were drawn are fine,
// and whether particles had settled.
func (s *particleScores) judge(ctx gocontext.Context, v *verdict.Judgement, graphs *Posterior, draws []Draw) (precision, error) {
	own, total := precision{draws: s.pilots*pilotChains*pilotSweeps + s.fine*fineChains*fineSweeps, islands: s.fine}, 0.0
	for _, d := range draws {
		total += float64(d.Count)
		if slices.ContainsFunc(d.Families, func(f int) bool { return !s.known(f) }) {
			own.rough += float64(d.Count)
		}
	}
	own.rough /= total
	v.Limit(own.rough, doubtfulRough, failedRough, "%.2g of the graphs have a family whose evidence comes from a pilot run only")
	rise, se := s.settling()
	own.settling = rise
	if math.Abs(rise) > math.Max(3*se, settledNats) {
		change, err := s.unsettled(ctx, graphs)
		if err != nil {
			return own, err
		}
		v.Limit(change, verdict.DoubtfulEventSE, verdict.FailedEventSE, "particles have not settled, and moving them longer may change an edge probability by %.2g")
	}
	return own, nil
}

// unsettled is how far edge probabilities change when every log evidence rises by what moving ever
// longer would add, extrapolated from moving twice as long: more the more parents.
func (s *particleScores) unsettled(ctx gocontext.Context, graphs *Posterior) (worst float64, err error) {
	rise, _ := fitGaps(s.differences())
	scores := graphs.Scores
	scores.LogEvidence = slices.Clone(scores.LogEvidence)
	for i, f := range scores.Families {
		if !s.exact[i] {
			scores.LogEvidence[i] += settlingSteps * rise(f.Parents.Len())
		}
	}
	moved, err := NewPosterior(ctx, graphs.Structure, scores, nil)
	if err != nil {
		return 0, err
	}
	before, after := graphs.EdgeProbabilities(), moved.EdgeProbabilities()
	for _, e := range dgraph.OrderedPairs(graphs.Structure.Nodes) {
		worst = math.Max(worst, math.Abs(after[e.From][e.To]-before[e.From][e.To]))
	}
	return worst, nil
}

// parameters returns a source of draws from the posterior of families. Families that have no fine
// islands get one.
func (s *particleScores) parameters(random *rand.Rand) parameterSource {
	p, l := s.problem, s.problem.layout()
	linear := *p
	linear.Model.Mechanism = Linear
	rootNoise, linearLayout := linear.exactParameters(p.Families, random), linear.layout()
	cumulative := map[int][]float64{}
	return func(f int) []float64 {
		if s.exact[f] {
			theta := make([]float64, l.dim())
			if l.sigma == 0 {
				theta[l.weights()] = linearLayout.logSigma(rootNoise(f))
			}
			return theta
		}
		if len(s.islands[f]) == 0 {
			s.islands[f] = []island{newNetworkFamily(p, p.Families[f]).temper(random, l, p.Families[f], fineChains, fineSweeps)}
		}
		if cumulative[f] == nil {
			logs := make([]float64, len(s.settled(f)))
			for k, own := range s.settled(f) {
				logs[k] = own.logEvidence
			}
			norm, total := logsum.Of(logs), 0.0
			for _, x := range logs {
				total += math.Exp(x - norm)
				cumulative[f] = append(cumulative[f], total)
			}
		}
		thetas := s.settled(f)[drawIndex(random, cumulative[f])].thetas
		return thetas[random.IntN(len(thetas))]
	}
}

// Limits of the verdict on particles.
const (
	doubtfulRough = 0.5 // share of graphs with a family that has no fine islands
	failedRough   = 1
	// what moving twice as long may add to a log evidence, beyond which it is asked what that does
	// to edges
	settledNats = 0.5
	// settlingSteps is how much moving ever longer would add, in units of what moving twice as long
	// does: what is missing falls about as the inverse of the number of moves, so that it is one
	// such unit in the islands that move twice as long, and two in the other half.
	settlingSteps = 1.5
)
