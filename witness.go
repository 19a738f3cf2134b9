package vti

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/laplace"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// A flow that is trained until its weights look good can lose a mode that it proposed before,
// because weights show nothing where no draw falls. Solve therefore keeps draws of earlier
// certificates, called witnesses. For each later certificate it computes the weight that a draw at
// each witness would have. If such a draw would hold more than a small share of the evidence
// (thinShare), the region of the witness counts as unseen by the certificate.

// witness is a point found by an earlier certificate.
type witness struct {
	Code  []int32
	Theta []float64
	// LogP is log p(m) + log p(y, θ | m). LogMass is the log of the unnormalised posterior mass
	// that the certificate gave to the region of the witness.
	LogP, LogMass float64
}

// witnesses holds the witnesses of all earlier certificates, in groups. Each group is a separate
// estimate of the posterior: the expectation of Σ exp(LogMass) over the witnesses of the group in a
// region is at most the unnormalised posterior mass of the region.
type witnesses [][]witness

const (
	// mostWitnesses is the number of witnesses of each group that are kept, the ones of largest
	// LogMass, and mostGroups the number of groups that are kept, the latest ones. Half and twice
	// these values give the same answers (docs/benchmarks/constants.md).
	mostWitnesses = 32
	mostGroups    = 32
	// thinShare is a share of the evidence. If a single draw in a region has a larger share, the
	// certificate has not seen the region. It is half of the tolerated error of a probability.
	thinShare = 0.005
)

// heaviestOf returns the mostWitnesses witnesses of a group with the largest LogMass.
func heaviestOf(group []witness) []witness {
	group = slices.DeleteFunc(group, func(w witness) bool { return !finite(w.LogMass) || !finite(w.LogP) })
	slices.SortStableFunc(group, func(a, b witness) int { return cmp.Compare(b.LogMass, a.LogMass) })
	return slices.Clone(group[:min(len(group), mostWitnesses)])
}

// add adds the groups of a certificate, and drops the oldest groups in excess of mostGroups.
func (w *witnesses) add(groups ...[]witness) {
	*w = append(*w, apply.Keep(groups, func(group []witness) bool { return len(group) > 0 })...)
	if extra := len(*w) - mostGroups; extra > 0 {
		*w = slices.Delete(*w, 0, extra)
	}
}

// flat returns all witnesses in the order of the groups.
func (w witnesses) flat() []witness { return slices.Concat(w...) }

// unseen returns the share of the posterior in regions that a certificate with the given log
// evidence has not seen. Each group of witnesses gives such a share, and unseen returns the largest
// one. logWeight holds, in the order of the method flat, the log of the amount that a draw at each
// witness would add to the evidence: the weight of the draw divided by the number of draws.
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

// judgeUnseen lowers the verdict if witnesses lie in regions that the certificate has not seen.
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

// mostCompared is the number of draws of chains whose weights under the proposals of a certificate
// are computed. verdict.DoubtfulMissed corresponds to 20 of these draws.
const mostCompared = 4096

// unseenOf returns, as witnesses, the draws of chains in regions that the certificate by weights
// has not seen, and their share of all draws of the chains. It returns nil if the weights do not
// come from draws of parameters.
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

// testimony returns witnesses from the draws of chains, which together represent the whole
// posterior mass. It returns nil if the evidence by the chains is unknown.
func testimony(c *Certificate) []witness {
	return heaviestOf(evenly(witnessesOf(&c.Sample, mostCompared), c.LogEvidence))
}

// witnessesOf returns evenly spaced draws of a sample as witnesses. The argument most bounds their
// number.
func witnessesOf(s *WeightedSample, most int) (group []witness) {
	for i := 0; i < len(s.Codes); i += (len(s.Codes) + most - 1) / most {
		group = append(group, witness{Code: s.Codes[i], Theta: s.Theta.RawRowView(i), LogP: s.LogP[i]})
	}
	return group
}

// evenly returns at most mostWitnesses witnesses of a group, evenly spaced, each with an equal part
// of the given mass.
func evenly(group []witness, logMass float64) []witness {
	kept := make([]witness, min(len(group), mostWitnesses))
	for k := range kept {
		kept[k] = group[k*len(group)/len(kept)]
		kept[k].Theta = slices.Clone(kept[k].Theta)
		kept[k].LogMass = logMass - math.Log(float64(len(kept)))
	}
	return kept
}

// weightsAt returns log p(y, θ | m) − log r(θ | m) at the given points of models, where r is the
// proposal of the sampler.
func (s *importanceSampler) weightsAt(models []int, theta [][]float64) ([]float64, error) {
	batch, sites, dim := s.evaluator.Sizes()
	weights := make([]float64, 0, len(models))
	for start := 0; start < len(models); start += batch {
		rows, codes, points := min(batch, len(models)-start), make([]int32, batch*sites), make([]float64, batch*dim)
		for row := range batch {
			at := start + row%rows // the last batch repeats points if it is not full
			copy(codes[row*sites:], s.codes[models[at]])
			copy(points[row*dim:], theta[at])
		}
		draws, err := s.evaluator.Pull(codes, points)
		if err != nil {
			return nil, err
		}
		for row, weight := range evaluate.WideReference.LogWeights(draws)[:rows] {
			if proposal := s.proposals[models[start+row]]; proposal != nil {
				weight = mixtureWeight(draws.LogJoint[row], draws.LogJoint[row]-weight, proposal.LogDensity(theta[start+row]))
			}
			weights = append(weights, weight)
		}
	}
	return weights, nil
}

// witnessed holds the witnesses of earlier certificates for a sampler: the indices of their models
// in the sampler, in the order of the method flat, their points θ, and the points from which
// searches for modes start.
type witnessed struct {
	models  []int
	theta   [][]float64
	byModel map[int][]laplace.Start
}

// place finds the index of the model of each witness in the sampler.
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

// shares returns the logs of the amounts p(m) w / n that draws at the witnesses would add to the
// evidence, where w is the weight of a draw and n, an entry of draws, the number for its model.
func (s *importanceSampler) shares(witnesses witnessed, draws []float64, logPrior []float64) ([]float64, error) {
	weights, err := s.weightsAt(witnesses.models, witnesses.theta)
	for k := range weights {
		i := witnesses.models[k]
		weights[k] += logPrior[i] - math.Log(math.Max(draws[i], 1))
	}
	return weights, err
}

// testify returns witnesses from a sampler: its draws of largest weight, and the modes that it
// found.
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

// weighing is a certificate in progress, with information for later certificates.
type weighing struct {
	*Certificate
	// unseen reports whether draws of chains lie in regions where this certificate has hardly any
	// draws.
	unseen bool
	// witnesses are for later certificates.
	witnesses witnesses
	// shares returns the logs of the amounts that draws at witnesses would add to the evidence. It
	// is nil if the weights do not belong to draws of parameters, or after the sampler was
	// released.
	shares func(witnesses) ([]float64, error)
	// byFlow reports whether a WeighedFlow estimated the evidences. Such a flow integrates out the
	// parameters of each member of a plate (such as each group) separately. If it fails, chains
	// over the parameters of all members do not mix either, so that chains can confirm its answer
	// but not replace it.
	byFlow bool
}

// Weights cannot show a mode where no draw fell, and a distant mode with a thousandth of the
// probability of a model can change a standard deviation by a tenth. The target may therefore name
// points (models.Known.ModeStarts). If the weight of a point contradicts the draws of the
// certificate, a search for a mode starts at the point.

// These constants bound the number of points that are weighted, for one model and for all models
// together. The densities of the points of a model take a batch or two.
const (
	mostStarts    = 512
	mostAllStarts = 1 << 14
)

// addModeStarts adds the points that the target names (models.Known.ModeStarts) to the witnesses.
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
