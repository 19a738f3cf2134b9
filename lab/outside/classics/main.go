// Command classics answers three questions about columns in memory: how many components a mixture
// has, where a series changes, and where the knots of a curve are.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/order"
	"github.com/transdim/vti/table"
)

func main() {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 60
	times, clusters, counts, curve := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		times[i] = float64(i)
		clusters[i] = 8*float64(i%2) + random.NormFloat64()
		counts[i] = math.Round(4 + random.NormFloat64())
		if i >= 40 {
			counts[i] += 9
		}
		curve[i] = math.Max(0, times[i]-30)/5 + 0.1*random.NormFloat64()
	}
	data, err := table.New("memory", table.Numbers("t", times), table.Numbers("cluster", clusters), table.Numbers("count", counts), table.Numbers("curve", curve))
	check(err)
	ctx := context.Background()

	components, err := mixture.NewProblem(data, mixture.Options{Columns: []string{"cluster"}, MaxComponents: 5})
	check(err)
	mixed, err := mixture.Run(ctx, components, mixture.RunConfig{Sample: mixture.SampleConfig{Sweeps: 4000, Error: 0.02}})
	check(err)
	fmt.Println(mixed.Given.Components, mixed.Answer)

	changes, err := changepoint.NewProblem(data, changepoint.Options{Time: "t", Value: "count", Kind: changepoint.Rate, MaxChanges: 5})
	check(err)
	changed, err := changepoint.Run(ctx, changes, changepoint.RunConfig{})
	check(err)
	fmt.Println(changed.Given.Changes, changed.Answer)

	knots, err := order.NewProblem(data, order.Options{Time: "t", Value: "curve", Kind: order.Spline, Degree: 1, Candidates: 20, MaxOrder: 3})
	check(err)
	bent, err := order.Run(ctx, knots, order.RunConfig{})
	check(err)
	fmt.Println(bent.Certificate.Verdict, bent.Answer)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
