package vti

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/models"
)

// TestRoundWithoutWeightsCanBeWritten checks that the plan of a round in which no draw has weight
// can be stored. Such rounds occur, for example, for robust regressions on lists of predictors.
func TestRoundWithoutWeightsCanBeWritten(t *testing.T) {
	s := &solver{t: &trainer{}, target: newNormals(t, 1), cfg: SolveConfig{Precision: 0.01}}
	nan := math.NaN()
	round := s.report(&weighing{Certificate: &Certificate{Verdict: Failed, KHat: nan, ESS: nan, LogEvidence: nan}}, false)
	require.Zero(t, round.ESS)
	_, err := json.Marshal(s.plan)
	require.NoError(t, err)
}

// If a trusted certificate is slightly less precise than requested, a certificate of more draws
// follows once, instead of training.
func TestCertificatesThatFallShortAreEnlarged(t *testing.T) {
	s := &solver{cfg: SolveConfig{Certify: CertifyConfig{Draws: 1 << 15}}}
	s.plan.Rounds = []SolveRound{{Draws: 1 << 13, Shortage: 3.9}}
	require.Equal(t, 1<<15, s.draws())
	s.plan.Rounds = append(s.plan.Rounds, SolveRound{Full: true, Verdict: Trusted, Draws: 1 << 15, Shortage: 1.5})
	require.False(t, s.enlarged(1))
	require.Equal(t, 3<<15, s.draws())
	s.plan.Rounds = append(s.plan.Rounds, SolveRound{Full: true, Verdict: Trusted, Draws: 3 << 15, Shortage: 1.1})
	require.True(t, s.enlarged(1))
}

// TestNetworksAreCertifiedAtOnce checks that only a run that begins with the answer of a network
// and needs confirmation by chains starts with a full certificate. A full certificate without a
// previous round must have fewestDraws draws, or CertifyConfig.Draws if that is smaller.
func TestNetworksAreCertifiedAtOnce(t *testing.T) {
	begun, confirmed := &Config{Begin: &Beginning{}}, SolveConfig{Certify: CertifyConfig{Confirm: true}}
	for _, c := range []struct {
		cfg  SolveConfig
		fit  *Config
		next stage
	}{{confirmed, begun, certifying}, {SolveConfig{}, begun, checking}, {confirmed, &Config{}, checking}} {
		c.cfg.Fit = *c.fit
		s := &solver{cfg: c.cfg, t: &trainer{evaluator: newEvaluator(&evaluate.Evaluator{Target: newNormals(t, 2)})}}
		require.Equal(t, c.next, s.firstStage())
	}
	s := &solver{cfg: SolveConfig{Certify: CertifyConfig{Draws: 1 << 18}}}
	require.Equal(t, fewestDraws, s.draws())
	s.cfg.Certify.Draws = 100
	require.Equal(t, 100, s.draws())
}

// TestNothingIsTrainedBesideASum checks the stage after an exact sum with a poor q: a run that
// began with the answer of a network must end, and any other run must train.
func TestNothingIsTrainedBesideASum(t *testing.T) {
	for _, beginning := range []*Beginning{nil, {}} {
		s := &solver{t: &trainer{config: Config{Steps: 100}}, cfg: SolveConfig{Fit: Config{Begin: beginning}}, best: &weighing{Certificate: &Certificate{Complete: true}}}
		require.NoError(t, s.afterSum(SolveRound{Divergence: 3}))
		require.Equal(t, beginning != nil, s.plan.Next == finished)
	}
}

// TestAdviceSaysHowLong checks that advice states the time of the proposed work and the required
// k̂.
func TestAdviceSaysHowLong(t *testing.T) {
	s := &solver{t: &trainer{evaluator: newEvaluator(&evaluate.Evaluator{Target: newNormals(t, 2)}), config: Config{Steps: 100}, step: 50}, best: &weighing{Certificate: &Certificate{Verdict: Failed, KHat: 1.25}}}
	s.plan = plan{Trained: 1, Rounds: []SolveRound{
		{Work: Training, Steps: 50, Draws: 1000, Seconds: 10}, {Work: Weighing, Steps: 50, Draws: 1000, Seconds: 2},
	}}
	require.Regexp(t, `the next round of training has \d+ steps, which take about .*s here; k̂ must fall from 1\.25 to 0\.7, and the number`, s.advice())
	s.best.KHat = math.NaN() // as in a certificate by chains
	require.NotContains(t, s.advice(), "k̂")
	s.time, s.plan.CutShort = budget.Start(10*time.Second), true
	require.Contains(t, s.advice(), "were stopped after 6s")
	s.plan.CutShort = false
	s.t.step, s.plan.Unhelpful = 100, patience
	require.Contains(t, s.advice(), "four times as many draws, for longer chains, which take about 8s here")
}

type exactNormals struct{ normals }

func (n exactNormals) Known() models.Known { return models.Known{Evidences: models.FromExact(n)} }

func (exactNormals) LogEvidences(context.Context, [][]int32) ([]float64, error) { return nil, nil }

func (exactNormals) SampleParameters([]int32, int, *rand.Rand) (*mat.Dense, []float64, error) {
	return nil, nil, nil
}

// TestAdviceOnManyModels checks the advice if models are weighted without parameters: another fit
// of q(m), or fewer predictors if hardly any model was drawn twice.
func TestAdviceOnManyModels(t *testing.T) {
	s := &solver{t: &trainer{evaluator: newEvaluator(&evaluate.Evaluator{Target: exactNormals{newNormals(t, 2)}}), config: Config{Steps: 100}}}
	s.plan.Rounds = []SolveRound{{Work: Starting, Draws: 1000, Seconds: 3}}
	s.best = &weighing{Certificate: &Certificate{Verdict: Doubtful, KHat: 0.6, Draws: 1000, ModelsChecked: 400, ESS: 200}}
	require.Equal(t, "another fit of q(m) to the models found, and weights of new draws, which take about 3s here", s.advice())
	s.best.ModelsChecked = 800
	require.Contains(t, s.advice(), "1000 draws were of 800 different models")
	s.plan.ByDraws = true
	require.Contains(t, s.advice(), "the next round of training")
	s.t.step, s.plan.Unhelpful = 100, patience
	require.Regexp(t, "^fewer predictors.*: 1000 draws were of 800 different models.*; training does not help any more", s.advice())
}

// When the time limit passes in training, the last certificate follows without further training.
func TestLastCertificateFollowsTraining(t *testing.T) {
	s := &solver{t: &trainer{evaluator: newEvaluator(&evaluate.Evaluator{Target: newNormals(t, 2)}), config: Config{Steps: 100}, step: 50}, last: &weighing{Certificate: &Certificate{}}}
	s.plan.Last = true
	require.NoError(t, s.next(t.Context(), SolveRound{KHat: 0.9, ESS: 10, Draws: 1000}, nil))
	require.Equal(t, certifying, s.plan.Next)
	require.Contains(t, s.plan.Why, "the time for training is over")
}

// A certificate that failed does not take the place of a doubtful certificate; any other
// certificate does.
func TestDoubtfulAnswerStays(t *testing.T) {
	of := func(verdict Verdict) *weighing { return &weighing{Certificate: &Certificate{Verdict: verdict}} }
	for _, c := range []struct {
		best, next Verdict
		stays      bool
	}{{Doubtful, Failed, true}, {Failed, Failed, false}, {Doubtful, Doubtful, false}, {Trusted, Failed, false}, {Failed, Doubtful, false}} {
		s := &solver{best: of(c.best)}
		before, next := s.best, of(c.next)
		s.keep(next)
		require.Equal(t, c.stays, s.best == before, c)
		require.Equal(t, c.stays, s.best != next, c)
	}
	s, first := &solver{}, of(Failed)
	s.keep(first)
	require.Same(t, first, s.best)
}
