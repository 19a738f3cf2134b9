package evaluate

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/space"
)

// Target is the density to evaluate; see vti.Target.
type Target interface {
	Space() space.Space
	LogPrior(codes *graph.Node) *graph.Node
	LogJoint(codes, mask, theta *graph.Node) *graph.Node
}

// ModelDistribution is q(m); see vti.ModelDistribution.
type ModelDistribution interface {
	LogProb(ctx *context.Context, codes *graph.Node) *graph.Node
	Sample(ctx *context.Context, uniforms *graph.Node) *graph.Node
}

// Flow is the map of q(θ | m); see vti.Flow.
type Flow interface {
	ToParams(ctx *context.Context, mask, feats, z *graph.Node) (theta, logDet *graph.Node)
	ToBase(ctx *context.Context, mask, feats, theta *graph.Node) (z, logDet *graph.Node)
}

// quadraticTarget is a target with quadratics; see vti.QuadraticTarget.
type quadraticTarget interface {
	Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node)
}

// LogPrior returns the log prior of a target as a graph: codes [B,S] -> [B].
func LogPrior(target Target, codes *graph.Node) *graph.Node {
	return perRow(target, "LogPrior", codes, target.LogPrior(codes))
}

// LogJoint returns the log joint density as a graph: codes [B,S], mask [B,D], theta [B,D] -> [B].
func LogJoint(target Target, codes, mask, theta *graph.Node) *graph.Node {
	return perRow(target, "LogJoint", codes, target.LogJoint(codes, mask, theta))
}

// perRow panics with an error unless a method of a target returned a number for each row of codes.
func perRow(target Target, method string, codes, got *graph.Node) *graph.Node {
	if rows := codes.Shape().Dim(0); got.Rank() != 1 || got.Shape().Dim(0) != rows {
		panic(fmt.Errorf("%s of %T: got a result of shape %v, want [%d], a number for each row of codes", method, target, got.Shape().Dimensions, rows))
	}
	return got
}
