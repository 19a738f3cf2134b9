package flows

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
)

// Draws behind the scores of a flow: a pilot of every family, between leastPilot and mostPilot
// draws and about pilotBudget in all, then rounds that give more to the families whose errors
// matter; one round for graphs over more nodes than largeNodes, whose sums take long. Chosen by
// hand, not tuned.
const (
	leastPilot   = 32
	mostPilot    = 256
	pilotBudget  = 1 << 17
	DefaultDraws = 1 << 17
	rounds       = 4
	roundsLarge  = 1
	largeNodes   = 12
)

// Evidences are the scores that importance weights gave, and the draws behind them.
type Evidences struct {
	sum       score.SumOfScores
	Evidences *vti.Evidences
	scores    score.Scores
	Draws     int
	kept      []int // draws of each family that are kept for its parameters
}

// EvidenceConfig sizes the estimation of evidences by a flow.
type EvidenceConfig struct {
	Draws      int // for the families that matter, beyond a pilot of all
	Parameters int // draws of parameters that summaries choose among
	Status     func(string)
}

// Estimate finds the evidence of every family, with most draws for those whose errors matter to
// the posterior over graphs, which sum makes of scores.
func Estimate(p *score.Problem, ctx gocontext.Context, posterior *vti.Posterior, sum score.SumOfScores, cfg EvidenceConfig) (*Evidences, *score.Posterior, error) {
	draws, status := cfg.Draws, cfg.Status
	codes := make([][]int32, len(p.Families))
	allocation := make([]int, len(p.Families))
	for i := range codes {
		codes[i] = codeOf(p.Structure.Nodes, p.Families[i])
		allocation[i] = min(max(pilotBudget/len(codes), leastPilot), mostPilot)
	}
	evidences, err := posterior.Evidences(codes, "families")
	if err != nil {
		return nil, nil, err
	}
	s := &Evidences{sum: sum, Evidences: evidences, kept: make([]int, len(codes))}
	status(fmt.Sprintf("evidences of %s", english.Count(len(codes), "family")))
	if err := evidences.Draw(ctx, allocation, false); err != nil {
		return nil, nil, err
	}
	graphs, err := s.update(ctx, p, status)
	if err != nil {
		return nil, nil, err
	}
	turns := rounds
	if p.Data.Nodes() > largeNodes {
		turns = roundsLarge
	}
	for turn := range turns + supplements {
		if turn < turns {
			status(fmt.Sprintf("evidences of the families that matter, round %d of %d", turn+1, turns))
			s.allocate(graphs, allocation, draws/turns)
		} else if s.supplement(graphs, allocation, draws) {
			status("more draws of the families whose weights have a tail")
		} else {
			break
		}
		if err := s.keep(ctx, allocation); err != nil {
			return nil, nil, err
		}
		if graphs, err = s.update(ctx, p, status); err != nil {
			return nil, nil, err
		}
	}
	status("drawing parameters")
	s.fillUp(graphs, allocation, cfg.Parameters)
	if err := s.keep(ctx, allocation); err != nil {
		return nil, nil, err
	}
	return s, graphs, nil
}

// update reads the scores and sums over graphs.
func (s *Evidences) update(ctx gocontext.Context, p *score.Problem, status func(string)) (*score.Posterior, error) {
	s.scores = score.Scores{Families: p.Families}
	s.Draws = 0
	for i, model := range s.Evidences.Models() {
		if math.IsNaN(model.LogEvidence) || math.IsInf(model.LogEvidence, 0) {
			return nil, fmt.Errorf("no draw of %s has a finite density: train for more steps, or give columns of a smaller scale", p.FamilyName(p.Families[i]))
		}
		s.scores.LogEvidence = append(s.scores.LogEvidence, model.LogEvidence)
		s.scores.SE = append(s.scores.SE, model.LogEvidenceSE)
		s.scores.KHat = append(s.scores.KHat, model.KHat)
		s.scores.Missed = append(s.scores.Missed, psis.TailShare(model.KHat, model.Draws))
		s.Draws += model.Draws
	}
	return s.sum(ctx, p.Structure, s.scores, status)
}

// allocate shares a budget of draws: to a family in proportion to the spread of its weights and to
// what an error of its score does to the probabilities of graphs, the standard deviation of the
// indicator that it is in the graph; a tenth of its probability besides, for the evidence and for
// draws of its parameters.
func (s *Evidences) allocate(graphs *score.Posterior, allocation []int, budget int) {
	share := make([]float64, len(allocation))
	var total float64
	for f, m := range graphs.Marginals {
		spread := s.scores.SE[f] * math.Sqrt(float64(s.Evidences.Models()[f].Draws))
		share[f] = (math.Sqrt(math.Max(0, m*(1-m))) + 0.1*m) * math.Max(spread, 0.1)
		total += share[f]
	}
	for f := range allocation {
		allocation[f] = int(math.Round(share[f] / total * float64(budget)))
	}
}

// supplement asks for the draws with which what families may have missed together is half of what
// trust takes, if their k̂ stay: at most so many for all. It reports whether that is needed and of
// use.
func (s *Evidences) supplement(graphs *score.Posterior, allocation []int, most int) bool {
	clear(allocation)
	if graphs.Missed() <= verdict.DoubtfulMissed {
		return false
	}
	models, needed := s.Evidences.Models(), 0
	// of as many families as graphs have, as independent errors
	wanted := verdict.DoubtfulMissed / 2 / math.Sqrt(float64(graphs.Structure.Nodes))
	for f, m := range graphs.Marginals {
		share, k := m*s.scores.Missed[f], math.Max(s.scores.KHat[f], 0)
		if share <= wanted || k >= psis.Reliable {
			continue
		}
		own := math.Pow(m/wanted, 1/(1-k)) - float64(models[f].Draws)
		allocation[f] = int(math.Min(math.Max(own, 0), float64(most)))
		needed += allocation[f]
	}
	for f, own := range allocation {
		if needed > most {
			allocation[f] = own * most / needed
		}
	}
	return needed > 0
}

// supplements is how often draws are supplemented. Chosen by hand.
const supplements = 2

// keep draws of families and keeps the draws for their parameters.
func (s *Evidences) keep(ctx gocontext.Context, allocation []int) error {
	for f, draws := range allocation {
		s.kept[f] += draws
	}
	return s.Evidences.Draw(ctx, allocation, true)
}

// fillUp asks for what families that matter lack in draws of their parameters. However few draws
// their evidences take, summaries choose among so many.
func (s *Evidences) fillUp(graphs *score.Posterior, allocation []int, draws int) {
	for f, m := range graphs.Marginals {
		allocation[f] = 0
		if m > leastDescribed {
			allocation[f] = max(0, leastKept+int(m*float64(draws))-s.kept[f])
		}
	}
}

// A family of at least this probability has at least so many draws of its parameters.
const (
	leastDescribed = 1e-3
	leastKept      = 100
)

// Parameters returns a draw from the posterior of a family.
func (s *Evidences) Parameters(random *rand.Rand) score.ParameterSource {
	type sample struct {
		thetas [][]float64
		table  pick.Table
	}
	known := map[int]sample{}
	return func(family int) []float64 {
		own, ok := known[family]
		if !ok {
			thetas, weights := s.Evidences.Sample(family)
			for i := range weights {
				own.thetas = append(own.thetas, thetas.RawRowView(i))
			}
			own.table = pick.NewTable(weights)
			known[family] = own
		}
		return own.thetas[own.table.Index(random.Float64())]
	}
}
