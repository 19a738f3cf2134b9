package vti

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// judgeUnseen lowers the verdict where witnesses show what a certificate has not seen.
func (c *weighing) judgeUnseen(w witnesses) error {
	if len(w) == 0 {
		return nil
	}
	logWeight, err := c.shares(w)
	if err != nil {
		return err
	}
	if share := w.unseen(logWeight, c.LogEvidence); !(share <= verdict.DoubtfulMissed) {
		c.unseen = true
		c.Lower(Doubtful, "earlier draws found %.2g of the posterior in regions where hardly any draws fall now", share)
	}
	return nil
}

// mostCompared is the number of draws of chains that are weighted. Chosen by hand: a share of
// DoubtfulMissed is then 20 of them.
const mostCompared = 4096

// unseenOf are draws of chains, as witnesses, where a certificate by weights has seen nothing, and
// their share of all; none where it does not come from draws of parameters.
func (c *weighing) unseenOf(chains *Certificate) (unseen []witness, share float64, err error) {
	sample := &chains.Sample
	if c.shares == nil {
		return nil, 0, nil
	}
	group := witnessesOf(sample, mostCompared)
	logWeight, err := c.shares(witnesses{group})
	if err != nil {
		return nil, 0, err
	}
	for i, one := range group {
		if !(logWeight[i]-c.LogEvidence <= math.Log(thinShare)) {
			unseen = append(unseen, one)
		}
	}
	share = float64(len(unseen)) / float64(len(group))
	return evenly(unseen, c.LogEvidence+math.Log(share)), share, nil
}

// testimony are witnesses of what chains have found, all of the posterior; none where their
// evidence is not resolved.
func testimony(c *Certificate) []witness {
	return heaviestOf(evenly(witnessesOf(&c.Sample, mostCompared), c.LogEvidence))
}

// witnessesOf are at most so many of the draws of a sample.
func witnessesOf(s *WeightedSample, most int) (group []witness) {
	for i := 0; i < len(s.Codes); i += (len(s.Codes) + most - 1) / most {
		group = append(group, witness{Code: s.Codes[i], Theta: s.Theta.RawRowView(i), LogP: s.LogP[i]})
	}
	return group
}

// evenly keeps some witnesses, spread over the chains that they come from, which together stand for
// a mass.
func evenly(group []witness, logMass float64) []witness {
	kept := make([]witness, min(len(group), mostWitnesses))
	for k := range kept {
		kept[k] = group[k*len(group)/len(kept)]
		kept[k].Theta = slices.Clone(kept[k].Theta)
		kept[k].LogMass = logMass - math.Log(float64(len(kept)))
	}
	return kept
}

// weightsAt are log η(θ | m) − log r(θ | m) of points of models under the sampler's proposals.
func (s *importanceSampler) weightsAt(models []int, theta [][]float64) ([]float64, error) {
	batch, sites, dim := s.evaluator.Sizes()
	weights := make([]float64, 0, len(models))
	for start := 0; start < len(models); start += batch {
		rows, codes, points := min(batch, len(models)-start), make([]int32, batch*sites), make([]float64, batch*dim)
		for row := range batch {
			at := start + row%rows // the last batch is filled up with its own points
			copy(codes[row*sites:], s.codes[models[at]])
			copy(points[row*dim:], theta[at])
		}
		draws, err := s.evaluator.Pull(codes, points)
		if err != nil {
			return nil, err
		}
		for row, weight := range s.reference.logWeights(draws)[:rows] {
			if proposal := s.proposal(models[start+row]); proposal != nil {
				weight = mixtureWeight(draws.LogJoint[row], draws.LogJoint[row]-weight, proposal.logDensity(theta[start+row]))
			}
			weights = append(weights, weight)
		}
	}
	return weights, nil
}

// witnessed are the witnesses of earlier certificates by the sampler's models: where each is, as
// indices of models in the order of flat, the points, and where to climb from.
type witnessed struct {
	models  []int
	theta   [][]float64
	byModel map[int][]climbStart
}

// place finds the models of witnesses.
func (s *importanceSampler) place(w witnesses, logPrior []float64) witnessed {
	placed := witnessed{byModel: map[int][]climbStart{}}
	if len(w) == 0 {
		return placed
	}
	position := make(map[string]int, len(s.codes))
	for i, code := range s.codes {
		position[space.Key(code)] = i
	}
	for _, one := range w.flat() {
		i := position[space.Key(one.Code)]
		placed.models, placed.theta = append(placed.models, i), append(placed.theta, one.Theta)
		placed.byModel[i] = append(placed.byModel[i], climbStart{one.Theta, one.LogP - logPrior[i]})
	}
	return placed
}

// shares are the log weights p(m) w / n that draws at the witnesses would add to the evidence,
// where draws are those of each model.
func (s *importanceSampler) shares(at witnessed, draws []float64, logPrior []float64) ([]float64, error) {
	weights, err := s.weightsAt(at.models, at.theta)
	for k := range weights {
		i := at.models[k]
		weights[k] += logPrior[i] - math.Log(math.Max(draws[i], 1))
	}
	return weights, err
}

// testify are the witnesses that a sampler leaves: its heaviest draws, and the modes that it found.
func (s *importanceSampler) testify(logPrior []float64) (drawn, modes []witness) {
	for i := range s.tallies {
		own := &s.tallies[i]
		for _, draw := range own.heaviest {
			drawn = append(drawn, witness{s.codes[i], draw.theta, logPrior[i] + draw.logJoint, logPrior[i] + draw.logWeight - math.Log(float64(len(own.logWeights)))})
		}
		if s.modes == nil {
			continue
		}
		for _, mode := range s.modes[i].modes {
			modes = append(modes, witness{s.codes[i], mode.mode, logPrior[i] + mode.atMode, logPrior[i] + mode.logEvidence()})
		}
	}
	return heaviestOf(drawn), heaviestOf(modes)
}
