package rjmcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// listTarget is a linearTarget whose models are lists of at most k items. An item is a group of
// columns, which are active if the item is in the list. The intercept is always active.
type listTarget struct {
	linearTarget
	lists   *space.Lists
	columns [][]int32 // [p+1][W] columns of each item, padded to W entries with the number of a column of zeros
}

func newListTarget(t testing.TB, l linearTarget, slots int, groups [][]int) listTarget {
	width := 0
	for _, group := range groups {
		width = max(width, len(group))
	}
	var widths []int
	target := listTarget{linearTarget: l}
	for _, group := range append(groups, nil) {
		row := slices.Repeat([]int32{int32(len(l.x[0]))}, width)
		for w, column := range group {
			row[w] = int32(column)
		}
		target.columns = append(target.columns, row)
		if group != nil {
			widths = append(widths, len(group))
		}
	}
	var err error
	target.lists, err = space.NewLists(widths, slots, 1)
	require.NoError(t, err)
	return target
}

func (l listTarget) Space() space.Space { return l.lists }

func (l listTarget) LogPrior(codes *graph.Node) *graph.Node {
	p := graph.Scalar(codes.Graph(), codes.DType(), float64(l.lists.Items()))
	on := graph.ReduceSum(graph.ConvertDType(graph.LessThan(codes, p), graph.Const(codes.Graph(), 0.0).DType()), 1)
	return graph.MulScalar(on, math.Log(l.inclusion/(1-l.inclusion)))
}

// design gathers the columns of each model as rows: [B, D, n].
func (l listTarget) design(codes *graph.Node) *graph.Node {
	g, n := codes.Graph(), len(l.x)
	transposed := make([][]float64, len(l.x[0])+1)
	for j := range transposed {
		transposed[j] = make([]float64, n)
		for i := range n {
			if j < len(l.x[0]) {
				transposed[j][i] = l.x[i][j]
			}
		}
	}
	batch := codes.Shape().Dim(0)
	// [B*k, W]
	columns := graph.Gather(graph.Const(g, l.columns), graph.Reshape(codes, -1, 1))
	// [B*k*W, n]
	rows := graph.Gather(graph.Const(g, transposed), graph.Reshape(columns, -1, 1))
	// column 0
	intercept := graph.BroadcastToDims(graph.Const(g, [][][]float64{{transposed[0]}}), batch, 1, n)
	return graph.Concatenate([]*graph.Node{intercept, graph.Reshape(rows, batch, -1, n)}, 1)
}

func (l listTarget) LogJoint(codes, mask, theta *graph.Node) *graph.Node {
	eta := graph.Einsum("bd,bdn->bn", theta, l.design(codes))
	residual := graph.Sub(graph.Const(theta.Graph(), [][]float64{l.y}), eta)
	each := graph.AddScalar(graph.MulScalar(graph.Square(theta), -0.5/(l.tau*l.tau)), -math.Log(2*math.Pi)/2-math.Log(l.tau))
	prior := graph.ReduceSum(graph.Where(mask, each, graph.ZerosLike(each)), 1)
	return graph.Add(prior, graph.MulScalar(graph.ReduceSum(graph.Square(residual), 1), -0.5/(l.sigma*l.sigma)))
}

// exactLists returns the exact posterior by list, with the coefficients in the order of the columns
// of x.
func (l listTarget) exactLists() map[string]exactModel {
	models, total := map[string]exactModel{}, 0.0
	for _, m := range l.exact() {
		var set []int32
		for item, on := range m.codes {
			if on == 1 {
				set = append(set, int32(item))
			}
		}
		if len(set) <= l.lists.Slots() {
			models[fmt.Sprint(l.lists.Code(set, nil))] = m
			total += m.probability
		}
	}
	for key, m := range models {
		m.probability /= total
		models[key] = m
	}
	return models
}

// worst returns the largest error z of model probabilities, inclusions and moments of coefficients,
// in standard errors, the quantity where it occurs, and the chi-square statistic per degree of
// freedom of the model probabilities above 0.002.
func (l listTarget) worst(t testing.TB, r *Result) (z, chi2 float64, where string) {
	see := func(got Summary, want float64, format string, args ...any) float64 {
		e := math.Abs(got.Mean-want) / got.MCSE
		if e > z || math.IsNaN(e) {
			z, where = e, fmt.Sprintf(format+": got %.5f ± %.5f, want %.5f", append(args, got.Mean, got.MCSE, want)...)
		}
		return e
	}
	exact := l.exactLists()
	count := 0.0
	for _, m := range r.Models(0) {
		want, known := exact[fmt.Sprint(m.Codes)]
		require.True(t, known, "%v is no model", m.Codes)
		if want.probability > 0.002 {
			e := see(m.Summary, want.probability, "P(%v)", m.Codes)
			chi2 += e * e
			count++
		}
	}
	dim := len(l.x[0])
	mean, second, inclusion := make([]float64, dim), make([]float64, dim), make([]float64, l.lists.Items())
	for _, m := range exact {
		for j := range dim {
			mean[j] += m.probability * m.mean[j]
			second[j] += m.probability * m.second[j]
		}
		for item, on := range m.codes {
			inclusion[item] += m.probability * float64(on)
		}
	}
	for item, p := range inclusion {
		see(r.Contains(int32(item)), p, "P(%d in)", item)
	}
	value := func(d, column int) float64 {
		if column == 0 {
			return r.Theta(d)[0]
		}
		for slot, item := range r.Codes(d) {
			for w, c := range l.columns[item] {
				if int(c) == column {
					return r.Theta(d)[1+slot*l.lists.Width()+w]
				}
			}
		}
		return 0
	}
	for j := range dim {
		see(r.Summarise(func(d int) float64 { return value(d, j) }), mean[j], "E β_%d", j)
		see(r.Summarise(func(d int) float64 { return value(d, j) * value(d, j) }), second[j], "E β_%d²", j)
	}
	return z, chi2 / count, where
}

// approximated is a listTarget with its exact quadratic approximation.
type approximated struct{ listTarget }

func (a approximated) Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node) {
	x := a.design(codes)
	scale := 1 / (a.sigma * a.sigma)
	precision = graph.MulScalar(graph.Einsum("bdn,ben->bde", x, x), scale)
	ridge := graph.MulScalar(graph.ConvertDType(graph.Diagonal(codes.Graph(), x.Shape().Dim(1)), x.DType()), 1/(a.tau*a.tau))
	precision = graph.Add(precision, graph.InsertAxes(ridge, 0))
	return precision, graph.MulScalar(graph.Einsum("bdn,n->bd", x, graph.Const(codes.Graph(), a.y)), scale)
}

// tilted is an approximated target whose quadratic approximation is wrong by a different amount in
// every model.
type tilted struct{ approximated }

func (a tilted) Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node) {
	precision, linear = a.approximated.Quadratic(codes, mask, dtype)
	tilt := graph.ConvertDType(graph.Sin(graph.ConvertDType(graph.ReduceSum(codes, 1), linear.DType())), linear.DType())
	tilt = graph.InsertAxes(tilt, 1)
	return graph.Mul(precision, graph.InsertAxes(graph.AddScalar(graph.MulScalar(tilt, 0.3), 1), 1)), graph.Add(linear, graph.MulScalar(tilt, 4))
}

// smallList has an intercept, six items of one column and one item of two columns, with at most
// four items in a model. The second item is nearly a copy of the first.
func smallList(t testing.TB) listTarget {
	rng := rand.New(rand.NewPCG(4, 2))
	groups := [][]int{{1}, {2}, {3}, {4, 5}, {6}, {7}, {8}}
	sp, err := space.NewSubsets(9, []int{0}, groups)
	require.NoError(t, err)
	l := linearTarget{space: sp, sigma: 1, tau: 1.2, inclusion: 0.3}
	for range 30 {
		row := []float64{1}
		for range 8 {
			row = append(row, rng.NormFloat64())
		}
		row[2] = row[1] + 0.35*row[2]
		l.x = append(l.x, row)
		l.y = append(l.y, 0.3+0.45*row[1]-0.4*row[3]+0.5*row[4]-0.3*row[8]+rng.NormFloat64())
	}
	return newListTarget(t, l, 4, groups)
}

func TestListsAgainstEnumeration(t *testing.T) {
	testkit.Slow(t)
	l := smallList(t)
	base := Config{Chains: 64, BurnIn: 400, Iterations: 900, Thin: 2, Seed: 1}
	for name, target := range map[string]Target{"no approximation": l, "exact": approximated{l}, "wrong": tilted{approximated{l}}} {
		t.Run(name, func(t *testing.T) {
			if name != "wrong" {
				testkit.Long(t)
			}
			cfg := base
			if name == "no approximation" {
				cfg.Walks, cfg.Jumps = 2, 3
			} else {
				cfg.Jumps = 2
			}
			r, err := Run(context.Background(), testkit.Backend(t), target, cfg)
			require.NoError(t, err)
			z, chi2, where := l.worst(t, r)
			t.Logf("%s; chi2 %.2f; jump %.2f, swap %.2f, walk %.2f, joint %.2f", where, chi2,
				r.Info.Acceptance(Jump), r.Info.Acceptance(Swap), r.Info.Acceptance(Walk), r.Info.Acceptance(Joint))
			assert.Less(t, z, sigmas, where)
			assert.Less(t, r.LogDensitySummary().RHat, 1.02)
			assert.Zero(t, r.Info.NonFinite)
			for item := range l.lists.Items() {
				assert.Less(t, r.Contains(int32(item)).RHat, 1.02)
			}
		})
	}
}

func TestBrokenListMovesAreCaught(t *testing.T) {
	testkit.Long(t)
	l := smallList(t)
	breakers := map[string]func(s *sampler){
		"weights left out of the ratio": func(s *sampler) {
			s.transfer = func(w *workspace, c int) float64 {
				s.logChoice[c] = 0
				return s.propagate(w, c)
			}
		},
		"values left out of the ratio": func(s *sampler) {
			s.transfer = func(w *workspace, c int) float64 {
				s.propagate(w, c)
				return 0
			}
		},
	}
	for name, breakIt := range breakers {
		t.Run(name, func(t *testing.T) {
			s, err := newSampler(testkit.Backend(t), tilted{approximated{l}}, Config{Chains: 64, BurnIn: 60, Jumps: 2, Iterations: 400, Thin: 2, Seed: 1})
			require.NoError(t, err)
			breakIt(s)
			r, err := s.run(context.Background())
			require.NoError(t, err)
			z, _, where := l.worst(t, r)
			t.Log(z, where)
			assert.Greater(t, z, sigmas, where)
		})
	}
}

func TestStarts(t *testing.T) {
	l := smallList(t)
	empty, two := l.lists.Code(nil, nil), l.lists.Code([]int32{5, 2}, nil)
	run := func(cfg Config) error {
		cfg.Chains, cfg.BurnIn, cfg.Iterations, cfg.Thin = 4, -1, 1, 1
		cfg.Jumps, cfg.Swaps = 0, -1
		s, err := newSampler(testkit.Backend(t), approximated{l}, cfg)
		if err != nil {
			return err
		}
		require.NoError(t, s.initialise())
		for c := range cfg.Chains {
			code, _, _ := s.state.row(c)
			assert.Equal(t, cfg.Starts[c%len(cfg.Starts)], code)
		}
		return nil
	}
	assert.NoError(t, run(Config{Starts: [][]int32{empty, two}}))
	assert.ErrorContains(t, run(Config{Starts: [][]int32{{5, 2, 7, 7}}}), "not an ascending list")
	assert.ErrorContains(t, run(Config{Starts: [][]int32{{1}}}), "1 site, want 4")
	assert.ErrorContains(t, run(Config{Starts: [][]int32{{1, 2, 3, 8}}}), "Starts[0]: site 3: got outcome 8, want 0 to 7")
}
