package flows

import (
	"cmp"
	"fmt"
	"math"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/modeldist"
)

// These are settings of the joint training of flow and q(m), which were tried on the design of the
// VTI paper. For the first half of the steps, q(m) follows the evidences raised to a rising power.
// The bound of the information gain would let q(m) lose ten times its entropy over all steps.
// Networks need the larger learning rate. q(m) has the learning rate that the engine uses for
// networks with Adam.
const (
	graphAnnealing   = 0.5
	graphGain        = 10
	networksRate     = 0.01
	graphModelStep   = 1
	networksLayers   = 3
	undividedGraphs  = 256
	nodewiseGraphs   = 32
	nodewiseOfLinear = 64
)

// TrainingOfGraphs returns the target for graphs, undivided or node by node, and the settings for
// training it together with q(m). Fields of fit that are not set are filled in. fit.Batch counts
// graphs.
func TrainingOfGraphs(p *score.Problem, fit vti.Config, undivided bool) (vti.Target, vti.Config, error) {
	fit = SizesOfGraphs(p, fit, undivided)
	fit.Start, fit.LearnAtOnce = vti.AnchorStart, true // annealing keeps q(m) from deciding early
	fit.Annealing, fit.ModelStep = graphAnnealing, graphModelStep
	fit.InformationGain = graphGain * maxEntropy(p.Structure.Nodes) / float64(fit.Steps)
	mechanism := MechanismOf(p)
	if p.Model.Mechanism == sem.MLP {
		fit.LearningRate = networksRate
	}
	if undivided {
		target := NewGraphTarget(p.Structure, mechanism)
		models, err := modeldist.NewAutoregressive(target.Codes.Cards(), modeldist.AutoregressiveConfig{Seed: fit.Seed})
		fit.Models = models
		return target.AsTarget(), fit, err
	}
	if p.Model.Mechanism == sem.MLP {
		mechanism = Collapsed{NewAdditive(p)}
		fit.Flow.Layers = cmp.Or(fit.Flow.Layers, networksLayers)
	}
	models, err := NewGraphModels(p.Structure, 0, fit.Seed)
	fit.Models, fit.Batch = models, max(fit.Batch, 2)*p.Structure.Nodes
	return NewNodeTarget(mechanism), fit, err
}

// SizesOfGraphs fills in the numbers of steps and of graphs in a batch.
func SizesOfGraphs(p *score.Problem, fit vti.Config, undivided bool) vti.Config {
	setByMechanism(p, &fit.Steps, 1000, 600)
	if undivided {
		setByMechanism(p, &fit.Batch, undividedGraphs, undividedGraphs)
		return fit
	}
	setByMechanism(p, &fit.Batch, nodewiseOfLinear, nodewiseGraphs)
	return fit
}

// setByMechanism replaces zero by the default for the mechanism.
func setByMechanism(p *score.Problem, field *int, linear, mlp int) {
	switch {
	case *field != 0:
	case p.Model.Mechanism == sem.MLP:
		*field = mlp
	default:
		*field = linear
	}
}

// maxEntropy returns the entropy of the uniform distribution over codes of graphs.
func maxEntropy(nodes int) (sum float64) {
	for _, card := range dgraph.NewOrdered(nodes).Cards() {
		sum += math.Log(float64(card))
	}
	return sum
}

// DrawGraphs draws count graphs from a q(m) that was trained node by node, and returns the parents
// of each node.
func DrawGraphs(trained *vti.Posterior, s dgraph.Structure, count int) ([][]dgraph.Set, error) {
	codes, _, err := trained.SampleModels(count*s.Nodes, "graphs")
	if err != nil {
		return nil, err
	}
	drawn := make([][]dgraph.Set, count)
	for k := range drawn {
		drawn[k] = make([]dgraph.Set, s.Nodes)
		for _, code := range codes[k*s.Nodes : (k+1)*s.Nodes] {
			node := int(code[0])
			if node < 0 || node >= s.Nodes {
				return nil, fmt.Errorf("q(m) of graphs drew node %d of %d", node, s.Nodes)
			}
			for i, bit := range code[1:] {
				if bit == 1 {
					drawn[k][node] = drawn[k][node].With(i)
				}
			}
		}
	}
	return drawn, nil
}
