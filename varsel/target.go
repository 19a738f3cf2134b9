package varsel

import (
	gocontext "context"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	engine "github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/regression"
	"github.com/transdim/vti/varsel/wide"
)

// Target is the posterior over subsets of predictors of a linear or generalised linear model. It
// satisfies vti.Target and rjmcmc.Target.
type Target struct {
	regression.Regression
	design   *Design
	space    *space.Subsets
	prior    Prior
	heredity *heredity // nil if every model is allowed
	known    func() engine.Known
}

// Space returns the set of subsets, which has one site per selectable predictor, in table order.
func (t *Target) Space() space.Space { return t.space }

// Unimodal reports whether the posterior given a model has one mode. Under likelihoods with heavy
// tails it may have several, since different rows can be outliers.
func (t *Target) Unimodal() bool { return !t.Kind.HeavyTails() }

// LogPrior returns log p(m): codes [B,S] -> [B], for B codes of S sites (one for each predictor).
func (t *Target) LogPrior(codes *Node) *Node {
	logPrior := t.prior.LogProb(codes)
	if t.heredity == nil {
		return logPrior
	}
	fine := Equal(t.heredity.violations(codes), ScalarZero(codes.Graph(), codes.DType()))
	none := BroadcastToShape(Const(codes.Graph(), math.Inf(-1)), logPrior.Shape())
	return Where(fine, AddScalar(logPrior, -t.heredity.logMass), none)
}

// LogJoint returns log p(y, θ | m) of B models: codes [B,S], mask [B,D], theta [B,D] -> [B].
func (t *Target) LogJoint(_, mask, theta *Node) *Node { return t.Regression.LogJoint(mask, theta) }

// models is a posterior over models written as bits ([Target]) or as lists ([SlotTarget]).
type models interface {
	vti.Target
	// bits returns the target with the likelihood and the priors.
	bits() *Target
	// active returns the coordinates of the model of a code. members returns the model's predictors
	// in ascending order, and code inverts members.
	active(code []int32) regression.Active
	members(code []int32) []int
	code(members []int) []int32
}

var _ models = (*Target)(nil)

func (t *Target) bits() *Target { return t }

func (t *Target) members(code []int32) []int { return bitMembers(code) }

// bitMembers returns the predictors whose bits are set.
func bitMembers(code []int32) []int {
	return apply.Where(len(code), func(predictor int) bool { return code[predictor] == 1 })
}

func (t *Target) code(members []int) []int32 {
	code := make([]int32, len(t.design.Predictors))
	for _, predictor := range members {
		code[predictor] = 1
	}
	return code
}

func (t *Target) active(code []int32) regression.Active {
	a, parameters := regression.Active{Scale: t.Scale}, t.Parameters()
	for j, on := range t.space.MaskRow(code, nil) {
		if on && !slices.Contains(parameters, j) {
			t.Include(&a, j, j)
		}
	}
	return a
}

// jointSearch finds predictors that matter only together, or that replace predictors of a model.
type jointSearch struct{ models }

// together returns models found around the model of a code, as described at [wide.Search.Together].
func (s jointSearch) together(ctx gocontext.Context, code []int32) (with, without [][]int32, err error) {
	return s.bits().search().Together(ctx, s.members(code), s.code)
}

// instead returns models in place of the model of a code, as described at [wide.Search.Instead].
func (s jointSearch) instead(ctx gocontext.Context, code []int32) ([][]int32, error) {
	return s.bits().search().Instead(ctx, s.members(code), s.code)
}

// enters returns, for each model of codes, the log odds of adding each predictor (in the order of
// items for models as lists), as described at [wide.Search.Enters].
func (s jointSearch) enters(ctx gocontext.Context, codes [][]int32) ([][]float64, error) {
	members := make([][]int, len(codes))
	for k, code := range codes {
		members[k] = s.members(code)
	}
	logOdds, err := s.bits().search().Enters(ctx, members)
	if slots, ok := s.models.(*SlotTarget); ok && err == nil {
		for k, byPredictor := range logOdds {
			logOdds[k] = make([]float64, len(byPredictor))
			for item, predictor := range slots.order {
				logOdds[k][item] = byPredictor[predictor]
			}
		}
	}
	return logOdds, err
}

func (t *Target) search() wide.Search {
	return wide.Search{Regression: &t.Regression, Design: t.design, Prior: t.prior}
}
