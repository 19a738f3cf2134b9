package cosmic

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// TestJacobian checks the derivative of the whole map. Inactive coordinates pass through, no active
// coordinate depends on them, and logDet agrees with automatic differentiation.
func TestJacobian(t *testing.T) {
	eachFlow(t, func(t *testing.T, cfg Config) {
		s := newSubject(t, cfg).randomise(0.5)
		b := newBatch(2, 6, cfg.Dim, cfg.Features)
		theta, logDet := s.eval(s.flow.ToParams, dtypes.Float64, b)
		jacobian := s.jacobian(s.flow.ToParams, b)
		moved := false
		for n, mask := range b.mask {
			var active []int
			for i := range mask {
				if mask[i] {
					active = append(active, i)
					moved = moved || theta[n][i] != b.x[n][i]
					continue
				}
				require.Equal(t, math.Float64bits(b.x[n][i]), math.Float64bits(theta[n][i]), "row %d: inactive coordinate %d changed", n, i)
			}
			requireNoLeak(t, mask, jacobian[n])
			require.InDelta(t, logAbsDet(jacobian[n], active), logDet[n], 1e-8, "row %d", n)
		}
		require.True(t, moved, "the flow did nothing")
	})
}

// leaks returns the pairs (i, j) with i active, j inactive and ∂θ_i/∂z_j ≠ 0.
func leaks(mask []bool, jacobian [][]float64) (pairs [][2]int) {
	for i := range mask {
		for j := range mask {
			if mask[i] && !mask[j] && jacobian[i][j] != 0 {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

func requireNoLeak(t *testing.T, mask []bool, jacobian [][]float64) {
	t.Helper()
	require.Empty(t, leaks(mask, jacobian), "active coordinates depend on inactive ones")
	for i := range mask {
		for j := range mask {
			if !mask[i] {
				want := 0.
				if i == j {
					want = 1
				}
				require.Equal(t, want, jacobian[i][j], "inactive coordinate %d is not the identity", i)
			}
		}
	}
}

// logAbsDet returns log |det| of the submatrix with the listed rows and columns.
func logAbsDet(jacobian [][]float64, rows []int) float64 {
	if len(rows) == 0 {
		return 0
	}
	m := mat.NewDense(len(rows), len(rows), nil)
	for a, i := range rows {
		for b, j := range rows {
			m.Set(a, b, jacobian[i][j])
		}
	}
	det, _ := mat.LogDet(m)
	return det
}

// TestBrokenPermutationLeaks shows that TestJacobian can fail: without the permutation P_m, which
// puts active coordinates first, an active coordinate depends on the inactive ones before it.
func TestBrokenPermutationLeaks(t *testing.T) {
	for _, kind := range []Kind{Affine, Spline} {
		s := newSubject(t, Config{Dim: 5, Features: 3, Kind: kind, Layers: 2, Blocks: 1, Hidden: 10, Bins: 4}).randomise(0.5)
		b := newBatch(2, 6, 5, 3)
		broken := func(ctx *context.Context, mask, feats, z *graph.Node) (theta, logDet *graph.Node) {
			everything := graph.LogicalOr(mask, graph.LogicalNot(mask))
			p := newPacking(everything) // leaves every coordinate in its place
			p.active = mask
			return s.flow.stages(ctx.Checked(false), p, mask, feats, z).toParams(z)
		}
		found := 0
		for n, jacobian := range s.jacobian(broken, b) {
			found += len(leaks(b.mask[n], jacobian))
		}
		require.Positive(t, found, "%v: the leak went unseen", kind)
	}
}

// TestInactiveInputsDoNotMatter changes the inputs of inactive coordinates. The results for active
// coordinates and logDet must not change in any bit, in either direction.
func TestInactiveInputsDoNotMatter(t *testing.T) {
	eachFlow(t, func(t *testing.T, cfg Config) {
		s := newSubject(t, cfg).randomise(0.5)
		b := newBatch(3, 6, cfg.Dim, cfg.Features)
		other := b.with(jitter(b.x, b.mask, stream.Rand(3, "jitter")))
		for _, fn := range []graphFn{s.flow.ToParams, s.flow.ToBase} {
			y, logDet := s.eval(fn, dtypes.Float64, b)
			y2, logDet2 := s.eval(fn, dtypes.Float64, other)
			require.Equal(t, logDet, logDet2)
			for n, mask := range b.mask {
				for i := range mask {
					if mask[i] {
						require.Equal(t, y[n][i], y2[n][i])
					}
				}
			}
		}
	})
}

// TestRoundTrip checks that ToBase inverts ToParams and ToParams inverts ToBase.
func TestRoundTrip(t *testing.T) {
	eachFlow(t, func(t *testing.T, cfg Config) {
		s := newSubject(t, cfg).randomise(0.5)
		b := newBatch(4, 6, cfg.Dim, cfg.Features)
		for _, way := range [][2]graphFn{{s.flow.ToParams, s.flow.ToBase}, {s.flow.ToBase, s.flow.ToParams}} {
			y, logDet := s.eval(way[0], dtypes.Float64, b)
			x, logDet2 := s.eval(way[1], dtypes.Float64, b.with(y))
			for n := range x {
				require.InDeltaSlice(t, b.x[n], x[n], 1e-9, "row %d", n)
				for i, active := range b.mask[n] {
					if !active {
						require.Equal(t, b.x[n][i], x[n][i])
					}
				}
			}
			require.InDeltaSlice(t, logDet, logDet2, 1e-9)
		}
	})
}

// TestStart checks that all maps of an untrained flow except its anchor are the identity.
func TestStart(t *testing.T) {
	eachFlow(t, func(t *testing.T, cfg Config) {
		b := newBatch(5, 6, cfg.Dim, cfg.Features)
		s := newSubject(t, cfg)
		for _, flow := range []*Flow{s.flow, s.flow.Untrained()} {
			theta, logDet := s.eval(flow.ToParams, dtypes.Float64, b)
			for n := range theta {
				want, wantDet := b.x[n], 0.
				if cfg.Precision != nil {
					want, wantDet = anchorOracle(cfg, b.mask[n], b.x[n])
				}
				require.InDeltaSlice(t, want, theta[n], 1e-10)
				require.InDelta(t, wantDet, logDet[n], 1e-11)
			}
		}
		// Untrained remains the identity after the layers have changed.
		moved := newSubject(t, cfg).randomise(0.5)
		want, wantDet := s.eval(s.flow.ToBase, dtypes.Float64, b)
		got, gotDet := moved.eval(moved.flow.Untrained().ToBase, dtypes.Float64, b)
		for n := range want {
			require.InDeltaSlice(t, want[n], got[n], 1e-10)
		}
		require.InDeltaSlice(t, wantDet, gotDet, 1e-10)
	})
}

// TestFloat32 compares Float32 with Float64 for the same weights.
func TestFloat32(t *testing.T) {
	eachFlow(t, func(t *testing.T, cfg Config) {
		s := newSubject(t, cfg).randomise(0.5)
		b := newBatch(6, 6, cfg.Dim, cfg.Features)
		for _, fn := range []graphFn{s.flow.ToParams, s.flow.ToBase} {
			wide, wideDet := s.eval(fn, dtypes.Float64, b)
			narrow, narrowDet := s.eval(fn, dtypes.Float32, b)
			for n := range wide {
				for i := range wide[n] {
					require.InDelta(t, wide[n][i], narrow[n][i], 2e-4*(1+math.Abs(wide[n][i])))
				}
				require.InDelta(t, wideDet[n], narrowDet[n], 5e-4)
			}
		}
	})
}

// TestAllFinite uses extreme inputs, and inputs on the knots of an untrained spline, in Float32 and
// Float64. Values and gradients must be finite in both directions.
func TestAllFinite(t *testing.T) {
	extremes := []float64{0, 1e4, -1e4, 5, -5, 2.5, -2.5, math.Nextafter(5, 0), math.Nextafter(-5, 0), 1e-30, 17, -17}
	for _, cfg := range kinds(5, 3) {
		for _, scale := range []float64{0, 0.7, 5} {
			s := newSubject(t, cfg)
			if scale > 0 {
				s.randomise(scale)
			}
			b := newBatch(7, 12, cfg.Dim, cfg.Features)
			for n := range b.x {
				for i := range b.x[n] {
					b.x[n][i] = extremes[(n+5*i)%len(extremes)]
				}
			}
			for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
				for _, fn := range []graphFn{s.flow.ToParams, s.flow.ToBase} {
					out := s.run(dtype, b, func(ctx *context.Context, mask, feats, x *graph.Node) []*graph.Node {
						y, logDet := fn(ctx, mask, feats, x)
						loss := graph.Add(graph.ReduceAllSum(y), graph.ReduceAllSum(logDet))
						grads := append(ctx.BuildTrainableVariablesGradientsGraph(loss), graph.Gradient(loss, x)...)
						finite := graph.Scalar(x.Graph(), dtypes.Int32, 1)
						for _, n := range append(grads, y, logDet) {
							all := graph.ReduceAllMin(graph.ConvertDType(graph.IsFinite(n), dtypes.Int32))
							finite = graph.Mul(finite, all)
						}
						return []*graph.Node{finite}
					})
					require.Equal(t, 1., out[0].Value(), "%v %v weights of scale %v", cfg.Kind, dtype, scale)
				}
			}
		}
	}
}

// TestGradientReachesEveryVariable checks that a generic loss has a nonzero gradient with respect
// to every variable.
func TestGradientReachesEveryVariable(t *testing.T) {
	eachFlow(t, func(t *testing.T, cfg Config) {
		s := newSubject(t, cfg).randomise(0.5)
		b := newBatch(8, 16, cfg.Dim, cfg.Features)
		var names []string
		out := s.run(dtypes.Float64, b, func(ctx *context.Context, mask, feats, x *graph.Node) []*graph.Node {
			theta, logDet := s.flow.ToParams(ctx, mask, feats, x)
			loss := graph.Add(graph.ReduceAllSum(graph.Square(theta)), graph.ReduceAllSum(graph.Sin(logDet)))
			names = nil
			for v := range ctx.IterVariables() {
				if v.Trainable {
					names = append(names, v.ScopeAndName())
				}
			}
			grads := ctx.BuildTrainableVariablesGradientsGraph(loss)
			for i, g := range grads {
				grads[i] = graph.ReduceAllMax(graph.Abs(g))
			}
			return grads
		})
		require.Len(t, out, len(names))
		require.NotEmpty(t, names)
		for i, g := range out {
			largest := g.Value().(float64)
			require.True(t, largest > 1e-12 && !math.IsInf(largest, 1), "%s: largest gradient %v", names[i], largest)
		}
	})
}

// TestInitialisation checks that a seed gives the same weights whichever function is called first,
// and that another seed gives other weights.
func TestInitialisation(t *testing.T) {
	weights := func(cfg Config, first func(*Flow) graphFn) map[string]any {
		s := newSubject(t, cfg)
		b := newBatch(9, 3, cfg.Dim, cfg.Features)
		s.eval(first(s.flow), dtypes.Float64, b)
		s.eval(s.flow.ToBase, dtypes.Float64, b)
		values := map[string]any{}
		for v := range s.ctx.IterVariables() {
			values[v.ScopeAndName()] = v.MustValue().Value()
		}
		return values
	}
	toParams := func(f *Flow) graphFn { return f.ToParams }
	toBase := func(f *Flow) graphFn { return f.ToBase }
	for _, cfg := range kinds(4, 3) {
		reference := weights(cfg, toParams)
		require.Equal(t, reference, weights(cfg, toBase))
		cfg.Seed++
		require.NotEqual(t, reference, weights(cfg, toParams))
	}
}

// TestNoFeatures checks that ToBase inverts ToParams for flows of one model, without features.
func TestNoFeatures(t *testing.T) {
	for _, cfg := range kinds(3, 0) {
		s := newSubject(t, cfg).randomise(0.5)
		b := newBatch(10, 4, 3, 0)
		theta, _ := s.eval(s.flow.ToParams, dtypes.Float64, b)
		z, _ := s.eval(s.flow.ToBase, dtypes.Float64, b.with(theta))
		for n := range z {
			require.InDeltaSlice(t, b.x[n], z[n], 1e-10)
		}
	}
}
