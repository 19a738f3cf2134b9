package dag

import (
	"github.com/transdim/vti/dag/effects"
	"github.com/transdim/vti/dag/query"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/table"
)

// Names for types of the packages in folders of dag, for programs that import only dag.
type (
	// Data is a table whose columns are nodes of graphs. DataOptions states how columns and rows of
	// a table are used.
	Data        = tables.Data
	DataOptions = tables.DataOptions
	// Constraints holds prior knowledge about the graph.
	Constraints = tables.Constraints
	// ModelOptions sets the likelihood and the priors. GraphPrior is the kind of prior over graphs,
	// and Mechanism the kind of dependence of a node on its parents.
	ModelOptions = score.ModelOptions
	GraphPrior   = score.GraphPrior
	Mechanism    = sem.Mechanism
	// Problem is a data set with a model and constraints on the graph. Method is a way to compute
	// the posterior of a problem.
	Problem = score.Problem
	Method  = score.Method
	// ChainConfig configures chains over graphs.
	ChainConfig = walk.ChainConfig
	// Parameter and Effect are the entries of a result for a weight of an edge and for a total
	// causal effect. Answer is the answer to a query.
	Parameter = effects.Parameter
	Effect    = effects.Effect
	Answer    = query.Answer
)

// Values of Mechanism, GraphPrior and Method.
const (
	AnyMechanism  = sem.AnyMechanism
	Linear        = sem.Linear
	MLP           = sem.MLP
	BGe           = sem.BGe
	Categorical   = sem.Categorical
	Mixed         = sem.Mixed
	Spline        = sem.Spline
	SparseGraphs  = score.SparseGraphs
	UniformGraphs = score.UniformGraphs
	Exact         = score.Exact
	Chains        = score.Chains
	GraphFlow     = score.GraphFlow
)

// NewData prepares a table for a problem. Errors name the column and the place in the file.
func NewData(t *table.Table, options DataOptions) (*Data, error) { return tables.NewData(t, options) }

// NewProblem joins data, model and constraints. It checks everything that can be checked before
// computing.
func NewProblem(data *Data, model ModelOptions, constraints Constraints) (*Problem, error) {
	return score.NewProblem(data, model, constraints)
}
