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

// These are settings of the joint training of a flow and of q(m), the distribution of graphs, tried
// on the simulation design of Davies et al. (2025). graphAnnealing is the share of steps in which
// q(m) follows evidences raised to a rising power. graphGain limits the information gain of q(m) in
// a step such that all steps together could use up ten times the initial entropy of q(m).
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

// TrainingOfGraphs returns the target for graphs, for all nodes together (undivided) or node by
// node, and the settings for training a flow together with a distribution q(m) of graphs. It fills
// in fields of fit that are not set. fit.Batch is a number of graphs.
func TrainingOfGraphs(p *score.Problem, fit vti.Config, undivided bool) (vti.Target, vti.Config, error) {
	fit = SizesOfGraphs(p, fit, undivided)
	fit.Start, fit.LearnAtOnce = vti.AnchorStart, true // annealing keeps the distribution of graphs from narrowing too early
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

// SizesOfGraphs fills in the default numbers of training steps and of graphs in a batch.
func SizesOfGraphs(p *score.Problem, fit vti.Config, undivided bool) vti.Config {
	steps, batch := 1000, nodewiseOfLinear
	if p.Model.Mechanism == sem.MLP {
		steps, batch = 600, nodewiseGraphs
	}
	if undivided {
		batch = undividedGraphs
	}
	fit.Steps, fit.Batch = cmp.Or(fit.Steps, steps), cmp.Or(fit.Batch, batch)
	return fit
}

// maxEntropy returns the entropy of the uniform distribution over codes of graphs.
func maxEntropy(nodes int) (sum float64) {
	for _, card := range dgraph.NewOrdered(nodes).Cards() {
		sum += math.Log(float64(card))
	}
	return sum
}

// DrawGraphs draws graphs from a trained distribution of graphs, and returns each node's parents.
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
