package dag

import (
	gocontext "context"
	"math/rand/v2"

	"github.com/transdim/vti/dag/flows"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/run"
)

// startCodes returns random allowed graphs at which chains start, some sparse and some dense. Their
// number is the argument count. Each is a code: the digits of a random order and the bits of edges.
func startCodes(s dgraph.Structure, random *rand.Rand, count int) [][]int32 {
	return apply.UpTo(count, func(int) []int32 { return flows.WarmCode(s, s.Required, random.Float64()*0.5, true, random) })
}

// RunReversibleJump samples orders, edges and parameters of linear mechanisms together by
// reversible-jump MCMC. It does not use that the posterior is a product over nodes, on which the
// other methods rest, and serves to check them for few nodes.
//
// When ctx is cancelled the state of the chains is stored in dir. A run with cfg.Resume continues
// from this state.
func RunReversibleJump(ctx gocontext.Context, device *gpu.Device, problem *score.Problem, cfg rjmcmc.Config, truth *dgraph.Graph, dir string) (*Result, error) {
	o := output{command: "rjmcmc dag", seed: cfg.Seed, backend: device.String(), truth: truth, dir: dir, status: run.Silent(nil), clock: run.NewClock()}
	if err := problem.CheckReversibleJump(); err != nil {
		return nil, err
	}
	target := flows.NewGraphTarget(problem.Structure, flows.MechanismOf(problem)).Lenient()
	if cfg.Jumps == 0 { // reversing an edge takes several jumps
		cfg.Jumps = 4 * len(target.Codes.Cards())
	}
	if len(cfg.Starts) == 0 {
		cfg.Starts = startCodes(problem.Structure, stream.Rand(cfg.Seed, "starts"), max(cfg.Chains, rjmcmc.DefaultChains))
	}
	cfg, err := run.StartChains(dir, cfg)
	if err != nil {
		return nil, err
	}
	chains, err := rjmcmc.Run(ctx, device.Backend(), target, cfg)
	if err != nil {
		return nil, err
	}
	nodes := problem.Data.Nodes()
	edges := walk.Summarise(nodes, chains.LogDensitySummary(), func(e dgraph.Edge) rjmcmc.Summary {
		return chains.Inclusion(e.To*problem.Layout().Dim() + e.From)
	})
	var sample score.Sample
	for k := range chains.Draws() {
		if err := target.Decode(chains.Codes(k), chains.Theta(k), &sample); err != nil {
			return nil, err
		}
		sample.Chain = append(sample.Chain, int32(k%chains.Chains+1))
	}
	return concludeChains(problem, ctx, o, certifyChains(chains.Chains, chains.Draws()/chains.Chains, edges, problem.Data.Names), edges, sample)
}
