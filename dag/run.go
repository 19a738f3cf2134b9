package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/networks"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
)

// output holds settings that all methods have and the destination of the answer.
type output struct {
	command, backend string
	seed             uint64
	truth            *dgraph.Graph // true graph to compare with; nil for none
	dir              string        // run directory; if empty, no files are kept
	status           func(string)
	clock            *run.Clock
	steps            int     // training steps
	loss             *Number // loss at the end of training
}

// found holds the posterior that a method has found.
type found struct {
	certificate *Certificate
	graphs      graphEstimates
	// log evidence of the scaled columns and its standard error; NaN for Markov chains, which give
	// no evidence
	logEvidence, logEvidenceSE float64

	families score.Mixture
	// sources draw parameters of families (nodes with parents). random is the generator of the
	// draws that are not made for one node alone.
	sources score.ParameterSources
	random  *rand.Rand
	moments effects.EdgeMoments // exact posterior moments of weights; nil for none
	sample  score.Sample
}

// concludeSum makes a result of a posterior over graphs: it draws graphs and their parameters.
// certify returns the certificate, given the drawn graphs and the standard errors of edge
// probabilities.
func concludeSum(p *score.Problem, ctx gocontext.Context, o output, posterior *score.Posterior, moments effects.EdgeMoments,
	parameters score.ParameterSources, certify func(graphs []score.Draw, edgeErrors [][]float64) *Certificate,
) (*Result, error) {
	o.status("drawing graphs")
	graphs, err := posterior.Sample(ctx, stream.Rand(o.seed, "graphs"), graphDraws)
	if err != nil {
		return nil, err
	}
	edgeErrors := posterior.EdgeErrors(graphs)
	f := found{logEvidence: posterior.LogEvidence, families: posterior.Mixture(), moments: moments, random: stream.Rand(o.seed, "parameters")}
	f.certificate = certify(graphs, edgeErrors)
	// the error includes the rise of the log evidence that is expected if particles moved longer
	rise := networks.SettlingSteps * float64(f.certificate.Settling) * float64(p.Data.Nodes())
	f.logEvidenceSE = math.Hypot(posterior.LogEvidenceSE, rise)
	f.graphs = graphEstimates{posterior.EdgeProbabilities(), edgeErrors, graphs, func(event func(*dgraph.Graph) bool) (probability, se float64) {
		return posterior.Probability(graphs, event)
	}}
	f.sources = parameters
	f.sample = score.SampleFrom(effects.Spread(graphs, f.random), p.Families, f.sources(f.random))
	return conclude(p, ctx, o, f)
}

func concludeChains(p *score.Problem, ctx gocontext.Context, o output, c *Certificate, edges walk.Edges, sample score.Sample) (*Result, error) {
	graphs := sample.Count()
	f := found{certificate: c, graphs: graphEstimates{edges.Probabilities, edges.Errors, graphs, walk.ShareOf(graphs, float64(c.ESS))}, random: stream.Rand(o.seed, "parameters"), sample: sample.Thin(effects.FileDraws)}
	f.families, f.sources = sample.Split()
	f.logEvidence, f.logEvidenceSE = math.NaN(), math.NaN()
	return conclude(p, ctx, o, f)
}

// conclude computes the remaining parts of the answer and writes tables and pictures to the run
// directory.
func conclude(p *score.Problem, ctx gocontext.Context, o output, f found) (*Result, error) {
	result := &Result{
		Origin: run.Origin{Schema: "vti/graphs/1", Command: o.command, Version: vti.Version, Seed: &o.seed, Backend: o.backend, RunDir: o.dir},
		Steps:  o.steps, Loss: o.loss,
		Certificate: f.certificate, LogEvidence: Number(f.logEvidence + p.LogJacobian()), LogEvidenceSE: Number(f.logEvidenceSE),
	}
	o.status("comparing graphs")
	if err := fillGraphs(p, ctx, result, f.graphs, o.truth); err != nil {
		return nil, err
	}
	if err := describe(p, ctx, result, f); err != nil {
		return nil, err
	}
	if err := effects.WriteDraws(p, o.dir, o.seed, f.sample); err != nil {
		return nil, err
	}
	result.Seconds = o.clock.Seconds()
	return result, write(p, result, o.dir)
}

func describe(p *score.Problem, ctx gocontext.Context, result *Result, f found) (err error) {
	independent := float64(len(f.sample.Parents))
	graphs := math.Inf(1)
	if result.Certificate.ESS > 0 {
		graphs = float64(result.Certificate.ESS)
		independent = min(independent, graphs)
	}
	if result.Effects, err = effects.TotalEffects(p, ctx, f.sample, independent, *result.Seed); err != nil {
		return err
	}
	mechanism, complete := p.Model.Mechanism, p.Data.Missing == nil
	if !mechanism.Integrated() { // mechanisms whose parameters are integrated out have no slopes and no residuals
		if result.Parameters, err = effects.Parameters(p, ctx, f.families, f.sources, f.moments, graphs, *result.Seed); err != nil {
			return err
		}
		if complete { // imputed cells fit the model by construction
			if result.Checks, err = effects.CheckNodes(p, ctx, f.families, f.sources, *result.Seed); err != nil {
				return err
			}
		}
	}
	switch {
	case !complete || mechanism == sem.Categorical:
	case p.Data.Nodes() > dgraph.ManyNodes:
		result.Notes = append(result.Notes, fmt.Sprintf("no model check: it compares all pairs of columns, of which there are too many with more than %d columns", dgraph.ManyNodes))
	default:
		result.ModelCheck, err = effects.CheckModel(p, ctx, f.families, f.graphs.draws[0].Graph, f.sources(f.random), f.random)
	}
	return err
}
