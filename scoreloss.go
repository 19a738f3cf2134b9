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

// newControl returns the surrogate whose mean is the control variate. Its table holds the means.
func newControl(models ModelDistribution) (*modeldist.Surrogate, error) {
	table, ok := models.(*modeldist.Categorical)
	if !ok {
		return nil, fmt.Errorf("vti.Config: got q(m) of type %T, want a table for ControlVariate %s", models, SurrogateMean)
	}
	return modeldist.NewSurrogate(table.Cards(), modeldist.SurrogateConfig{Limit: table.Count(), Belief: modeldist.DiagonalBelief, Utility: surrogate.Mean})
}

// scoreLoss returns a scalar with the gradient of the expected loss with respect to q(m), and the
// number of draws that it leaves out: loss and logModel [B], codes [B,S].
func (t *trainer) scoreLoss(ctx *Context, codes, loss, logModel *Node) (scalar, nonFinite *Node) {
	cfg := &t.config
	switch cfg.ControlVariate {
	case Running:
		return gradest.ScoreFunction(loss, gradest.RunningMean(ctx.InAbsPath("/"+trainScope), loss), logModel)
	case SurrogateMean:
		g := loss.Graph()
		table := cfg.Models.(*modeldist.Categorical)
		logProbs := table.LogProbs(ctx.In(evaluate.ModelScope), g)
		// In the loss log h + log q − log p only log h is unknown; its expectation is −μ.
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
