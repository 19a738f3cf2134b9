package score

import dgraph "github.com/transdim/vti/dag/graph"

// changedForm is the [Form] of a node with soft interventions: in some rows the node has another
// mechanism with the same parents. The embedded Form is the usual mechanism, whose parameters are
// part of the answer. The parameters of the other mechanisms are integrated out.
type changedForm struct {
	Form
	others []Form
}

func (p *Problem) withRegimes(node int, form Form) Form {
	var others []Form
	for _, r := range p.Data.Regimes {
		if r.Node == node {
			within := *p
			within.Data = p.Data.Within(r)
			others = append(others, within.ClosedForm(node))
		}
	}
	if others == nil {
		return form
	}
	return &changedForm{form, others}
}

// FormsOf returns the [Form] of each mechanism of a node, first for rows without soft
// interventions.
func FormsOf(form Form) []Form {
	if changed, ok := form.(*changedForm); ok {
		return append([]Form{changed.Form}, changed.others...)
	}
	return []Form{form}
}

// LogEvidence returns the sum of the log evidences of all mechanisms of the node.
func (c *changedForm) LogEvidence(parents dgraph.Set) float64 {
	return c.plus(c.Form.LogEvidence(parents), parents, Form.LogEvidence)
}

func (c *changedForm) bic(parents dgraph.Set) float64 {
	return c.plus(c.Form.bic(parents), parents, Form.bic)
}

// LogJoint returns the log joint density with the parameters of the usual mechanism; the parameters
// of the other mechanisms are integrated out.
func (c *changedForm) LogJoint(parents dgraph.Set, theta []float64) float64 {
	return c.plus(c.Form.LogJoint(parents, theta), parents, Form.LogEvidence)
}

// plus adds values of the other mechanisms to a sum.
func (c *changedForm) plus(sum float64, parents dgraph.Set, value func(Form, dgraph.Set) float64) float64 {
	for _, other := range c.others {
		sum += value(other, parents)
	}
	return sum
}
