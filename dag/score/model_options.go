package score

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
)

// LogSigmaSD is the standard deviation of the prior of log σ, whose mean is the log standard
// deviation of the node.
const LogSigmaSD = 2

// ModelOptions are the likelihood and the priors. The zero value gives all graphs of an equivalence
// class the same evidence, BGe or BDeu, and has the sparse prior over graphs. Scales refer to the
// working columns.
type ModelOptions struct {
	Mechanism sem.Mechanism `json:"mechanism"`
	// Hidden is the number of hidden units of MLP; 0 stands for 10. NoBias leaves out b1 and b2.
	Hidden int  `json:"hidden"`
	NoBias bool `json:"no_bias"`
	// Sigma is the noise scale of all nodes if it is known; 0: every node has its own, unknown.
	Sigma float64 `json:"sigma"`
	// PriorSD is σ0, the prior standard deviation of every weight; 0 stands for 1.
	PriorSD float64    `json:"prior_sd"`
	Graphs  GraphPrior `json:"graph_prior"`
	// EdgePrior are the prior probabilities of single edges, instead of Graphs.
	EdgePrior *EdgePrior `json:"edge_prior,omitempty"`
	// EdgePenalty is λ: graphs are a priori proportional to exp(−λ edges), instead of Graphs; 0:
	// none.
	EdgePenalty float64 `json:"edge_penalty"`
	// ExpectedDegree sets λ such that each edge, ignoring acyclicity, has the odds of a graph with
	// that many parents per node; 0: none.
	ExpectedDegree float64 `json:"expected_degree"`
	// ImaginarySampleSize is α for categories: the weight of the prior in rows, spread evenly over
	// all combinations of values; 0 stands for 1.
	ImaginarySampleSize float64 `json:"imaginary_sample_size,omitempty"`
	// Orders makes the prior one over orders and edges along them, as in the paper.
	Orders bool `json:"orders"`
}

func (o ModelOptions) withDefaults() ModelOptions {
	o.Hidden = cmp.Or(o.Hidden, 10)
	o.PriorSD = cmp.Or(o.PriorSD, 1)
	o.ImaginarySampleSize = cmp.Or(o.ImaginarySampleSize, 1)
	return o
}

// checkKind fails for mechanisms that do not fit the columns.
func (o ModelOptions) checkKind(d *tables.Data) error {
	kind, want := "continuous", "bge, linear, spline, mlp or mixed"
	switch {
	case d.Mixed():
		kind, want = "discrete and continuous", "mixed; or exclude the columns of one kind, or cut the continuous ones into classes"
	case d.Discrete():
		kind, want = "discrete", "categorical or mixed"
	}
	if o.Mechanism == sem.Mixed || !d.Mixed() && d.Discrete() == (o.Mechanism == sem.Categorical) {
		return nil
	}
	return fmt.Errorf("%s: got %s mechanisms for %s columns, want %s", d.Path, o.Mechanism, kind, want)
}

// Validate reports the first option that is out of its range.
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

// penalty is λ for graphs over some nodes.
func (o ModelOptions) penalty(nodes int) (float64, error) {
	if o.ExpectedDegree == 0 {
		return o.EdgePenalty, nil
	}
	// In order, node t can have t parents: (N−1)/2 on average.
	share := o.ExpectedDegree / (float64(nodes-1) / 2)
	if share >= 1 {
		return 0, fmt.Errorf("expected-degree: got %g parents per node, want less than %g in graphs over %d nodes", o.ExpectedDegree, float64(nodes-1)/2, nodes)
	}
	return math.Log((1 - share) / share), nil
}
