package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/varsel"
)

// namedMembers is the number of members of a credible set that a text names. Of all other members
// it gives only the number.
const namedMembers = 8

// sets returns the section on credible sets: sets of correlated predictors that can replace each
// other in the model. If every set is a single predictor the section is left out, since inclusion
// probabilities contain the same information.
func (v *selection) sets() *document.Section {
	section := &document.Section{ID: "sets", Title: "Which predictors stand in for each other",
		Lead: "Each credible set holds a predictor of the model with the probability that is given; its members are correlated, and the table does not tell which of them it is."}
	if !slices.ContainsFunc(v.result.CredibleSets, func(set varsel.CredibleSet) bool { return len(set.Predictors) > 1 }) {
		return section
	}
	t := document.NewTable("Credible sets: correlated predictors of which one or more are in the model", "probability", "exactly one", "^how many", "least |r|", "<predictors")
	for _, set := range v.result.CredibleSets {
		names := set.Predictors
		text := strings.Join(names[:min(len(names), namedMembers)], ", ")
		if left := len(names) - namedMembers; left > 0 {
			text += fmt.Sprintf(" and %s less probable", english.Count(left, "other"))
		}
		t.Add(document.Probability(set.Probability, 0), document.Probability(set.ExactlyOne, 0), fmt.Sprint(len(names)), fmt.Sprintf("%.2f", float64(set.Purity)), text)
	}
	section.Tables = []*document.Table{t}
	section.Draw = func(_ context.Context, part *document.Section) { part.Place(v.regionPicture()) }
	return section
}

// regionPicture draws the inclusion probabilities of many predictors in the order of the table.
// Each credible set has a separate colour.
func (v *selection) regionPicture() *picture.Picture {
	if len(v.result.Inclusion) <= mostBars {
		return nil
	}
	p := picture.New("region", "Inclusion probabilities in the order of the table", picture.Page, 210)
	f := picture.NewFrame(p, picture.Around(1, float64(len(v.order))), picture.Around(0, 1), "predictor", "probability to be in the model")
	dots := func(names []string, ink picture.Ink) {
		for _, name := range names {
			k := v.places[name]
			point := f.At(float64(k+1), v.probability(k))
			f.Dots([]picture.Point{point}, 3.4, ink, picture.Style{Hint: name + ": " + picture.Probability(v.probability(k))})
		}
	}
	in := map[string]bool{}
	for _, set := range v.result.CredibleSets {
		for _, name := range set.Predictors {
			in[name] = true
		}
	}
	dots(apply.Keep(v.result.Data.Predictors, func(name string) bool { return !in[name] }), picture.Muted)
	var said []string
	for n, set := range v.result.CredibleSets {
		dots(set.Predictors, []picture.Ink{picture.First, picture.Second, picture.Third}[n%3])
		lead := v.places[set.Predictors[0]]
		point := f.At(float64(lead+1), v.probability(lead))
		f.Label(picture.Point{X: point.X, Y: point.Y - 5}, set.Predictors[0], picture.Middle, picture.SmallSize, picture.Strong)
		said = append(said, fmt.Sprintf("%s around %s", document.Counted(len(set.Predictors), "predictor"), set.Predictors[0]))
	}
	p.Text = "Credible sets: " + list(said) + "."
	return p
}
