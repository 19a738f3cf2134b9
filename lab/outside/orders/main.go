// Command orders finds the order of an autoregression. It is an example of a Target written by a
// user, on a nested space.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

// autoregression is y_t ~ N(φ₁ y_{t−1} + … + φ_k y_{t−k}, σ²) with φ_j ~ N(0, 1), log σ ~ N(0, 1),
// and k uniform on 0 to the field most. The first block of θ is log σ, block j the coefficient φ_j.
// Every order leaves out the first rows, whose number is most, so that all orders explain the same
// rows and their evidences can be compared.
type autoregression struct {
	models *space.Table
	y      []float64   // [n], the rows that are explained
	before [][]float64 // [most,n], the values j rows before each
}

func newAutoregression(most int, series []float64) (autoregression, error) {
	models, err := space.NewNested(slices.Repeat([]int{1}, most+1))
	a := autoregression{models: models, y: series[most:]}
	for j := 1; j <= most; j++ {
		a.before = append(a.before, series[most-j:len(series)-j])
	}
	return a, err
}

func (a autoregression) Space() space.Space { return a.models }

func (a autoregression) LogPrior(codes *Node) *Node { // [B,1] -> [B]
	return BroadcastToDims(Const(codes.Graph(), -math.Log(float64(len(a.before)+1))), codes.Shape().Dim(0))
}

func (a autoregression) LogJoint(_, mask, theta *Node) *Node { // [B,D], [B,D] -> [B]
	data := func(x any) *Node { return ConstAsDType(theta.Graph(), theta.DType(), x) }
	logNormal := MulScalar(AddScalar(Square(theta), math.Log(2*math.Pi)), -0.5) // [B,D]
	prior := ReduceSum(Where(mask, logNormal, ZerosLike(theta)), -1)
	theta = Where(mask, theta, ZerosLike(theta)) // coefficients of higher orders are 0
	columns := make([]int32, len(a.before))
	for j := range columns {
		columns[j] = int32(j + 1)
	}
	logSigma := space.TakeColumns(theta, []int32{0})                                           // [B,1]
	mean := MatMul(space.TakeColumns(theta, columns), data(a.before))                          // [B,n]
	residual := Mul(Sub(data([][]float64{a.y}), mean), Exp(Neg(logSigma)))                     // [B,n]
	perRow := Sub(MulScalar(AddScalar(Square(residual), math.Log(2*math.Pi)), -0.5), logSigma) // [B,n]
	return Add(ReduceSum(perRow, -1), prior)
}

// series returns an autoregressive series of order 2. The seed is fixed.
func series(n int) []float64 {
	random, y := rand.New(rand.NewPCG(3, 1)), make([]float64, n)
	for t := 2; t < n; t++ {
		y[t] = 0.5*y[t-1] + 0.3*y[t-2] + random.NormFloat64()
	}
	return y
}

func main() {
	target, err1 := newAutoregression(4, series(80))
	device, err2 := gpu.Open(gpu.Auto)
	solution, err3 := vti.Solve(context.Background(), device, target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(solution.Certificate.Verdict)
	for _, model := range solution.Certificate.Models {
		fmt.Printf("order %d %.4f ± %.4f, log evidence %.4f ± %.4f\n", model.Code[0], model.Certified, model.SE, model.LogEvidence, model.LogEvidenceSE)
	}
}
