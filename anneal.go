package vti

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/evaluate"
)

// Where the weights of a model have a heavy tail, its draws are annealed (Neal 2001): a draw z from
// the far reference r is moved through densities proportional to r^(1−β) π̃^β by Hamiltonian steps
// in the space of the flow's reference, where π̃ is the posterior pulled back through the flow, as
// β rises from 0 to 1. Its weight exp Σ (β_k+1 − β_k) ρ(z_k), with ρ = log π̃ − log r, has mean Z_m
// whatever the number of steps, and a lighter tail the more there are: annealing finds what lies
// just outside of the flow. Both numbers were chosen by hand, not tuned.
const (
	annealSteps   = 48
	leapfrogSteps = 3
)

// anneal moves the draws of a batch, whose reference draws are z and whose log ratios ρ are given,
// and returns their log weights. z is changed.
func anneal(e *evaluator, random *rand.Rand, codes []int32, z, ratio []float64) ([]float64, error) {
	logWeights := make([]float64, len(ratio))
	for k := range annealSteps {
		for row := range logWeights {
			logWeights[row] += ratio[row] * (inverseTemperature(k+1) - inverseTemperature(k))
		}
		if err := moveReference(e, random, codes, z, ratio, inverseTemperature(k+1)); err != nil {
			return nil, fmt.Errorf("annealing: %w", err)
		}
	}
	return logWeights, nil
}

// inverseTemperature is β after k of the steps: it rises as a square, since the first steps, from
// afar, change most.
func inverseTemperature(k int) float64 {
	share := float64(k) / annealSteps
	return share * share
}

// moveReference takes one Hamiltonian step under r exp(βρ) with every row of z [B*D], and updates z
// and ρ [B].
func moveReference(e *evaluator, random *rand.Rand, codes []int32, z, ratio []float64, beta float64) error {
	batch, sites, dim := e.Sizes()
	momentum, uniform, epsilon := make([]float64, batch*dim), make([]float64, batch), make([]float64, batch)
	for i := range momentum {
		momentum[i] = random.NormFloat64()
	}
	for row := range batch {
		uniform[row] = random.Float64()
		// from 0.1 to 0.8 posterior scales: no single step suits both tails and modes
		epsilon[row] = 0.1 * math.Pow(8, random.Float64())
	}
	outputs, err := e.Run("anneal", hamiltonianGraph(e), tensors.FromFlatDataAndDimensions(codes, batch, sites),
		tensors.FromFlatDataAndDimensions(z, batch, dim), tensors.FromFlatDataAndDimensions(momentum, batch, dim),
		tensors.FromFlatDataAndDimensions(uniform, batch), tensors.FromFlatDataAndDimensions(epsilon, batch, 1), tensors.FromScalar(beta))
	if err != nil {
		return err
	}
	copy(z, tensors.MustCopyFlatData[float64](outputs[0]))
	copy(ratio, tensors.MustCopyFlatData[float64](outputs[1]))
	return nil
}

// hamiltonianGraph is the graph of one Hamiltonian Monte Carlo step that leaves r exp(βρ) invariant
// in the active coordinates of z. All inputs are float64: z and momentum [B,D], uniform [B],
// epsilon [B,1], beta scalar. It returns the new z [B,D] and ρ [B].
func hamiltonianGraph(e *evaluator) func(ctx *Context, codes, z, momentum, uniform, epsilon, beta *Node) []*Node {
	return func(ctx *Context, codes, z, momentum, uniform, epsilon, beta *Node) []*Node {
		mask := e.Target.Space().Mask(codes)
		used := ConvertDType(mask, z.DType())
		momentum = Mul(momentum, used)
		evaluate := func(z *Node) (ratio, logDensity, gradient *Node) {
			// no gradient passes through earlier steps; none would reach the stopped node itself
			z = Identity(StopGradient(z))
			_, logQ, logJoint := e.PushGraph(ctx, codes, mask, ConvertDType(z, e.DType), dtypes.Float64)
			logReference := farReference.logDensity(used, z)
			// logJoint − logQ + log N(z) is the density pulled back through the flow.
			ratio = Sub(Add(evaluate.Float64(Sub(logJoint, logQ)), logNormalActive(used, z)), logReference)
			logDensity = Add(logReference, Mul(beta, ratio))
			return ratio, logDensity, Mul(Gradient(ReduceAllSum(logDensity), z)[0], used)
		}
		oldRatio, oldDensity, gradient := evaluate(z)
		energy := func(momentum *Node) *Node { return MulScalar(ReduceSum(Square(momentum), -1), 0.5) }
		moved, velocity := z, momentum
		var ratio, density *Node
		for range leapfrogSteps {
			velocity = Add(velocity, Mul(MulScalar(epsilon, 0.5), gradient))
			moved = Add(moved, Mul(epsilon, velocity))
			ratio, density, gradient = evaluate(moved)
			velocity = Add(velocity, Mul(MulScalar(epsilon, 0.5), gradient))
		}
		logAccept := Sub(Sub(density, energy(velocity)), Sub(oldDensity, energy(momentum)))
		// false where the proposal is not finite
		accept := LogicalAnd(IsFinite(ratio), LessThan(Log(uniform), logAccept))
		return []*Node{Where(accept, moved, z), Where(accept, ratio, oldRatio)}
	}
}
