package rjmcmc

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/space"
)

// Info counts proposals and exchanges after burn-in.
type Info struct {
	// Proposed and Accepted count proposals by Move. A move that is impossible from a state (a Swap
	// when all sites agree) is not counted.
	Proposed, Accepted [numMoves]int
	// NonFinite counts proposals whose log density was NaN or +Inf. They were rejected.
	NonFinite int
	// Exchanges are the shares of accepted exchanges between neighbouring temperatures, the
	// posterior first. RoundTrips is the number of times that a state went from the posterior to
	// the highest temperature and back. Without tempering they are nil and 0. All other counts are
	// over the chains that sample the posterior only.
	Exchanges  []float64
	RoundTrips int
	// Discarded is the number of first draws dropped from every chain because at least one chain
	// had not yet reached the posterior from its starting point.
	Discarded int
	// AtStart is the number of kept draws that are still starting points. They come from chains
	// that accepted no move for more than half of the run. If AtStart is not 0,
	// [Result.LogDensitySummary] has an RHat of +Inf.
	AtStart int
}

// Acceptance returns the share of proposals of a kind that were accepted, NaN when there were none.
func (i Info) Acceptance(m Move) float64 {
	return float64(i.Accepted[m]) / float64(i.Proposed[m])
}

// add adds the counts of another run, or of a part of this run. Shares of accepted exchanges stay.
func (i *Info) add(other *Info) {
	for move := range i.Proposed {
		i.Proposed[move] += other.Proposed[move]
		i.Accepted[move] += other.Accepted[move]
	}
	i.NonFinite += other.NonFinite
	i.RoundTrips += other.RoundTrips
	i.Discarded = max(i.Discarded, other.Discarded)
}

func (i Info) nonFiniteShare() float64 {
	proposed := 0
	for _, n := range i.Proposed {
		proposed += n
	}
	return float64(i.NonFinite) / float64(max(1, proposed))
}

// Result holds the kept draws. Draw d belongs to chain d % Chains and to the kept iteration d /
// Chains, counted from 0.
type Result struct {
	// Chains is the number of chains C, Sites the number of sites S, Dim the number of coordinates
	// D.
	Chains, Sites, Dim int
	// BurnIn and Thin are the settings with their defaults filled in.
	BurnIn, Thin int
	// LogDensity is log p(m) + log η(θ | m) of each draw. [N], N the number of draws
	LogDensity []float64
	// Info counts proposals after burn-in. Tuning holds the tuning with which these were proposed.
	Info   Info
	Tuning Tuning

	ladder []float64 // inverse temperatures β [T]
	// tilt is the term of the log density that β multiplies, for all R rows (chains times
	// temperatures) at each kept iteration [N/C*R]; nil without tempering.
	tilt []float64
	// atStart is the number of chains that have not left their starting points, at each kept
	// iteration [N/C].
	atStart   []int
	discarded int       // Info.Discarded
	runs      []*Result // the joined runs; nil for one run

	codes []int32   // [N*S]
	theta []float64 // [N*D]
	mask  []bool    // [N*D]
}

// record keeps the states of the chains that sample the posterior, the first rows of p.
func (r *Result) record(p *population, atStart []bool) {
	r.codes = append(r.codes, p.codes[:r.Chains*r.Sites]...)
	r.theta = append(r.theta, p.theta[:r.Chains*r.Dim]...)
	r.mask = append(r.mask, p.mask[:r.Chains*r.Dim]...)
	r.LogDensity = append(r.LogDensity, p.logDensity[:r.Chains]...)
	if len(r.ladder) > 1 {
		for _, tilt := range p.tilt {
			if math.IsNaN(tilt) || math.IsInf(tilt, 1) {
				tilt = math.Inf(-1) // at β = 0 the target density may be 0
			}
			r.tilt = append(r.tilt, tilt)
		}
	}
	unmoved := apply.Where(r.Chains, func(chain int) bool { return atStart[chain] })
	r.atStart = append(r.atStart, len(unmoved))
}

// First returns the result of the first n draws of each chain. The draws share memory with r.
func (r *Result) First(n int) *Result { return r.between(0, n) }

// between returns the result of the draws from first to last-1 of each chain, which share memory
// with r.
func (r *Result) between(first, last int) *Result {
	some := *r
	from, to := first*r.Chains, last*r.Chains
	some.codes, some.theta, some.mask = r.codes[from*r.Sites:to*r.Sites], r.theta[from*r.Dim:to*r.Dim], r.mask[from*r.Dim:to*r.Dim]
	some.LogDensity, some.atStart = r.LogDensity[from:to], r.atStart[first:last]
	if len(r.ladder) > 1 {
		some.tilt = r.tilt[from*len(r.ladder) : to*len(r.ladder)]
	}
	return &some
}

// Draws returns N, the number of kept draws over all chains.
func (r *Result) Draws() int { return len(r.LogDensity) }

// Codes returns the model of a draw, length S. Read only.
func (r *Result) Codes(draw int) []int32 { return r.codes[draw*r.Sites : (draw+1)*r.Sites] }

// Theta returns the parameters of a draw, length D, 0 where inactive. Read only.
func (r *Result) Theta(draw int) []float64 { return r.theta[draw*r.Dim : (draw+1)*r.Dim] }

// Mask returns the mask of active coordinates of a draw, length D. Read only.
func (r *Result) Mask(draw int) []bool { return r.mask[draw*r.Dim : (draw+1)*r.Dim] }

// Summarise describes the posterior of any function of a draw, with its convergence diagnostics.
func (r *Result) Summarise(f func(draw int) float64) Summary {
	return Summarise(r.series(f))
}

// series returns f of every draw, [chains][draws].
func (r *Result) series(f func(draw int) float64) [][]float64 {
	return apply.UpTo(r.Chains, func(c int) []float64 {
		return apply.UpTo(r.Draws()/r.Chains, func(i int) float64 { return f(i*r.Chains + c) })
	})
}

// Inclusion summarises the indicator that coordinate j is active. Its Mean is a probability.
func (r *Result) Inclusion(j int) Summary {
	return r.summariseIndicator(func(d int) bool { return r.mask[d*r.Dim+j] })
}

// Outcome summarises the indicator that a site has an outcome.
func (r *Result) Outcome(site int, outcome int32) Summary {
	return r.summariseIndicator(func(d int) bool { return r.codes[d*r.Sites+site] == outcome })
}

// Contains summarises the indicator that item is a member of a model of a space of lists.
func (r *Result) Contains(item int32) Summary {
	return r.summariseIndicator(func(d int) bool {
		_, found := slices.BinarySearch(r.Codes(d), item)
		return found
	})
}

// Counts returns, for each item of a space of lists, the number of draws that have it as a member.
func (r *Result) Counts(items int) []int {
	counts := make([]int, items)
	for _, item := range r.codes {
		if int(item) < items {
			counts[item]++
		}
	}
	return counts
}

// LogDensitySummary summarises LogDensity. RHat is +Inf if some draws are starting points.
func (r *Result) LogDensitySummary() Summary {
	s := r.Summarise(func(d int) float64 { return r.LogDensity[d] })
	if r.unmoved() > 0 {
		s.RHat = math.Inf(1)
	}
	return s
}

// Model is a model that the chains visited.
type Model struct {
	Codes []int32 // [S]
	// Draws is the number of draws with this model.
	Draws int
	// Summary describes the indicator of the model: Mean is the model's posterior probability.
	Summary
}

// Models lists the visited models by decreasing probability (ties by code), at most limit of them;
// limit 0 lists all. Each model in the list costs a pass over the draws.
func (r *Result) Models(limit int) []Model {
	models, numbers := r.visited()
	order := rank.Order(len(models), func(a, b int) int {
		return cmp.Or(models[b].Draws-models[a].Draws, slices.Compare(models[a].Codes, models[b].Codes))
	})
	if limit > 0 && limit < len(order) {
		order = order[:limit]
	}
	sorted := make([]Model, len(order))
	for i, n := range order {
		sorted[i] = models[n]
		sorted[i].Summary = r.summariseIndicator(func(d int) bool { return numbers[d] == n })
	}
	return sorted
}

// Visited returns the number of different models among the draws.
func (r *Result) Visited() int {
	models, _ := r.visited()
	return len(models)
}

// visited lists the models in order of appearance; numbers holds, for each draw, the position of
// its model in the list.
func (r *Result) visited() (models []Model, numbers []int) {
	numbers = make([]int, r.Draws())
	known := map[string]int{}
	for d := range r.Draws() {
		key := space.Key(r.Codes(d))
		n, ok := known[key]
		if !ok {
			n = len(models)
			known[key] = n
			models = append(models, Model{Codes: slices.Clone(r.Codes(d))})
		}
		numbers[d] = n
		models[n].Draws++
	}
	return models, numbers
}

func (r *Result) summariseIndicator(f func(draw int) bool) Summary {
	s := r.Summarise(func(d int) float64 {
		if f(d) {
			return 1
		}
		return 0
	})
	s.MCSE = indicatorError(s, r.Chains)
	return s
}
