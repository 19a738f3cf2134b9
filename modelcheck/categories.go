package modelcheck

import (
	"context"
	"slices"
)

// unordered checks a response whose categories have no order. Each category is checked as a
// separate response, which is 1 in the rows of the category and 0 in other rows. The histogram
// counts the rows of each category.
func (in *RegressionInput) unordered(ctx context.Context, y []float64) (findings []Finding, counted []PredictiveBin, err error) {
	responses := in.indicators(y)
	checks := newChecks(responses, in.Predictors, in.Remedies, false)
	checks.addCopies(in.Predictors)
	checks.everyDraw = true
	n := len(y)
	mean, sd, replicate := make([]float64, len(in.Unordered)*n), make([]float64, len(in.Unordered)*n), make([]float64, n)
	fitted, kept := make([]float64, len(in.Unordered)*n), newFitting(Category, y)
	kept.edges, kept.counts = wholeNumbers(0, float64(len(in.Unordered)-1)), make([][]float64, len(in.Unordered))
	err = checks.run(ctx, func(d, j int, ownMean, ownSD, indicators []float64) {
		if j == 0 {
			in.Draw(d, mean, sd, replicate)
			for i, p := range mean {
				fitted[i] += p / MinDraws
			}
			kept.add(mean[:n], replicate)
		}
		k := responses[j].category
		copy(ownMean, mean[k*n:(k+1)*n])
		copy(ownSD, sd[k*n:(k+1)*n])
		for i, v := range replicate {
			indicators[i] = indicator(v, k)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	findings = checks.findings()
	for _, r := range responses {
		findings = append(findings, separation(r, fitted[r.category*n:(r.category+1)*n])...)
	}
	counted = kept.predictive()
	for k := range counted {
		counted[k].Category = in.Unordered[k]
	}
	return findings, counted, nil
}

// indicators returns a 0/1 response for each category, or only one if there are two categories.
func (in *RegressionInput) indicators(y []float64) (list []*response) {
	order := byAppearance(y)
	for k, name := range in.Unordered {
		if k == 0 && len(in.Unordered) == 2 {
			continue
		}
		r := &response{name: in.Response.Name + " = " + name, noun: "response", y: make([]float64, len(y)), kind: Binary, rowNames: in.Rows, rows: in.Checked, category: k, order: order}
		for i, v := range y {
			r.y[i] = indicator(v, k)
		}
		list = append(list, r)
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

// byAppearance numbers categories in the order of their first rows. In a table whose rows are
// grouped by category these numbers are then in ascending order.
func byAppearance(y []float64) []float64 {
	var seen []float64
	order := make([]float64, len(y))
	for i, v := range y {
		at := slices.Index(seen, v)
		if at < 0 {
			at, seen = len(seen), append(seen, v)
		}
		order[i] = float64(at)
	}
	return order
}
