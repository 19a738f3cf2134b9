// Command mixture finds whether ten values come from one normal component or from two. It is an
// example of a Target written by a user, on a nested space, for any number of components. Two
// methods answer the question.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// mixture has k components with weights ~ Dirichlet(1), means ~ N(0, 1) in increasing order and log
// sds ~ N(-1, 0.5²); k is uniform on 1 to the field most. Block 1 of θ is the mean and the log sd
// of the first component. Each later block is a stick, which divides the remaining weight between
// the component before and later ones, the log increment of the mean, and the log sd.
type mixture struct {
	models *space.Table
	most   int
	y      []float64 // [n]
}

func newMixture(most int, y []float64) (mixture, error) {
	sizes := append([]int{2}, slices.Repeat([]int{3}, most-1)...)
	models, err := space.NewNested(sizes)
	return mixture{models, most, y}, err
}

func (m mixture) Space() space.Space { return m.models }

func (m mixture) LogPrior(codes *Node) *Node { // [B,1] -> [B]
	return BroadcastToDims(Const(codes.Graph(), -math.Log(float64(m.most))), codes.Shape().Dim(0))
}

func (m mixture) LogJoint(codes, mask, theta *Node) *Node { // [B,1], [B,D], [B,D] -> [B]
	theta = Where(mask, theta, ZerosLike(theta))
	column := func(d int) *Node { return space.TakeColumns(theta, []int32{int32(d)}) } // [B,1]
	active := StopGradient(ConvertDType(mask, theta.DType()))
	uses := func(d int) *Node { return space.TakeColumns(active, []int32{int32(d)}) }
	y := ConstAsDType(theta.Graph(), theta.DType(), [][]float64{m.y}) // [1,n]
	size := AddScalar(ConvertDType(codes, theta.DType()), 1)          // [B,1], k
	logNormal := func(x, logSD *Node) *Node {
		return Sub(MulScalar(AddScalar(Square(Mul(x, Exp(Neg(logSD)))), math.Log(2*math.Pi)), -0.5), logSD)
	}

	mean, logSD, used := column(0), column(1), OnesLike(column(0)) // of one component, the first
	rest, prior := ZerosLike(mean), ZerosLike(mean)                // log of the weight that is left
	var density *Node                                              // [B,n], log density of the values
	add := func(logWeight *Node) {
		one := Add(logWeight, logNormal(Sub(y, mean), logSD))
		one = Add(one, MulScalar(OneMinus(used), -1e4)) // zero if the component is not in use
		if density != nil {
			one = LogAddExp(density, one)
		}
		density = one
		ofSD := logNormal(AddScalar(logSD, 1), MulScalar(OnesLike(logSD), math.Log(0.5)))
		prior = Add(prior, Mul(used, Add(logNormal(mean, ZerosLike(mean)), ofSD)))
	}
	for j := 1; j < m.most; j++ {
		d := 3*j - 1 // the stick, before increment and log sd
		later := uses(d)
		left := MaxScalar(AddScalar(size, -float64(j)), 1)
		stick := Sub(column(d), Log(left)) // sticks of 0 are equal weights
		share, remains := Neg(Softplus(Neg(stick))), Neg(Softplus(stick))
		add(Add(rest, Mul(later, share)))
		// The density of stick and increment is the density of weight and mean times their
		// derivatives. The product of the factors j(j+1) is Γ(k) k!: the constant of the Dirichlet
		// density, and the number of orders of the means.
		logJacobian := Add(Add(rest, Add(share, remains)), column(d+1))
		prior = Add(prior, Mul(later, AddScalar(logJacobian, math.Log(float64(j*(j+1))))))
		rest = Add(rest, Mul(later, remains))
		mean, logSD, used = Add(mean, Mul(later, Exp(column(d+1)))), column(d+2), later
	}
	add(rest)
	return Add(ReduceSum(density, -1), Squeeze(prior, -1))
}

func main() {
	target, err1 := newMixture(2, []float64{-0.9, -0.5, -0.7, -0.2, -0.6, 0.1, 0.5, 0.3, 0.8, 0.4})
	device, err2 := gpu.Open(gpu.Auto)
	ctx := context.Background()
	solution, err3 := vti.Solve(ctx, device, target, vti.SolveConfig{Fit: vti.Config{Seed: 1}, Precision: 0.02})
	// Components without rows have wide posteriors, which importance weights alone can miss. The
	// results of reversible-jump chains on the same Target must therefore agree.
	chains, err4 := rjmcmc.Run(ctx, device.Backend(), target, rjmcmc.Config{Chains: 32, Seed: 1})
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(solution.Certificate.Verdict)
	for _, model := range solution.Certificate.Models {
		k := model.Code[0]
		by := chains.Outcome(0, k)
		fmt.Printf("%d components: Solve %.4f ± %.4f, chains %.4f ± %.4f (R-hat %.3f)\n", k+1, model.Certified, model.SE, by.Mean, by.MCSE, by.RHat)
	}
}
