package vti

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
)

const (
	// proposalDegrees are those of the t distribution that a Laplace proposal is: few enough that
	// its tails are heavier than those of any posterior with a proper normal prior, and enough that
	// little is lost in some tens of dimensions. Chosen by hand, not tuned.
	proposalDegrees = 5
	// proposalShare is the part of a model's draws that come from its Laplace proposal. Neither
	// part can make the weights more than twice as large as the other alone would.
	proposalShare = 2
)

// laplaceProposal is a multivariate t distribution with mode and curvature of the posterior of one
// model: a proposal that does not depend on the flow.
type laplaceProposal struct {
	active  []int
	mode    []float64    // [D]
	factor  mat.TriDense // lower L of H = L Lᵀ over the active coordinates
	half    float64      // log |H| / 2
	atMode  float64      // log η(mode | m)
	density float64      // log of the constant of the t density
}

// newLaplaceProposal climbs from start, which it changes, and fails with nil where it finds no mode
// with negative curvature.
func newLaplaceProposal(ctx context.Context, on surface, code []int32, active []int, start []float64) (*laplaceProposal, error) {
	precision, _, top, err := climb(ctx, on, code, active, start)
	if err != nil || precision == nil {
		return nil, err
	}
	k, dim := len(active), len(start)
	hessian := mat.NewSymDense(k, nil)
	for a, i := range active {
		for b := a; b < k; b++ {
			hessian.SetSym(a, b, precision[i*dim+active[b]])
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(hessian) {
		return nil, nil
	}
	p := &laplaceProposal{active: active, mode: start, half: cholesky.LogDet() / 2, atMode: top}
	cholesky.LTo(&p.factor)
	upper, _ := math.Lgamma(float64(proposalDegrees+k) / 2)
	lower, _ := math.Lgamma(proposalDegrees / 2.0)
	p.density = upper - lower - float64(k)/2*math.Log(proposalDegrees*math.Pi) + p.half
	return p, nil
}

// logEvidence is the Laplace approximation of log Z_m.
func (p *laplaceProposal) logEvidence() float64 {
	return p.atMode + float64(len(p.active))/2*math.Log(2*math.Pi) - p.half
}

// draw writes a draw to theta [D]; inactive coordinates are 0.
func (p *laplaceProposal) draw(random *rand.Rand, theta []float64) {
	var chi float64 // χ² of so many degrees over their number
	for range proposalDegrees {
		x := random.NormFloat64()
		chi += x * x / proposalDegrees
	}
	z := mat.NewVecDense(len(p.active), nil)
	for a := range p.active {
		z.SetVec(a, random.NormFloat64()/math.Sqrt(chi))
	}
	// L is invertible: it is the factor of a positive definite matrix.
	if err := z.SolveVec(p.factor.T(), z); err != nil {
		clear(z.RawVector().Data)
	}
	clear(theta)
	for a, j := range p.active {
		theta[j] = p.mode[j] + z.AtVec(a)
	}
}

// logDensity is that of the proposal at theta [D].
func (p *laplaceProposal) logDensity(theta []float64) float64 {
	return p.density - float64(proposalDegrees+len(p.active))/2*math.Log1p(p.square(theta)/proposalDegrees)
}

// square is the squared distance of theta [D] from the mode, by the curvature there.
func (p *laplaceProposal) square(theta []float64) float64 {
	k := len(p.active)
	d, u := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
	for a, j := range p.active {
		d.SetVec(a, theta[j]-p.mode[j])
	}
	u.MulVec(p.factor.T(), d)
	return mat.Dot(u, u)
}

// mixtureWeight is the log weight of a draw with log η, log r under the flow's reference and log t
// under the proposal, among draws of which half come from each.
func mixtureWeight(logJoint, logR, logT float64) float64 {
	return logJoint - logsum.Of([]float64{logR, logT}) + math.Log(proposalShare)
}
