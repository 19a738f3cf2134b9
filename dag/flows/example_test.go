package flows_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/flows"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/gpu"
)

// waves is a mechanism written by a user: x_j = Σ a_i sin(2 x_i) + N(0, 0.5²) over the parents i,
// with a_i ~ N(0, 1).
type waves struct{ columns [][]float64 }

func (w waves) Nodes() int { return len(w.columns) }
func (w waves) Dim() int   { return len(w.columns) } // a_i for each possible parent

func (w waves) Mask(_, parents *graph.Node) *graph.Node { return parents }

func (w waves) LogJoint(node, _, mask, theta *graph.Node) *graph.Node {
	logNormal := func(x *graph.Node, sd float64) *graph.Node {
		return graph.AddScalar(graph.MulScalar(graph.Square(x), -0.5/(sd*sd)), -math.Log(sd*math.Sqrt(2*math.Pi)))
	}
	values := graph.ConvertDType(graph.Const(node.Graph(), w.columns), theta.DType()) // [N,n]
	value := graph.Gather(values, graph.InsertAxes(node, -1))                         // [B,n]
	active := graph.Where(mask, theta, graph.ZerosLike(theta))
	mean := graph.Dot(active, graph.Sin(graph.MulScalar(values, 2)))
	prior := graph.Where(mask, logNormal(theta, 1), graph.ZerosLike(theta))
	return graph.Add(graph.ReduceSum(logNormal(graph.Sub(value, mean), 0.5), -1), graph.ReduceSum(prior, -1))
}

// The example computes the posterior over graphs of two columns, b = sin(2a) + noise, with a user's
// mechanism and one flow for the parameters of all nodes.
func ExampleNewGraphTarget() {
	random := rand.New(rand.NewPCG(1, 2))
	a, b := make([]float64, 60), make([]float64, 60)
	for i := range a {
		a[i] = 0.5 * random.NormFloat64()
		b[i] = math.Sin(2*a[i]) + 0.5*random.NormFloat64()
	}
	target := flows.NewGraphTarget(dgraph.FreeStructure(2), waves{[][]float64{a, b}})
	device, err1 := gpu.Open(gpu.CPU)
	posterior, err2 := vti.Fit(context.Background(), device, target, vti.Config{Steps: 300, Seed: 1})
	certificate, err3 := posterior.Certify(context.Background(), vti.CertifyConfig{})
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			log.Fatal(err)
		}
	}
	probability, _ := certificate.Probability(func(code []int32) bool {
		g, err := target.Codes.Graph(code)
		return err == nil && g.Has(0, 1)
	})
	fmt.Printf("%v: a → b with probability %.2f\n", certificate.Verdict, probability)
	// Output:
	// trusted: a → b with probability 1.00
}
