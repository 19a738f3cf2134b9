package networks

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// networkProblem returns a problem with data of the chain a → b → c and network mechanisms.
func networkProblem(t *testing.T, rows int, model score.ModelOptions) *score.Problem {
	model.Mechanism = sem.MLP
	p, err := score.NewProblem(dagtest.Chain(t, rows, tables.DataOptions{}), model, tables.Constraints{})
	require.NoError(t, err)
	return p
}

// naiveMarginal returns log N(y; 0, σ² I + σ0² ΦΦᵀ), with Φ computed from the weights, by a dense
// Cholesky factor.
func naiveMarginal(n *networkFamily, weights [][]float64, logSigma float64) float64 {
	rows := len(n.target)
	phi := mat.NewDense(rows, n.units(), nil)
	for i := range rows {
		for h, unitWeights := range weights {
			sum := 0.0
			for k, w := range unitWeights {
				sum += w * float64(n.inputs[k][i])
			}
			phi.Set(i, h, math.Max(sum, 0))
		}
		if n.bias {
			phi.Set(i, n.hidden, 1)
		}
	}
	covariance := mat.NewSymDense(rows, nil)
	covariance.SymOuterK(dgraph.Square(n.priorSD), phi)
	y := mat.NewVecDense(rows, nil)
	for i := range rows {
		covariance.SetSym(i, i, covariance.At(i, i)+math.Exp(2*logSigma))
		y.SetVec(i, float64(n.target[i]))
	}
	var cholesky mat.Cholesky
	cholesky.Factorize(covariance)
	var solved mat.VecDense
	if err := cholesky.SolveVecTo(&solved, y); err != nil {
		return math.Inf(-1)
	}
	return -mat.Dot(y, &solved)/2 - cholesky.LogDet()/2 - float64(rows)*score.HalfLog2Pi
}

// The likelihood with the output layer integrated out agrees with a naive computation, and moves
// keep the derived quantities of a state consistent with its weights.
func TestNetworkLikelihood(t *testing.T) {
	for _, model := range []score.ModelOptions{{Hidden: 3}, {Hidden: 2, NoBias: true, Sigma: 0.7, PriorSD: 2}} {
		p := networkProblem(t, 14, model)
		n := newNetworkFamily(p, dgraph.Family{Node: 2, Parents: dgraph.SetOf(0, 1)})
		random := dagtest.Random(4)
		mover := n.newMover(random)
		s := mover.emptyState()
		mover.drawPrior(s)
		for k := range 20 {
			want := naiveMarginal(n, s.weights, s.logSigma)
			require.InDelta(t, want, s.logLik, 2e-4*(1+math.Abs(want)), "after %d sweeps", k)
			mover.sweep(s, 1)
		}
		var point networkPoint
		point.record(s)
		other := mover.emptyState()
		point.restore(other)
		mover.fill(other)
		require.Equal(t, s.weights, other.weights)
		require.InDelta(t, s.logLik, other.logLik, 2e-4*(1+math.Abs(s.logLik)))
	}
}

// For a network with one hidden unit, the log evidence from 12 independent groups of particles
// agrees with a sum over a grid of the input weight, and of log σ if the noise σ is unknown. The
// tolerance is 5 standard errors, each below 0.3 nats. A likelihood without the determinant, or a
// prior of another width, would be off by more than a nat.
func TestParticlesAgainstQuadrature(t *testing.T) {
	for _, model := range []score.ModelOptions{{Hidden: 1, NoBias: true, Sigma: 0.6}, {Hidden: 1, NoBias: true}} {
		p := networkProblem(t, 20, model)
		f := dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)}
		n := newNetworkFamily(p, f)
		const step = 0.04
		var logs []float64
		for w := -5.0; w <= 5; w += step {
			add := func(logSigma, logPrior float64) {
				logs = append(logs, logNormalOf(w, 0, 1)+logPrior+naiveMarginal(n, [][]float64{{w}}, logSigma))
			}
			if model.Sigma > 0 {
				add(math.Log(model.Sigma), math.Log(step))
				continue
			}
			for logSigma := n.logSD - 4; logSigma < n.logSD+2; logSigma += step {
				add(logSigma, logNormalOf(logSigma, n.logSD, score.LogSigmaSD)+2*math.Log(step))
			}
		}
		want := logsum.Of(logs)
		var islands []island
		for k := range 12 {
			islands = append(islands, n.temper(dagtest.Random(uint64(k)), p.Layout(), f, fineChains, fineSweeps<<(k%2)))
		}
		got, se := combine(islands, 0.1)
		require.Less(t, se, 0.3)
		require.InDelta(t, want, got, 5*se)
	}
}

// For one hidden unit, the mean over drawn parameters of the slope of the unit (input weight times
// output weight) agrees with its posterior mean. The test computes this mean by quadrature over the
// input weight, given which the output weight is normal.
func TestParticleParameters(t *testing.T) {
	p := networkProblem(t, 20, score.ModelOptions{Hidden: 1, NoBias: true, Sigma: 0.6})
	f := dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)}
	n := newNetworkFamily(p, f)
	var total, mean float64
	for w := -5.0; w <= 5; w += 0.02 {
		var gram, pull float64
		for i, x := range n.inputs[0] {
			output := math.Max(w*float64(x), 0)
			gram, pull = gram+output*output, pull+output*float64(n.target[i])
		}
		weight := math.Exp(logNormalOf(w, 0, 1) + naiveMarginal(n, [][]float64{{w}}, math.Log(0.6)) + 20)
		total += weight
		mean += weight * w * (pull / 0.36) / (gram/0.36 + 1)
	}
	mean /= total
	l := p.Layout()
	var sum, squares, count float64
	for k := range 20 {
		for _, theta := range n.temper(dagtest.Random(uint64(k)), l, f, fineChains, fineSweeps).Thetas {
			product := theta[0] * theta[l.W2()]
			sum, squares, count = sum+product, squares+product*product, count+1
		}
	}
	sum /= count
	// Particles of a group have common ancestors; they count as if a quarter of them were
	// independent. The groups have equal weights, because their evidences differ little.
	require.InDelta(t, mean, sum, 5*math.Sqrt((squares/count-sum*sum)/(count/4)))
}

// Evidences of families (nodes with sets of parents) without a run are predicted from families with
// fewer parents. The prediction is exact if log evidences are sums over parents.
func TestPredictedScores(t *testing.T) {
	p := networkProblem(t, 10, score.ModelOptions{})
	s := NewScores(p, 1, 0, func(string) {})
	known := make([]float64, len(p.Families))
	for i, f := range p.Families {
		for parent := range f.Parents.Nodes() {
			known[i] += float64(parent + 1)
		}
	}
	for i, f := range p.Families {
		if f.Parents.Len() == 2 {
			require.InDelta(t, known[i], s.predict(f, known, true), 1e-12)
			require.InDelta(t, known[i], s.predict(f, known, false), 1e-12)
		}
	}
}

// If the log evidences of the islands (groups of particles) of a family differ by nats, its next
// islands have a higher level, with longer moves. As soon as there are levelCounts islands of the
// higher level, only they estimate the evidence.
func TestIslandLevels(t *testing.T) {
	s := &Scores{islands: make([][]island, 1), Listed: true}
	add := func(count, level int, spread float64) {
		for k := range count {
			s.islands[0] = append(s.islands[0], island{LogEvidence: spread * float64(k%2), Level: level})
		}
	}
	require.Zero(t, s.nextLevel(0))
	add(11, 0, 1.6)
	require.Zero(t, s.nextLevel(0))
	add(1, 0, 1.6)
	require.Equal(t, 1, s.nextLevel(0))
	add(3, 1, 4)
	require.Equal(t, s.islands[0][:12], s.settled(0))
	require.Equal(t, 1, s.nextLevel(0))
	add(1, 1, 4)
	require.Equal(t, s.islands[0][12:], s.settled(0))
	require.Equal(t, 2, s.nextLevel(0), "four differ by enough")
	add(8, 1, 4)
	require.Equal(t, 2, s.nextLevel(0))
	add(20, 2, 4)
	require.Equal(t, s.islands[0][24:], s.settled(0))
	require.Equal(t, 2, s.nextLevel(0))
	s.islands[0] = nil
	add(40, 0, 0.5)
	require.Zero(t, s.nextLevel(0))

	s.islands[0], s.exact, s.most, s.spent = nil, make([]bool, 1), 17, 7
	add(12, 0, 1.6)
	graphs := &score.Posterior{Scores: score.Scores{SE: []float64{3}}, Marginals: []float64{0.5}}
	require.Len(t, s.worst(graphs), 2, "two of four units each fit into ten")
}

// If the log odds of a probability have a normal error, [score.Swing] approximates the root mean
// square change of the probability. It is between 0.5 and 1.3 times an integral over the error, and
// for small errors proportional to the error. Two sets of parents have a probability of 5e-4. The
// set whose log evidence has an error of 3 nats gets further runs, the set with 0.1 nats none.
func TestSwing(t *testing.T) {
	for _, p := range []float64{5e-4, 0.1, 0.5, 0.97} {
		require.InEpsilon(t, p*(1-p)*1e-3, score.Swing(p, 1e-3), 1e-4)
		for _, se := range []float64{0.1, 1, 3} {
			squares := 0.0
			const step = 0.01
			for z := -9.0; z < 9; z += step {
				moved := 1 / (1 + math.Exp(-se*z)*(1-p)/p)
				squares += step * math.Exp(logNormalOf(z, 0, 1)) * dgraph.Square(moved-p)
			}
			want := math.Sqrt(squares)
			require.Greater(t, score.Swing(p, se), want/2, "%v %v", p, se)
			require.Less(t, score.Swing(p, se), want*1.3, "%v %v", p, se)
		}
	}
	require.Zero(t, score.Swing(0, 3))
	require.Zero(t, score.Swing(1, 3))
	s := &Scores{islands: make([][]island, 2), exact: make([]bool, 2), most: 17}
	graphs := &score.Posterior{Scores: score.Scores{SE: []float64{3, 0.1}}, Marginals: []float64{5e-4, 5e-4}}
	require.Equal(t, []int{0, 0}, s.worst(graphs))
}

// pilotError computes the standard deviation of log evidences by pilot runs from their bias. It
// agrees, within a factor of 1.5, with the standard deviation over 60 pilot runs; the bias is their
// mean distance from precise runs.
func TestPilotErrors(t *testing.T) {
	testkit.Slow(t)
	s := sem.Simulation{Mechanism: sem.MLP, Nodes: 6, Rows: 300, Seed: 3}.WithDefaults()
	simulated, err := sem.Simulate(s)
	require.NoError(t, err)
	data := &tables.Data{Names: simulated.Names, X: mat.NewDense(s.Rows, s.Nodes, nil), Scaling: tables.Unscaled}
	for i, row := range simulated.Values {
		data.X.SetRow(i, row)
	}
	p, err := score.NewProblem(data, score.ModelOptions{Mechanism: sem.MLP, Hidden: s.Hidden, NoBias: true, Sigma: s.Noise}, tables.Constraints{})
	require.NoError(t, err)
	for node := range s.Nodes {
		f := dgraph.Family{Node: node, Parents: dgraph.SetOf(rank.UpTo(s.Nodes)...).Without(node)}
		n := newNetworkFamily(p, f)
		var islands []island
		for k := range 20 {
			islands = append(islands, n.temper(dagtest.Random(uint64(k)), p.Layout(), f, fineChains, fineSweeps<<(k%2)))
		}
		truth, _ := combine(islands, 1)
		var pilots []float64
		for k := range 60 {
			pilots = append(pilots, n.temper(dagtest.Random(uint64(1000+k)), p.Layout(), f, pilotChains, pilotSweeps).LogEvidence)
		}
		mean, spread := meanAndSpread(pilots, 0)
		t.Logf("node %d: pilot runs are %.1f too small, and have a standard deviation of %.1f; by the gap %.1f", node, truth-mean, spread, pilotError(truth-mean, 0))
		require.Greater(t, pilotError(truth-mean, 0), spread/1.5)
		require.Less(t, pilotError(truth-mean, 0), spread*1.5)
	}
	require.Equal(t, 0.3, pilotError(-1, 0.3))
	// The log evidence of a pilot run was 20.6 nats too small, when pilot runs were 12 nats too
	// small on average, so that a probability of ½ seemed to be 1e-6. The error computed from the
	// 12 nats is large enough for further runs.
	require.Greater(t, score.Swing(1e-6, pilotError(12, 3)), wantedSpread)
	require.Less(t, score.Swing(1e-6, 3), wantedSpread)
}

// A line is fitted to the gaps between log evidences by precise and by pilot runs, as a function of
// the number of parents. For gaps on a line, the fitted line is near them. If all families have the
// same number of parents, the fitted line is constant at the mean gap.
func TestFitGaps(t *testing.T) {
	shift, scatter := fitGaps([]float64{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, []float64{0, 5, 10, 15, 0, 5, 10, 15, 0, 5, 10, 15})
	require.InDelta(t, 20, shift(5), 1.5)
	require.Less(t, scatter, 1.0)
	shift, scatter = fitGaps([]float64{2, 2}, []float64{3, 5})
	require.InDelta(t, 4, shift(2), 1e-12)
	require.InDelta(t, 4, shift(7), 1e-12)
	require.Equal(t, 3.0, scatter)
}

// The test sets the gain of log evidences from longer moves of particles: zero for all sets of
// parents, or 30 nats for each parent after the first. Only the second gain changes an edge
// probability by more than 0.1.
func TestUnsettledParticles(t *testing.T) {
	p := networkProblem(t, 10, score.ModelOptions{})
	for _, test := range []struct {
		rise float64 // rise of the log evidence for each parent after the first
		want bool
	}{{0, false}, {30, true}} {
		s := NewScores(p, 1, 0, func(string) {})
		scores := score.Scores{Families: p.Families, LogEvidence: make([]float64, len(p.Families)), SE: make([]float64, len(p.Families))}
		for i, f := range p.Families {
			if !s.exact[i] {
				s.islands[i] = []island{{LogEvidence: -5}, {LogEvidence: -5 + test.rise*float64(f.Parents.Len()-1)}}
			}
		}
		graphs, err := score.NewPosterior(context.Background(), p.Structure, scores, nil)
		require.NoError(t, err)
		draws, err := graphs.Sample(t.Context(), dagtest.Random(2), 1000)
		require.NoError(t, err)
		require.Equal(t, test.want, s.unsettled(draws) > 0.1)
	}
}

// A network whose weights are not fewer than the rows may have modes that no particle meets, unless
// the noise is known or the set of parents is far from probable.
func TestSaturatedFamilies(t *testing.T) {
	for _, test := range []struct {
		rows  int
		share float64
		model score.ModelOptions
		want  bool
	}{
		{10, 0.1, score.ModelOptions{Hidden: 3}, true}, // 3·(2+1)+4 = 13 weights with two parents, 10 with one parent
		{10, 0.1, score.ModelOptions{Hidden: 3, NoBias: true}, false},
		{10, 1e-8, score.ModelOptions{Hidden: 3}, false},
		{10, 0.1, score.ModelOptions{Hidden: 3, Sigma: 1}, false},
		{14, 0.1, score.ModelOptions{Hidden: 3}, false},
		{14, 0.1, score.ModelOptions{Hidden: 4}, true},
	} {
		p := networkProblem(t, test.rows, test.model)
		shares := make([]float64, len(p.Families))
		for i := range shares {
			shares[i] = test.share
		}
		require.Equal(t, test.want, NewScores(p, 1, 0, nil).saturated(shares) >= 0, "%+v", test)
	}
}

// If a hidden unit reproduces the values of a node exactly, the likelihood still falls as the noise
// σ goes to zero, and rounding errors do not change that.
func TestNetworksThatInterpolate(t *testing.T) {
	l := newNetworkLikelihood(1, 3, 1, 1)
	for _, pull := range []float64{1 - 1e-8, 1, 1 + 1e-8} {
		small, tiny := l.logLikelihood([]float64{1}, []float64{pull}, -6), l.logLikelihood([]float64{1}, []float64{pull}, -16)
		require.Less(t, tiny, small, "pull %v", pull)
		// With noise the likelihood agrees with its formula, for a unit vector x_j and an output Φ
		// that is a unit vector at an angle to x_j whose cosine is pull.
		sigma := 0.3
		variance := 1 + sigma*sigma
		exact := -3*score.HalfLog2Pi - 2*math.Log(sigma) - math.Log(variance)/2 - (1-pull*pull)/(2*sigma*sigma) - pull*pull/(2*variance)
		require.InDelta(t, exact, l.logLikelihood([]float64{1}, []float64{pull}, math.Log(sigma)), 1e-12)
	}
}

// liftOfTwo approximates the mean difference between the logarithm of the mean of two evidences and
// the logarithm of one evidence, within 0.2 nats.
func TestLiftOfTwo(t *testing.T) {
	random := dagtest.Random(1)
	for _, sd := range []float64{0.3, 1, 2, 3, 4.5, 6} {
		const count = 200_000
		sum := 0.0
		for range count {
			sum += logsum.Of([]float64{sd * random.NormFloat64(), sd * random.NormFloat64()}) - math.Ln2
		}
		require.InDelta(t, sum/count, liftOfTwo(sd), 0.2, "sd %v", sd)
	}
}

// A family (a node with a set of parents) gets one more pilot run if its evidence may be much too
// small by chance. A family that is far too improbable gets no further run.
func TestUnluckyPilotsAreRepeated(t *testing.T) {
	p := networkProblem(t, 10, score.ModelOptions{})
	s := NewScores(p, 1, 0, func(string) {})
	var larger []int
	for i, f := range p.Families {
		if f.Parents.Len() == 2 {
			larger = append(larger, i)
		}
	}
	s.pilot[larger[0]], s.pilot[larger[1]] = -40, -90
	graphs := &score.Posterior{Scores: score.Scores{SE: make([]float64, len(p.Families))}, Marginals: make([]float64, len(p.Families))}
	graphs.Marginals[larger[0]], graphs.Scores.SE[larger[0]] = 1.6e-7, 4
	graphs.Marginals[larger[1]], graphs.Scores.SE[larger[1]] = 1e-30, 4
	require.Less(t, score.Swing(1.6e-7, 4), wantedSpread, "by its error alone it would get no islands")
	require.Equal(t, larger[:1], s.doubts(graphs))
	require.NoError(t, s.repeatPilots(t.Context(), larger[:1]))
	require.Greater(t, s.pilot[larger[0]], -40.0, "networks on ten rows are not that improbable")
	require.Empty(t, s.doubts(graphs))
}

func logNormalOf(x, mean, sd float64) float64 {
	return -dgraph.Square((x-mean)/sd)/2 - math.Log(sd) - score.HalfLog2Pi
}

// After the time limit no precise runs begin, but nodes with few parents still get pilot runs.
func TestParticlesEndInTime(t *testing.T) {
	s := NewScores(networkProblem(t, 10, score.ModelOptions{}), 1, 0, func(string) {})
	s.MaxTime = time.Nanosecond
	_, err := s.Estimate(t.Context())
	require.NoError(t, err)
	require.Zero(t, s.fine)
	require.Positive(t, s.pilots)
}
