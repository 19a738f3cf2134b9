package vti

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/laplace"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// A flow trained until its weights look good can lose a mode that it proposed before: weights show
// nothing where no draw falls. Solve therefore keeps witnesses, draws of earlier certificates, and
// weights them under the proposal of each certificate. If one such draw would dominate where
// witnesses show posterior mass, the certificate has not seen that region.

// witness is a point found by an earlier certificate.
type witness struct {
	Code  []int32
	Theta []float64
	// LogP is log p(m) + log η(θ | m). LogMass is the log of the unnormalised posterior mass that
	// the certificate gave to the region of the witness.
	LogP, LogMass float64
}

// witnesses holds the witnesses of all earlier certificates, in groups that are separate estimates:
// the mean of Σ exp LogMass over the witnesses of a region is at most the mass of the region.
type witnesses [][]witness

const (
	// mostWitnesses bounds each group to its heaviest; the last mostGroups stay. Not tuned.
	mostWitnesses = 32
	mostGroups    = 32
	// thinShare is the largest share of a single draw in a certificate that has seen its region:
	// half of the tolerated error of a probability.
	thinShare = 0.005
)

// heaviestOf keeps the heaviest of a group.
func heaviestOf(group []witness) []witness {
	group = slices.DeleteFunc(group, func(w witness) bool { return !finite(w.LogMass) || !finite(w.LogP) })
	slices.SortStableFunc(group, func(a, b witness) int { return cmp.Compare(b.LogMass, a.LogMass) })
	return slices.Clone(group[:min(len(group), mostWitnesses)])
}

// add adds the groups of a certificate, and drops the oldest beyond mostGroups.
func (w *witnesses) add(groups ...[]witness) {
	for _, group := range groups {
		if len(group) > 0 {
			*w = append(*w, group)
		}
	}
	if extra := len(*w) - mostGroups; extra > 0 {
		*w = slices.Delete(*w, 0, extra)
	}
}

// flat returns all witnesses in the order of the groups.
func (w witnesses) flat() []witness { return slices.Concat(w...) }

// unseen returns the largest share of the posterior that a group gives to regions which a
// certificate with this log evidence has not seen. logWeight holds the log weights of draws at the
// witnesses, in the order of flat, over the number of its draws.
func (w witnesses) unseen(logWeight []float64, logEvidence float64) (most float64) {
	at := 0
	for _, group := range w {
		share := 0.0
		for _, one := range group {
			if !(logWeight[at]-logEvidence <= math.Log(thinShare)) {
				share += math.Exp(one.LogMass - logEvidence)
			}
			at++
		}
		most = math.Max(most, share)
	}
	return most
}

// judgeUnseen lowers the verdict if witnesses show a region that the certificate has not seen.
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

// mostCompared is the number of weighted draws of chains. DoubtfulMissed is 20 of them.
const mostCompared = 4096

// unseenOf returns draws of chains, as witnesses, in regions unseen by the certificate by weights,
// and their share of all draws. It returns none if weights do not come from draws of parameters.
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

// testimony returns witnesses of the whole posterior from chains, or none without their evidence.
func testimony(c *Certificate) []witness {
	return heaviestOf(evenly(witnessesOf(&c.Sample, mostCompared), c.LogEvidence))
}

// witnessesOf returns at most most draws of a sample.
func witnessesOf(s *WeightedSample, most int) (group []witness) {
	for i := 0; i < len(s.Codes); i += (len(s.Codes) + most - 1) / most {
		group = append(group, witness{Code: s.Codes[i], Theta: s.Theta.RawRowView(i), LogP: s.LogP[i]})
	}
	return group
}

// evenly keeps some witnesses, spread over their chains, which together stand for a mass.
func evenly(group []witness, logMass float64) []witness {
	kept := make([]witness, min(len(group), mostWitnesses))
	for k := range kept {
		kept[k] = group[k*len(group)/len(kept)]
		kept[k].Theta = slices.Clone(kept[k].Theta)
		kept[k].LogMass = logMass - math.Log(float64(len(kept)))
	}
	return kept
}

// weightsAt returns log η(θ | m) − log r(θ | m) of points of models under the sampler's proposals.
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
		for row, weight := range wideReference.logWeights(draws)[:rows] {
			if proposal := s.proposal(models[start+row]); proposal != nil {
				weight = mixtureWeight(draws.LogJoint[row], draws.LogJoint[row]-weight, proposal.LogDensity(theta[start+row]))
			}
			weights = append(weights, weight)
		}
	}
	return weights, nil
}

// witnessed holds the witnesses of earlier certificates for the sampler's models: their models, as
// indices in the order of flat, their points, and the starts of mode searches.
type witnessed struct {
	models  []int
	theta   [][]float64
	byModel map[int][]laplace.Start
}

// place finds the models of witnesses.
func (s *importanceSampler) place(w witnesses, logPrior []float64) witnessed {
	placed := witnessed{byModel: map[int][]laplace.Start{}}
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
		placed.byModel[i] = append(placed.byModel[i], laplace.Start{Theta: one.Theta, LogJoint: one.LogP - logPrior[i]})
	}
	return placed
}

// shares returns the log weights p(m) w / n that draws at the witnesses would add to the evidence,
// where draws holds the number n of each model.
func (s *importanceSampler) shares(witnesses witnessed, draws []float64, logPrior []float64) ([]float64, error) {
	weights, err := s.weightsAt(witnesses.models, witnesses.theta)
	for k := range weights {
		i := witnesses.models[k]
		weights[k] += logPrior[i] - math.Log(math.Max(draws[i], 1))
	}
	return weights, err
}

// testify returns the witnesses of a sampler: its heaviest draws, and the modes that it found.
func (s *importanceSampler) testify(logPrior []float64) (drawn, modes []witness) {
	for i := range s.tallies {
		tally := &s.tallies[i]
		for _, draw := range tally.heaviest {
			drawn = append(drawn, witness{s.codes[i], draw.theta, logPrior[i] + draw.logJoint, logPrior[i] + draw.logWeight - math.Log(float64(len(tally.logWeights)))})
		}
		if s.modes == nil {
			continue
		}
		for _, mode := range s.modes[i].All() {
			modes = append(modes, witness{s.codes[i], mode.Theta, logPrior[i] + mode.AtMode, logPrior[i] + mode.LogEvidence})
		}
	}
	return heaviestOf(drawn), heaviestOf(modes)
}

// weighing is a certificate in progress, with information for later ones.
type weighing struct {
	*Certificate
	// unseen reports whether other draws lie where this certificate has hardly any.
	unseen bool
	// witnesses are for later certificates.
	witnesses witnesses
	// shares returns the amounts that draws at the witnesses would add to the log evidence, as long
	// as the sampler is kept; nil if weights do not belong to draws of parameters.
	shares func(witnesses) ([]float64, error)
	// byFlow reports whether a WeighedFlow estimated evidences. Such a flow integrates members out
	// one by one; chains over all of them do not mix where it fails, and only confirm.
	byFlow bool
}

// Weights cannot show a mode where no draw fell, and a distant mode with a thousandth of a model's
// probability changes a standard deviation by a tenth. If the weight of a point named by the target
// (models.Known.ModeStarts) contradicts the certificate's draws, a search for a mode starts there.

// Bounds of the weighted points, of one model and of all: a batch or two of densities for a model.
const (
	mostStarts    = 512
	mostAllStarts = 1 << 14
)

// addModeStarts adds the points that the target names.
func (s *importanceSampler) addModeStarts(witnesses *witnessed, logPrior []float64) error {
	starts := s.evaluator.engine.Known.ModeStarts
	if starts == nil {
		return nil
	}
	most := min(mostStarts, mostAllStarts/len(s.codes))
	if most == 0 {
		return nil
	}
	theta, logJoint := make([][][]float64, len(s.codes)), make([][]float64, len(s.codes))
	err := parallel.Do(len(s.codes), func(i int) error {
		if !math.IsInf(logPrior[i], -1) {
			theta[i], logJoint[i] = starts(s.codes[i], most)
		}
		return nil
	})
	for i := range s.codes {
		for k, point := range theta[i] {
			witnesses.models, witnesses.theta = append(witnesses.models, i), append(witnesses.theta, point)
			witnesses.byModel[i] = append(witnesses.byModel[i], laplace.Start{Theta: point, LogJoint: logJoint[i][k]})
		}
	}
	return err
}
