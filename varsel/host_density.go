package varsel

import (
	"math"

	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

var _ rjmcmc.HostTarget = (*Target)(nil)

var halfLog2Pi = math.Log(2*math.Pi) / 2

// HostDensity implements [rjmcmc.HostTarget]: the log density is computed in Go, on the processor
// (host), for one chain after the other. HostDensity returns nil for categorical responses.
func (t *Target) HostDensity(rows int) func(codes []int32, mask []bool, theta, logPrior, logJoint []float64) {
	if t.Responses.Categories != nil {
		return nil
	}
	terms, precision, logNorm := t.prior.LogTerms(len(t.space.Cards())), make([]float64, t.Dim), make([]float64, t.Dim)
	for j, sd := range t.SD {
		precision[j], logNorm[j] = 1/sd, math.Log(sd)+halfLog2Pi
	}
	eta := make([]float64, len(t.Responses.Y))
	logJointOf := func(mask []bool, theta []float64) float64 {
		clear(eta)
		copy(eta, t.Offset)
		scale, sum := math.Exp(t.LogScale), t.LogConstant
		for j, on := range mask {
			if !on {
				continue
			}
			standard := (theta[j] - t.Mean[j]) * precision[j]
			sum -= 0.5*standard*standard + logNorm[j]
			if j == t.Scale {
				scale = math.Exp(theta[j])
			} else {
				vectors.AddScaled(eta, eta, t.Columns[j], theta[j])
			}
		}
		return sum + t.Responses.LogKernels(eta, scale)
	}
	return func(codes []int32, mask []bool, theta, logPrior, logJoint []float64) {
		sites := len(codes) / rows
		for r := range rows {
			logPrior[r] = t.logPriorOf(terms, codes[r*sites:(r+1)*sites])
			logJoint[r] = logJointOf(mask[r*t.Dim:(r+1)*t.Dim], theta[r*t.Dim:(r+1)*t.Dim])
		}
	}
}

// logPriorOf returns log p(m) of one model. terms holds the terms of log p(m) without heredity.
func (t *Target) logPriorOf(terms space.LogTerms, code []int32) float64 {
	switch {
	case t.heredity == nil:
		return terms.OfCode(code)
	case t.heredity.allows(code):
		return terms.OfCode(code) - t.heredity.logMass
	}
	return math.Inf(-1)
}
