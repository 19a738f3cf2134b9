// Command counts finds how a rate changed over ten years: not at all, by a trend, or by a step in
// the middle. It is an example of a Target written by a user, with three models and a Poisson
// likelihood.
package main

import (
	"context"
	"fmt"
	"log"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

// rates is the model y ~ Poisson(exp(3 a + b·year + c·[year > 0])) with a, b, c ~ N(0, 1), where
// year is counted from the middle.
type rates struct {
	models *space.Table // θ = (a, b, c), of which the models use a, (a, b) and (a, c)
	design [][]float64  // [3,n]
	counts []float64    // [n]
}

func (r rates) Space() space.Space { return r.models }

func (r rates) LogPrior(codes *Node) *Node { // [B,1] -> [B]
	return BroadcastToDims(Const(codes.Graph(), -math.Log(3)), codes.Shape().Dim(0))
}

func (r rates) LogJoint(_, mask, theta *Node) *Node { // [B,3], [B,3] -> [B]
	data := func(x any) *Node { return ConstAsDType(theta.Graph(), theta.DType(), x) }
	logRate := MatMul(Where(mask, theta, ZerosLike(theta)), data(r.design)) // [B,n]
	logLikelihood := ReduceSum(Sub(Mul(data([][]float64{r.counts}), logRate), Exp(logRate)), -1)
	for _, y := range r.counts {
		logFactorial, _ := math.Lgamma(y + 1)
		logLikelihood = AddScalar(logLikelihood, -logFactorial)
	}
	logNormal := MulScalar(AddScalar(Square(theta), math.Log(2*math.Pi)), -0.5)
	return Add(logLikelihood, ReduceSum(Where(mask, logNormal, ZerosLike(theta)), -1))
}

// Unimodal returns true, because the density is log-concave. Importance weights then need no check
// by Markov chains.
func (rates) Unimodal() bool { return true }

func main() {
	models, err1 := space.NewTable([][]bool{{true, false, false}, {true, true, false}, {true, false, true}})
	device, err2 := gpu.Open(gpu.Auto)
	target := rates{models, [][]float64{{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, {-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9},
		{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}}, []float64{3, 2, 4, 3, 5, 7, 6, 9, 7, 8}}
	solution, err3 := vti.Solve(context.Background(), device, target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(solution.Certificate.Verdict)
	for _, model := range solution.Certificate.Models {
		fmt.Printf("%-8s %.4f ± %.4f, log evidence %.4f ± %.4f\n", []string{"constant", "trend", "step"}[model.Code[0]],
			model.Certified, model.SE, model.LogEvidence, model.LogEvidenceSE)
	}
}
