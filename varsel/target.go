package varsel

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/regression"
)

// Target is the posterior over subsets of predictors of a linear or generalised linear model. It
// satisfies vti.Target and rjmcmc.Target.
type Target struct {
	regression.Regression
	design   *Design
	space    *space.Subsets
	prior    Prior
	heredity *heredity // nil: every model is allowed
}

// Space is the set of subsets: one site per selectable predictor, in table order.
func (t *Target) Space() space.Space { return t.space }

// Unimodal reports whether the posterior given a model has one mode, as it has unless rows can take
// turns in being outliers.
func (t *Target) Unimodal() bool { return !t.Kind.HeavyTails() }

// LogPrior is log p(m). [B,S] -> [B]
func (t *Target) LogPrior(codes *Node) *Node {
	logPrior := t.prior.LogProb(codes)
	if t.heredity == nil {
		return logPrior
	}
	fine := Equal(t.heredity.violations(codes), ScalarZero(codes.Graph(), codes.DType()))
	none := BroadcastToShape(Const(codes.Graph(), math.Inf(-1)), logPrior.Shape())
	return Where(fine, AddScalar(logPrior, -t.heredity.logMass), none)
}

// LogJoint is log p(y, θ | m). codes [B,S], mask [B,D], theta [B,D] -> [B]
func (t *Target) LogJoint(_, mask, theta *Node) *Node { return t.Regression.LogJoint(mask, theta) }
