package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/rjmcmc"
)

// ChainReport is how well the chains of a sampler mixed: the worst value over all edges and the log density.
type ChainReport struct {
	Verdict string `json:"verdict"` // trusted, doubtful or failed
	Chains  int    `json:"chains"`
	Draws   int    `json:"draws"` // kept, of each chain
	RHat    Number `json:"rhat"`
	ESS     Number `json:"ess"`
	// WorstSE is the largest standard error of an edge probability.
	WorstSE Number `json:"worst_se"`
}

// Limits of the verdict on chains (Vehtari et al. 2021).
const (
	trustedRHat = 1.01
	failedRHat  = 1.1
	trustedESS  = 400
)

// CheckChains fails for problems that RunChains cannot sample.
func (p *Problem) CheckChains() error {
	switch {
	case p.listable(maxFamilies) != nil:
		return p.listable(maxFamilies)
	case p.Model.Mechanism != Linear:
		return fmt.Errorf("chains over graphs have linear mechanisms only, not %s", p.Model.Mechanism)
	case !p.Structure.Orders:
		return fmt.Errorf("chains move over orders and edges along them: they need the prior over those, --prior-orders")
	case len(p.Structure.required()) > 0:
		return fmt.Errorf("chains start from the empty graph: they cannot have required edges")
	}
	return nil
}

// required lists the required edges.
func (s Structure) required() (list []pair) {
	for j, set := range s.Required {
		for i := range set.Nodes() {
			list = append(list, pair{i, j})
		}
	}
	return list
}

// RunChains samples orders, edges and parameters of linear mechanisms together by reversible-jump MCMC, without any use of the structure that the other methods rest
// on: a check of them, for few nodes.
func RunChains(ctx gocontext.Context, device *gpu.Device, problem *Problem, cfg rjmcmc.Config, truth *Graph, dir string) (*Result, error) {
	started := time.Now()
	if err := problem.CheckChains(); err != nil {
		return nil, err
	}
	target := newGraphTarget(problem)
	if cfg.Jumps == 0 { // turning an edge takes several of them
		cfg.Jumps = 4 * len(target.space.Cards())
	}
	chains, err := rjmcmc.Run(ctx, device.Backend(), target, cfg)
	if err != nil {
		return nil, err
	}
	nodes := problem.Data.Nodes()
	result := &Result{Command: "rjmcmc dag", Version: vti.Version, Seed: &cfg.Seed, Backend: device.String(), RunDir: dir}
	result.LogEvidence, result.LogEvidenceSE = Number(math.NaN()), Number(math.NaN()) // chains do not tell
	probabilities, errors := square2(nodes), square2(nodes)
	worst := chains.LogDensitySummary()
	worst.MCSE = 0
	for _, e := range orderedPairs(nodes) {
		in := chains.Inclusion(e.from*nodes + e.to)
		probabilities[e.from][e.to], errors[e.from][e.to] = in.Mean, in.MCSE
		if in.SD > 0 {
			worst.MCSE = math.Max(worst.MCSE, in.MCSE)
		}
		if in.RHat > worst.RHat { // false for an indicator that never changed: every chain says the same
			worst.RHat = in.RHat
		}
		if in.ESS < worst.ESS {
			worst.ESS = in.ESS
		}
	}
	result.Diagnostics = chainReport(chains.Chains, chains.Draws()/chains.Chains, worst)
	draws, err := target.gather(chains)
	if err != nil {
		return nil, err
	}
	// As if the effective draws of the worst indicator were those of every event.
	problem.fillGraphs(result, probabilities, errors, draws, shareOf(draws, worst.ESS), truth)
	result.Seconds.Total = time.Since(started).Seconds()
	return result, problem.write(result, dir)
}

// gather counts the graphs that the chains visited, the most frequent first.
func (t *graphTarget) gather(chains *rjmcmc.Result) ([]Draw, error) {
	var graphs []*Graph
	for k := range chains.Draws() {
		g, err := t.space.Graph(chains.Codes(k))
		if err != nil {
			return nil, err
		}
		graphs = append(graphs, g)
	}
	return countDraws(graphs, nil), nil
}
