package models

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// Visited are the models that a certificate has looked at so far, each with log p(m) and its
// evidence.
type Visited struct {
	*Engine

	position map[string]int // of a code in what follows
	codes    [][]int32
	logPrior []float64
	evidence []Evidence
}

// Visit starts without a model.
func (e *Engine) Visit() *Visited { return &Visited{Engine: e, position: map[string]int{}} }

// Len is the number of models.
func (x *Visited) Len() int { return len(x.codes) }

// Add looks at the models that are new among codes and returns where each code is.
func (x *Visited) Add(ctx context.Context, codes [][]int32, progress func(done int)) (positions []int, err error) {
	first := len(x.codes)
	for _, code := range codes {
		key := space.Key(code)
		at, known := x.position[key]
		if !known {
			at = len(x.codes)
			x.position[key] = at
			x.codes = append(x.codes, slices.Clone(code))
		}
		positions = append(positions, at)
	}
	fresh := x.codes[first:]
	logPrior, err := x.LogPrior(fresh)
	if err != nil {
		return nil, err
	}
	x.logPrior = append(x.logPrior, logPrior...)
	evidence := slices.Repeat([]Evidence{Closed(math.Inf(-1))}, len(fresh))
	var possible [][]int32
	var at []int
	for i, code := range fresh {
		if !math.IsInf(logPrior[i], -1) {
			possible, at = append(possible, code), append(at, i)
		}
	}
	found, err := x.evidences(ctx, possible, progress)
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
func (x *Visited) logMass(at int) float64 {
	if math.IsInf(x.logPrior[at], -1) {
		return math.Inf(-1)
	}
	return x.logPrior[at] + x.evidence[at].Log
}

// describe gives models their evidences.
func (x *Visited) describe(ctx context.Context, list []Estimate) error {
	positions, err := x.Add(ctx, CodesOf(list), nil)
	if err != nil {
		return err
	}
	for i, at := range positions {
		own := x.evidence[at]
		list[i].LogEvidence, list[i].LogEvidenceSE, list[i].KHat = own.Log, own.SE, math.NaN()
	}
	return nil
}

// missedMass is the probability that models which draws have missed may hold before the verdict is
// lowered.
const missedMass = verdict.DoubtfulEventSE

// above is by how many nats the masses of all models looked at, which are a lower bound of the
// evidence, are more than what a certificate has, and whether that is beyond its errors.
func (x *Visited) above(c *Certificate) (nats float64, certain bool) {
	nats = logsum.Of(x.logMasses()) - c.LogEvidence
	return nats, nats > missedMass+4*c.LogEvidenceSE
}

// logMasses are those of all models looked at.
func (x *Visited) logMasses() []float64 {
	masses := make([]float64, len(x.codes))
	for i := range masses {
		masses[i] = x.logMass(i)
	}
	return masses
}

// probabilities are the masses as shares of their sum, whose logarithm comes with them.
func (x *Visited) probabilities() (probability []float64, logTotal float64) {
	probability = x.logMasses()
	logTotal = logsum.Of(probability)
	for i, mass := range probability {
		probability[i] = math.Exp(mass - logTotal)
	}
	return probability, logTotal
}

// Fit fits q(m) to the models looked at, each with its posterior probability among them.
func (x *Visited) Fit(ctx context.Context) error {
	probability, _ := x.probabilities()
	return x.Q.Fit(ctx, x.codes, probability)
}
