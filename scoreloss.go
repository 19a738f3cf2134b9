package vti

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/surrogate"
)

// newControl returns the surrogate of the control variate SurrogateMean: a table of the mean reward
// (negative loss) of each model.
func newControl(models ModelDistribution) (*modeldist.Surrogate, error) {
	table, ok := models.(*modeldist.Categorical)
	if !ok {
		return nil, fmt.Errorf("vti.Config: got q(m) of type %T, want a table for ControlVariate %s", models, SurrogateMean)
	}
	return modeldist.NewSurrogate(table.Cards(), modeldist.SurrogateConfig{Limit: table.Count(), Belief: modeldist.DiagonalBelief, Utility: surrogate.Mean})
}

// scoreLoss returns a scalar whose gradient with respect to q(m) estimates the gradient of the
// expected loss. It leaves out draws whose loss is not finite, and also returns their number. codes
// [B,S] holds the draws, loss [B] their losses and logModel [B] their log q(m).
func (t *trainer) scoreLoss(ctx *Context, codes, loss, logModel *Node) (scalar, nonFinite *Node) {
	cfg := &t.config
	switch cfg.ControlVariate {
	case Running:
		return gradest.ScoreFunction(loss, gradest.RunningMean(ctx.InAbsPath("/"+trainScope), loss), logModel)
	case SurrogateMean:
		g := loss.Graph()
		table := cfg.Models.(*modeldist.Categorical)
		logProbs := table.LogProbs(ctx.In(evaluate.ModelScope), g)
		// In the loss log h + log q(m) − log p(m) only log h = log q(θ | m) − log p(y, θ | m) is
		// unknown for a model that was not drawn. Its expectation under the surrogate is minus the
		// mean reward.
		expected := Sub(Sub(logProbs, Const(g, t.tablePrior)), t.control.Logits(ctx.InAbsPath(controlScope), g))
		expected = StopGradient(Where(IsFinite(expected), expected, ZerosLike(expected)))
		chosen := Gather(expected, InsertAxes(space.Index(table.Cards(), codes), -1))
		baseline := Add(chosen, gradest.LeaveOneOut(Sub(loss, chosen)))
		scalar, nonFinite = gradest.ScoreFunction(loss, baseline, logModel)
		return Add(scalar, gradest.ExpectedScore(logProbs, expected)), nonFinite
	case NoControl:
		return gradest.ScoreFunction(loss, ZerosLike(loss), logModel)
	}
	return gradest.ScoreFunction(loss, gradest.LeaveOneOut(loss), logModel)
}
