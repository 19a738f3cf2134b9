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

// Record holds all settings needed to repeat or continue a run.
type Record struct {
	run.Header
	Truth            string             `json:"truth,omitempty"` // absolute path of the adjacency matrix
	TruthFingerprint string             `json:"truth_fingerprint,omitempty"`
	Columns          tables.DataOptions `json:"columns"`
	Constraints      tables.Constraints `json:"constraints"`
	Model            score.ModelOptions `json:"model"`
	Effects          []string           `json:"effects,omitempty"` // pairs "a->b" of interest
	Structure        score.Method       `json:"structure"`
	Islands          int                `json:"islands,omitempty"`
	Flow             cosmic.Config      `json:"flow"`
	DType            dtypes.DType       `json:"dtype,omitempty"` // of flow and target; absent: Float32
	Steps            int                `json:"steps,omitempty"`
	Batch            int                `json:"batch,omitempty"`
	Draws            int                `json:"draws,omitempty"`
	Undivided        bool               `json:"undivided,omitempty"` // with the structure flow
	Cold             bool               `json:"cold,omitempty"`
	run.ChainSizes
	Rounds     int    `json:"rounds,omitempty"`
	Candidates int    `json:"candidates,omitempty"`
	Seed       uint64 `json:"seed"`
	run.Limit
	// AllModels is Problem.AllModels.
	AllModels bool `json:"all_models,omitempty"`
}

// Problem reads the table, and the truth if there is one. If the record has fingerprints, the files
// must not have changed since the run began; otherwise the fingerprints are added.
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

// Particles reports whether evidences come from particles, without a flow.
func (r *Record) Particles() bool {
	return r.Structure != score.GraphFlow && r.Model.Mechanism == sem.MLP
}

// FitConfig returns the training settings.
func (r *Record) FitConfig(problem *score.Problem) vti.Config {
	fit := vti.Config{Flow: r.Flow, Steps: r.Steps, Batch: r.Batch, Seed: r.Seed, DType: r.DType}
	fit = flows.SizesOfGraphs(problem, fit, r.Undivided)
	r.Steps, r.Batch = fit.Steps, fit.Batch
	return fit
}

// CheckCheckpoint returns an error unless the checkpoint of fit can be read and continues the run
// of the record. For a missing checkpoint the error wraps fs.ErrNotExist.
func (r *Record) CheckCheckpoint(device *gpu.Device, problem *score.Problem, fit vti.Config) error {
	target, fit, err := flows.TrainingOfGraphs(problem, fit, r.Undivided)
	if err == nil {
		_, err = vti.Load(device, target, fit)
	}
	return err
}
