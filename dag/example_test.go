package dag_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

// The example computes the exact posterior over graphs of a small table, with linear mechanisms.
func ExampleNewPosterior() {
	simulated, err := sem.Simulate(sem.Simulation{Nodes: 4, Rows: 2000, Mechanism: dag.Linear, Seed: 2})
	if err != nil {
		panic(err)
	}
	var csv bytes.Buffer
	if err := simulated.WriteCSV(&csv); err != nil {
		panic(err)
	}
	t, err := table.Parse("simulated.csv", csv.Bytes())
	if err != nil {
		panic(err)
	}
	data, err := dag.NewData(t, dag.DataOptions{Scaling: tables.Center})
	if err != nil {
		panic(err)
	}
	// The data determine the directions of edges only because all nodes have the same noise scale.
	problem, err := dag.NewProblem(data, dag.ModelOptions{Sigma: 1}, dag.Constraints{MaxParents: 3})
	if err != nil {
		panic(err)
	}
	scores, err := problem.ExactScores(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	posterior, err := score.NewPosterior(context.Background(), problem.Structure, scores, nil)
	if err != nil {
		panic(err)
	}
	found := graph.MedianGraph(posterior.EdgeProbabilities())
	fmt.Println(found.Edges(), "edges, as in the truth:", found.Equal(simulated.Truth))
	// Output: 4 edges, as in the truth: true
}
