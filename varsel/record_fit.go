package varsel

import "github.com/transdim/vti"

// FitConfig is the training that the record asks for, without what only concerns its progress and files.
func (r *Record) FitConfig(problem *Problem) (vti.Config, error) {
	models, err := problem.NewModels(r.Models, r.Seed)
	return vti.Config{Flow: r.Flow, Models: models, Steps: r.Steps, Batch: r.Batch, Seed: r.Seed}, err
}
