package varsel

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/run"
)

// RecordFile is the name of the record in a run directory.
const RecordFile = run.RecordFile

// Record holds all settings of a run, with what is needed to repeat or continue it.
type Record struct {
	run.Header
	Design    DesignOptions    `json:"design"`
	Model     ModelOptions     `json:"model"`
	Flow      cosmic.Config    `json:"flow"`
	Sampler   Sampler          `json:"sampler"`
	Surrogate SurrogateOptions `json:"surrogate"`
	// of flow, target and networks; absent: Float32
	DType dtypes.DType `json:"dtype,omitempty"`
	run.Budget
	Steps int `json:"steps,omitempty"`
	Batch int `json:"batch,omitempty"`
	// of certification; absent: the default of vti.CertifyConfig
	Draws int `json:"certify_draws,omitempty"`
	run.ChainSizes
	// models in which the chains start, in turn; see Problem.Start
	Start []string `json:"start,omitempty"`
	// From is the file of an amortized network that the run begins with, and FromOnly says that it
	// does not continue training.
	From     string `json:"from,omitempty"`
	FromOnly bool   `json:"from_only,omitempty"`
	// AllModels is that of Problem.
	AllModels bool   `json:"all_models,omitempty"`
	Seed      uint64 `json:"seed"`
}

// Write stores the record in a run directory.
func (r *Record) Write(dir string) error {
	return run.WriteRecord(dir, r)
}

// ReadRecord reads the record of a run directory.
func ReadRecord(dir string) (*Record, error) { return run.ReadRecord[Record](dir) }

// Problem reads the data of the run again and rebuilds its posterior. A table that has changed
// since is an error.
func (r *Record) Problem() (*Problem, error) {
	data, err := r.Table()
	if err != nil {
		return nil, err
	}
	design, err := NewDesign(data, r.Design)
	if err != nil {
		return nil, err
	}
	problem, err := NewProblem(design, r.Model)
	if err != nil {
		return nil, err
	}
	problem.AllModels = r.AllModels
	return problem, nil
}
