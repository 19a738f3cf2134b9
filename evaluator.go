package vti

import (
	"math"

	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/models"
)

// evaluator evaluates a target and its approximation q(m) q(θ | m). It implements models.Proposal.
type evaluator struct {
	*evaluate.Evaluator
	engine *models.Engine
	// around is the latest certificate by draws around modes, if it was not good enough as an
	// answer.
	around *models.Certificate
}

func newEvaluator(e *evaluate.Evaluator) *evaluator {
	created := &evaluator{Evaluator: e}
	created.engine = &models.Engine{Space: e.Target.Space(), LogPrior: e.LogPrior, Known: knownOf(e.Target), Q: created, Seed: e.Seed}
	return created
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
