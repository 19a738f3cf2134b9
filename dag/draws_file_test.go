package dag

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	files "github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/lab/dagtest"
)

// The test counts the edges in the file of draws of a run. Their shares agree with the edge
// probabilities of the result within 5 standard errors. The log densities of 50 draws agree with
// sums over the rows of the table.
func TestDrawsFile(t *testing.T) {
	for _, model := range []score.ModelOptions{{Mechanism: sem.Linear, EdgePenalty: 0.4}, {Mechanism: sem.MLP, Hidden: 2}} {
		p, err := score.NewProblem(dagtest.Chain(t, 25, tables.DataOptions{}), model, tables.Constraints{})
		require.NoError(t, err)
		dir := t.TempDir()
		var result *Result
		if model.Mechanism == sem.MLP {
			result, err = RunParticles(t.Context(), p, ParticlesConfig{Islands: 60, Seed: 2, Dir: dir})
		} else {
			result, err = RunExact(t.Context(), p, ExactConfig{Seed: 2, Dir: dir})
		}
		require.NoError(t, err)
		file, err := files.Read(filepath.Join(dir, effects.DrawsFile))
		require.NoError(t, err)
		const draws = 2000
		require.Equal(t, draws, file.Len())
		sample, err := effects.ReadDraws(p, dir)
		require.NoError(t, err)
		sites := len(file.Sites)
		edges := make([][]float64, 3)
		for i := range edges {
			edges[i] = make([]float64, 3)
		}
		for k := range file.Len() {
			parents := make([]dgraph.Set, 3)
			for site, name := range file.Sites {
				e, err := p.Data.Edge(name)
				require.NoError(t, err)
				if file.Codes[k*sites+site] == 1 {
					parents[e.To] = parents[e.To].With(e.From)
					edges[e.From][e.To] += 1.0 / draws
				}
			}
			if k >= 50 {
				continue
			}
			want := 0.0
			for j, set := range parents {
				want += logJointByRows(p, dgraph.Family{Node: j, Parents: set}, sample.Thetas[k][j]) + p.Structure.Prior.LogWeight(j, set)
			}
			require.InDelta(t, want, file.LogP[k], 1e-6)
		}
		for _, e := range result.Edges {
			parsed, err := p.Data.Edge(e.From + "->" + e.To)
			require.NoError(t, err)
			require.InDelta(t, float64(e.Prob), edges[parsed.From][parsed.To], 5*math.Sqrt(0.25/draws)+1.0/draws)
			require.InDelta(t, float64(e.ProbReverse), edges[parsed.To][parsed.From], 5*math.Sqrt(0.25/draws)+1.0/draws)
		}
	}
}

// logJointByRows returns log p(x_j, θ | x_pa) for linear mechanisms and networks, as a sum over the
// rows.
func logJointByRows(p *score.Problem, f dgraph.Family, theta []float64) (sum float64) {
	normal := func(x, mean, sd float64) float64 {
		return -(x-mean)*(x-mean)/(2*sd*sd) - math.Log(sd) - math.Log(2*math.Pi)/2
	}
	l := p.Layout()
	for row := range p.Data.Rows() {
		mean := 0.0
		if values := p.Data.X.RawRowView(row); !f.Parents.Empty() {
			mean = l.Mean(theta, values)
		}
		sum += normal(p.Data.X.At(row, f.Node), mean, math.Exp(l.LogSigma(theta)))
	}
	for k, on := range l.Mask(f)[:l.Weights()] {
		if on {
			sum += normal(theta[k], 0, p.Model.PriorSD)
		}
	}
	return sum + normal(l.LogSigma(theta), p.Data.LogSD(f.Node), 2)
}
