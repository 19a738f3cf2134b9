package models

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// Visited holds the models that a certificate has evaluated so far.
type Visited struct {
	*Engine

	position map[string]int // index of each model in the fields below, by the key (space.Key) of its code
	codes    [][]int32
	logPrior []float64
	evidence []Evidence
}

// Visit returns a Visited without models.
func (e *Engine) Visit() *Visited { return &Visited{Engine: e, position: map[string]int{}} }

// Len returns the number of models.
func (x *Visited) Len() int { return len(x.codes) }

// Add evaluates the new models among codes and returns the position of each code. progress is
// called with the number of evidences done. If there is an error, for example because the time is
// over, no model is added.
func (x *Visited) Add(ctx context.Context, codes [][]int32, progress func(done int)) (positions []int, err error) {
	var fresh [][]int32
	for _, code := range codes {
		key := space.Key(code)
		at, known := x.position[key]
		if !known {
			at = len(x.codes) + len(fresh)
			x.position[key] = at
			fresh = append(fresh, slices.Clone(code))
		}
		positions = append(positions, at)
	}
	logPrior, evidence, err := x.evaluate(ctx, fresh, progress)
	if err != nil {
		for _, code := range fresh {
			delete(x.position, space.Key(code))
		}
		return nil, err
	}
	x.codes, x.logPrior, x.evidence = append(x.codes, fresh...), append(x.logPrior, logPrior...), append(x.evidence, evidence...)
	return positions, nil
}

// evaluate returns the log prior probabilities and the evidences of models. Models that the prior
// excludes have a log evidence of −Inf.
func (e *Engine) evaluate(ctx context.Context, codes [][]int32, progress func(done int)) (logPrior []float64, evidence []Evidence, err error) {
	if logPrior, err = e.LogPrior(codes); err != nil {
		return nil, nil, err
	}
	evidence = slices.Repeat([]Evidence{Closed(math.Inf(-1))}, len(codes))
	possible := apply.Where(len(codes), func(i int) bool { return !math.IsInf(logPrior[i], -1) })
	found, err := e.evidences(ctx, distinct.At(codes, possible), progress)
	if err != nil {
		return nil, nil, err
	}
	for k, i := range possible {
		if value := found[k].Log; math.IsNaN(value) || math.IsInf(value, 1) {
			return nil, nil, fmt.Errorf("log evidence of model %v: got %v, want a number", codes[i], value)
		}
		evidence[i] = found[k]
	}
	return logPrior, evidence, nil
}

// logMass returns log p(m) p(y | m) of the model at a position.
func (x *Visited) logMass(at int) float64 {
	if math.IsInf(x.logPrior[at], -1) {
		return math.Inf(-1)
	}
	return x.logPrior[at] + x.evidence[at].Log
}

// describe sets the evidences of the models in list.
func (x *Visited) describe(ctx context.Context, list []Estimate) error {
	positions, err := x.Add(ctx, CodesOf(list), nil)
	if err != nil {
		return err
	}
	for i, at := range positions {
		evidence := x.evidence[at]
		list[i].LogEvidence, list[i].LogEvidenceSE, list[i].KHat = evidence.Log, evidence.statedSE(), math.NaN()
	}
	return nil
}

// missedMass is the largest probability of missed models that does not lower the verdict.
const missedMass = verdict.DoubtfulEventSE

// above returns log Σ p(m) p(y | m) over all visited models, which is a lower bound of the log
// evidence, less the log evidence of a certificate, in nats. certain reports whether the difference
// exceeds its errors.
func (x *Visited) above(c *Certificate) (nats float64, certain bool) {
	nats = logsum.Of(x.logMasses()) - c.LogEvidence
	return nats, nats > missedMass+4*c.LogEvidenceSE
}

func (x *Visited) logMasses() []float64 {
	return apply.UpTo(len(x.codes), x.logMass)
}

// probabilities returns p(m) p(y | m) of each visited model as a share of the sum over visited
// models, and the log of the sum.
func (x *Visited) probabilities() (probability []float64, logTotal float64) {
	probability = x.logMasses()
	logTotal = logsum.Of(probability)
	for i, mass := range probability {
		probability[i] = math.Exp(mass - logTotal)
	}
	return probability, logTotal
}

// Fit fits q(m) to the visited models, each with its posterior probability among them.
func (x *Visited) Fit(ctx context.Context) error {
	probability, _ := x.probabilities()
	return x.Q.Fit(ctx, x.codes, probability)
}
