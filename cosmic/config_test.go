package cosmic

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// TestNamedSizes builds the flows of the VTI paper for its problem (8 coordinates, one-hot features
// of 128 models), and compares their numbers of parameters with expected numbers. The MLP must have
// 300,304 parameters, as the published network has, and 2·8 parameters of the last scaling. The
// autoregressive flows also have these 2·8 parameters. In the spline, part of the outputs of the
// networks are the shift and scale of a coordinate.
func TestNamedSizes(t *testing.T) {
	const features, end = 128, 2 * 8
	for _, c := range []struct {
		cfg        Config
		parameters int
	}{
		{DiagonalMLP(8, features), 300304 + end},
		{Affine55(8, features), 77600 + end},
		{Spline46(8, features), 14984176},
	} {
		s := newSubject(t, c.cfg)
		exec, err := context.NewExec(s.backend, s.ctx, func(ctx *context.Context, mask, feats, z *graph.Node) *graph.Node {
			_, logDet := s.flow.ToParams(ctx, mask, feats, z)
			return logDet
		})
		require.NoError(t, err)
		b := newBatch(1, 2, 8, features)
		_, err = exec.Exec1(b.mask, b.feats, b.x)
		require.NoError(t, err)
		require.Equal(t, c.parameters, s.ctx.NumParameters(), "%v", c.cfg.Kind)
	}
}

// TestConfig checks that New refuses invalid configurations.
func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{Dim: 2}, {Dim: 65, Precision: identity(65)}} {
		_, err := New(cfg)
		require.NoError(t, err)
	}
	for message, spoil := range map[string]func(*Config){
		"want affine, spline or diagonal":               func(c *Config) { c.Kind = 7 },
		"got Dim 0, want at least 1":                    func(c *Config) { c.Dim = 0 },
		"got Features -1":                               func(c *Config) { c.Features = -1 },
		"got Layers -1, want 1 or more":                 func(c *Config) { c.Layers = -1 },
		"got Blocks -1":                                 func(c *Config) { c.Blocks = -1 },
		"got Hidden 1, want at least 2":                 func(c *Config) { c.Hidden = 1 },
		"got Bins 1, want 2 to 256":                     func(c *Config) { c.Bins = 1 },
		"want Features above 0":                         func(c *Config) { c.Features, c.Encoder = 0, []int{3} },
		"got Encoder[1] = 0":                            func(c *Config) { c.Encoder = []int{3, 0} },
		"Linear needs a Precision":                      func(c *Config) { c.Linear = []float64{1, 1} },
		"got Precision of 1 values, want Dim² = 4":      func(c *Config) { c.Precision = []float64{1} },
		"got Linear of 3 values, want Dim = 2":          func(c *Config) { c.Precision, c.Linear = []float64{1, 0, 0, 1}, []float64{1, 2, 3} },
		"Linear[1] is not finite: NaN":                  func(c *Config) { c.Precision, c.Linear = []float64{1, 0, 0, 1}, []float64{1, math.NaN()} },
		"Precision[1,1] must be positive, got -1":       func(c *Config) { c.Precision = []float64{1, 0, 0, -1} },
		"Precision must be symmetric, got 0.5 at [1,0]": func(c *Config) { c.Precision = []float64{1, 0, 0.5, 1} },
		"Precision is not positive definite":            func(c *Config) { c.Precision = []float64{1, 3, 3, 4} },
		"Precision must be diagonal where Dim is above 64, got Dim = 65": func(c *Config) {
			c.Dim, c.Precision = 65, identity(65)
			c.Precision[1], c.Precision[65] = 0.1, 0.1
		},
	} {
		cfg := Config{Dim: 2, Features: 1}
		spoil(&cfg)
		_, err := New(cfg)
		require.ErrorContains(t, err, message)
	}
	require.Equal(t, []string{"affine", "spline", "diagonal", "cosmic.Kind(3)"},
		[]string{Affine.String(), Spline.String(), Diagonal.String(), Kind(3).String()})
}

// identity returns the identity matrix, row-major [dim·dim].
func identity(dim int) []float64 {
	m := make([]float64, dim*dim)
	for i := range dim {
		m[i*dim+i] = 1
	}
	return m
}

// TestWrongShapes checks that a graph built on inputs of wrong shape makes Exec return an error
// that names the input.
func TestWrongShapes(t *testing.T) {
	flow, err := New(Config{Dim: 3, Features: 2})
	require.NoError(t, err)
	mask, feats, z := [][]bool{{true, false, true}}, [][]float64{{1, 0}}, [][]float64{{1, 2, 3}}
	for _, c := range []struct {
		message string
		fn      func(ctx *context.Context, mask, feats, z *graph.Node) *graph.Node
	}{
		{"cosmic: ToParams: z or theta must be Float32 or Float64 [B, 3], got (Int32)[1 3]", func(ctx *context.Context, mask, feats, z *graph.Node) *graph.Node {
			y, _ := flow.ToParams(ctx, mask, feats, graph.ConvertDType(z, dtypes.Int32))
			return y
		}},
		{"cosmic: ToBase: mask must be Bool [1, 3], got (Float64)[1 3]", func(ctx *context.Context, mask, feats, z *graph.Node) *graph.Node {
			y, _ := flow.ToBase(ctx, z, feats, z)
			return y
		}},
		{"cosmic: ToParams: feats must be [1, 2], got nil", func(ctx *context.Context, mask, feats, z *graph.Node) *graph.Node {
			y, _ := flow.ToParams(ctx, mask, nil, z)
			return y
		}},
	} {
		_, err := context.ExecOnce(testkit.Backend(t), context.New(), c.fn, mask, feats, z)
		require.ErrorContains(t, err, c.message)
	}
}
