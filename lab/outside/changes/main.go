// Command changes finds the rows at which the mean of a series changes. It is an example of a
// Target written by a user, on the space of all subsets of possible places.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

// changes is y_t ~ N(level + Σ of the jumps up to row t, σ²), with a jump ~ N(0, 1) at each place
// in use, level ~ N(0, 1) and log σ ~ N(−1, 0.5²). A place is a site of the space and not a
// coordinate: a density of places would jump at every row. The coordinates are level, log σ and the
// jumps.
type changes struct {
	places *space.Subsets
	steps  [][]float64 // [1+S,n], what the level and every jump add to each row
	y      []float64   // [n]
}

// perPlace is the prior probability of a change at a place.
const perPlace = 0.1

func newChanges(y []float64, places []int) (changes, error) {
	c := changes{y: y}
	rows := func(from int) []float64 { // 1 from a row on
		step := make([]float64, len(y))
		for t := from; t < len(y); t++ {
			step[t] = 1
		}
		return step
	}
	c.steps = append(c.steps, rows(0))
	var groups [][]int
	for s, place := range places {
		c.steps = append(c.steps, rows(place))
		groups = append(groups, []int{2 + s})
	}
	var err error
	c.places, err = space.NewSubsets(2+len(places), []int{0, 1}, groups)
	return c, err
}

func (c changes) Space() space.Space { return c.places }

func (c changes) LogPrior(codes *Node) *Node { // [B,S] -> [B]
	used := ReduceSum(ConvertDType(codes, dtypes.Float64), -1)
	return AddScalar(MulScalar(used, math.Log(perPlace/(1-perPlace))), float64(len(c.steps)-1)*math.Log(1-perPlace))
}

func (c changes) LogJoint(_, mask, theta *Node) *Node { // [B,D], [B,D] -> [B]
	data := func(x any) *Node { return ConstAsDType(theta.Graph(), theta.DType(), x) }
	theta = Where(mask, theta, ZerosLike(theta))
	one := func(d int) *Node { return space.TakeColumns(theta, []int32{int32(d)}) } // [B,1]
	columns := make([]int32, len(c.steps))                                          // level and jumps
	prior := MulScalar(AddScalar(Square(MulScalar(AddScalar(one(1), 1), 2)), math.Log(2*math.Pi*0.25)), -0.5)
	for s := range columns {
		columns[s] = int32(s)
		if s > 0 {
			columns[s]++ // after log σ
		}
	}
	logNormal := MulScalar(AddScalar(Square(theta), math.Log(2*math.Pi)), -0.5)
	logNormal = Where(mask, logNormal, ZerosLike(theta))
	prior = Add(prior, ReduceAndKeep(space.TakeColumns(logNormal, columns), ReduceSum, -1)) // [B,1]
	mean := MatMul(space.TakeColumns(theta, columns), data(c.steps))                        // [B,n]
	residual := Mul(Sub(data([][]float64{c.y}), mean), Exp(Neg(one(1))))
	perRow := Sub(MulScalar(AddScalar(Square(residual), math.Log(2*math.Pi)), -0.5), one(1))
	return Add(ReduceSum(perRow, -1), Squeeze(prior, -1))
}

// series returns a series whose mean rises by 1.5 at row 12 and falls by 1 at row 28. The seed is
// fixed.
func series(n int) []float64 {
	random, y := rand.New(rand.NewPCG(5, 1)), make([]float64, n)
	for t := range y {
		y[t] = 0.4 * random.NormFloat64()
		if t >= 12 {
			y[t] += 1.5
		}
		if t >= 28 {
			y[t]--
		}
	}
	return y
}

func main() {
	places := []int{4, 8, 12, 16, 20, 24, 28, 32, 36}
	target, err1 := newChanges(series(40), places)
	device, err2 := gpu.Open(gpu.Auto)
	solution, err3 := vti.Solve(context.Background(), device, target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(solution.Certificate.Verdict)
	for s, place := range places {
		probability, se := solution.Certificate.Probability(func(code []int32) bool { return code[s] == 1 })
		fmt.Printf("row %d %.4f ± %.4f\n", place, probability, se)
	}
}
