package predict

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// countsTable has unequal numbers of rows for the combinations of g and s.
const countsTable = `g,s,x,y
a,f,1.0,2
a,m,2.5,4
a,f,3.0,3
b,m,0.5,1
b,m,4.0,9
b,f,2.0,5
c,f,1.5,2
c,m,3.5,8
c,m,2.0,6
c,f,5.0,11
a,m,4.5,7
b,m,3.0,6
`

// countsRun is the fit of glm(y ~ g*x + s, poisson) by R 4.2 as a posterior of two draws. The first
// draw has the estimates of this fit; the second has estimates without the effects of g.
type countsRun struct{ seen *table.Table }

func (r countsRun) Predictors() (string, []Variable, *table.Table, error) {
	return "y", []Variable{{"g", true}, {"s", true}, {"x", false}}, r.seen, nil
}

func (countsRun) Population(fresh *table.Table) (*Rows, error) {
	rows := &Rows{Scale: []float64{1, 1}, Response: likelihood.New(likelihood.PoissonKind, likelihood.Shape{})}
	rows.Places, rows.Unit = fresh.Places()
	column := func(name string) *table.Column {
		c, err := fresh.Lookup(name)
		if err != nil {
			panic(err)
		}
		return c
	}
	x := column("x").Values
	is := func(name, label string) []float64 {
		values := make([]float64, fresh.Rows())
		for row := range values {
			if column(name).Text(row) == label {
				values[row] = 1
			}
		}
		return values
	}
	times := func(a, b []float64) []float64 {
		values := make([]float64, len(a))
		for row := range values {
			values[row] = a[row] * b[row]
		}
		return values
	}
	ones := make([]float64, fresh.Rows())
	for row := range ones {
		ones[row] = 1
	}
	add := func(x []float64, first, second float64) {
		rows.Terms = append(rows.Terms, Term{X: x, Draws: [][]float64{{first, second}}})
	}
	add(ones, 0.3555540977395, 0.3555540977395)
	add(x, 0.3017141376448, 0.3017141376448)
	add(is("s", "m"), 0.2058827282338, 0.2058827282338)
	add(is("g", "b"), -0.0987054950918, 0)
	add(is("g", "c"), 0.2523526766516, 0)
	add(times(is("g", "b"), x), 0.1497538750808, 0)
	add(times(is("g", "c"), x), 0.0597916376090, 0)
	return rows, nil
}

func effectsOf(t *testing.T, cfg EffectsConfig) *Effects {
	t.Helper()
	seen, err := table.Parse("counts.csv", []byte(countsTable))
	require.NoError(t, err)
	e, err := EffectsOf(t.Context(), countsRun{seen}, cfg)
	require.NoError(t, err)
	return e
}

// TestEffectsAreThoseOfEmmeans compares effects under the first draw with estimates by R: by
// emmeans 1.8.4 or, for averages over the table, by predict().
func TestEffectsAreThoseOfEmmeans(t *testing.T) {
	first := func(m MarginalMean, second float64) float64 { return 2*float64(m.Mean) - second }
	g := []Focus{{Name: "g"}}
	link := effectsOf(t, EffectsConfig{Of: g, Link: true, Contrast: Pairwise})
	without := first(link.Means[0], 1.2756379) // the mean under the second draw, equal for every g
	for k, want := range []float64{1.2756379, 1.5825158, 1.6899263} {
		assert.InDelta(t, want, first(link.Means[k], without), 1e-6)
	}
	require.Len(t, link.Contrasts, 3)
	for k, want := range []float64{-0.3068779, -0.4142884, -0.1074104} {
		c := link.Contrasts[k]
		assert.InDelta(t, want, 2*float64(c.Mean), 1e-6)
		assert.EqualValues(t, 0.5, c.Zero)
		assert.EqualValues(t, 0, c.Positive)
	}
	assert.Equal(t, []string{"b"}, link.Contrasts[2].First)
	assert.Equal(t, []Held{{"s", "average of its 2 labels, all of one weight"}, {"x", "its mean, 2.7083"}}, link.Held)

	response := effectsOf(t, EffectsConfig{Of: g, Contrast: ToReference})
	for k, want := range []float64{4.892997 - 3.599976, 5.447819 - 3.599976} { // emmeans, regrid()
		assert.InDelta(t, want, 2*float64(response.Contrasts[k].Mean), 1e-5)
	}
	conditional := effectsOf(t, EffectsConfig{Of: []Focus{{"x", []string{"1", "4"}}}, By: &Focus{Name: "g"}, Link: true, Contrast: Pairwise})
	for k, want := range [][2]float64{{0.7602096, 1.6653520}, {0.8112580, 2.1656620}, {1.0723539, 2.1568712}} {
		const slope = 0.3017141376448 // the slope in the second draw
		assert.Equal(t, []string{"a", "b", "c"}[k], conditional.Contrasts[k].By)
		assert.InDelta(t, want[0]-want[1]-3*slope, 2*float64(conditional.Contrasts[k].Mean), 1e-6)
	}
	data := effectsOf(t, EffectsConfig{Of: g, OverData: true, Contrast: Pairwise})
	assert.InDelta(t, 3.981879709-5.966366905, 2*float64(data.Contrasts[0].Mean), 1e-8)
	assert.InDelta(t, 3.981879709, first(data.Means[0], float64(data.Means[0].Mean)), 1e-8, "both draws are the same at a")
}

// TestUnsupportedEffectsAreNoted checks that effects have a note if no row of the table has their
// combination of values, since they then depend only on the model. Impossible values are errors.
func TestUnsupportedEffectsAreNoted(t *testing.T) {
	curve := effectsOf(t, EffectsConfig{Of: []Focus{{Name: "x"}}, By: &Focus{Name: "g"}, Curve: true})
	require.Len(t, curve.Means, 3*CurvePoints)
	assert.Equal(t, []string{"0.5"}, curve.Means[0].Values)
	assert.Equal(t, []string{"5"}, curve.Means[CurvePoints-1].Values)
	assert.Contains(t, curve.Notes[0], "rows with g=a have x from 1 to 4.5")

	seen, err := table.Parse("counts.csv", []byte("g,s,x,y\na,f,1,2\na,m,2,3\nb,f,1,2\nc,m,2,2\n"))
	require.NoError(t, err)
	e, err := EffectsOf(t.Context(), countsRun{seen}, EffectsConfig{Of: []Focus{{Name: "g"}, {Name: "s"}}})
	require.NoError(t, err)
	require.Len(t, e.Means, 6)
	assert.Equal(t, []string{"b", "m"}, e.Means[3].Values)
	require.Len(t, e.Notes, 2)
	assert.Contains(t, e.Notes[0], "no row of the table has g=b, s=m")
	for message, cfg := range map[string]EffectsConfig{
		`"z" is no predictor of the run; its predictors are g, s, x`: {Of: []Focus{{Name: "z"}}},
		`got the label "d", want some of a, b, c`:                    {Of: []Focus{{"g", []string{"d"}}}},
		`got the value "low", want a number`:                         {Of: []Focus{{"x", []string{"low"}}}},
		"g: its values are chosen twice":                             {Of: []Focus{{Name: "g"}}, Fixed: []Focus{{"g", []string{"a"}}}},
		"a curve is of one predictor of numbers":                     {Of: []Focus{{Name: "g"}}, Curve: true},
		"got 2, want a number between 0 and 1":                       {Of: []Focus{{Name: "g"}}, Level: 2},
	} {
		_, err := EffectsOf(t.Context(), countsRun{seen}, cfg)
		assert.ErrorContains(t, err, message)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = EffectsOf(cancelled, countsRun{seen}, EffectsConfig{Of: []Focus{{Name: "g"}}})
	require.ErrorIs(t, err, context.Canceled)
}

// Usually a run is opened with varsel.OpenRun or regression.OpenRun. The run here has two draws,
// and g has no effect in one of them.
func ExampleEffectsOf() {
	seen, err := table.Parse("counts.csv", []byte(countsTable))
	if err != nil {
		panic(err)
	}
	effects, err := EffectsOf(context.Background(), countsRun{seen}, EffectsConfig{Of: []Focus{{Name: "g"}}, Contrast: ToReference})
	if err != nil {
		panic(err)
	}
	for _, m := range effects.Means {
		fmt.Printf("%s %.2f\n", m.Values[0], m.Mean)
	}
	for _, c := range effects.Contrasts {
		fmt.Printf("%s − %s %.2f, zero with probability %.1f\n", c.First[0], c.Second[0], c.Mean, c.Zero)
	}
	// Output:
	// a 3.60
	// b 4.25
	// c 4.52
	// b − a 0.65, zero with probability 0.5
	// c − a 0.92, zero with probability 0.5
}

// The mean of a centred column is 0, and not a rounding error.
func TestCentreOfCentredColumn(t *testing.T) {
	mean, sd := centre([]float64{0.1, 0.2, -0.3 - 1e-16})
	assert.Zero(t, mean)
	assert.Positive(t, sd)
	mean, _ = centre([]float64{0.1, 0.2, -0.3 + 1e-9})
	assert.InDelta(t, 1e-9/3, mean, 1e-15)
	assert.NotZero(t, mean)
}
