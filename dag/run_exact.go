package dag

import (
	gocontext "context"

	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/run"
)

// ExactConfig configures RunExact. The zero value is usable.
type ExactConfig struct {
	// Command is the name of the command in the result.
	Command string
	// Seed is the random seed for drawing graphs and parameters.
	Seed uint64
	// Truth is the true graph, which is compared with the answer; nil for none.
	Truth *dgraph.Graph
	// Dir is the run directory, which must exist; if it is empty no files are kept.
	Dir string
	// Progress, if not nil, is called with the number of families (nodes with sets of parents)
	// whose evidence is known, and the number of all families. Status, if not nil, is called with
	// descriptions of the later work.
	Progress func(done, total int)
	Status   func(string)
}

// RunExact finds the posterior over graphs for mechanisms whose evidences have a closed form, by
// sums over all graphs, and writes tables and pictures to the run directory. Probabilities of edges
// and of single graphs are exact, except that evidences of mixed mechanisms have standard errors.
// Probabilities of equivalence classes are shares of draws.
func RunExact(ctx gocontext.Context, problem *score.Problem, cfg ExactConfig) (*Result, error) {
	o := output{command: cfg.Command, seed: cfg.Seed, truth: cfg.Truth, dir: cfg.Dir, status: run.Silent(cfg.Status), clock: run.NewClock()}
	if err := problem.CheckExact(); err != nil {
		return nil, err
	}
	if problem.Families == nil {
		problem.Families = problem.Structure.Families()
	}
	scores, err := problem.ExactScores(ctx, cfg.Progress)
	if err != nil {
		return nil, err
	}
	posterior, err := score.NewPosterior(ctx, problem.Structure, scores, o.status)
	if err != nil {
		return nil, err
	}
	return concludeForms(problem, ctx, o, posterior, func(*Certificate) {})
}

// concludeForms makes a result of a posterior over graphs whose evidences have closed forms. The
// function judge adds further objections to the certificate.
func concludeForms(p *score.Problem, ctx gocontext.Context, o output, posterior *score.Posterior, judge func(c *Certificate)) (*Result, error) {
	return concludeSum(p, ctx, o, posterior, effects.ExactMoments(p, posterior.Mixture()), p.ExactParameters(p.Families), func(graphs []score.Draw, edgeErrors [][]float64) *Certificate {
		c := certifyScores(posterior, graphs, edgeErrors)
		judge(c)
		return c
	})
}
