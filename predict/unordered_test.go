package predict

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// choiceRun is a posterior of two draws for three categories. The log odds of the second and third
// category against the first are 1 + x and −x in the first draw, and 1 and 0 in the second draw.
type choiceRun struct{ seen *table.Table }

func (r choiceRun) Predictors() (string, []Variable, *table.Table, error) {
	return "y", []Variable{{"x", false}}, r.seen, nil
}

func (choiceRun) Population(fresh *table.Table) (*Rows, error) {
	rows := &Rows{Scale: []float64{1, 1}, Categories: []string{"a", "b", "c"}, Unordered: likelihood.AgainstFirst(3), Discrete: true}
	rows.Places, rows.Unit = fresh.Places()
	x, err := fresh.Lookup("x")
	if err != nil {
		return nil, err
	}
	ones := make([]float64, fresh.Rows())
	for i := range ones {
		ones[i] = 1
	}
	rows.Terms = []Term{
		{Name: "b:(Intercept)", Plane: 0, X: ones, Draws: [][]float64{{1, 1}}},
		{Name: "b:x", Plane: 0, X: x.Values, Draws: [][]float64{{1, 0}}},
		{Name: "c:x", Plane: 1, X: x.Values, Draws: [][]float64{{-1, 0}}},
	}
	return rows, nil
}

// shares returns the probabilities of categories from their log odds against the first category.
func shares(odds ...float64) []float64 {
	p, sum := []float64{1}, 1.0
	for _, o := range odds {
		p = append(p, math.Exp(o))
		sum += math.Exp(o)
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

func choices(t *testing.T) choiceRun {
	t.Helper()
	seen, err := table.Parse("t", []byte("x,y\n0,a\n2,b\n-2,c\n0.5,b\n"))
	require.NoError(t, err)
	return choiceRun{seen}
}

// Predictions of categories without an order are probabilities averaged over draws. They have
// neither a mean nor an interval. The score is the log score of the probabilities.
func TestUnorderedPredictions(t *testing.T) {
	run := choices(t)
	rows, err := run.Population(run.seen)
	require.NoError(t, err)
	rows.Y = []float64{0, 1, 2, 1}
	result, err := Summarise(t.Context(), rows, Config{Seed: 1})
	require.NoError(t, err)
	score := 0.0
	for i, x := range []float64{0, 2, -2, 0.5} {
		first, second := shares(1+x, -x), shares(1, 0)
		p := result.Predictions[i]
		for k := range first {
			require.InDelta(t, (first[k]+second[k])/2, float64(p.Probabilities[k]), 1e-14)
		}
		score += math.Log(float64(p.Probabilities[int(rows.Y[i])])) / 4
		require.True(t, math.IsNaN(float64(p.Mean)) && math.IsNaN(float64(p.Low)) && math.IsNaN(float64(p.SD)))
	}
	require.InDelta(t, score, float64(result.Observed.LogScore), 1e-14)
	require.True(t, math.IsNaN(float64(result.Observed.RMSE)) && math.IsNaN(float64(result.Observed.Covered)))
	require.Equal(t, 2, rows.Part(2, 2).Len())

	joint, err := rows.Joint()
	require.NoError(t, err)
	want := 1.0
	for i, x := range []float64{0, 2, -2, 0.5} {
		want *= shares(1+x, -x)[int(rows.Y[i])]
	}
	second := shares(1, 0)
	require.InDelta(t, math.Log((want+second[0]*second[1]*second[2]*second[1])/2), joint, 1e-13)
}

// Effects on categories without an order are effects on their probabilities or, on the link scale,
// on their log odds against the first category.
func TestUnorderedEffects(t *testing.T) {
	run := choices(t)
	foci := []Focus{{Name: "x", Values: []string{"0", "2"}}}
	e, err := EffectsOf(t.Context(), run, EffectsConfig{Of: foci, Contrast: ToReference})
	require.NoError(t, err)
	require.Equal(t, "probability", e.Axis())
	require.Len(t, e.Means, 6)
	at0, at2, out := shares(1, 0), shares(3, -2), shares(1, 0)
	for k, category := range []string{"a", "b", "c"} {
		low, high, change := e.Means[2*k], e.Means[2*k+1], e.Contrasts[k]
		require.Equal(t, []string{category, category, category}, []string{low.Category, high.Category, change.Category})
		require.InDelta(t, (at0[k]+out[k])/2, float64(low.Mean), 1e-14)
		require.InDelta(t, (at2[k]+out[k])/2, float64(high.Mean), 1e-14)
		require.InDelta(t, (at2[k]-at0[k])/2, float64(change.Mean), 1e-14)
		require.Equal(t, 0.5, float64(change.Zero))
	}
	dir := t.TempDir()
	require.NoError(t, e.WriteCSV(filepath.Join(dir, "e.csv")))
	content, err := os.ReadFile(filepath.Join(dir, "e.csv"))
	require.NoError(t, err)
	require.Contains(t, string(content), "kind,values,minus,by,mean,sd,low,high,positive,zero,category\nmean,0,,,")
	link, err := EffectsOf(t.Context(), run, EffectsConfig{Of: foci, Link: true})
	require.NoError(t, err)
	require.Equal(t, "log odds against a", link.Axis())
	require.Len(t, link.Means, 4)
	require.InDelta(t, 2, float64(link.Means[1].Mean), 1e-14) // log odds of b at x = 2, the mean of 3 and 1 in the two draws
	require.InDelta(t, -1, float64(link.Means[3].Mean), 1e-14)
	curve, err := EffectsOf(t.Context(), run, EffectsConfig{Of: []Focus{{Name: "x"}}, Curve: true})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, curve.lines())
	require.NoError(t, curve.WritePicture(dir, "curve", true))
	require.FileExists(t, filepath.Join(dir, "curve.svg"))
}
