package report

import (
	"context"
	"fmt"
	"math"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/internal/picture"
)

// changesArticle makes the article of changes of a series or of the rate of events.
func (s *source) changesArticle(result *changepoint.Result) *article {
	level, reasons := &result.Certificate.Verdict, result.Certificate.Reasons
	what := result.Data.Value
	if what == "" {
		what = "the rate of events"
	}
	a := &article{
		Title:    fmt.Sprintf("When does %s change?", what),
		Subtitle: fmt.Sprintf("%s, %s from %s to %s; model %s", s.table(), counted(result.Data.Rows, "row"), picture.Digits(float64(result.Data.From), 5), picture.Digits(float64(result.Data.To), 5), result.Data.Model),
		Answer:   []string{result.Answer},
		Marks:    []badge{computation(level, reasons), model(result.ModelCheck)},
		Next:     next(level, "The quadrature is too coarse for this table: see the reasons.", result.ModelCheck, "Report levels averaged over the number and the places of changes, with the probabilities of changes, rather than one set of places."),
	}
	a.rest = func(ctx context.Context) ([]section, error) {
		part := section{ID: "changes", Title: "When, and how often", Lead: "Averaged over numbers and places of changes; bands hold 95% of the posterior."}
		var numbers []probabilityOf
		for _, c := range result.Counts {
			numbers = append(numbers, probabilityOf{c.Changes, float64(c.Probability)})
		}
		part.Pictures = append(part.Pictures, levelsPicture(what, result), curvePicture(result), countsPicture("counts", "Number of changes", "change", "changes", numbers))
		places := table{Caption: fmt.Sprintf("Places, given %s", counted(result.Given.Changes, "change")), Open: true, Columns: []column{{"most probable", true}, {"median", true}, {"95% interval", false}}}
		for _, one := range result.Given.Places {
			places.Rows = append(places.Rows, []cell{value(float64(one.Mode)), value(float64(one.Median)), words("[" + picture.Digits(float64(one.Q025), 6) + ", " + picture.Digits(float64(one.Q975), 6) + "]")})
		}
		for k := range places.Rows {
			one := result.Given.Places[k]
			places.Rows[k][0].Text, places.Rows[k][1].Text = picture.Digits(float64(one.Mode), 6), picture.Digits(float64(one.Median), 6)
		}
		counts := table{Caption: "Numbers of changes", Columns: []column{{"changes", true}, {"probability", true}, {"log evidence", true}}}
		for _, c := range result.Counts {
			counts.Rows = append(counts.Rows, []cell{value(float64(c.Changes)), share(float64(c.Probability)), {picture.Digits(float64(c.LogEvidence), 7), sortKey(float64(c.LogEvidence))}})
		}
		part.Tables = []table{places, counts}
		facts := table{Caption: "What the verdict rests on", Open: true, Columns: []column{{"what", false}, {"value", false}}, Rows: [][]cell{
			{words("log evidence of all numbers of changes (nats)"), words(evidence(float64(result.LogEvidence), 0))},
			{words("largest change of a probability by quadrature"), words(picture.Number(float64(result.Certificate.Error)))},
		}}
		check := section{ID: "check", Title: "Does the model describe the table", Notes: []string{"Model: " + a.Marks[1].Word + ". " + a.Marks[1].Text}, Tables: findings(result.ModelCheck)}
		return []section{part, check, earned(a.Marks[0], facts), s.provenance()}, nil
	}
	return a
}

// levelsPicture is the level along time with its band.
func levelsPicture(what string, result *changepoint.Result) *picture.Picture {
	var list []banded
	rows := picture.Curve{Ink: picture.Strong, Dotted: true}
	for _, l := range result.Levels {
		list = append(list, banded{float64(l.Time), float64(l.Mean), float64(l.Q025), float64(l.Q975)})
		if l.Observed != nil {
			rows.X, rows.Y = append(rows.X, float64(l.Time)), append(rows.Y, float64(*l.Observed))
		}
	}
	p := bandPicture("levels", "Level along time", list, result.Data.Time, what, rows)
	p.Text = "The posterior mean of the level along time, with a band that holds 95%"
	if len(rows.X) > 0 {
		p.Text += ", and rows of the table"
	}
	p.Text += "."
	return p
}

// curvePicture is where changes are.
func curvePicture(result *changepoint.Result) *picture.Picture {
	const most = 240 // bars that a picture can show apart
	var bars []picture.Bar
	best := changepoint.CurvePoint{}
	step := (len(result.Curve) + most - 1) / most
	for k := 0; k < len(result.Curve); k += step {
		c := result.Curve[k]
		for _, more := range result.Curve[k+1 : min(k+step, len(result.Curve))] {
			c.To, c.Probability = more.To, c.Probability+more.Probability
		}
		height := float64(c.Probability)
		if result.Data.Model == changepoint.Events.String() { // the intervals differ in length
			height /= float64(c.To - c.From)
		}
		bars = append(bars, picture.Bar{From: float64(c.From), To: float64(c.To), Value: height, Compared: math.NaN(),
			Hint: fmt.Sprintf("%s to %s: %s", picture.Digits(float64(c.From), 6), picture.Digits(float64(c.To), 6), picture.Probability(float64(c.Probability)))})
		if c.Probability > best.Probability {
			best = c
		}
	}
	yName := "probability of a change"
	if result.Data.Model == changepoint.Events.String() {
		yName = "changes per unit of time"
	}
	p := picture.Bars("places", "Where changes are", picture.Column, 180, bars, result.Data.Time, yName)
	p.Text = fmt.Sprintf("The most probable place is from %s to %s, with probability %s.", picture.Digits(float64(best.From), 6), picture.Digits(float64(best.To), 6), picture.Probability(float64(best.Probability)))
	return p
}
