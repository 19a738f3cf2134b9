package regression

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/space"
)

// question is the choice of a model about a term: whether the model contains the term, by which
// groupings the term varies, and whether it is a curve. The code of a model [S] holds one answer
// (outcome) to each of S questions.
type question struct {
	name string
	term formula.Term
	// population says that the formula has the term as a population term, and optional that a model
	// may lack the term. The intercept is not optional.
	population, optional bool
	// groups are the groupings by which the formula lets the term vary. The last may be the
	// nonlinear part of a smooth function, which is stored as a grouping with one level.
	groups []int
	smooth bool
}

// outcomes returns the number of answers: one for each set of groupings by which the term may vary,
// and one for a model without the term if it is optional.
func (q question) outcomes() int {
	count := 1 << len(q.groups)
	if q.optional {
		count++
	}
	return count
}

// decode returns, for an outcome, whether the model contains the term (in), and the groupings by
// which the term varies: bit k of varies stands for groups[k].
func (q question) decode(outcome int32) (in bool, varies uint) {
	if q.optional {
		if outcome == 0 {
			return false, 0
		}
		return true, uint(outcome - 1)
	}
	return q.population, uint(outcome)
}

// bent reports whether the term is a curve, given varies, a result of the method decode.
func (q question) bent(varies uint) bool { return q.smooth && varies>>(len(q.groups)-1)&1 == 1 }

func (q question) state(outcome int32, groups []*varyingGroup) string {
	in, varies := q.decode(outcome)
	var by, parts []string
	for k, g := range q.groups[:q.byGroups()] {
		if varies>>k&1 == 1 {
			by = append(by, groups[g].Name)
		}
	}
	switch {
	case q.bent(varies):
		parts = append(parts, "curved")
	case q.smooth && in:
		parts = append(parts, "linear")
	case in && len(by) == 0:
		parts = append(parts, "pooled")
	}
	if len(by) > 0 {
		parts = append(parts, "varying by "+strings.Join(by, " and "))
	}
	if len(parts) == 0 {
		return "absent"
	}
	return strings.Join(parts, ", ")
}

func (q question) byGroups() int {
	if q.smooth {
		return len(q.groups) - 1
	}
	return len(q.groups)
}

// maxModels is the largest number of models of a selection. There is a limit, because the evidence
// of each model is computed separately.
const maxModels = 1 << 16

// makeQuestions makes the questions and the space of their answers. Without Select there is one
// model, which has all terms.
func (r *Regression) makeQuestions() error {
	source := r.Frame.Formula
	if r.Options.Select {
		terms := formula.Union(nil, source.Terms)
		for _, v := range source.Varying {
			terms = formula.Union(terms, v.Terms)
		}
		for _, term := range terms {
			q := question{name: term.Name(), term: term, population: formula.Index(source.Terms, term) >= 0}
			q.optional = q.population && len(term) > 0
			for i, g := range r.groups { // smooth functions come last
				if !slices.ContainsFunc(g.Columns, func(c frame.Column) bool { return r.Frame.TermOf(g.Grouping, c).Same(term) }) {
					continue
				}
				if q.groups = append(q.groups, i); g.Smooth {
					q.smooth, q.name = true, g.Name
				}
			}
			if q.outcomes() > 1 {
				r.questions = append(r.questions, q)
			}
		}
		if len(r.questions) == 0 {
			return fmt.Errorf("%s: the formula has no term to select: only an intercept", r.Frame.Path)
		}
	}
	cards := apply.To(r.questions, question.outcomes)
	if len(cards) == 0 {
		cards = []int{1}
	}
	count, ok := space.CountCodes(cards)
	if !ok || count > maxModels {
		return fmt.Errorf("%s: the terms of the formula make more than %d models to select from: leave terms out", r.Frame.Path, maxModels)
	}
	r.space = &effectSpace{cards: cards, logPrior: make([]float64, count)}
	total := 0.0
	for index, code := range space.All(cards) {
		r.space.masks = append(r.space.masks, r.maskOf(code))
		r.space.logPrior[index] = r.logPriorOf(code)
		total += math.Exp(r.space.logPrior[index])
	}
	floats.AddConst(-math.Log(total), r.space.logPrior)
	return nil
}

func (r *Regression) has(code []int32, term formula.Term) bool {
	for s, q := range r.questions {
		if q.term.Same(term) {
			in, _ := q.decode(code[s])
			return in
		}
	}
	return true
}

// varies reports whether a term varies by a grouping in a model.
func (r *Regression) varies(code []int32, term formula.Term, group int) bool {
	for s, q := range r.questions {
		if !q.term.Same(term) {
			continue
		}
		_, varies := q.decode(code[s])
		if k := slices.Index(q.groups, group); k >= 0 {
			return varies>>k&1 == 1
		}
	}
	return true
}

// logPriorOf returns the log prior probability of a model, before models that lack a part of an
// interaction are removed. There are three kinds of decisions: whether a model contains a term,
// whether a term in the model varies by a grouping, and whether it is a curve. The decisions of a
// kind share a probability, but the kinds do not, because predictors that matter say nothing about
// differences of groups. A term that is not in the model makes no decision of the last two kinds.
func (r *Regression) logPriorOf(code []int32) float64 {
	var in, varying, curved struct{ yes, no int }
	for s, q := range r.questions {
		present, varies := q.decode(code[s])
		if q.optional && !present {
			in.no++
			continue
		}
		by := bits.OnesCount(varies)
		switch {
		case q.bent(varies):
			curved.yes++
			by--
		case q.smooth:
			curved.no++
		}
		varying.yes, varying.no = varying.yes+by, varying.no+q.byGroups()-by
		if !q.optional {
			continue
		}
		in.yes++
		for _, part := range r.Frame.Formula.Terms {
			if len(part) > 0 && len(part) < len(q.term) && q.term.Contains(part) && !r.has(code, part) {
				return math.Inf(-1)
			}
		}
	}
	logPrior := 0.0
	for _, count := range []struct{ yes, no int }{in, varying, curved} {
		value, err := r.Options.Models.LogDecisions(count.yes, count.no)
		if err != nil {
			panic("regression: logPriorOf: " + err.Error()) // Validate refuses such a prior
		}
		logPrior += value
	}
	return logPrior
}

// maskOf reports for each coordinate whether it is in the model that code names.
func (r *Regression) maskOf(code []int32) []bool {
	mask := make([]bool, len(r.coordinates))
	for j := range mask {
		kind := r.coordinates[j].kind
		mask[j] = kind == noiseCoordinate || kind == cutCoordinate
	}
	for j, c := range r.Frame.Columns {
		for m := range r.planes {
			mask[m*len(r.Frame.Columns)+j] = r.has(code, r.Frame.Formula.Terms[c.Term])
		}
	}
	for _, m := range r.monotonic {
		for k := range m.steps - 1 {
			mask[m.stick+k] = mask[m.first]
		}
	}
	for i, g := range r.groups {
		in := make([]bool, len(g.Columns))
		for c, column := range g.Columns {
			in[c] = r.varies(code, r.Frame.TermOf(g.Grouping, column), i)
			mask[g.sd[c]] = in[c]
			for b := range c {
				if at := g.partial[c][b]; at >= 0 {
					mask[at] = in[b] && in[c]
				}
			}
			if g.first >= 0 {
				for m := range r.planes {
					for level := range g.Levels {
						mask[g.first+(m*len(g.Columns)+c)*len(g.Levels)+level] = in[c]
					}
				}
			}
		}
	}
	return mask
}

func (r *Regression) index(code []int32) int { return space.Encode(r.space.cards, code) }

// FormulaOf writes the model of a code as a formula.
func (r *Regression) FormulaOf(code []int32) string {
	source := r.Frame.Formula
	f := &formula.Formula{Response: source.Response, Trials: source.Trials, Failures: source.Failures, Offsets: source.Offsets}
	f.Terms = apply.Keep(source.Terms, func(term formula.Term) bool { return r.has(code, term) })
	for i, g := range r.groups {
		if g.Smooth && r.varies(code, r.Frame.TermOf(g.Grouping, g.Columns[0]), i) {
			f.Smooths = append(f.Smooths, source.Smooths[g.Columns[0].Term])
		}
	}
	for place, v := range source.Varying {
		kept := formula.Varying{Group: v.Group}
		for i, g := range r.groups {
			if g.Group.Same(v.Group) {
				kept.Terms = append(kept.Terms, apply.Keep(v.Terms, func(term formula.Term) bool { return r.varies(code, term, i) })...)
			}
		}
		if len(kept.Terms) > 0 {
			kept.Independent = source.Varying[place].Independent && len(kept.Terms) > 1
			f.Varying = append(f.Varying, kept)
		}
	}
	return f.String()
}

// effectSpace is the space of the models of a regression, which holds a list of all models.
type effectSpace struct {
	cards    []int
	masks    [][]bool  // coordinates of each model, by the index of its code
	logPrior []float64 // log prior probability of each model, normalised
}

var _ space.RowMasker = (*effectSpace)(nil)

// Cards returns, for each entry of a code, the number of answers to its question about a term.
func (s *effectSpace) Cards() []int { return s.cards }

// Dim returns the number of coordinates.
func (s *effectSpace) Dim() int { return len(s.masks[0]) }

// Mask returns the coordinates in use: codes [B, S] -> [B, D].
func (s *effectSpace) Mask(codes *graph.Node) *graph.Node {
	space.AssertCodes("hbm.Regression.Mask", codes, len(s.cards))
	return graph.Gather(graph.Const(codes.Graph(), s.masks), graph.InsertAxes(space.Index(s.cards, codes), -1))
}

// MaskRow computes Mask for one code, on the host.
func (s *effectSpace) MaskRow(code []int32, dst []bool) []bool {
	return append(dst[:0], s.masks[space.Encode(s.cards, code)]...)
}

// logProb returns log p(m): codes [B, S] -> [B] float64.
func (s *effectSpace) logProb(codes *graph.Node) *graph.Node {
	index := graph.InsertAxes(space.Index(s.cards, codes), -1)
	return graph.ConvertDType(graph.Gather(graph.Const(codes.Graph(), s.logPrior), index), dtypes.Float64)
}
