package mixture

import (
	"cmp"
	gocontext "context"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/rjmcmc"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// SampleConfig sets the length of sampling. The zero value is ready to use.
type SampleConfig struct {
	// Seed is the seed of all random numbers.
	Seed uint64
	// Sweeps is the largest number of sweeps of each sampler (default 400,000).
	Sweeps int
	// Error is the largest standard error of p(k | data) at which sampling ends (default 0.002).
	Error float64
	// Progress, if not nil, is called with the number of sweeps done and the largest standard
	// error.
	Progress func(sweeps int, se float64)
}

// Constants of sampling. Half or twice each constant gives the same answers
// (docs/benchmarks/constants.md).
const (
	samplers = 4 // number of samplers of each method
	// roundSweeps is the number of sweeps in a round, unless fewer sweeps are requested in all.
	// Standard errors come from the means of rounds, so a round must be long compared with the
	// autocorrelation time of a sampler. With 2,000 instead of 4,000 sweeps an error of 0.01 takes
	// half the time on two tables, and standard errors stay right.
	roundSweeps  = 2000
	roundShare   = 20 // a round has at most 1/roundShare of all sweeps
	burnInRounds = 1
	fewestRounds = 6
	tiesRounds   = 2  // number of rounds after which sampling ends if it finds only components of equal values
	traceEvery   = 20 // number of sweeps between kept states

	// The verdict ignores numbers of components with a probability below rare.
	rare = 0.001
)

// estimate is the estimate of p(k | data) by one method.
type estimate struct {
	// probability[k-1] estimates p(k | data). Its standard error se[k-1] comes from means of
	// rounds.
	probability, se []float64
	rHat, ess       float64
	batches         [][]float64
	trace           [][]float64 // numbers of components or clusters, a row for each sampler
}

// largest returns the largest standard error.
func (e *estimate) largest() float64 { return slices.Max(e.se) }

// summarize computes the means, errors and diagnostics.
func (e *estimate) summarize() {
	size, column := len(e.batches[0]), make([]float64, len(e.batches))
	e.probability, e.se = make([]float64, size), make([]float64, size)
	for k := range size {
		for i, b := range e.batches {
			column[i] = b[k]
		}
		e.probability[k], e.se[k] = stat.MeanStdDev(column, nil)
		e.se[k] = stat.StdErr(e.se[k], float64(len(column)))
	}
	s := rjmcmc.Summarise(e.trace)
	e.rHat, e.ess = s.RHat, s.ESS
	count := float64(len(e.trace) * len(e.trace[0]))
	e.ess = math.Min(e.ess, count)
	if math.IsNaN(s.RHat) { // the number of components never changed in any sampler
		e.rHat, e.ess = 1, count
	}
}

// kept is a stored draw of a chain.
type kept struct {
	state state
	logP  float64
	chain int
}

// Sample holds the results of both methods.
type Sample struct {
	// Sweeps is the number of sweeps of each sampler after burn-in.
	Sweeps int

	problem          *Problem
	jumping, cluster estimate
	draws            []kept
	// occupied[t-1] is the posterior probability that t components have rows.
	occupied []float64
}

// Sample draws by two methods until both estimate p(k | data) to within the requested standard
// error.
func (p *Problem) Sample(ctx gocontext.Context, cfg SampleConfig) (*Sample, error) {
	cfg.Sweeps = cmp.Or(cfg.Sweeps, 400_000)
	cfg.Error = cmp.Or(cfg.Error, 0.002)
	length := max(1, min(roundSweeps, cfg.Sweeps/roundShare))
	order := rank.Order(p.Rows(), func(a, b int) int { return cmp.Compare(p.columns[0].y[a], p.columns[0].y[b]) })
	s := &Sample{problem: p, occupied: make([]float64, p.Options.MaxComponents)}
	chains, partitions := make([]*chain, samplers), make([]*partition, samplers)
	for c := range samplers {
		// Samplers start from different numbers of components, from one to the largest number.
		size := min(p.Rows()/2+1, 1+c*(p.Options.MaxComponents-1)/(samplers-1))
		chains[c] = p.newChain(p.start(order, size), stream.Rand(cfg.Seed, "chain/"+string(rune('a'+c))))
		partitions[c] = p.newPartition(order, size, stream.Rand(cfg.Seed, "partition/"+string(rune('a'+c))))
	}
	s.jumping.trace, s.cluster.trace = make([][]float64, samplers), make([][]float64, samplers)
	for round := 0; ; round++ {
		rounds := make([]roundResult, 2*samplers)
		err := parallel.Do(2*samplers, func(i int) error {
			if i < samplers {
				rounds[i] = chains[i].round(i, length)
			} else {
				rounds[i] = partitions[i-samplers].round(length)
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
		if round < burnInRounds {
			continue
		}
		s.Sweeps += length
		for i, r := range rounds {
			e := &s.jumping
			if i >= samplers {
				e = &s.cluster
				for t, share := range r.occupied {
					s.occupied[t] += share
				}
			}
			e.batches = append(e.batches, r.probability)
			e.trace[i%samplers] = append(e.trace[i%samplers], r.trace...)
			s.draws = append(s.draws, r.draws...)
		}
		hopeless := round >= tiesRounds && s.spiked().hopeless()
		if round < fewestRounds && !hopeless {
			continue
		}
		s.jumping.summarize()
		s.cluster.summarize()
		se := math.Max(s.jumping.largest(), s.cluster.largest())
		if cfg.Progress != nil {
			cfg.Progress(s.Sweeps, se)
		}
		if se <= cfg.Error && math.Max(s.jumping.rHat, s.cluster.rHat) <= 1.01 || s.Sweeps+length > cfg.Sweeps || hopeless {
			break
		}
	}
	floats.Scale(1/floats.Sum(s.occupied), s.occupied)
	return s, nil
}

// cut divides a list of rows into parts of nearly equal size.
func cut(order []int, parts int) [][]int {
	return apply.UpTo(parts, func(j int) []int { return order[j*len(order)/parts : (j+1)*len(order)/parts] })
}

// start returns a state of size components, each fitted to an equal number of rows.
func (p *Problem) start(order []int, size int) state {
	s := state{beta: p.family.startHyper()}
	for _, rows := range cut(order, size) {
		one := p.family.start(rows)
		one.weight = 1 / float64(size)
		s.components = append(s.components, one)
	}
	s.sort()
	return s
}

// roundResult is the result of one round of one sampler.
type roundResult struct {
	probability, trace, occupied []float64
	draws                        []kept
}

func (c *chain) round(number, length int) roundResult {
	r := roundResult{probability: make([]float64, c.p.Options.MaxComponents)}
	for sweep := range length {
		c.sweep()
		r.probability[c.state.size()-1] += 1 / float64(length)
		if sweep%traceEvery == 0 {
			r.trace = append(r.trace, float64(c.state.size()))
			r.draws = append(r.draws, kept{c.state.clone(), c.p.logPrior(&c.state) + c.logLik, number})
		}
	}
	return r
}

func (s *partition) round(length int) roundResult {
	r := roundResult{probability: make([]float64, s.p.Options.MaxComponents), occupied: make([]float64, s.p.Options.MaxComponents)}
	for sweep := range length {
		s.sweep()
		for k, share := range s.componentsGiven[len(s.counts)] {
			r.probability[k] += share / float64(length)
		}
		r.occupied[len(s.counts)-1] += 1 / float64(length)
		if sweep%traceEvery == 0 {
			r.trace = append(r.trace, float64(len(s.counts)))
		}
	}
	return r
}

// combined returns the precision-weighted mean of p(k | data) over both methods, and its standard
// errors.
func (s *Sample) combined() (probability, se []float64) {
	precision := func(e *estimate) float64 {
		total := 1e-12
		for _, x := range e.se {
			total += x * x
		}
		return 1 / total
	}
	a := precision(&s.jumping) / (precision(&s.jumping) + precision(&s.cluster))
	for k, p := range s.jumping.probability {
		probability = append(probability, a*p+(1-a)*s.cluster.probability[k])
		se = append(se, math.Hypot(a*s.jumping.se[k], (1-a)*s.cluster.se[k]))
	}
	return probability, se
}

// disagreement returns the largest difference between the methods, in standard errors, and the
// number of components with this difference. It ignores numbers of components whose probability is
// below the constant rare by both methods.
func (s *Sample) disagreement() (sigmas float64, components int) {
	for k, p := range s.jumping.probability {
		q := s.cluster.probability[k]
		if math.Max(p, q) < rare {
			continue
		}
		if d := math.Abs(p-q) / math.Hypot(s.jumping.se[k], s.cluster.se[k]); d > sigmas {
			sigmas, components = d, k+1
		}
	}
	return sigmas, components
}
