package varsel

import (
	"cmp"
	gocontext "context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/run"
)

// rareInclusion is the inclusion probability below which, if models are written as lists, a
// predictor does not count for the verdict on chains: thousands of predictors are in only a draw or
// two. Half and twice this number give the same verdict (docs/benchmarks/constants.md).
const rareInclusion = 0.01

// RunChains samples the problem by reversible-jump MCMC and writes tables and draws to dir. Unless
// cfg.Starts is set, chains start from models that are spread over all models or, under heredity,
// over the models without interactions.
//
// If ctx is cancelled, the state of the chains is written to dir, and RunChains with cfg.Resume set
// continues from it.
func RunChains(ctx gocontext.Context, device *gpu.Device, problem *Problem, cfg rjmcmc.Config, dir string) (*Result, error) {
	if problem.Design.Statistics != nil {
		return nil, errOnStatistics
	}
	clock := run.NewClock()
	if len(cfg.Starts) == 0 && problem.Target.heredity != nil {
		cfg.Starts = problem.spreadStarts(cmp.Or(cfg.Chains, rjmcmc.DefaultChains), cfg.Seed)
	}
	cfg, err := run.StartChains(dir, cfg)
	if err != nil {
		return nil, err
	}
	chains, err := rjmcmc.Run(ctx, device.Backend(), problem.Posterior(), cfg)
	if err != nil {
		return nil, err
	}
	result := problem.newResult("rjmcmc varsel")
	result.Seed, result.Backend, result.RunDir = &cfg.Seed, device.String(), dir
	result.Diagnostics = &ChainReport{Chains: chains.Chains, Draws: chains.Draws() / chains.Chains}
	if cfg.Temperatures > 1 { // a log evidence that chains do not resolve is NaN
		value, se := chains.LogEvidence()
		result.LogEvidence, result.LogEvidSE = new(Number(value+problem.Design.LogJacobian())), new(Number(se))
	}
	for _, share := range chains.Info.Exchanges {
		result.Diagnostics.Exchanges = append(result.Diagnostics.Exchanges, Number(share))
	}
	result.Diagnostics.RoundTrips = chains.Info.RoundTrips
	worst := chains.LogDensitySummary()
	for s, in := range problem.chainInclusion(chains) {
		result.Inclusion = append(result.Inclusion, Inclusion{
			Name: problem.Design.Predictors[s].Name, Certified: Number(in.Mean), SE: Number(in.MCSE), RHat: new(Number(in.RHat)), ESS: new(Number(in.ESS)),
		})
		if problem.Slots != nil && in.Mean < rareInclusion {
			continue
		}
		// An indicator that is constant in all chains has R-hat NaN, and does not count.
		if in.RHat > worst.RHat {
			worst.RHat = in.RHat
		}
		if in.ESS < worst.ESS {
			worst.ESS = in.ESS
		}
	}
	result.Diagnostics.RHat, result.Diagnostics.ESS = Number(worst.RHat), Number(worst.ESS)
	j := verdict.Judge(verdict.Measured{Chains: &verdict.Chains{RHat: worst.RHat}, ESS: worst.ESS, Draws: chains.Draws()})
	result.Diagnostics.Verdict, result.Diagnostics.Reasons = j.Verdict, j.Reasons
	n := chains.Draws()
	result.CredibleSets = problem.credibleSets(n, func(k int) ([]int, float64) { return problem.members(chains.Codes(k)), 1 / float64(n) })
	for _, model := range chains.Models(problem.shownModels(chains.Visited())) {
		members := problem.members(model.Codes)
		result.Models = append(result.Models, ModelReport{
			Code: modelText(members, len(problem.Design.Predictors)), Size: len(members), Certified: Number(model.Mean), SE: Number(model.MCSE),
		})
	}

	codes, theta := make([][]int32, n), mat.NewDense(n, chains.Dim, nil)
	for i := range n {
		codes[i] = chains.Codes(i)
		theta.SetRow(i, chains.Theta(i))
	}
	sample := problem.toOriginal(codes, theta)
	chain := apply.UpTo(n, func(i int) int { return i % chains.Chains })
	result.Coefficients = problem.summarizeDraws(sample, slices.Repeat([]float64{1}, n), chain, nil, nil)
	if result.Diagnostics.Verdict != verdict.Failed {
		if result.ModelCheck, err = problem.checkModel(ctx, sample, cfg.Seed); err != nil {
			return nil, err
		}
	}
	sample.LogP = chains.LogDensity
	for i := range n {
		sample.Chain = append(sample.Chain, int32(i%chains.Chains)+1)
	}
	header := draws.Header{Kind: draws.Chains, Seed: cfg.Seed, BurnIn: chains.BurnIn, Thin: chains.Thin}
	if err := problem.writeDraws(dir, header, sample); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, problem.finish(result, dir)
}

// chainInclusion summarises the inclusion of every predictor in the draws of chains.
func (p *Problem) chainInclusion(chains *rjmcmc.Result) []rjmcmc.Summary {
	summaries := make([]rjmcmc.Summary, len(p.Design.Predictors))
	if p.Slots == nil {
		for predictor := range summaries {
			summaries[predictor] = chains.Outcome(predictor, 1)
		}
		return summaries
	}
	var never *rjmcmc.Summary // summary of a predictor without a draw, the same for all of them
	for item, count := range chains.Counts(len(summaries)) {
		predictor := p.Slots.order[item]
		if count == 0 && never != nil {
			summaries[predictor] = *never
			continue
		}
		summaries[predictor] = chains.Contains(int32(item))
		if count == 0 {
			never = &summaries[predictor]
		}
	}
	return summaries
}

// Names of models in which chains may start, in place of a list of predictors.
const (
	nullStart = "null"
	fullStart = "full"
)

// Start reads the model in which a chain starts: null (no predictor), full (all of them), or the
// names of its predictors, separated by commas. It returns the model's code in the space of the
// posterior.
func (p *Problem) Start(text string) ([]int32, error) {
	names := p.Design.PredictorNames()
	var members []int
	switch text {
	case nullStart:
	case fullStart:
		members = rank.UpTo(len(names))
	default:
		for name := range strings.SplitSeq(text, ",") {
			predictor := slices.Index(names, strings.TrimSpace(name))
			switch {
			case predictor < 0:
				return nil, fmt.Errorf("start %q: %q is not a predictor; want %s, %s or names of predictors separated by commas", text, name, nullStart, fullStart)
			case slices.Contains(members, predictor):
				return nil, fmt.Errorf("start %q: %s is listed twice", text, names[predictor])
			}
			members = append(members, predictor)
		}
	}
	if limit := p.Model.Prior.Limit(len(names)); len(members) > limit {
		return nil, fmt.Errorf("start %q: %d predictors, where a model has at most %d", text, len(members), limit)
	}
	for _, predictor := range members {
		if !p.Target.heredity.allowed(predictor, func(parent int) bool { return slices.Contains(members, parent) }) {
			return nil, fmt.Errorf("start %q: %s without the parents that %s heredity asks for", text, names[predictor], p.Model.Heredity)
		}
	}
	return p.models().code(members), nil
}

// startSites bounds the models in which chains start. With up to startSites predictors, the share
// of them in such a model ranges from 0 to 1. With n > startSites predictors the largest share is
// (startSites/n)², because many wrong predictors explain data by accident. With a half or a quarter
// of startSites, most runs on 40 and 100 predictors mix worse (docs/benchmarks/constants.md).
const startSites = 32

// spreadStarts draws for every chain a model in which the chain starts, sparse for some chains and
// dense for others. The models only have predictors without parents (factors of a product), since
// models drawn from all predictors are hardly ever allowed by heredity unless they are nearly
// empty. Chains that all start nearly empty never see two predictors together: in burn-in they
// learn a wrong approximation of the posterior, and get stuck.
func (p *Problem) spreadStarts(chains int, seed uint64) [][]int32 {
	roots := apply.Where(len(p.Design.Predictors), func(g int) bool { return len(p.Design.Predictors[g].Parents) == 0 })
	sparsity := min(1, startSites/float64(max(len(roots), 1)))
	limit := p.Model.Prior.Limit(len(p.Design.Predictors))
	starts := make([][]int32, chains)
	for c := range starts {
		random := stream.Rand(seed, fmt.Sprintf("starts/%d", c))
		starts[c] = make([]int32, len(p.Design.Predictors))
		share, size := random.Float64()*sparsity*sparsity, 0
		for _, i := range random.Perm(len(roots)) {
			if size < limit && random.Float64() < share {
				starts[c][roots[i]] = 1
				size++
			}
		}
	}
	return starts
}
