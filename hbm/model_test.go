package hbm

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// The values of a parent at the members of a child agree with values by loops over members, for
// nested, crossed and mixed plates, with events and draws.
func TestAlign(t *testing.T) {
	m := NewModel()
	school := m.Plate("school", 3)
	class := m.Plate("class", 4).In(school, []int32{2, 0, 0, 1})
	pupil := m.Plate("pupil", 5).In(class, []int32{3, 1, 0, 0, 2})
	year := m.Plate("year", 2)
	item := m.Plate("item", 3)
	answer := m.Plate("answer", 6).In(pupil, []int32{0, 4, 4, 2, 1, 3}).In(item, []int32{0, 1, 2, 2, 1, 0})
	require.NoError(t, m.Err())
	schoolOf := []int{1, 0, 2, 2, 0} // the school of each pupil
	classOf := []int{3, 1, 0, 0, 2}
	pupilOf, itemOf := []int{0, 4, 4, 2, 1, 3}, []int{0, 1, 2, 2, 1, 0}
	const draws = 2
	for name, c := range map[string]struct {
		from, to      []*Plate
		event         []int
		originalIndex func(to []int) (from []int)
	}{
		"none to some":         {nil, []*Plate{year, school}, []int{2}, func([]int) []int { return nil }},
		"itself":               {[]*Plate{year}, []*Plate{year}, nil, func(to []int) []int { return to }},
		"axes in other order":  {[]*Plate{year, school}, []*Plate{school, year}, []int{3}, func(to []int) []int { return []int{to[1], to[0]} }},
		"nested":               {[]*Plate{class}, []*Plate{pupil}, []int{2}, func(to []int) []int { return []int{classOf[to[0]]} }},
		"nested twice":         {[]*Plate{school}, []*Plate{pupil}, nil, func(to []int) []int { return []int{schoolOf[to[0]]} }},
		"nested and a product": {[]*Plate{year, school}, []*Plate{pupil, year}, []int{2}, func(to []int) []int { return []int{to[1], schoolOf[to[0]]} }},
		"crossed":              {[]*Plate{pupil, item}, []*Plate{answer}, []int{2}, func(to []int) []int { return []int{pupilOf[to[0]], itemOf[to[0]]} }},
		"crossed, with school": {[]*Plate{item, school}, []*Plate{year, answer}, nil, func(to []int) []int { return []int{itemOf[to[1]], schoolOf[pupilOf[to[1]]]} }},
		"plate and its own":    {[]*Plate{school, class}, []*Plate{class, year}, nil, func(to []int) []int { return []int{[]int{2, 0, 0, 1}[to[0]], to[0]} }},
	} {
		t.Run(name, func(t *testing.T) {
			dims := []int{}
			for _, p := range c.from {
				dims = append(dims, p.size)
			}
			rest := draws * product(c.event)
			x := make([]float64, sizeOf(c.from)*rest)
			random := stream.Rand(1, name)
			for i := range x {
				x[i] = random.NormFloat64()
			}
			shape := append(append(dims, draws), c.event...)
			outShape := []int{}
			for _, p := range c.to {
				outShape = append(outShape, p.size)
			}
			outShape = append(append(outShape, draws), c.event...)
			out := MustExecOnce(testkit.Backend(t), func(x *Node) *Node {
				y := m.wholeReplica(x.Graph(), dtypes.Float64).align(x, c.from, c.to)
				return BroadcastToDims(y, outShape...)
			}, tensors.FromFlatDataAndDimensions(x, shape...))
			got := tensors.MustCopyFlatData[float64](out)
			for member := range sizeOf(c.to) {
				to := make([]int, len(c.to))
				for i, left := len(c.to)-1, member; i >= 0; i-- {
					to[i], left = left%c.to[i].size, left/c.to[i].size
				}
				from := 0
				for i, index := range c.originalIndex(to) {
					from = from*c.from[i].size + index
				}
				require.Equal(t, x[from*rest:(from+1)*rest], got[member*rest:(member+1)*rest], "member %v", to)
			}
		})
	}
}

func TestModelMistakes(t *testing.T) {
	zero, one := Number(0), Number(1)
	for name, c := range map[string]struct {
		build func(m *Model)
		says  string
	}{
		"empty plate":        {func(m *Model) { m.Plate("group", 0) }, `plate "group": got 0 members`},
		"two plates":         {func(m *Model) { m.Plate("a", 1); m.Plate("a", 2) }, `two plates "a"`},
		"plate of no model":  {func(m *Model) { m.Plate("a", 1).In(NewModel().Plate("b", 1), []int32{0}) }, "does not have"},
		"short index":        {func(m *Model) { m.Plate("a", 2).In(m.Plate("b", 1), []int32{0}) }, "index into"},
		"index out of range": {func(m *Model) { m.Plate("a", 1).In(m.Plate("b", 3), []int32{3}) }, `member 0 of plate "a" belongs to member 3`},
		"plates in a circle": {func(m *Model) {
			a, b := m.Plate("a", 1), m.Plate("b", 1)
			a.In(b, []int32{0})
			b.In(a, []int32{0})
		}, `nested in "a" and "a" in it`},
		"no name":       {func(m *Model) { m.Latent("", Normal(zero, one)) }, "no name"},
		"two variables": {func(m *Model) { m.Constant("a"); m.Constant("a") }, "two of this name"},
		"no density":    {func(m *Model) { m.Latent("a", Density{}) }, "no density"},
		"unknown parent": {func(m *Model) {
			m.Latent("a", Normal(NewModel().Latent("other", Normal(zero, one)), one))
		}, `parent "other" is unknown`},
		"many parents": {func(m *Model) {
			a := m.Latent("a", Normal(zero, one), On(m.Plate("group", 3)))
			m.Observed("b", Normal(a, one))
		}, `its parent "a" is on plate "group"`},
		"twice on a plate": {func(m *Model) {
			p := m.Plate("p", 2)
			m.Latent("a", Normal(zero, one), On(p, p))
		}, `twice on plate "p"`},
		"latent count":     {func(m *Model) { m.Latent("a", Poisson(zero)) }, "cannot be latent"},
		"wrong link":       {func(m *Model) { m.Latent("a", Gamma(one, one), Through(IdentityLink{})) }, "its link yields real numbers"},
		"one share":        {func(m *Model) { m.Latent("a", Dirichlet(one), Event(1)) }, "size 2 or more"},
		"event of size 0":  {func(m *Model) { m.Latent("a", Normal(zero, one), Event(0)) }, "size 0"},
		"plate of another": {func(m *Model) { m.Latent("a", Normal(zero, one), On(NewModel().Plate("b", 1))) }, "not of this model"},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewModel()
			c.build(m)
			require.ErrorContains(t, m.Err(), c.says)
			_, err := NewSimulator(open(t), m)
			require.Error(t, err)
		})
	}
}

func TestDataMistakes(t *testing.T) {
	m := NewModel()
	group := m.Plate("group", 2)
	rate := m.Latent("rate", Normal(Number(0), Number(1)), On(group))
	exposure := m.Constant("exposure", On(group))
	count := m.Observed("count", Poisson(Of(func(v []*Node) *Node { return Add(v[0], Log(v[1])) }, rate, exposure)), On(group))
	share := m.Observed("share", Dirichlet(Number(1)), Event(2))
	good := Values{exposure: {1, 2}, count: {0, 3}, share: {0.5, 0.5}}
	require.NoError(t, m.CheckData(good))
	for says, bad := range map[string]Values{
		`observed variable "count" has no values`:                         {exposure: {1, 2}, share: {0.5, 0.5}},
		"want 2 of shape [2]":                                             {exposure: {1}, count: {0, 3}, share: {0.5, 0.5}},
		"count[group 1]: got 3.5 at position 0 of the event, want counts": {exposure: {1, 2}, count: {0, 3.5}, share: {0.5, 0.5}},
		"a sum of 0.8": {exposure: {1, 2}, count: {0, 3}, share: {0.5, 0.3}},
	} {
		require.ErrorContains(t, m.CheckData(bad), says)
	}

	simulator, err := NewSimulator(open(t), m)
	require.NoError(t, err)
	_, err = simulator.Draw(t.Context(), nil, 1, "x")
	require.ErrorContains(t, err, `constant "exposure" has no values`)
	drawn, err := simulator.Draw(t.Context(), Values{exposure: {1, 1e-12}, rate: {3, 3}}, 1, "x")
	require.NoError(t, err)
	require.Equal(t, []float64{3, 3}, drawn[rate], "known values stay")
	require.Zero(t, drawn[count][1])
	again, err := simulator.Draw(t.Context(), Values{exposure: {1, 1e-12}, rate: {3, 3}}, 1, "x")
	require.NoError(t, err)
	require.Equal(t, drawn, again)
}

// linkCases are links with the event shapes at which they are tested, and the indices of the
// entries of a value that determine it.
var linkCases = map[string]struct {
	link  Link
	event []int
	free  []int
}{
	"identity": {IdentityLink{}, []int{2, 2}, []int{0, 1, 2, 3}},
	"exp":      {ExpLink{}, []int{3}, []int{0, 1, 2}},
	"softmax":  {SoftmaxLink{}, []int{4}, []int{0, 1, 2}},
}

// Values lie in the support, and the determinant agrees with a Jacobian by central differences.
func TestLinksAgainstDifferences(t *testing.T) {
	for name, c := range linkCases {
		t.Run(name, func(t *testing.T) {
			n, err := c.link.Dim(c.event)
			require.NoError(t, err)
			require.Len(t, c.free, n)
			exec := MustNewExec(testkit.Backend(t), func(u *Node) (*Node, *Node) { return c.link.ToEvent(u, c.event) })
			apply := func(rows [][]float64) (values [][]float64, logDets []float64) {
				out := exec.MustExec(rows)
				logDets = out[1].Value().([]float64)
				flat := tensors.MustCopyFlatData[float64](out[0])
				size := product(c.event)
				for i := range rows {
					values = append(values, flat[i*size:(i+1)*size])
				}
				return values, logDets
			}
			const h = 1e-5
			random := stream.Rand(5, name)
			for trial := range 8 {
				point := make([]float64, n)
				for i := range point {
					point[i] = 2 * random.NormFloat64()
				}
				if trial == 0 {
					clear(point)
				}
				rows := [][]float64{point}
				for i := range n {
					above, below := append([]float64{}, point...), append([]float64{}, point...)
					above[i] += h
					below[i] -= h
					rows = append(rows, above, below)
				}
				values, logDets := apply(rows)
				require.NoError(t, c.link.Support().check(values[0]))
				jacobian := mat.NewDense(n, n, nil)
				for i := range n {
					for k, place := range c.free {
						jacobian.Set(k, i, (values[1+2*i][place]-values[2+2*i][place])/(2*h))
					}
				}
				want, _ := mat.LogDet(jacobian)
				require.InDelta(t, want, logDets[0], 1e-6)
			}
		})
	}
}

// Far from zero values and determinants stay finite in Float32, and so do their gradients.
func TestLinksFarOut(t *testing.T) {
	for name, c := range linkCases {
		n, _ := c.link.Dim(c.event)
		for _, far := range []float32{-80, 0, 80} {
			u := make([]float32, n)
			for i := range u {
				u[i] = far
			}
			out := MustExecOnceN(testkit.Backend(t), func(u *Node) []*Node {
				value, logDet := c.link.ToEvent(InsertAxes(u, 0), c.event)
				return []*Node{ReduceAllSum(value), ReduceAllSum(logDet), ReduceAllSum(Gradient(ReduceAllSum(logDet), u)[0])}
			}, u)
			for i, x := range out {
				require.False(t, math.IsNaN(float64(x.Value().(float32))) || math.IsInf(float64(x.Value().(float32)), 0), "%s at %g: output %d is %v", name, far, i, x.Value())
			}
		}
	}
}

func TestLinksRefuseEvents(t *testing.T) {
	for _, c := range []struct {
		link  Link
		event []int
	}{{SoftmaxLink{}, []int{1}}, {SoftmaxLink{}, nil}} {
		_, err := c.link.Dim(c.event)
		require.Error(t, err)
	}
}
