package vti

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/surrogate"
)

// ControlVariate says what is subtracted from the losses in the score-function gradient of q(m)
// (eq. 18, 19). None of them biases it.
type ControlVariate int

const (
	// LeaveOneOut subtracts from each loss the mean of the others of its batch.
	LeaveOneOut ControlVariate = iota
	// Running subtracts the moving average of the batches before (D.1).
	Running
	// SurrogateMean subtracts what a diagonal surrogate expects of each model, adds the exact
	// gradient of that expectation, and subtracts the mean of the others of the batch from what is
	// left. It needs a table q(m).
	SurrogateMean
)

var controlVariateNames = [...]string{"leave-one-out", "running", "surrogate-mean"}

// String returns the name.
func (c ControlVariate) String() string {
	if c < 0 || int(c) >= len(controlVariateNames) {
		return fmt.Sprintf("ControlVariate(%d)", int(c))
	}
	return controlVariateNames[c]
}

// newControl returns the surrogate whose mean is the control variate. Its table holds the means
// themselves.
func newControl(models ModelDistribution) (*modeldist.Surrogate, error) {
	table, ok := models.(*modeldist.Categorical)
	if !ok {
		return nil, fmt.Errorf("vti.Config: got q(m) of type %T, want a table for ControlVariate %s", models, SurrogateMean)
	}
	return modeldist.NewSurrogate(table.Cards(), modeldist.SurrogateConfig{Limit: table.Count(), Belief: modeldist.DiagonalBelief, Utility: surrogate.Mean})
}

// scoreLoss is a scalar with the gradient of the expected loss with respect to q(m), and the number
// of draws that it leaves out: loss and logModel [B], codes [B,S].
func (t *trainer) scoreLoss(ctx *Context, codes, loss, logModel *Node) (scalar, nonFinite *Node) {
	cfg := &t.config
	switch cfg.ControlVariate {
	case Running:
		return gradest.ScoreFunction(loss, gradest.RunningMean{}.Next(ctx.InAbsPath("/"+trainScope), loss), logModel)
	case SurrogateMean:
		g := loss.Graph()
		table := cfg.Models.(*modeldist.Categorical)
		logProbs := table.LogProbs(ctx.In(modelScope), g)
		// Of the loss log h + log q − log p only log h is not known; its expectation is −μ.
		expected := Sub(Sub(logProbs, Const(g, t.tablePrior)), t.control.Logits(ctx.InAbsPath(controlScope), g))
		expected = StopGradient(Where(IsFinite(expected), expected, ZerosLike(expected)))
		own := Gather(expected, InsertAxes(space.Index(table.Cards(), codes), -1))
		baseline := Add(own, gradest.LeaveOneOut(Sub(loss, own)))
		scalar, nonFinite = gradest.ScoreFunction(loss, baseline, logModel)
		return Add(scalar, gradest.ExpectedScore(logProbs, expected)), nonFinite
	}
	return gradest.ScoreFunction(loss, gradest.LeaveOneOut(loss), logModel)
}
