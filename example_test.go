package vti_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

// trend asks whether y depends on x: y ~ N(a, 1) or y ~ N(a + b x, 1), with a, b ~ N(0, 1).
type trend struct {
	*space.Subsets // θ = (a, b): a is in every model, b in one of the two
	x, y           []float64
}

func (t trend) Space() space.Space { return t.Subsets }

func (t trend) LogPrior(codes *Node) *Node { // [B,1] -> [B]: one half each
	return MulScalar(OnesLike(ConvertDType(Squeeze(codes, -1), dtypes.Float64)), -math.Ln2)
}

func (t trend) LogJoint(_, mask, theta *Node) *Node { // [B,2], [B,2] -> [B]
	data := func(values any) *Node { return ConvertDType(Const(theta.Graph(), values), theta.DType()) }
	logNormal := func(x *Node) *Node { return MulScalar(AddScalar(Square(x), math.Log(2*math.Pi)), -0.5) }
	design := data([][]float64{{1, 1, 1, 1, 1}, t.x})
	mean := MatMul(Where(mask, theta, ZerosLike(theta)), design) // [B,n]
	prior := Where(mask, logNormal(theta), ZerosLike(theta))     // of the coordinates in use
	return Add(ReduceSum(logNormal(Sub(data([][]float64{t.y}), mean)), -1), ReduceSum(prior, -1))
}

func Example() {
	models, err1 := space.NewSubsets(2, []int{0}, [][]int{{1}})
	device, err2 := gpu.Open(gpu.Auto)
	target := trend{models, []float64{-2, -1, 0, 1, 2}, []float64{-1.3, 0.2, 0.4, 0.3, 1.9}}
	posterior, err3 := vti.Fit(context.Background(), device, target, vti.Config{Steps: 200, Seed: 1})
	certificate, err4 := posterior.Certify(context.Background(), vti.CertifyConfig{})
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			log.Fatal(err)
		}
	}
	probability, _ := certificate.Probability(func(code []int32) bool { return code[0] == 1 })
	fmt.Printf("%v: y depends on x with probability %.2f\n", certificate.Verdict, probability)
	// Output:
	// trusted: y depends on x with probability 0.67
}
