package score

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
)

// LogSigmaSD is the prior standard deviation of log σ. The prior mean is the log standard deviation
// of the node.
const LogSigmaSD = 2

// ModelOptions sets the likelihood and the priors. The zero value gives all graphs of an
// equivalence class the same evidence, by the BGe or the BDeu score, and has the sparse prior over
// graphs. Sigma and PriorSD refer to the scaled columns.
type ModelOptions struct {
	// Mechanism is the kind of dependence of a node on its parents.
	Mechanism sem.Mechanism `json:"mechanism"`
	// Hidden is the number of hidden units of a network (MLP); 0 stands for 10. NoBias leaves out
	// the biases b1 and b2 of the two layers.
	Hidden int  `json:"hidden"`
	NoBias bool `json:"no_bias"`
	// Sigma is the noise scale of all nodes if it is known; 0 means that every node has its own
	// unknown noise scale.
	Sigma float64 `json:"sigma"`
	// PriorSD is σ0, the prior standard deviation of every weight; 0 stands for 1. Graphs is the
	// prior over graphs.
	PriorSD float64    `json:"prior_sd"`
	Graphs  GraphPrior `json:"graph_prior"`
	// EdgePrior holds prior probabilities of single edges, in place of Graphs; nil for none.
	EdgePrior *EdgePrior `json:"edge_prior,omitempty"`
	// EdgePenalty is λ: the prior probability of a graph is proportional to exp(−λ edges), in place
	// of Graphs; 0 for no penalty.
	EdgePenalty float64 `json:"edge_penalty"`
	// ExpectedDegree is a number of parents. It sets the penalty λ of an edge such that graphs
	// would have this mean number of parents per node if acyclicity were ignored; 0 for no such
	// prior.
	ExpectedDegree float64 `json:"expected_degree"`
	// ImaginarySampleSize is α for categories: the weight of the prior, in rows, spread evenly over
	// all combinations of values; 0 stands for 1.
	ImaginarySampleSize float64 `json:"imaginary_sample_size,omitempty"`
	// Orders selects the prior over orders of the nodes and edges along them, as in the VTI paper
	// (Davies et al. 2025). In this prior a graph counts as often as it has topological orders.
	Orders bool `json:"orders"`
}

func (o ModelOptions) withDefaults() ModelOptions {
	o.Hidden = cmp.Or(o.Hidden, 10)
	o.PriorSD = cmp.Or(o.PriorSD, 1)
	o.ImaginarySampleSize = cmp.Or(o.ImaginarySampleSize, 1)
	return o
}

// checkKind returns an error if a column has categories or numbers that the mechanisms do not take.
func (o ModelOptions) checkKind(d *tables.Data) error {
	categories := o.Mechanism == sem.Categorical // whether nodes must be categories
	j := 0
	for j < len(d.Names) && d.Category(j) == categories {
		j++
	}
	if o.Mechanism == sem.Mixed || j == len(d.Names) {
		return nil
	}
	got, want := "categories", "numbers"
	if categories {
		got, want = want, got
	}
	allowed := "bge, linear, spline, mlp or mixed"
	switch {
	case d.Mixed():
		allowed = "mixed; or exclude the columns of one kind, or cut the columns of numbers into classes"
	case d.Discrete():
		allowed = "categorical or mixed"
	}
	return fmt.Errorf("%s: column %q: got %s, want %s, because the mechanisms are %s; mechanisms for this table: %s",
		d.Path, d.Names[j], got, want, o.Mechanism, allowed)
}

// Validate returns an error for the first option that is out of its range.
func (o ModelOptions) Validate() error {
	if err := errors.Join(o.Mechanism.Check(), graphPriors.Check(o.Graphs)); err != nil {
		return err
	}
	o = o.withDefaults()
	switch {
	case o.Mechanism == sem.BGe && o.Sigma != 0:
		return fmt.Errorf("sigma: got %g, want none with bge mechanisms, whose noise scales are unknown", o.Sigma)
	case o.Mechanism == sem.BGe && o.PriorSD != 0 && o.PriorSD != 1:
		return fmt.Errorf("prior-sd: got %g, want none with bge mechanisms, whose prior is given", o.PriorSD)
	case o.Mechanism.ByColumns() && (o.Sigma != 0 || o.PriorSD != 1):
		return fmt.Errorf("sigma and prior-sd: got %g and %g, want none with %s mechanisms, whose noise scales are unknown and whose prior is given", o.Sigma, o.PriorSD, o.Mechanism)
	case o.Mechanism.ByColumns() && o.ImaginarySampleSize != 1:
		return fmt.Errorf("imaginary-sample-size: got %g, want none with %s mechanisms, which have no tables of probabilities", o.ImaginarySampleSize, o.Mechanism)
	case !(o.ImaginarySampleSize > 0) || math.IsInf(o.ImaginarySampleSize, 1):
		return fmt.Errorf("imaginary-sample-size: got %g, want a positive number", o.ImaginarySampleSize)
	case o.Hidden < 1:
		return fmt.Errorf("hidden: got %d, want at least 1", o.Hidden)
	case !(o.Sigma >= 0) || math.IsInf(o.Sigma, 1):
		return fmt.Errorf("sigma: got %g, want a positive number", o.Sigma)
	case !(o.PriorSD > 0) || math.IsInf(o.PriorSD, 1):
		return fmt.Errorf("prior-sd: got %g, want a positive number", o.PriorSD)
	case math.IsNaN(o.EdgePenalty) || math.IsInf(o.EdgePenalty, 0):
		return fmt.Errorf("edge-penalty: got %g, want a finite number", o.EdgePenalty)
	case !(o.ExpectedDegree >= 0) || math.IsInf(o.ExpectedDegree, 1):
		return fmt.Errorf("expected-degree: got %g, want a positive number", o.ExpectedDegree)
	case o.ExpectedDegree != 0 && o.EdgePenalty != 0:
		return fmt.Errorf("expected-degree and edge-penalty both set the prior of edges: give one")
	case o.EdgePrior != nil && (o.ExpectedDegree != 0 || o.EdgePenalty != 0):
		return fmt.Errorf("edge-prior sets the prior of every edge: give neither edge-penalty nor expected-degree")
	}
	return nil
}

func (o ModelOptions) resolve(d *tables.Data) sem.Mechanism {
	switch {
	case o.Mechanism != sem.AnyMechanism:
		return o.Mechanism
	case d.Discrete():
		return sem.Categorical
	case d.Mixed():
		return sem.Mixed
	case o.Sigma != 0 || o.PriorSD != 0:
		return sem.Linear
	}
	return sem.BGe
}

// penalty returns the penalty λ of an edge for graphs over the given number of nodes.
func (o ModelOptions) penalty(nodes int) (float64, error) {
	if o.ExpectedDegree == 0 {
		return o.EdgePenalty, nil
	}
	// In an order, the node at position t, from 0 to N−1, can have t parents, (N−1)/2 on average.
	share := o.ExpectedDegree / (float64(nodes-1) / 2)
	if share >= 1 {
		return 0, fmt.Errorf("expected-degree: got %g parents per node, want less than %g in graphs over %d nodes", o.ExpectedDegree, float64(nodes-1)/2, nodes)
	}
	return math.Log((1 - share) / share), nil
}
