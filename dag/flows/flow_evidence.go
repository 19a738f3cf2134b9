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

// These are numbers of draws for the evidences by a flow. First every family gets pilot draws,
// between leastPilot and mostPilot and about pilotBudget for all families together. Then rounds of
// draws favour the families whose errors matter. For graphs over more than largeNodes nodes, whose
// sums take long, there is only one round. Not tuned: they share out draws, and standard errors
// show the precision.
const (
	leastPilot   = 32
	mostPilot    = 256
	pilotBudget  = 1 << 17
	DefaultDraws = 1 << 17
	rounds       = 4
	roundsLarge  = 1
	largeNodes   = 12
)

// Evidences holds evidences of families by importance weights of draws of a flow, with these draws.
type Evidences struct {
	sum score.SumOfScores
	// Evidences holds the evidences of the engine, and Draws is the number of draws behind them.
	Evidences *vti.Evidences
	scores    score.Scores
	Draws     int
	kept      []int // number of draws of each family that are kept for its parameters
}

// EvidenceConfig configures Estimate.
type EvidenceConfig struct {
	Draws      int // number of draws for the families whose errors matter, after the pilot
	Parameters int // number of draws of parameters from which summaries choose
	Status     func(string)
}

// Estimate estimates the evidence of every family. It gives the most draws to families whose errors
// matter to the posterior over graphs, which sum computes from scores, and returns this posterior
// too.
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

// allocate divides a budget of draws among the families. A share is proportional to the spread of
// the family's weights, times the effect of an error of the family's score on the probabilities of
// graphs: the standard deviation of the indicator that the family is in the graph. A tenth of the
// family's probability is added to this effect, for the evidence and for draws of the family's
// parameters.
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

// supplement allocates further draws, not more than most in all. If k̂ does not change, each family
// will after these draws have missed at most half of the posterior mass that a trusted answer may
// miss. supplement reports whether draws are needed and useful.
func (s *Evidences) supplement(graphs *score.Posterior, allocation []int, most int) bool {
	clear(allocation)
	if graphs.Missed() <= verdict.DoubtfulMissed {
		return false
	}
	models, needed := s.Evidences.Models(), 0
	// half of the allowed mass, divided among one family for each node with independent errors
	wanted := verdict.DoubtfulMissed / 2 / math.Sqrt(float64(graphs.Structure.Nodes))
	for f, m := range graphs.Marginals {
		share, k := m*s.scores.Missed[f], math.Max(s.scores.KHat[f], 0)
		if share <= wanted || k >= psis.Reliable {
			continue
		}
		additional := math.Pow(m/wanted, 1/(1-k)) - float64(models[f].Draws)
		allocation[f] = int(math.Min(math.Max(additional, 0), float64(most)))
		needed += allocation[f]
	}
	for f, share := range allocation {
		if needed > most {
			allocation[f] = share * most / needed
		}
	}
	return needed > 0
}

// supplements is the largest number of rounds with additional draws after the regular rounds. Not
// tuned.
const supplements = 2

func (s *Evidences) keep(ctx gocontext.Context, allocation []int) error {
	for f, draws := range allocation {
		s.kept[f] += draws
	}
	return s.Evidences.Draw(ctx, allocation, true)
}

// fillUp allocates the draws of parameters that probable families still lack for summaries.
func (s *Evidences) fillUp(graphs *score.Posterior, allocation []int, draws int) {
	for f, m := range graphs.Marginals {
		allocation[f] = 0
		if m > leastDescribed {
			allocation[f] = max(0, leastKept+int(m*float64(draws))-s.kept[f])
		}
	}
}

// Families with a probability of at least leastDescribed get at least leastKept draws of
// parameters.
const (
	leastDescribed = 1e-3
	leastKept      = 100
)

// Parameters returns a source that draws from the posterior of families by their weighted draws.
func (s *Evidences) Parameters(random *rand.Rand) score.ParameterSource {
	type sample struct {
		thetas [][]float64
		table  pick.Table
	}
	known := map[int]sample{}
	return func(family int) []float64 {
		drawn, ok := known[family]
		if !ok {
			thetas, weights := s.Evidences.Sample(family)
			for i := range weights {
				drawn.thetas = append(drawn.thetas, thetas.RawRowView(i))
			}
			drawn.table = pick.NewTable(weights)
			known[family] = drawn
		}
		return drawn.thetas[drawn.table.Index(random.Float64())]
	}
}
