package flows

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/table"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func logNormal(x, mean, sd float64) float64 {
	return -dgraph.Square((x-mean)/sd)/2 - math.Log(sd) - score.HalfLog2Pi
}

// naiveLogJoint returns log p(x_j, θ | x_pa), for node j with parents pa, by loops over rows.
func naiveLogJoint(p *score.Problem, f dgraph.Family, theta []float64) (sum float64) {
	l := p.Layout()
	masked := make([]float64, len(theta))
	for k, on := range l.Mask(f) {
		if on {
			masked[k] = theta[k]
		}
	}
	logSigma := l.LogSigma(masked)
	for _, values := range naiveRows(p, f.Node) {
		var mean float64
		switch {
		case f.Parents.Empty(): // no parents: noise only
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

// naiveRows returns the rows in which a node was not set, centred if the mechanism needs it.
func naiveRows(p *score.Problem, j int) (rows [][]float64) {
	for row := range p.Data.Rows() {
		if !p.Data.Counts(row, j) {
			continue
		}
		values := append([]float64(nil), p.Data.X.RawRowView(row)...)
		for i := range values {
			var sum, count float64
			for other := range p.Data.Rows() {
				if p.Data.Counted != nil && p.Data.Counted[other][j] {
					sum += p.Data.X.At(other, i)
					count++
				}
			}
			if count > 0 && p.Data.Scaling != tables.Unscaled {
				values[i] -= sum / count
			}
		}
		rows = append(rows, values)
	}
	return rows
}

// naiveCollapsed returns log p(x_j, W1, σ | x_pa) of a network with first layer W1 and noise σ,
// from the covariance matrix of all rows.
func naiveCollapsed(p *score.Problem, f dgraph.Family, theta []float64) (sum float64) {
	h, bias, n := p.Model.Hidden, !p.Model.NoBias, p.Data.Nodes()
	any := !f.Parents.Empty()
	sigma := p.Model.Sigma
	if sigma == 0 {
		logSigma := theta[len(theta)-1]
		sigma = math.Exp(logSigma)
		sum += logNormal(logSigma, p.Data.LogSD(f.Node), score.LogSigmaSD)
	}
	rows := naiveRows(p, f.Node)
	covariance, y := mat.NewSymDense(len(rows), nil), mat.NewVecDense(len(rows), nil)
	units := make([][]float64, len(rows))
	for r, row := range rows {
		y.SetVec(r, row[f.Node])
		for unit := range h {
			input := 0.0
			for i := range f.Parents.Nodes() {
				input += theta[i*h+unit] * row[i]
			}
			if bias && any {
				input += theta[n*h+unit]
			}
			units[r] = append(units[r], math.Max(0, input))
		}
		if bias && any {
			units[r] = append(units[r], 1)
		}
	}
	for a := range units {
		for b := range a + 1 {
			covariance.SetSym(a, b, p.Model.PriorSD*p.Model.PriorSD*floats.Dot(units[a], units[b])+sigma*sigma*dgraph.Indicator(a == b))
		}
	}
	var factor mat.Cholesky
	factor.Factorize(covariance)
	var solved mat.VecDense
	_ = factor.SolveVecTo(&solved, y)
	sum -= float64(len(rows))*score.HalfLog2Pi + factor.LogDet()/2 + mat.Dot(y, &solved)/2
	for unit := range h {
		for i := range f.Parents.Nodes() {
			sum += logNormal(theta[i*h+unit], 0, p.Model.PriorSD)
		}
		if bias && any {
			sum += logNormal(theta[n*h+unit], 0, p.Model.PriorSD)
		}
	}
	return sum
}

// problems returns problems with all mechanisms that flows support, with and without their options.
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
