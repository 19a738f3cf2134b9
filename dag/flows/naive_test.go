package flows

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/dag/dagtest"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

func logNormal(x, mean, sd float64) float64 {
	return -score.Square((x-mean)/sd)/2 - math.Log(sd) - score.HalfLog2Pi
}

// naiveLogJoint is log p(x_j, θ | x_pa) by loops over rows.
func naiveLogJoint(p *score.Problem, f dgraph.Family, theta []float64) (sum float64) {
	l := p.Layout()
	masked := make([]float64, len(theta))
	for k, on := range l.Mask(f) {
		if on {
			masked[k] = theta[k]
		}
	}
	logSigma := l.LogSigma(masked)
	for row := range p.Data.Rows() {
		if !p.Data.Counts(row, f.Node) {
			continue
		}
		values := append([]float64(nil), p.Data.X.RawRowView(row)...)
		for i := range values { // less their means in the rows that count
			var sum, count float64
			for other := range p.Data.Rows() {
				if p.Data.Counted != nil && p.Data.Counted[other][f.Node] {
					sum += p.Data.X.At(other, i)
					count++
				}
			}
			if count > 0 && p.Data.Scaling != tables.Unscaled {
				values[i] -= sum / count
			}
		}
		var mean float64
		switch {
		case f.Parents.Empty(): // nothing but noise
		case p.Model.Mechanism == sem.Linear:
			for i := range f.Parents.Nodes() {
				mean += masked[i] * values[i]
			}
		default:
			h := p.Model.Hidden
			for unit := range h {
				var input float64
				for i := range f.Parents.Nodes() {
					input += masked[i*h+unit] * values[i]
				}
				at := p.Data.Nodes() * h
				if !p.Model.NoBias {
					input += masked[at+unit]
					at += h
				}
				mean += masked[at+unit] * math.Max(0, input)
			}
			if !p.Model.NoBias {
				mean += masked[(p.Data.Nodes()+2)*h]
			}
		}
		sum += logNormal(values[f.Node], mean, math.Exp(logSigma))
	}
	for k, on := range l.Mask(f) {
		if on && k < l.Weights() {
			sum += logNormal(theta[k], 0, p.Model.PriorSD)
		}
	}
	if l.Sigma == 0 {
		sum += logNormal(logSigma, p.Data.LogSD(f.Node), score.LogSigmaSD)
	}
	return sum
}

// problems are all mechanisms, with and without what is optional.
func problems(t *testing.T) map[string]*score.Problem {
	rows := dagtest.ChainRows(9)
	text := "a,b,c,set\n"
	for i, row := range rows {
		text += dagtest.CSVLine(row) + []string{",\n", ",b\n", ",\n"}[i%3]
	}
	parsed, err := table.Parse("test.csv", []byte(text))
	require.NoError(t, err)
	set, err := tables.NewData(parsed, tables.DataOptions{Intervened: "set"})
	require.NoError(t, err)
	plain := dagtest.Chain(t, 9, tables.DataOptions{Scaling: tables.Center})
	out := map[string]*score.Problem{}
	for name, model := range map[string]score.ModelOptions{
		"linear":          {PriorSD: 1.5},
		"linear known":    {Sigma: 0.8},
		"mlp":             {Mechanism: sem.MLP, Hidden: 3},
		"mlp known":       {Mechanism: sem.MLP, Hidden: 2, Sigma: 1.1},
		"mlp without b":   {Mechanism: sem.MLP, Hidden: 2, NoBias: true},
		"mlp known, no b": {Mechanism: sem.MLP, Hidden: 3, NoBias: true, Sigma: 0.5, PriorSD: 2},
	} {
		for kind, data := range map[string]*tables.Data{"": plain, ", interventions": set} {
			if out[name+kind], err = score.NewProblem(data, model, tables.Constraints{}); err != nil {
				require.NoError(t, err)
			}
		}
	}
	return out
}
