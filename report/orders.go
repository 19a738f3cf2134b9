package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/order"
)

// OrderPage is the page of runs of vti order, which choose the order of an autoregression, the
// degree of a polynomial or the knots of a spline.
var OrderPage = Page{show: pageOf(orderDocument)}

// orderDocument returns the document on the order of an autoregression, the degree of a polynomial,
// or the knots of a spline.
func orderDocument(s *source, r *order.Result) *document.Document {
	one, many, which := "order", "orders", "Probability of each order"
	d := &document.Document{
		Title:    fmt.Sprintf("Of which order is %s?", r.Data.Value),
		Subtitle: fmt.Sprintf("%s, %s of %s; model %s", s.table(), document.Counted(r.Data.Rows, "row"), r.Data.Value, r.Data.Model),
		Answer:   []string{r.Answer},
	}
	if len(r.Knots) > 0 {
		one, many, which = "knot", "numbers of knots", "Number of knots"
		d.Title = fmt.Sprintf("How often does %s bend?", r.Data.Value)
	}
	part := &document.Section{ID: "orders", Title: which, Lead: "Averaged over all " + many + "; intervals and bands hold 95% of the posterior.",
		Tables: []*document.Table{ordersTable(r, one)}}
	if r.UnitRoot != nil {
		part.Said = []string{"A unit root: " + document.Probability(*r.UnitRoot, 0) + "."}
	}
	part.Draw = func(_ context.Context, part *document.Section) { drawOrders(part, r, one, which) }
	d.Sections = []*document.Section{part, {ID: "coefficients", Title: "Coefficients", Tables: []*document.Table{orderCoefficients(r)}}, s.checked("", r.ModelCheck)}
	c := &computation{level: &r.Certificate.Verdict, reasons: r.Certificate.Reasons, text: "an exact sum over all models.",
		facts: []string{"Computation: " + took(r.Seconds, 0) + "."}, words: []string{document.WordBayesFactor}}
	if !c.trusted() {
		c.text = "the sum is exact, but something limits it:"
	}
	return s.answer(d, c, r.ModelCheck, "Report coefficients averaged over "+many+", with the probabilities of these, rather than those of one model.")
}

// ordersTable has a row for each order, degree or number of knots.
func ordersTable(r *order.Result, one string) *document.Table {
	head := []string{one, "probability", "log Bayes factor"}
	if len(r.Knots) > 0 {
		head = []string{"knots", "probability", "log Bayes factor", "<where, together most likely"}
	} else if r.UnitRoot != nil {
		head = append(head, "unit root given it")
	}
	t := document.NewTable("Probability of each number of "+one+"s", head...).Opened()
	if one == "order" {
		t.Caption = "Probability of each order"
	}
	for _, o := range r.Orders {
		cells := []string{fmt.Sprint(o.Order), document.Probability(o.Probability, 0), fmt.Sprintf("%.3f", float64(o.LogBayesFactor))}
		if o.UnitRoot != nil && r.UnitRoot != nil {
			cells = append(cells, document.Probability(*o.UnitRoot, 0))
		}
		places := apply.To(o.Knots, document.Short)
		if len(r.Knots) > 0 {
			cells = append(cells, strings.Join(places, ", "))
		}
		t.Add(cells...)
	}
	return t
}

// A coefficient is shown if its posterior probability of being in the model is at least
// leastPrinted. The mean of a less probable coefficient is too close to zero.
const leastPrinted = 1e-4

func orderCoefficients(r *order.Result) *document.Table {
	t := document.NewTable("Coefficients: averaged over orders, and given the most probable", "<~coefficient", "mean", "sd", "<95% interval", "|mean given", "sd").Opened()
	left := 0
	for j, c := range r.Coefficients {
		zero := probabilityOfZero(r, j)
		if zero > 1-leastPrinted {
			left++
			continue
		}
		t.Add(c.Name, document.Short(c.Mean), document.Short(c.SD), document.AveragedInterval(c.Q025, c.Q975, zero), document.Short(c.MeanGiven), document.Short(c.SDGiven))
	}
	if left > 0 {
		t.More = []string{fmt.Sprintf("and %d that are zero with a probability above %g", left, 1-leastPrinted)}
	}
	return t
}

// probabilityOfZero returns the probability that a coefficient is zero, which is the total
// probability of the orders without it. The argument place is its index in the list of
// coefficients. The first coefficient of the list belongs to all orders. The last entry is the
// noise σ. The entries between them belong to the orders 1, 2, ….
func probabilityOfZero(r *order.Result, place int) (zero order.Number) {
	if place == 0 || len(r.Coefficients) != len(r.Orders)+1 || place > len(r.Orders)-1 {
		return 0
	}
	for _, o := range r.Orders {
		if o.Order < place {
			zero += o.Probability
		}
	}
	return zero
}

// drawOrders draws the fitted curve, the knots and the coefficients, if they are in the result. The
// level and the noise σ are left out, because their units differ from the units of coefficients.
func drawOrders(part *document.Section, r *order.Result, one, which string) {
	part.Place(countsPicture("orders", which, one, one+"s", r.Orders, func(o order.Order) (int, order.Number) { return o.Order, o.Probability }))
	if len(r.Curve) > 0 {
		var curve function
		for _, c := range r.Curve {
			curve.add(c.Time, c.Mean, c.Q025, c.Q975)
		}
		part.Place(bandPicture("curve", "Expected "+r.Data.Value, curve, r.Data.Time, r.Data.Value).
			Described("The posterior mean of the curve along time, with a band that holds 95%%."))
	}
	if len(r.Knots) > 0 {
		part.Place(knotsPicture(r))
	}
	var rows []picture.Row
	for k, c := range r.Coefficients {
		if k > 0 && k < len(r.Coefficients)-1 && !math.IsNaN(float64(c.Mean)) {
			rows = append(rows, intervalRow(c.Name, c.Mean, c.Q025, c.Q975, 95))
		}
	}
	part.Place(rowsPicture("coefficients", "Coefficients", rows, picture.RowsOptions{Axis: "coefficient"}).
		Described("Means and 95%% intervals of %s, zero in orders without them.", document.Counted(len(rows), "coefficient")))
}

func knotsPicture(result *order.Result) *picture.Picture {
	var bars []picture.Bar
	for k, one := range result.Knots {
		place := float64(one.At)
		from, to := place, place
		if k > 0 {
			from = (place + float64(result.Knots[k-1].At)) / 2
		}
		if k+1 < len(result.Knots) {
			to = (place + float64(result.Knots[k+1].At)) / 2
		}
		if k == 0 {
			from = place - (to - place)
		}
		if k+1 == len(result.Knots) {
			to = place + (place - from)
		}
		bars = append(bars, picture.Bar{From: from, To: to, Value: float64(one.Probability), Compared: math.NaN(),
			Hint: fmt.Sprintf("at %s: %s", picture.Number(place), picture.Probability(float64(one.Probability)))})
	}
	best := slices.MaxFunc(result.Knots, func(a, b order.Knot) int { return cmp.Compare(a.Probability, b.Probability) })
	return picture.Bars("knots", "Where knots are", picture.Column, 180, bars, result.Data.Time, "probability of a knot").
		Described("The most probable place is %s, with probability %s.", picture.Number(float64(best.At)), picture.Probability(float64(best.Probability)))
}
