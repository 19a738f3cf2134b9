package report

import (
	"context"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/order"
)

// orderArticle makes the article of the order of an autoregression, the degree of a polynomial, or
// the knots of a spline.
func (s *source) orderArticle(result *order.Result) *article {
	level, reasons := &result.Certificate.Verdict, result.Certificate.Reasons
	one, many, which := "order", "orders", "Probability of each order"
	title := fmt.Sprintf("Of which order is %s?", result.Data.Value)
	if len(result.Knots) > 0 {
		one, many, which = "knot", "numbers of knots", "Number of knots"
		title = fmt.Sprintf("How often does %s bend?", result.Data.Value)
	}
	a := &article{
		Title:    title,
		Subtitle: fmt.Sprintf("%s, %s of %s; model %s", s.table(), counted(result.Data.Rows, "row"), result.Data.Value, result.Data.Model),
		Answer:   []string{result.Answer},
		Marks:    []badge{computation(level, reasons), model(result.ModelCheck)},
		Next:     next(level, "See the reasons of the verdict.", result.ModelCheck, "Report coefficients averaged over "+many+", with the probabilities of these, rather than those of one model."),
	}
	a.rest = func(context.Context) ([]section, error) {
		part := section{ID: "orders", Title: which, Lead: "Averaged over all " + many + "; intervals and bands hold 95% of the posterior."}
		var list []probabilityOf
		orders := table{Caption: capital(many), Columns: []column{{one, true}, {"probability", true}, {"log Bayes factor", true}}}
		for _, o := range result.Orders {
			list = append(list, probabilityOf{o.Order, float64(o.Probability)})
			orders.Rows = append(orders.Rows, []cell{value(float64(o.Order)), share(float64(o.Probability)), value(float64(o.LogBayesFactor))})
		}
		part.Pictures = append(part.Pictures, countsPicture("orders", which, one, one+"s", list))
		if len(result.Curve) > 0 {
			var curve []banded
			for _, c := range result.Curve {
				curve = append(curve, banded{float64(c.Time), float64(c.Mean), float64(c.Q025), float64(c.Q975)})
			}
			p := bandPicture("curve", "Expected "+result.Data.Value, curve, result.Data.Time, result.Data.Value)
			p.Text = "The posterior mean of the curve along time, with a band that holds 95%."
			part.Pictures = append(part.Pictures, p)
		}
		if len(result.Knots) > 0 {
			part.Pictures = append(part.Pictures, knotsPicture(result))
		}
		if p := orderCoefficients(result); p != nil {
			part.Pictures = append(part.Pictures, p)
		}
		coefficients := table{Caption: "Coefficients", Open: true, Columns: []column{{"coefficient", false}, {"mean", true}, {"sd", true}, {"95% interval", false}}}
		for _, c := range result.Coefficients {
			text := interval(float64(c.Q025), float64(c.Q975))
			if c.Q025 == 0 && c.Q975 == 0 {
				text = "0"
			}
			coefficients.Rows = append(coefficients.Rows, []cell{words(c.Name), value(float64(c.Mean)), value(float64(c.SD)), words(text)})
		}
		part.Tables = []table{coefficients, orders}
		facts := table{Caption: "What the verdict rests on", Open: true, Columns: []column{{"what", false}, {"value", false}}, Rows: [][]cell{
			{words("basis"), words(result.Certificate.Basis.String())},
		}}
		check := section{ID: "check", Title: "Does the model describe the table", Notes: []string{"Model: " + a.Marks[1].Word + ". " + a.Marks[1].Text}, Tables: findings(result.ModelCheck)}
		return []section{part, check, earned(a.Marks[0], facts), s.provenance()}, nil
	}
	return a
}

// orderCoefficients draws the coefficients of orders, with σ and the level, which have other units,
// left out; nil if there are no others.
func orderCoefficients(result *order.Result) *picture.Picture {
	var rows []picture.Row
	for k, c := range result.Coefficients {
		if k == 0 || k == len(result.Coefficients)-1 || math.IsNaN(float64(c.Mean)) {
			continue
		}
		rows = append(rows, picture.Row{Label: c.Name, From: math.NaN(), Note: picture.Number(float64(c.Mean)), Intervals: []picture.Interval{{
			Mid: float64(c.Mean), Low: float64(c.Q025), High: float64(c.Q975), Ink: picture.First,
			Hint: fmt.Sprintf("%s: %s, 95%%: %s to %s", c.Name, picture.Number(float64(c.Mean)), picture.Number(float64(c.Q025)), picture.Number(float64(c.Q975)))}}})
	}
	if len(rows) == 0 {
		return nil
	}
	p := picture.Rows("coefficients", "Coefficients", picture.Column, rows, picture.RowsOptions{Axis: "coefficient"})
	p.Text = fmt.Sprintf("Means and 95%% intervals of %s, zero in orders without them.", counted(len(rows), "coefficient"))
	return p
}

// knotsPicture is where knots are.
func knotsPicture(result *order.Result) *picture.Picture {
	var bars []picture.Bar
	best := order.Knot{}
	for k, one := range result.Knots {
		at := float64(one.At)
		from, to := at, at
		if k > 0 {
			from = (at + float64(result.Knots[k-1].At)) / 2
		}
		if k+1 < len(result.Knots) {
			to = (at + float64(result.Knots[k+1].At)) / 2
		}
		if k == 0 {
			from = at - (to - at)
		}
		if k+1 == len(result.Knots) {
			to = at + (at - from)
		}
		bars = append(bars, picture.Bar{From: from, To: to, Value: float64(one.Probability), Compared: math.NaN(),
			Hint: fmt.Sprintf("at %s: %s", picture.Number(at), picture.Probability(float64(one.Probability)))})
		if one.Probability > best.Probability {
			best = one
		}
	}
	p := picture.Bars("knots", "Where knots are", picture.Column, 180, bars, result.Data.Time, "probability of a knot")
	p.Text = fmt.Sprintf("The most probable place is %s, with probability %s.", picture.Number(float64(best.At)), picture.Probability(float64(best.Probability)))
	return p
}
