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

// Names of the packages below for a program that finds graphs.
type (
	// Data is a table whose columns are nodes of graphs. DataOptions are the options of its use.
	Data        = tables.Data
	DataOptions = tables.DataOptions
	// Constraints are prior knowledge of the graph.
	Constraints = tables.Constraints
	// ModelOptions are the likelihood and the priors.
	ModelOptions = score.ModelOptions
	GraphPrior   = score.GraphPrior
	Mechanism    = sem.Mechanism
	// Problem is data with model and constraints; Method is a way to solve it.
	Problem = score.Problem
	Method  = score.Method
	// ChainConfig sizes chains over graphs.
	ChainConfig = walk.ChainConfig
	// Parameter and Effect are parts of a result, and Answer is the answer to a query.
	Parameter = effects.Parameter
	Effect    = effects.Effect
	Answer    = query.Answer
)

// Values of these types.
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

// NewData prepares a table. Its errors name column and place.
func NewData(t *table.Table, options DataOptions) (*Data, error) { return tables.NewData(t, options) }

// NewProblem checks all that can be checked before computing.
func NewProblem(data *Data, model ModelOptions, constraints Constraints) (*Problem, error) {
	return score.NewProblem(data, model, constraints)
}
