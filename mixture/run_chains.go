package mixture

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/run"
)

// RunChains samples the Target of the problem by the reversible-jump chains of package rjmcmc,
// without moves specific to mixtures, and writes the tables and draws of Run to dir ("" keeps no
// files). It is a reference for the engine on the same Target, and a check of Run that shares no
// sampler with it. It fails for families without a Target.
func RunChains(ctx gocontext.Context, device *gpu.Device, problem *Problem, cfg rjmcmc.Config, dir string) (*Result, error) {
	clock := run.NewClock()
	target, err := problem.Target()
	if err != nil {
		return nil, err
	}
	chains, err := rjmcmc.Run(ctx, device.Backend(), target, cfg)
	if err != nil {
		return nil, err
	}
	s := problem.sampleOf(chains)
	s.occupy(stream.Rand(cfg.Seed, "rows"))
	j := verdict.Judge(verdict.Measured{
		Chains: &verdict.Chains{RHat: s.jumping.rHat}, ESS: s.jumping.ess, Draws: chains.Draws(), Event: "a number of components'", EventSE: s.jumping.largest(),
	})
	if changes := changesOf(chains); changes < verdict.DoubtfulESS && problem.Options.MaxComponents > 1 {
		j.Lower(vti.Doubtful, "the number of components changed only %s from one draw of a chain to the next: the probabilities of other numbers are not resolved", english.Count(changes, "time"))
	}
	s.judgeQuestion(j)
	missing := Number(math.NaN())
	result := &Result{Head: run.NewHead("mixture", cfg.Seed, dir), Certificate: CertificateReport{
		Verdict: j.Verdict, Basis: vti.Chains, Jumps: s.jumping.report(chains.Chains, s.Sweeps), Partitions: s.cluster.report(0, 0),
		Difference: missing, LargestSE: Number(s.jumping.largest()), Reasons: j.Reasons,
	}}
	result.Command = "rjmcmc mixture"
	return s.conclude(result, s.jumping.probability, s.jumping.se, clock)
}

// sampleOf returns the sample of chains on the Target. R-hat and effective draws are the worst over
// the log density, the number of components, and the indicators of numbers that are not rare.
func (p *Problem) sampleOf(chains *rjmcmc.Result) *Sample {
	most, each := p.Options.MaxComponents, chains.Draws()/chains.Chains
	missing := slices.Repeat([]float64{math.NaN()}, most)
	s := &Sample{problem: p, Sweeps: each * chains.Thin, cluster: estimate{probability: missing, se: missing, rHat: math.NaN(), ess: math.NaN()}}
	e := &s.jumping
	worst := chains.LogDensitySummary()
	judge := func(one rjmcmc.Summary) {
		// An indicator that never changed has no R-hat: all chains agree.
		if one.RHat > worst.RHat {
			worst.RHat = one.RHat
		}
		if one.ESS < worst.ESS {
			worst.ESS = one.ESS
		}
	}
	size := func(draw int) int { return int(chains.Codes(draw)[0]) + 1 }
	judge(chains.Summarise(func(draw int) float64 { return float64(size(draw)) }))
	for k := range most {
		one := chains.Outcome(0, int32(k))
		e.probability, e.se = append(e.probability, one.Mean), append(e.se, one.MCSE)
		if one.Mean >= rare {
			judge(one)
		}
	}
	e.rHat, e.ess = worst.RHat, worst.ESS
	for c := range chains.Chains { // chain by chain, so that thinning takes the same share of each
		for i := range each {
			draw := i*chains.Chains + c
			mixture, logJacobian := stateOf(chains.Theta(draw)[:blockSize*size(draw)])
			s.draws = append(s.draws, kept{mixture, chains.LogDensity[draw] - logJacobian, c})
		}
	}
	return s
}

// changesOf counts the draws whose number of components differs from the previous draw. R-hat and
// effective draws do not show that a number is rarely left or entered: chains that all stay where
// burn-in has put them agree, and a visit that ends by the next draw looks independent.
func changesOf(chains *rjmcmc.Result) (changes int) {
	for draw := chains.Chains; draw < chains.Draws(); draw++ {
		if chains.Codes(draw)[0] != chains.Codes(draw - chains.Chains)[0] {
			changes++
		}
	}
	return changes
}

// occupy estimates the probabilities of numbers of components with rows from some of the draws.
func (s *Sample) occupy(random *rand.Rand) {
	p := s.problem
	s.occupied = make([]float64, p.Options.MaxComponents)
	draws := thinned(s.draws, summaryDraws)
	for _, d := range draws {
		logs, has := make([]float64, d.state.size()), make([]bool, d.state.size())
		count := 0
		for i := range p.Rows() {
			for j, c := range d.state.components {
				logs[j] = math.Log(c.weight) + p.family.logDensity(i, c)
			}
			if j := pick.Log(logs, random.Float64()); !has[j] {
				has[j] = true
				count++
			}
		}
		s.occupied[count-1] += 1 / float64(len(draws))
	}
}
