package vti

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/models"
)

// evidencesOf are those of a target that has them in closed form, or can estimate them without q;
// else nil.
func evidencesOf(e *evaluator) evidences {
	if e.known == nil {
		switch target := e.Target.(type) {
		case ExactTarget:
			e.known = &keptEvidences{exactEvidences{target}, true, map[string]models.Evidence{}}
		case LaplaceTarget:
			e.known = &keptEvidences{laplaceEvidences{target, e.Seed}, false, map[string]models.Evidence{}}
		default:
			return nil
		}
	}
	return e.known
}

// modelMasses are the models looked at so far, each with log p(m) and log Z_m, which is found once
// and kept.
type modelMasses struct {
	e      *evaluator
	source evidences

	position map[string]int // of a code in what follows
	codes    [][]int32
	logPrior []float64
	evidence []models.Evidence
}

// exact reports whether the evidences are known.
func (x *modelMasses) exact() bool { return x.e.known.exact }

func newModelMasses(e *evaluator, source evidences) *modelMasses {
	return &modelMasses{e: e, source: source, position: map[string]int{}}
}

// add looks at the models that are new among codes and returns where each code is.
func (x *modelMasses) add(ctx context.Context, codes [][]int32, progress func(done int)) (positions []int, err error) {
	first := len(x.codes)
	for _, code := range codes {
		key := codeKey(code)
		at, known := x.position[key]
		if !known {
			at = len(x.codes)
			x.position[key] = at
			x.codes = append(x.codes, slices.Clone(code))
		}
		positions = append(positions, at)
	}
	fresh := x.codes[first:]
	logPrior, err := x.e.LogPrior(fresh)
	if err != nil {
		return nil, err
	}
	x.logPrior = append(x.logPrior, logPrior...)
	evidence := slices.Repeat([]models.Evidence{models.Closed(math.Inf(-1))}, len(fresh))
	var possible [][]int32
	var at []int
	for i, code := range fresh {
		if !math.IsInf(logPrior[i], -1) {
			possible, at = append(possible, code), append(at, i)
		}
	}
	found, err := x.e.findEvidences(ctx, possible, progress)
	if err != nil {
		return nil, err
	}
	for k, value := range found {
		if math.IsNaN(value.Log) || math.IsInf(value.Log, 1) {
			return nil, fmt.Errorf("log evidence of model %v: got %v, want a number", possible[k], value.Log)
		}
		evidence[at[k]] = value
	}
	x.evidence = append(x.evidence, evidence...)
	return positions, nil
}

// logMass is log p(m) Z_m of the model at a position.
func (x *modelMasses) logMass(at int) float64 {
	if math.IsInf(x.logPrior[at], -1) {
		return math.Inf(-1)
	}
	return x.logPrior[at] + x.evidence[at].Log
}

// describe gives models their evidences.
func (x *modelMasses) describe(ctx context.Context, models []ModelEstimate) error {
	positions, err := x.add(ctx, codesOf(models), nil)
	if err != nil {
		return err
	}
	for i, at := range positions {
		own := x.evidence[at]
		models[i].LogEvidence, models[i].LogEvidenceSE, models[i].KHat = own.Log, own.SE, math.NaN()
	}
	return nil
}

// missedMass is the probability that models which draws have missed may hold before the verdict is
// lowered.
const missedMass = verdict.DoubtfulEventSE

// above is by how many nats the masses of all models looked at, which are a lower bound of the
// evidence, are more than what a certificate has, and whether that is beyond its errors.
func (x *modelMasses) above(c *Certificate) (nats float64, certain bool) {
	nats = logsum.Of(x.logMasses()) - c.LogEvidence
	return nats, nats > missedMass+4*c.LogEvidenceSE
}

// logMasses are those of all models looked at.
func (x *modelMasses) logMasses() []float64 {
	masses := make([]float64, len(x.codes))
	for i := range masses {
		masses[i] = x.logMass(i)
	}
	return masses
}

// probabilities are the masses as shares of their sum, whose logarithm comes with them.
func (x *modelMasses) probabilities() (probability []float64, logTotal float64) {
	probability = x.logMasses()
	logTotal = logsum.Of(probability)
	for i, mass := range probability {
		probability[i] = math.Exp(mass - logTotal)
	}
	return probability, logTotal
}

// conditionalsAt are the probabilities of every site of some models given all their other sites,
// from the masses of each model and of those that differ from it in one site.
func (x *modelMasses) conditionalsAt(ctx context.Context, codes [][]int32) (*conditionals, error) {
	var looked [][]int32 // each code, then with each of its sites flipped
	for _, code := range codes {
		looked = append(looked, code)
		for site := range code {
			looked = append(looked, flipped(code, site))
		}
	}
	// of their own: what is looked at here is no sign of models that draws have missed
	masses := newModelMasses(x.e, x.source)
	at, err := masses.add(ctx, looked, nil)
	if err != nil {
		return nil, err
	}
	c := &conditionals{codes: codes}
	for k, code := range codes {
		own := at[k*(len(code)+1):]
		one := make([]float64, len(code))
		for site, outcome := range code {
			one[site] = 1 / (1 + math.Exp(masses.logMass(own[1+site])-masses.logMass(own[0])))
			if outcome == 0 {
				one[site] = 1 - one[site]
			}
		}
		c.one = append(c.one, one)
	}
	return c, nil
}
