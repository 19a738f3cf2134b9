package dag

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/dag/flows"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/run"
)

// Record holds all settings needed to repeat or continue a run. It is stored in the run directory.
type Record struct {
	run.Header
	Truth            string `json:"truth,omitempty"` // absolute path of the adjacency matrix
	TruthFingerprint string `json:"truth_fingerprint,omitempty"`
	// Columns, Constraints and Model state the problem: the use of the table, prior knowledge about
	// the graph, and the likelihood and priors.
	Columns     tables.DataOptions `json:"columns"`
	Constraints tables.Constraints `json:"constraints"`
	Model       score.ModelOptions `json:"model"`
	Effects     []string           `json:"effects,omitempty"` // requested total effects, as pairs "a->b"
	// Structure is the method by which graphs are found. Islands is the largest number of islands
	// (independent groups of particles) that estimate evidences. Flow, DType, Steps, Batch, Draws,
	// Undivided and Cold are settings of the flow, see RunConfig.
	Structure score.Method  `json:"structure"`
	Islands   int           `json:"islands,omitempty"`
	Flow      cosmic.Config `json:"flow"`
	DType     dtypes.DType  `json:"dtype,omitempty"` // number type of the flow and its target; Float32 if absent
	Steps     int           `json:"steps,omitempty"`
	Batch     int           `json:"batch,omitempty"`
	Draws     int           `json:"draws,omitempty"`
	Undivided bool          `json:"undivided,omitempty"` // one flow for all nodes together; only with the method flow
	Cold      bool          `json:"cold,omitempty"`
	run.ChainSizes
	// Rounds and Candidates are settings of the Markov chains over graphs, see walk.ChainConfig.
	// Seed is the random seed.
	Rounds     int    `json:"rounds,omitempty"`
	Candidates int    `json:"candidates,omitempty"`
	Seed       uint64 `json:"seed"`
	run.Limit
	// AllModels asks for all drawn graphs and equivalence classes in the result.
	AllModels bool `json:"all_models,omitempty"`
}

// Problem reads the table, and the true graph if the record names a file with it. If the record has
// fingerprints of the files, the files must not have changed since the run began. Otherwise Problem
// adds the fingerprints to the record.
func (r *Record) Problem() (*score.Problem, *dgraph.Graph, error) {
	t, err := r.Table()
	if err != nil {
		return nil, nil, err
	}
	data, err := tables.NewData(t, r.Columns)
	if err != nil {
		return nil, nil, err
	}
	problem, err := score.NewProblem(data, r.Model, r.Constraints)
	if err != nil {
		return nil, nil, err
	}
	problem.AllModels = r.AllModels
	for _, text := range data.SplitEdges(r.Effects) {
		e, err := data.Edge(text)
		if err != nil {
			return nil, nil, fmt.Errorf("effect: %w", err)
		}
		problem.Asked = append(problem.Asked, e)
	}
	if r.Truth == "" {
		return problem, nil, nil
	}
	adjacency, err := run.ReadTable(r.Truth, &r.TruthFingerprint)
	if err != nil {
		return nil, nil, err
	}
	truth, err := dgraph.ReadAdjacency(adjacency, data.Names)
	return problem, truth, err
}

// Resumable reports whether the run keeps a state from which it can continue.
func (r *Record) Resumable() bool {
	return r.Structure != score.Exact || r.Particles()
}

// Particles reports whether evidences come from particles (sequential Monte Carlo), without a flow.
func (r *Record) Particles() bool {
	return r.Structure != score.GraphFlow && r.Model.Mechanism == sem.MLP
}

// FitConfig returns the settings of training. It fills in the default steps and batch size, in the
// record too.
func (r *Record) FitConfig(problem *score.Problem) vti.Config {
	fit := vti.Config{Flow: r.Flow, Steps: r.Steps, Batch: r.Batch, Seed: r.Seed, DType: r.DType}
	fit = flows.SizesOfGraphs(problem, fit, r.Undivided)
	r.Steps, r.Batch = fit.Steps, fit.Batch
	return fit
}

// CheckCheckpoint returns an error unless the checkpoint named by fit can be read and belongs to
// the run of the record. For a missing checkpoint the error wraps fs.ErrNotExist.
func (r *Record) CheckCheckpoint(device *gpu.Device, problem *score.Problem, fit vti.Config) error {
	target, fit, err := flows.TrainingOfGraphs(problem, fit, r.Undivided)
	if err == nil {
		_, err = vti.Load(device, target, fit)
	}
	return err
}
