package vti_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

// trend asks whether y depends on x: y ~ N(a, 1) or y ~ N(a + b x, 1), with a, b ~ N(0, 1).
type trend struct {
	*space.Subsets
	x, y []float64
}

func (t trend) Space() space.Space { return t.Subsets }

// LogPrior: both models have probability one half. codes [B,1] -> [B]
func (t trend) LogPrior(codes *Node) *Node {
	return MulScalar(OnesLike(ConvertDType(Squeeze(codes, -1), dtypes.Float64)), -math.Ln2)
}

// LogJoint: θ = (a, b), and b counts only where the mask says so. mask, theta [B,2] -> [B]
func (t trend) LogJoint(_, mask, theta *Node) *Node {
	constant := func(values any) *Node { return ConvertDType(Const(theta.Graph(), values), theta.DType()) }
	active := Where(mask, theta, ZerosLike(theta))
	intercept := MatMul(active, constant([][]float64{{1}, {0}}))     // [B,1]
	slope := MatMul(active, constant([][]float64{{0}, {1}}))         // [B,1]
	mean := Add(intercept, Mul(slope, ExpandDims(constant(t.x), 0))) // [B,n]
	residual := Sub(ExpandDims(constant(t.y), 0), mean)              // [B,n]
	normal := func(x *Node) *Node { return MulScalar(AddScalar(Square(x), math.Log(2*math.Pi)), -0.5) }
	prior := Where(mask, normal(theta), ZerosLike(theta))
	return Add(ReduceSum(normal(residual), -1), ReduceSum(prior, -1))
}

// A user's own problem: any space of models, any differentiable density.
func Example() {
	models, err := space.NewSubsets(2, []int{0}, [][]int{{1}})
	if err != nil {
		log.Fatal(err)
	}
	target := trend{models, []float64{-2, -1, 0, 1, 2}, []float64{-1.3, 0.2, 0.4, 0.3, 1.9}}
	device, err := gpu.Open(gpu.Auto)
	if err != nil {
		log.Fatal(err)
	}
	posterior, err := vti.Fit(context.Background(), device, target,
		vti.Config{Flow: cosmic.Config{Layers: 2, Hidden: 8}, Steps: 300, Batch: 256, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	certificate, err := posterior.Certify(context.Background(), vti.CertifyConfig{})
	if err != nil {
		log.Fatal(err)
	}
	probability, _ := certificate.Probability(func(code []int32) bool { return code[0] == 1 })
	fmt.Printf("%v: y depends on x with probability %.2f\n", certificate.Verdict, probability)
	// Output:
	// trusted: y depends on x with probability 0.67
}
