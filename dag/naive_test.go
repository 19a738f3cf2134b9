package dag

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/table"
)

func logNormal(x, mean, sd float64) float64 {
	return -square((x-mean)/sd)/2 - math.Log(sd) - halfLog2Pi
}

// naiveLogJoint is log p(x_j, θ | x_pa) by loops over rows.
func naiveLogJoint(p *Problem, f dgraph.Family, theta []float64) (sum float64) {
	l := p.layout()
	masked := make([]float64, len(theta))
	for k, on := range l.mask(f) {
		if on {
			masked[k] = theta[k]
		}
	}
	logSigma := l.logSigma(masked)
	for row := range p.Data.Rows() {
		if !p.Data.counts(row, f.Node) {
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
			if count > 0 && p.Data.Scaling != Unscaled {
				values[i] -= sum / count
			}
		}
		var mean float64
		switch {
		case f.Parents.Empty(): // nothing but noise
		case p.Model.Mechanism == Linear:
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
	for k, on := range l.mask(f) {
		if on && k < l.weights() {
			sum += logNormal(theta[k], 0, p.Model.PriorSD)
		}
	}
	if l.sigma == 0 {
		sum += logNormal(logSigma, newLinearStats(p.Data, f.Node).logSD, logSigmaSD)
	}
	return sum
}

// problems are all mechanisms, with and without what is optional.
func problems(t *testing.T) map[string]*Problem {
	rows := chainRows(9)
	text := "a,b,c,set\n"
	for i, row := range rows {
		text += csvLine(row) + []string{",\n", ",b\n", ",\n"}[i%3]
	}
	parsed, err := table.Parse("test.csv", []byte(text))
	require.NoError(t, err)
	set, err := NewData(parsed, DataOptions{Intervened: "set"})
	require.NoError(t, err)
	plain := chainData(t, 9, DataOptions{Scaling: Center})
	out := map[string]*Problem{}
	for name, model := range map[string]ModelOptions{
		"linear":          {PriorSD: 1.5},
		"linear known":    {Sigma: 0.8},
		"mlp":             {Mechanism: MLP, Hidden: 3},
		"mlp known":       {Mechanism: MLP, Hidden: 2, Sigma: 1.1},
		"mlp without b":   {Mechanism: MLP, Hidden: 2, NoBias: true},
		"mlp known, no b": {Mechanism: MLP, Hidden: 3, NoBias: true, Sigma: 0.5, PriorSD: 2},
	} {
		for kind, data := range map[string]*Data{"": plain, ", interventions": set} {
			if out[name+kind], err = NewProblem(data, model, Constraints{}); err != nil {
				require.NoError(t, err)
			}
		}
	}
	return out
}
