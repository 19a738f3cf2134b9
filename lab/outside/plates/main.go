// Command plates finds the hospitals that differ from a common rate. It uses a hierarchical model
// with plates, and averages over all 2^hospitals sets of hospitals that may differ:
//
//	y_hr ~ N(μ + b_h, 1),   μ ~ N(0, 1),   b_h ~ N(0, 1) in the hospitals that differ, else 0
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/space"
)

// rows is the number of patients of a hospital.
const rows = 6

func main() {
	hospitals, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	m := hbm.NewModel()
	hospital, patient := m.Plate("hospital", hospitals), m.Plate("patient", rows)
	rate := m.Latent("rate", hbm.Normal(hbm.Number(0), hbm.Number(1)))
	effect := m.Latent("effect", hbm.Normal(hbm.Number(0), hbm.Number(1)), hbm.On(hospital))
	mean := hbm.Of(func(v []*Node) *Node { return Add(v[0], v[1]) }, rate, effect)
	y := m.Observed("y", hbm.Normal(mean, hbm.Number(1)), hbm.On(hospital, patient))

	data := hbm.Values{}
	for i := range hospitals * rows {
		h := i / rows
		value := 0.4 + math.Sin(float64(17*i+1))
		if h%3 == 0 { // every third hospital differs, by up to 1.5
			value += 1.5 * math.Cos(float64(h))
		}
		data[y] = append(data[y], value)
	}

	var sites [][]int // site h is 1 if the effect of hospital h is in the model
	for _, coordinate := range m.Coordinates(effect) {
		sites = append(sites, []int{coordinate})
	}
	models, err1 := space.NewSubsets(m.Dim(), m.Coordinates(rate), sites)
	device, err2 := gpu.Open(gpu.Auto)
	target, err3 := m.Over(models, space.Prior{Kind: space.BernoulliPrior, Pi: 0.3}.LogProb, data)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			log.Fatal(err)
		}
	}
	target.LogConcave = true // true because the standard deviation of effects is known and the response is normal
	solution, err := vti.Solve(context.Background(), device, target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(solution.Certificate.Verdict)
	for h := range hospitals {
		differs, se := solution.Certificate.Probability(func(code []int32) bool { return code[h] == 1 })
		fmt.Printf("hospital %d differs with probability %.4f ± %.4f\n", h, differs, se)
	}
}
