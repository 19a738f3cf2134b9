package networks

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/verdict"
)

// Judge lowers the verdict for three faults. The first is rough, the fraction of drawn graphs with
// a family (a node with its parents) whose evidence comes from a cheap pilot run only. The second
// is settling, the mean rise of log evidences, in nats, when particles move twice as long. The
// third is a probable family whose network can nearly reproduce the rows. The argument shares holds
// the posterior probabilities of the families.
func (s *Scores) Judge(v *verdict.Judgement, draws []score.Draw, shares []float64) (rough, settling float64) {
	total := 0.0
	for _, d := range draws {
		total += float64(d.Count)
		if slices.ContainsFunc(d.Families, func(f int) bool { return !s.known(f) }) {
			rough += float64(d.Count)
		}
	}
	rough /= total
	v.Limit(100*rough, 100*doubtfulRough, 100*failedRough, "%.3g%% of the graphs have a family whose evidence comes from a pilot run only")
	rise, se := s.settling()
	if math.Abs(rise) > math.Max(3*se, settledNats) {
		v.Limit(s.unsettled(draws), verdict.DoubtfulEventSE, verdict.FailedEventSE, "particles have not settled, and moving them longer may change an edge probability by %.2g")
	}
	if f := s.saturated(shares); f >= 0 {
		family := s.problem.Families[f]
		v.Lower(verdict.Doubtful, "a network of %d parents has %d weights for the %d rows of %q: it can nearly reproduce them, in modes that no particle may have met. --sigma gives the noise, fewer --hidden units or --max-parents take the weights away",
			family.Parents.Len(), s.weights(family), len(s.problem.Data.CountedRows(family.Node)), s.problem.Data.Names[family.Node])
	}
	return rough, rise
}

// weights returns the number of weights of the network of a family (a node with its parents).
func (s *Scores) weights(f dgraph.Family) int {
	model := s.problem.Model
	bias := 1 - int(dgraph.Indicator(model.NoBias))
	return model.Hidden*(f.Parents.Len()+bias) + model.Hidden + bias
}

// saturated returns the index of the family (a node with its parents) whose probability would grow
// most if its log evidence rose by saturatedNats, or −1 if no growth matters. It considers families
// with unknown noise and a network whose weights are not fewer than the rows. Such a network can
// nearly reproduce the rows with almost no noise, in modes that particles may miss.
func (s *Scores) saturated(shares []float64) int {
	largest, at := verdict.DoubtfulEventSE, -1
	for f, share := range shares {
		family := s.problem.Families[f]
		if s.problem.Model.Sigma != 0 || s.exact[f] || s.weights(family) < len(s.problem.Data.CountedRows(family.Node)) {
			continue
		}
		if gain := share*math.Exp(saturatedNats)/(1+share*math.Expm1(saturatedNats)) - share; gain > largest {
			largest, at = gain, f
		}
	}
	return at
}

// Drawn returns the number of all particles and the number of their groups in fine runs (islands).
func (s *Scores) Drawn() (particles, islands int) {
	return s.pilots*pilotChains*pilotSweeps + s.fine*fineChains*fineSweeps, s.fine
}

// unsettled returns the largest change of an edge probability if every log evidence rises by the
// gain that is expected from ever longer moves of particles. This gain is extrapolated from moves
// twice as long, and depends on the number of parents. The drawn graphs are reweighted by the rise.
func (s *Scores) unsettled(draws []score.Draw) (worst float64) {
	rise, _ := fitGaps(s.differences())
	nodes, graphs, gains := s.problem.Structure.Nodes, score.Weighted(draws), make([]float64, len(draws))
	before := dgraph.EdgeProbabilities(nodes, graphs)
	for k, d := range draws {
		gains[k] = math.Log(graphs[k].Probability)
		for _, f := range d.Families {
			gains[k] += SettlingSteps * rise(s.problem.Families[f].Parents.Len()) * dgraph.Indicator(!s.exact[f])
		}
	}
	for k, share := range logsum.Shares(gains) {
		graphs[k].Probability = share
	}
	for i, row := range dgraph.EdgeProbabilities(nodes, graphs) {
		worst = math.Max(worst, floats.Distance(row, before[i], math.Inf(1)))
	}
	return worst
}

// Parameters returns a source that draws parameters of a node given its parents (a family) from the
// posterior. A family that had no precise run gets one first.
func (s *Scores) Parameters(random *rand.Rand) score.ParameterSource {
	p, l := s.problem, s.problem.Layout()
	linear := *p
	linear.Model.Mechanism = sem.Linear
	rootNoise, linearLayout := linear.ExactParameters(p.Families)(random), linear.Layout()
	tables := map[int]pick.Table{}
	return func(f int) (theta []float64, number int) {
		if s.exact[f] {
			theta = make([]float64, l.Dim())
			if l.Sigma == 0 {
				root, _ := rootNoise(f)
				theta[l.Weights()] = linearLayout.LogSigma(root)
			}
			return theta, 0
		}
		if len(s.islands[f]) == 0 {
			s.islands[f] = []island{newNetworkFamily(p, p.Families[f]).temper(random, l, p.Families[f], fineChains, fineSweeps)}
		}
		table, known := tables[f]
		if !known {
			table = pick.NewTable(logsum.Shares(logEvidences(s.settled(f))))
			tables[f] = table
		}
		at := table.Index(random.Float64())
		thetas := s.settled(f)[at].Thetas
		return thetas[random.IntN(len(thetas))], at + 1
	}
}

const (
	doubtfulRough = 0.5 // share of graphs with a family that has no precise run
	failedRough   = 1
	// settledNats is the gain of log evidences from moves twice as long above which the effect of
	// the gain on edge probabilities is computed.
	settledNats = 0.5
	// saturatedNats is the log evidence that particles may miss in a network that can reproduce its
	// rows: twice the largest difference between runs for x1 in testdata/hald.csv.
	saturatedNats = 12
	// SettlingSteps is the gain of a log evidence expected from ever longer moves of particles, in
	// units of the gain from moves twice as long. The missing part of the log evidence is about
	// inversely proportional to the length of moves: two units for moves of length one, and one
	// unit for moves twice as long. SettlingSteps is the mean, because half of the runs have each
	// length.
	SettlingSteps = 1.5
)
