package dag

import dgraph "github.com/transdim/vti/dag/graph"

// changedForm is the closed form of a node with several mechanisms that have the same parents: that
// of the rows without soft interventions, whose parameters are the answer, and others, whose
// parameters are integrated out.
type changedForm struct {
	closedForm
	others []closedForm
}

// withRegimes is the form of a node with its soft interventions.
func (p *Problem) withRegimes(node int, form closedForm) closedForm {
	var others []closedForm
	for _, r := range p.Data.regimes {
		if r.node == node {
			own := *p
			own.Data = p.Data.within(r)
			others = append(others, own.closedForm(node))
		}
	}
	if others == nil {
		return form
	}
	return &changedForm{form, others}
}

// usual is the form of the rows without soft interventions.
func usual(form closedForm) closedForm {
	if changed, ok := form.(*changedForm); ok {
		return changed.closedForm
	}
	return form
}

// formsOf are the forms of all mechanisms of a node, by their places.
func formsOf(form closedForm) []closedForm {
	if changed, ok := form.(*changedForm); ok {
		return append([]closedForm{changed.closedForm}, changed.others...)
	}
	return []closedForm{form}
}

func (c *changedForm) logEvidence(parents dgraph.Set) float64 {
	sum := c.closedForm.logEvidence(parents)
	for _, other := range c.others {
		sum += other.logEvidence(parents)
	}
	return sum
}

func (c *changedForm) bic(parents dgraph.Set) float64 {
	sum := c.closedForm.bic(parents)
	for _, other := range c.others {
		sum += other.bic(parents)
	}
	return sum
}

// logJoint has the parameters of the other mechanisms integrated out.
func (c *changedForm) logJoint(parents dgraph.Set, theta []float64) float64 {
	sum := c.closedForm.logJoint(parents, theta)
	for _, other := range c.others {
		sum += other.logEvidence(parents)
	}
	return sum
}
