package hbm

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// classes is a model of pupils in schools, with marks on several days and the age of each pupil.
// The number of a pupil determines the marks and the age.
type classes struct {
	model              *Model
	school, pupil      *Variable // latent variables for whose members encodings are computed
	overall, age, mark *Variable
	data               Values
}

const days = 3

// newClasses builds the model with pupils in the order of schoolOf. Entry i of numbers determines
// the marks and the age of pupil i, and the argument order the order of the days.
func newClasses(schoolOf []int32, numbers, order []int) *classes {
	c := &classes{model: NewModel()}
	school := c.model.Plate("school", 3)
	pupil := c.model.Plate("pupil", len(schoolOf)).In(school, schoolOf)
	day := c.model.Plate("day", days)
	c.overall = c.model.Latent("overall", Normal(Number(0), Number(1)))
	c.school = c.model.Latent("level", Normal(c.overall, Number(1)), On(school))
	c.pupil = c.model.Latent("ability", Normal(c.school, Number(1)), On(pupil))
	c.age = c.model.Constant("age", On(pupil))
	c.mark = c.model.Observed("mark", Normal(Of(func(v []*Node) *Node { return Add(v[0], v[1]) }, c.pupil, c.age), Number(1)), On(pupil, day))
	c.data = Values{}
	for _, number := range numbers {
		random := stream.Rand(uint64(number), "marks")
		c.data[c.age] = append(c.data[c.age], 10+random.Float64())
		marks := make([]float64, days)
		for i := range marks {
			marks[i] = random.NormFloat64()
		}
		for _, i := range order {
			c.data[c.mark] = append(c.data[c.mark], marks[i])
		}
	}
	return c
}

var encoders = map[string]func(s *setEncoder) encoder{
	"deep sets":    func(s *setEncoder) encoder { return s },
	"with squares": func(s *setEncoder) encoder { s.pool = squarePool; return s },
	"attention":    func(s *setEncoder) encoder { s.pool = attentionPool; return s },
}

// encodings returns the encodings of all members of a variable [members][width], by networks with
// random weights. The graph has the members that the argument batch selects.
func (c *classes) encodings(t *testing.T, wrap func(s *setEncoder) encoder, dtype dtypes.DType, v *Variable, batch map[*Plate]int) [][]float64 {
	const width = 7
	require.NoError(t, c.model.CheckData(c.data))
	s := newSetEncoder(c.model, c.data, meanPool, Config{Seed: 3})
	// The units do not depend on the order of the data, not even by rounding.
	for _, u := range s.units {
		clear(u.mean)
		for i := range u.sd {
			u.sd[i] = 2
		}
	}
	selector, err := newSelector(c.model, batch)
	require.NoError(t, err)
	f := &feed{model: c.model, data: c.data, dtype: dtype}
	selected := selector.draw(stream.Rand(1, "part"))
	variables := context.New()
	exec, err := context.NewExecAny(testkit.Backend(t), variables, func(ctx *context.Context, inputs []*Node) []*Node {
		r := f.replica(selector, inputs)
		return []*Node{ConvertDType(wrap(s).encode(ctx, ctx.In("latent"), r, v, width), dtypes.Float64)}
	})
	require.NoError(t, err)
	_, err = exec.Exec(f.inputs(selected)...) // creates the graph variables
	require.NoError(t, err)
	for variable := range variables.IterVariables() { // no weight stays zero
		value, err := variable.Value()
		require.NoError(t, err)
		random := stream.Rand(1, variable.ScopeAndName())
		value.MustMutableFlatData(func(flat any) {
			switch values := flat.(type) {
			case []float32:
				for i := range values {
					values[i] += float32(0.1 * random.NormFloat64())
				}
			case []float64:
				for i := range values {
					values[i] += 0.1 * random.NormFloat64()
				}
			}
		})
	}
	outputs, err := exec.Exec(f.inputs(selected)...)
	require.NoError(t, err)
	flat := tensors.MustCopyFlatData[float64](outputs[0])
	rows := make([][]float64, product(selected.dims(v)))
	for i := range rows {
		rows[i] = flat[i*width : (i+1)*width]
	}
	return rows
}

// Encodings follow their members, and do not depend on the order of pupils, of days, or of the
// pupils of a school in the list, up to rounding. A pupil in another school changes the encodings
// of both schools.
func TestEncodersAreInvariant(t *testing.T) {
	for name, wrap := range encoders {
		for dtype, tolerance := range map[dtypes.DType]float64{dtypes.Float64: 1e-13, dtypes.Float32: 1e-5} {
			t.Run(name+"/"+dtype.String(), func(t *testing.T) {
				one := newClasses([]int32{0, 0, 0, 1, 2, 2}, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2})
				other := newClasses([]int32{2, 0, 1, 0, 2, 0}, []int{6, 3, 4, 1, 5, 2}, []int{2, 0, 1})
				moved := newClasses([]int32{0, 0, 1, 1, 2, 2}, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2})
				same := func(want, got []float64) { require.InDeltaSlice(t, want, got, tolerance) }
				same(one.encodings(t, wrap, dtype, one.overall, nil)[0], other.encodings(t, wrap, dtype, other.overall, nil)[0])
				schools := one.encodings(t, wrap, dtype, one.school, nil)
				for i, row := range other.encodings(t, wrap, dtype, other.school, nil) {
					same(schools[i], row)
				}
				pupils := one.encodings(t, wrap, dtype, one.pupil, nil)
				for place, row := range other.encodings(t, wrap, dtype, other.pupil, nil) {
					same(pupils[[]int{6, 3, 4, 1, 5, 2}[place]-1], row)
				}
				for i, row := range moved.encodings(t, wrap, dtype, moved.school, nil) {
					require.Equal(t, i < 2, distance(schools[i], row) > 100*tolerance, "school %d", i)
				}
				require.Greater(t, distance(pupils[0], pupils[1]), 100*tolerance)
			})
		}
	}
}

func distance(a, b []float64) float64 {
	var largest float64
	for i := range a {
		largest = math.Max(largest, math.Abs(a[i]-b[i]))
	}
	return largest
}

// Each of the families that encode data comes near the exact evidence of a data set of three
// groups. The number of weights does not depend on the number of groups.
func TestFitWithEncoders(t *testing.T) {
	testkit.Slow(t)
	for _, family := range []Family{PAVIE, ADAVI, AmortizedBranch} {
		t.Run(family.String(), func(t *testing.T) {
			e := newEffects(3, 10, 1)
			data := e.draw(t, 1)
			p := fit(t, e.model, data, Config{Family: family, Steps: 1000, Draws: 8})
			elbo, _, err := p.ELBO(t.Context(), 500, "elbo")
			require.NoError(t, err)
			require.InDelta(t, e.exact(data).logEvidence, elbo, 0.5)

			more := newEffects(7, 4, 1)
			q := fit(t, more.model, more.draw(t, 1), Config{Family: family, Steps: 1})
			require.Equal(t, p.Weights(), q.Weights())
		})
	}
}

func TestPyramids(t *testing.T) {
	e := newEffects(3, 2, 1)
	require.NoError(t, checkPyramid(e.model))
	m, observed, _ := ragged()
	err := checkPyramid(m)
	require.ErrorContains(t, err, "which are crossed: use joint or, for a formula, the family marginal")
	_, err = newPosterior(open(t), m, Values{observed: make([]float64, 54)}, Config{Family: ADAVI}.WithDefaults())
	require.ErrorContains(t, err, "nested plates")
}
