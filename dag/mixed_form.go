package dag

import (
	"fmt"
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/english"
)

// mixedColumns is a table of numbers and categories as columns of a regression. A category with m
// levels has m − 1 of them, contrasts that are orthonormal: coefficients that are independent with
// variance v stand for an effect of every level that is, so that no level is the reference.
type mixedColumns struct {
	data      *Data
	of        [][]int       // columns of each node
	contrasts [][][]float64 // of the levels of each category
	rows      [][]float64   // the table [n][M]
}

func newMixedColumns(d *Data) *mixedColumns {
	m := &mixedColumns{data: d, of: make([][]int, d.Nodes()), contrasts: make([][][]float64, d.Nodes()), rows: make([][]float64, d.Rows())}
	width := 0
	for j := range m.of {
		columns := 1
		var contrasts [][]float64
		if d.category(j) {
			contrasts = orthonormalContrasts(len(d.Levels[j]))
			m.contrasts[j] = contrasts
			columns = len(contrasts[0])
		}
		for range columns {
			m.of[j] = append(m.of[j], width)
			width++
		}
		for row := range m.rows {
			x := d.X.At(row, j)
			if contrasts == nil {
				m.rows[row] = append(m.rows[row], x)
			} else {
				m.rows[row] = append(m.rows[row], contrasts[int(x)]...)
			}
		}
	}
	return m
}

// width is M.
func (m *mixedColumns) width() int { return len(m.rows[0]) }

// columns are those of some nodes.
func (m *mixedColumns) columns(nodes dgraph.Set) (list []int) {
	for i := range nodes.Nodes() {
		list = append(list, m.of[i]...)
	}
	return list
}

// rowsFor are the rows that count for a node.
func (m *mixedColumns) rowsFor(node int) (rows [][]float64) {
	for row, values := range m.rows {
		if m.data.counts(row, node) {
			rows = append(rows, values)
		}
	}
	return rows
}

// orthonormalContrasts are r levels in r − 1 orthonormal columns that sum to zero (Helmert's)
// [r][r−1].
func orthonormalContrasts(r int) [][]float64 {
	rows := make([][]float64, r)
	for level := range rows {
		rows[level] = make([]float64, r-1)
		for k := range rows[level] {
			size := math.Sqrt(float64((k + 1) * (k + 2)))
			switch {
			case level <= k:
				rows[level][k] = 1 / size
			case level == k+1:
				rows[level][k] = -float64(k+1) / size
			}
		}
	}
	return rows
}

// newMixedForm is the form of a node of a mixed table.
func newMixedForm(d *Data, node int) closedForm {
	columns := newMixedColumns(d)
	if d.category(node) {
		return newLogisticForm(columns, node)
	}
	return &groupsForm{columns, bgeFormOf(columns.rowsFor(node), columns.of[node][0])}
}

// groupsForm is the closed form of a number of a mixed table: the regression of [bgeForm] with an
// intercept that every category among the parents shifts by level, by independent effects with the
// variance σ²/t of a weight. With numbers alone it is BGe.
type groupsForm struct {
	columns *mixedColumns
	form    *bgeForm
}

func (g *groupsForm) logEvidence(parents dgraph.Set) float64 {
	return g.form.evidenceOf(g.columns.columns(parents), g.degrees(parents))
}

// degrees is S of a family, in which numbers alone count.
func (g *groupsForm) degrees(parents dgraph.Set) float64 {
	numbers := 0
	for i := range parents.Nodes() {
		if !g.columns.data.category(i) {
			numbers++
		}
	}
	return g.form.degrees(numbers)
}

func (g *groupsForm) bic(parents dgraph.Set) float64 {
	return g.form.bicOf(g.columns.columns(parents))
}

// moments are none.
func (g *groupsForm) moments(dgraph.Set) (means, variances []float64) { return nil, nil }

// logJoint has the parameters integrated out.
func (g *groupsForm) logJoint(parents dgraph.Set, _ []float64) float64 { return g.logEvidence(parents) }

// scoreErrors are those of the families of a mixture, which graphs that were drawn have.
func (p *Problem) scoreErrors(posterior mixture) *Posterior {
	count := len(posterior.families)
	scores := Scores{Families: posterior.families, SE: make([]float64, count), KHat: make([]float64, count), Missed: make([]float64, count)}
	forms := p.closedForms()
	for k, f := range scores.Families {
		scores.setError(k, scoreError(forms[f.Node], f.Parents))
	}
	return &Posterior{Structure: p.Structure, Scores: scores, Marginals: posterior.shares}
}

// weightsError is how well importance weights know a log evidence: its standard error, k̂, and
// about the share of the evidence that no draw showed. Of what is exact 0, −Inf and 0.
type weightsError struct{ se, kHat, missed float64 }

// scoreError is that of the score of a family.
func scoreError(form closedForm, parents dgraph.Set) weightsError {
	switch form := form.(type) {
	case *logisticForm:
		return form.evidence(parents).weightsError
	case *changedForm:
		own := scoreError(form.closedForm, parents)
		for _, one := range form.others {
			other := scoreError(one, parents)
			own = weightsError{math.Hypot(own.se, other.se), max(own.kHat, other.kHat), math.Hypot(own.missed, other.missed)}
		}
		return own
	}
	return weightsError{kHat: math.Inf(-1)}
}

// setError notes that of a family.
func (s *Scores) setError(family int, of weightsError) {
	s.SE[family], s.KHat[family], s.Missed[family] = of.se, of.kHat, of.missed
}

// mixedPriors says mechanisms and priors in words.
func (p *Problem) mixedPriors() []string {
	numbers := "none"
	if p.Data.categories() < p.Data.Nodes() {
		numbers = fmt.Sprintf("columns of numbers (%s)", p.Data.Scaling)
	}
	return []string{
		fmt.Sprintf("columns: %s, %d %s", english.Count(p.Data.categories(), "category"), p.Data.Nodes()-p.Data.categories(), numbers),
		"numbers: linear in numbers, with an intercept that categories shift by level; weights, shifts and noise: normal-gamma, as BGe, so that two levels differ by 2 noise sd a priori",
		fmt.Sprintf("categories: multinomial logistic in numbers and levels of categories, without interactions; two levels differ by N(0, %g²) per sd of a number, log odds ratios are N(0, %g²), intercepts of two levels differ by N(0, %g²)",
			math.Sqrt(2*slopeVariance), math.Sqrt(4*levelVariance), math.Sqrt(2*interceptVariance)),
	}
}
