package hbm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
)

// total estimates Σ f over the members of plates by a weighted sum over a selection.
func total(c *selection, f func(members []int) float64, plates ...*Plate) float64 {
	var sum float64
	var walk func(at int, members []int, weight float64)
	walk = func(at int, members []int, weight float64) {
		if at == len(plates) {
			if weight != 0 {
				sum += weight * f(members)
			}
			return
		}
		for place, member := range c.members[plates[at]] {
			walk(at+1, append(members, int(member)), weight*c.weight[plates[at]][place])
		}
	}
	walk(0, nil, 1)
	return sum
}

// Weighted sums over selections are unbiased for sums over all members, for nested plates with
// groups of different sizes, crossed plates, and variables on two plates. The tolerance is five
// standard errors of the mean over selections; sums without the weights differ by more.
func TestSelectionsAreUnbiased(t *testing.T) {
	m := NewModel()
	school := m.Plate("school", 5)
	// the last school is empty
	pupil := m.Plate("pupil", 9).In(school, []int32{0, 0, 0, 1, 2, 2, 3, 3, 3})
	year := m.Plate("year", 4)
	student, teacher := m.Plate("student", 4), m.Plate("teacher", 3)
	faculty := m.Plate("faculty", 2)
	teacher.In(faculty, []int32{0, 1, 0})
	rating := m.Plate("rating", 7).In(student, []int32{0, 1, 2, 3, 0, 0, 1}).In(teacher, []int32{0, 1, 2, 0, 1, 2, 1})
	require.NoError(t, m.Err())
	random := stream.Rand(1, "selection")
	f := make([]float64, 64)
	for i := range f {
		f[i] = 1 + random.Float64()
	}
	value := func(members []int) float64 {
		sum := 0.0
		for i, member := range members {
			sum += f[member+7*i]
		}
		return sum
	}
	s, err := newSelector(m, map[*Plate]int{school: 2, pupil: 2, year: 3, rating: 3})
	require.NoError(t, err)
	require.False(t, s.isWhole())
	const n = 4000
	for _, plates := range [][]*Plate{{school}, {pupil}, {year}, {pupil, year}, {year, school}, {rating}, {student}, {teacher}, {faculty}, {rating, year}} {
		exact := 0.0
		every := &selection{members: map[*Plate][]int32{}, weight: map[*Plate][]float64{}}
		for _, p := range plates {
			for i := range p.size {
				every.members[p], every.weight[p] = append(every.members[p], int32(i)), append(every.weight[p], 1)
			}
		}
		exact = total(every, value, plates...)
		var sum, squares, bare float64
		for range n {
			c := s.draw(random)
			for _, p := range plates {
				require.Len(t, c.members[p], s.size(p))
				seen := map[int32]bool{}
				for place, member := range c.members[p] {
					if c.weight[p][place] > 0 {
						require.False(t, seen[member], "%v is drawn twice", p)
						seen[member] = true
					}
				}
				for _, parent := range p.parents {
					for place, member := range c.members[p] {
						if c.weight[p][place] > 0 {
							require.Equal(t, parent.index[member], c.members[parent.plate][c.index[parent][place]])
						}
					}
				}
			}
			x := total(c, value, plates...)
			sum, squares = sum+x/n, squares+x*x/n
			for _, p := range plates {
				for place, w := range c.weight[p] {
					c.weight[p][place] = math.Min(1, math.Ceil(w))
				}
			}
			bare += total(c, value, plates...) / n
		}
		se := math.Sqrt(math.Max(squares-sum*sum, 0) / n)
		require.InDelta(t, exact, sum, 5*se+1e-9, "%v", plates)
		require.Greater(t, math.Abs(exact-bare), 5*se, "%v without weights", plates)
	}
}

func TestSelectionMistakes(t *testing.T) {
	build := func() (m *Model, group, member, item, answer *Plate) {
		m = NewModel()
		group = m.Plate("group", 3)
		member = m.Plate("member", 4).In(group, []int32{0, 1, 1, 2})
		item = m.Plate("item", 3)
		answer = m.Plate("answer", 4).In(member, []int32{0, 1, 2, 3}).In(item, []int32{0, 1, 1, 0})
		return m, group, member, item, answer
	}
	m, group, member, item, answer := build()
	for says, batch := range map[string]map[*Plate]int{
		"not of this model":                         {NewModel().Plate("x", 2): 1},
		"negative":                                  {group: -1},
		"want only the first, whose members":        {answer: 2, group: 2},
		`no member of "answer" belongs to member 2`: {answer: 2},
		`"answer" is nested in several plates`:      {member: 2},
		`takes a part of one`:                       {item: 2},
	} {
		_, err := newSelector(m, batch)
		require.ErrorContains(t, err, says)
	}
	s, err := newSelector(m, map[*Plate]int{answer: 4, item: 7})
	require.NoError(t, err)
	require.True(t, s.isWhole(), "no fewer than there are")

	m = NewModel()
	group = m.Plate("group", 3)
	m.Observed("x", Normal(Number(0), Number(1)), On(group, m.Plate("member", 4).In(group, []int32{0, 1, 1, 2})))
	_, err = newSelector(m, map[*Plate]int{group: 2})
	require.ErrorContains(t, err, "not select independently")
}

// Thinning leaves members out with everything that belongs to them, also in crossed plates.
func TestThin(t *testing.T) {
	m := NewModel()
	school, class := m.Plate("school", 6), m.Plate("class", 12)
	index, crossed := make([]int32, 48), make([]int32, 48)
	for i := range index {
		index[i], crossed[i] = int32(i/8), int32(i%12)
	}
	row := m.Plate("row", 48).In(school, index).In(class, crossed)
	everything, err := newSelector(m, nil)
	require.NoError(t, err)
	chosen := everything.draw(nil)
	chosen.thin(m, rand.New(rand.NewPCG(1, 2)))
	left := 0
	for i, weight := range chosen.weight[row] {
		if weight > 0 {
			left++
			require.Positive(t, chosen.weight[school][index[i]], "a row of a school that is left out")
			require.Positive(t, chosen.weight[class][crossed[i]], "a row of a class that is left out")
		}
	}
	require.Positive(t, left)
	require.Less(t, left, 48)
}

// TestParts compares draws of some members with draws of all, and the ELBO of a model that is too
// large for one graph, which is estimated from a part of the members in each draw, with the ELBO
// from all members.
func TestParts(t *testing.T) {
	const groups = 3000
	e := newEffects(groups, 100, 1)
	data := e.draw(t, 1)
	group := e.model.plates[0]
	p := fit(t, e.model, data, Config{Batch: map[*Plate]int{group: 50}, Steps: 100})
	elbo, se, err := p.ELBO(t.Context(), 400, "parts")
	require.NoError(t, err)
	all, err := p.sample(t.Context(), 10, "all", p.everything, false)
	require.NoError(t, err)
	floats.Sub(all.LogJoint, all.LogQ)
	want, sd := stat.MeanStdDev(all.LogJoint, nil)
	require.InDelta(t, want, elbo, 5*math.Hypot(se, sd/math.Sqrt(10)))
	require.Less(t, se, math.Abs(want)/20)

	const draws = 250
	chosen := []int32{2999, 7, 12}
	some, err := p.SampleMembers(t.Context(), draws, "some", map[*Plate][]int32{group: chosen})
	require.NoError(t, err)
	require.Len(t, some.Values[e.groupMean], draws*len(chosen))
	all, err = p.sample(t.Context(), draws, "all", p.everything, true)
	require.NoError(t, err)
	for i, member := range chosen {
		var inSome, inAll []float64
		for d := range draws {
			inSome = append(inSome, some.Of(e.groupMean, d)[i])
			inAll = append(inAll, all.Of(e.groupMean, d)[member])
		}
		mean, sd := stat.MeanStdDev(inAll, nil)
		require.InDelta(t, mean, stat.Mean(inSome, nil), 5*sd*math.Sqrt(2./draws))
		require.NotZero(t, sd)
	}
	_, err = p.SampleMembers(t.Context(), 1, "none", map[*Plate][]int32{group: {groups}})
	require.ErrorContains(t, err, "want members of plates of this model")
}
