// Command graphs finds the dependences between four measured quantities: it prints the posterior
// over directed acyclic graphs of columns in memory.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/table"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	const rows = 200
	random := rand.New(rand.NewPCG(1, 2))
	rain, sprinkler, wet, slip := make([]float64, rows), make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		rain[i] = random.NormFloat64()
		sprinkler[i] = random.NormFloat64()
		wet[i] = rain[i] + sprinkler[i] + 0.5*random.NormFloat64()
		slip[i] = wet[i] + random.NormFloat64()
	}
	columns, err := table.New("garden", table.Numbers("rain", rain), table.Numbers("sprinkler", sprinkler), table.Numbers("wet", wet), table.Numbers("slip", slip))
	if err != nil {
		return err
	}
	data, err := dag.NewData(columns, dag.DataOptions{})
	if err != nil {
		return err
	}
	// The zero options select linear mechanisms and allow every graph.
	problem, err := dag.NewProblem(data, dag.ModelOptions{}, dag.Constraints{})
	if err != nil {
		return err
	}
	result, err := dag.RunExact(context.Background(), problem, dag.ExactConfig{Seed: 1})
	if err != nil {
		return err
	}
	for _, edge := range result.Edges {
		fmt.Printf("%-9s -> %-9s %.3f   reversed %.3f   absent %.3f\n", edge.From, edge.To, edge.Prob, edge.ProbReverse, edge.ProbNone)
	}
	return nil
}
