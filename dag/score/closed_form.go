package score

import (
	gocontext "context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/parallel"
)

// Form computes evidences and posteriors of one node j given sets of parents pa. The node together
// with a set of parents is called a family.
type Form interface {
	// LogEvidence returns log p(x_j | x_pa) in nats, or NaN if squares of values in the table
	// overflow.
	LogEvidence(parents dgraph.Set) float64
	// bic returns the maximum of the log likelihood less ½ log n for each parameter, in nats, with
	// n the number of rows.
	bic(parents dgraph.Set) float64
	// Posterior returns a function that draws the parameters θ of the node, in the order of
	// [sem.Layout]. Coordinates that are not used with these parents are zero.
	Posterior(parents dgraph.Set) func(random *rand.Rand) []float64
	// Moments returns the posterior means and variances of the weights of the parents, in ascending
	// order of the parents. It returns nil if weights are not part of the answer, for example if
	// the node is a category.
	Moments(parents dgraph.Set) (means, variances []float64)
	// LogJoint returns log p(x_j, θ | x_pa).
	LogJoint(parents dgraph.Set, theta []float64) float64
}

// ClosedForm returns the [Form] (evidences and posteriors) of a node for the rows without soft
// interventions. For neural networks it returns the form of linear mechanisms, as a first
// approximation.
func (p *Problem) ClosedForm(node int) Form {
	switch p.Model.Mechanism {
	case sem.BGe:
		form := bgeFormOf(p.Data.RowsFor(node), node)
		form.layout = p.Layout()
		return form
	case sem.Categorical:
		return NewBDeuForm(p.Data, node, p.Model.ImaginarySampleSize)
	case sem.Mixed, sem.Spline:
		return newMixedForm(p, node)
	}
	return p.LinearForm(node)
}

// LinearForm returns the closed form of linear mechanisms, whatever mechanisms the problem has.
func (p *Problem) LinearForm(node int) *LinearForm {
	return NewLinearForm(p.Data, node, p.Layout(), p.Model.PriorSD)
}

// Forms returns the [Form] of every node, with which evidences and posteriors are computed.
func (p *Problem) Forms() []Form {
	if p.Mixed != nil {
		return p.Mixed
	}
	return p.newForms()
}

func (p *Problem) newForms() []Form {
	forms := make([]Form, p.Data.Nodes())
	for j := range forms {
		switch first := forms[0].(type) { // without interventions (Counted is nil), nodes share the matrices of the first node
		case *BGe:
			if p.Data.Counted == nil {
				forms[j] = first.forNode(j)
			}
		case *LinearForm:
			if p.Data.Counted == nil {
				forms[j] = first.forNode(p.Data, j)
			}
		case *groupsForm:
			if p.Data.Counted == nil && !p.Data.Category(j) {
				forms[j] = &groupsForm{first.columns, first.form.forNode(first.columns.Of[j][0])}
			}
		}
		if forms[j] == nil {
			forms[j] = p.withRegimes(j, p.ClosedForm(j))
		}
	}
	return forms
}

// CheckClosedForm returns an error if the log evidences of a node given its parents have no closed
// form.
func (p *Problem) CheckClosedForm() error {
	if !p.Model.Mechanism.Closed() {
		return fmt.Errorf("got %s mechanisms, want those whose evidences have a closed form: linear, bge, or those of categories", p.Model.Mechanism)
	}
	return nil
}

// ExactScores returns the log evidences of p.Families, all nodes with all possible sets of parents,
// by closed forms. An unknown noise scale σ of linear mechanisms is integrated by quadrature over
// log σ. progress, if not nil, is called with the number of families done.
func (p *Problem) ExactScores(ctx gocontext.Context, progress func(done, total int)) (Scores, error) {
	if err := errors.Join(p.CheckClosedForm(), p.Data.CheckComplete()); err != nil {
		return Scores{}, err
	}
	scores := Scores{Families: p.Families, LogEvidence: make([]float64, len(p.Families)), SE: make([]float64, len(p.Families))}
	if p.Weighs() {
		scores.KHat, scores.Missed = make([]float64, len(p.Families)), make([]float64, len(p.Families))
	}
	forms := p.Forms()
	if p.Weighs() { // first in parallel, because importance sampling takes long; the forms keep these evidences
		if err := p.weighFamilies(ctx, forms, progress); err != nil {
			return Scores{}, err
		}
		progress = nil
	}
	for i, f := range p.Families {
		if err := ctx.Err(); err != nil {
			return Scores{}, fmt.Errorf("stopped after %d of %d families: %w", i, len(p.Families), err)
		}
		scores.LogEvidence[i] = forms[f.Node].LogEvidence(f.Parents)
		if err := p.CheckScore(f, scores.LogEvidence[i]); err != nil {
			return Scores{}, err
		}
		if scores.KHat != nil {
			scores.setError(i, scoreError(forms[f.Node], f.Parents))
		}
		if progress != nil {
			progress(i+1, len(p.Families))
		}
	}
	return scores, nil
}

func (p *Problem) weighFamilies(ctx gocontext.Context, forms []Form, progress func(done, total int)) error {
	var lock sync.Mutex
	done := 0
	return parallel.For(ctx, len(p.Families), func(i int) error {
		f := p.Families[i]
		forms[f.Node].LogEvidence(f.Parents)
		lock.Lock()
		defer lock.Unlock()
		if done++; progress != nil {
			progress(done, len(p.Families))
		}
		return nil
	})
}

// ExactParameters returns sources that draw parameters from their posterior given a family (a node
// with a set of parents). The argument of a source is an index of the slice families.
func (p *Problem) ExactParameters(families []dgraph.Family) ParameterSources {
	forms := p.Forms()
	return func(random *rand.Rand) ParameterSource {
		known := dgraph.Known[func(*rand.Rand) []float64]{}
		return func(family int) ([]float64, int) {
			draw := known.Of(families[family], MostKept, func(f dgraph.Family) func(*rand.Rand) []float64 { return forms[f.Node].Posterior(f.Parents) })
			return draw(random), 0
		}
	}
}

// MostKept is the largest number of families (nodes with sets of parents) whose posterior is kept
// for further draws, at about 10 kB each.
const MostKept = 1 << 14
