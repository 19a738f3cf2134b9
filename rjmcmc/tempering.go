package rjmcmc

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/stream"
)

// Parallel tempering (Geyer 1991). Copy t of a chain samples
//
//	π_β(m, θ) ∝ p(m) g(θ)^(1−β) η(θ | m)^β,  1 = β_0 > … > β_{T−1} = 0,
//
// where g is a wide density of the active coordinates, whose tails reach modes that no chain has
// visited (flattest.go). At β = 0 models follow their prior, modes are not separated, and moves
// draw coordinates from g. After each iteration, neighbouring copies exchange their states with
// probability min(1, exp((β_t − β_{t+1}) (x_{t+1} − x_t))), x = log η − log g. The even and the odd
// pairs take turns, so that states can go straight from one end of the ladder to the other (Okabe
// et al. 2001). Burn-in chooses β so that all pairs refuse equally often (Syed et al. 2022).

// ladder holds the inverse temperatures of a run, from 1 to 0, and counts the exchanges of states
// between neighbouring temperatures.
type ladder struct {
	chains   int
	beta     []float64 // [T]
	flattest flattest  // g
	source   *rand.PCG // the state of random
	random   *rand.Rand

	tried, refused []float64 // attempted exchanges of each pair of neighbours, and expected refusals [T-1]
	replica        []replica // one per row
	roundTrips     int
}

// replica follows a state from temperature to temperature, to count its round trips.
type replica struct {
	left      bool // the state has been at the posterior
	returning bool // after that it has been at the highest temperature, and has not come back yet
}

// Settings of the ladder. Half or twice each value gives the same answers
// (docs/benchmarks/constants.md).
const (
	// firstPower sets the first inverse temperatures: evenly spaced numbers from 0 to 1, raised to
	// this power. When the β are chosen again, shares of refused exchanges are interpolated
	// linearly in β^(1/firstPower).
	firstPower = 3
	// leastRefused replaces the share of refused exchanges of a pair of temperatures if that share
	// is smaller. Otherwise temperatures whose exchanges are never refused would get the same β.
	leastRefused = 1e-3
)

func newLadder(cfg Config, dim int) *ladder {
	l := &ladder{
		chains: cfg.Chains, beta: make([]float64, cfg.Temperatures), flattest: newFlattest(dim),
		source: stream.Source(cfg.Seed, "rjmcmc/exchange"),
		tried:  make([]float64, cfg.Temperatures-1), refused: make([]float64, cfg.Temperatures-1), replica: make([]replica, cfg.Chains*cfg.Temperatures),
	}
	l.random = rand.New(l.source)
	for t := range l.beta {
		l.beta[t] = 1
		if t > 0 {
			l.beta[t] = math.Pow(1-float64(t)/float64(cfg.Temperatures-1), firstPower)
		}
	}
	return l
}

// inverseTemperature returns the β of a row.
func (l *ladder) inverseTemperature(row int) float64 { return l.beta[row/l.chains] }

// temper returns the log density of a state at the β of a row.
func (l *ladder) temper(row int, base, tilt float64) float64 {
	beta := l.inverseTemperature(row)
	if beta == 0 { // 0 · −Inf counts as 0
		return base
	}
	return base + beta*tilt
}

func (s *sampler) evaluate(p *population, b *block) error {
	logPrior, logJoint := p.base, p.tilt
	if err := s.density.eval(p, b, logPrior, logJoint); err != nil {
		return err
	}
	for row := b.first; row < b.last; row++ {
		_, theta, mask := p.row(row)
		reference := 0.0 // log g, which would cancel without tempering
		if len(s.beta) > 1 {
			reference = s.flattest.logDensity(theta, mask)
		}
		p.base[row], p.tilt[row] = logPrior[row]+reference, logJoint[row]-reference
		if s.inverseTemperature(row) == 0 && !(p.tilt[row] < math.Inf(1)) {
			p.tilt[row] = math.Inf(-1) // it is NaN or +Inf far from all modes, where densities underflow
		}
		p.logDensity[row] = s.temper(row, p.base[row], p.tilt[row])
	}
	return nil
}

// exchange proposes exchanges between every second pair of neighbours. The other pairs take their
// turn in the next iteration.
func (s *sampler) exchange(iteration int) {
	l := s.ladder
	if len(l.beta) == 1 {
		return
	}
	for t := iteration % 2; t+1 < len(l.beta); t += 2 {
		for c := range l.chains {
			cold, hot := t*l.chains+c, (t+1)*l.chains+c
			logRatio := s.logExchange(cold, hot)
			accepted := -l.random.ExpFloat64() < logRatio
			l.tried[t]++
			l.refused[t] -= math.Expm1(min(0, logRatio))
			if accepted {
				s.state.exchangeRows(cold, hot)
				l.replica[cold], l.replica[hot] = l.replica[hot], l.replica[cold]
				s.atStart[cold], s.atStart[hot] = s.atStart[hot], s.atStart[cold]
			}
		}
	}
	l.follow()
}

func (s *sampler) tiltRatio(cold, hot int) float64 {
	return (s.ladder.inverseTemperature(cold) - s.ladder.inverseTemperature(hot)) * (s.state.tilt[hot] - s.state.tilt[cold])
}

// follow updates the replicas and counts the states that have come back to the posterior.
func (l *ladder) follow() {
	for c := range l.chains {
		cold, hot := &l.replica[c], &l.replica[(len(l.beta)-1)*l.chains+c]
		if cold.returning {
			l.roundTrips++
		}
		*cold = replica{left: true}
		hot.returning = hot.left
	}
}

// renew sets g to the location and scale of the chains at temperature 1. It chooses the
// temperatures so that each pair of neighbours refuses the same share of exchanges, as estimated
// from the exchanges since the last renewal. Both changes alter the densities of all copies.
func (l *ladder) renew(posterior *Tuning) {
	for j := range l.flattest.scale {
		l.flattest.centre[j], l.flattest.scale[j] = posterior.BirthMean[j], posterior.BirthSD[j]
	}
	l.flattest.normalise()
	x := make([]float64, len(l.beta))       // β^(1/firstPower), ascending
	barrier := make([]float64, len(l.beta)) // sum of refusals up to x
	for k := range x {
		x[k] = math.Pow(l.beta[len(x)-1-k], 1.0/firstPower)
		if k > 0 {
			pair := len(x) - 1 - k
			barrier[k] = barrier[k-1] + math.Max(l.refused[pair]/math.Max(l.tried[pair], 1), leastRefused)
		}
	}
	segment := 1
	for k := 1; k+1 < len(x); k++ {
		wanted := barrier[len(x)-1] * float64(k) / float64(len(x)-1)
		for barrier[segment] < wanted {
			segment++
		}
		share := (wanted - barrier[segment-1]) / (barrier[segment] - barrier[segment-1])
		l.beta[len(x)-1-k] = math.Pow(x[segment-1]+share*(x[segment]-x[segment-1]), firstPower)
	}
	l.restart()
}

func (l *ladder) restart() {
	clear(l.tried)
	clear(l.refused)
	clear(l.replica)
	l.roundTrips = 0
}
