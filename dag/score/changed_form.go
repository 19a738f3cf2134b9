package score

import dgraph "github.com/transdim/vti/dag/graph"

// changedForm is the [Form] of a node with soft interventions, that is, with several mechanisms of
// the same parents. Each mechanism holds in some of the rows. The embedded Form is the mechanism
// without intervention, whose parameters are part of the answer. The parameters of the other
// mechanisms are integrated out.
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

// Usual returns the form of the mechanism without soft intervention, which is form itself if the
// node has no others.
func Usual(form Form) Form {
	if changed, ok := form.(*changedForm); ok {
		return changed.Form
	}
	return form
}

// FormsOf returns the forms of all mechanisms of a node, the one without soft interventions first.
func FormsOf(form Form) []Form {
	if changed, ok := form.(*changedForm); ok {
		return append([]Form{changed.Form}, changed.others...)
	}
	return []Form{form}
}

// LogEvidence returns the sum of the log evidences of all mechanisms.
func (c *changedForm) LogEvidence(parents dgraph.Set) float64 {
	sum := c.Form.LogEvidence(parents)
	for _, other := range c.others {
		sum += other.LogEvidence(parents)
	}
	return sum
}

func (c *changedForm) bic(parents dgraph.Set) float64 {
	sum := c.Form.bic(parents)
	for _, other := range c.others {
		sum += other.bic(parents)
	}
	return sum
}

// LogJoint returns the log joint density with the parameters of the usual mechanism; the parameters
// of the other mechanisms are integrated out.
func (c *changedForm) LogJoint(parents dgraph.Set, theta []float64) float64 {
	sum := c.Form.LogJoint(parents, theta)
	for _, other := range c.others {
		sum += other.LogEvidence(parents)
	}
	return sum
}
