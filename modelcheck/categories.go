package modelcheck

import "github.com/transdim/vti/internal/apply"

// responsesOf returns the responses whose residuals are checked, given the response y of the
// checked rows. If the categories of y have no order, it returns a binary response for each
// category: 1 in the rows of the category and 0 in other rows. Two categories give only one
// response, for the second category.
func (in *RegressionInput) responsesOf(y []float64) (list []*response) {
	one := response{name: in.Response.Name, noun: "response", y: y, kind: in.Kind, rowNames: in.Rows, rows: in.Checked}
	if in.Unordered == nil {
		return []*response{&one}
	}
	// Categories are numbered in the order of their first rows. In a table whose rows are grouped
	// by category these numbers are then in ascending order.
	keys, _ := rowKeys([]Column{{Values: y}})
	order := apply.To(keys, func(key int) float64 { return float64(key) })
	for k, name := range in.Unordered {
		if k == 0 && len(in.Unordered) == 2 {
			continue
		}
		r := one
		r.name, r.kind, r.category, r.order = one.name+" = "+name, Binary, k, order
		r.y = apply.To(y, func(v float64) float64 { return indicator(v, k) })
		list = append(list, &r)
	}
	return list
}

// indicator returns 1 if the response y is category k, and 0 otherwise.
func indicator(y float64, k int) float64 {
	if y == float64(k) {
		return 1
	}
	return 0
}
