package wide

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/space"
)

// Several predictors can replace several others. If y is x₁ + x₂ + x₃ + x₄ and x₅ + x₆ + x₇ + x₈ is
// nearly the same sum, either set of four explains y, and models that mix the two sets can be less
// probable by a hundred nats. Screening ends with one of the sets, and so do searches from the most
// promising predictors. A search that may not use this set ends with the other set.

const (
	// leastStep is the smallest gain of a step of a search, in nats. Less is rounding error.
	leastStep = 1e-6
	// mostUnions is the number of searches that leave out all predictors found so far. allInstead
	// bounds the multiplications of all searches around one model, after the first, to some
	// seconds.
	mostUnions = 4
	allInstead = 1 << 33
)

// Instead returns the codes of models that are found by searches without some predictors. Each of
// the first searches leaves out the predictors of the given model (members) and of all models found
// so far. Each later search leaves out one predictor of the given model. All searches end with
// steps among all predictors. The function code returns the code of a model.
func (s Search) Instead(ctx gocontext.Context, members []int, code func(model []int) []int32) (codes [][]int32, err error) {
	if len(members) == 0 {
		return nil, nil
	}
	search := &stepwise{prior: s.prior(), limit: s.limit()}
	var parts []Search
	parts, search.share = s.parts()
	for _, part := range parts {
		search.fits = append(search.fits, part.fit())
	}
	without := slices.Clone(members)
	for k := range mostUnions + len(members) {
		if k > 0 && search.products > allInstead || k >= mostUnions && len(members) == 1 {
			break
		}
		banned := without
		if k >= mostUnions {
			banned = members[k-mostUnions:][:1]
		}
		model, err := search.without(ctx, banned)
		if err != nil {
			return nil, err
		}
		codes = append(codes, code(model))
		without = append(without, model...)
	}
	return codes, nil
}

// stepwise is a search for a model by single steps, which may also remove predictors.
type stepwise struct {
	fits     []*screenFit // one for each part of the response (Search.parts)
	share    float64      // factor of the sum of evidences over the parts
	prior    space.LogTerms
	limit    int // largest size of a model
	products int // multiplications so far
}

// without returns the model at the end of a search that begins without the banned predictors.
func (s *stepwise) without(ctx gocontext.Context, banned []int) ([]int, error) {
	out := map[int]bool{}
	for _, predictor := range banned {
		out[predictor] = true
	}
	var model []int
	for better := true; better; {
		s.find(model)
		var more int
		if more, better = s.enters(model, 0, s.scan(model), out, leastStep); better {
			model = append(model, more)
		}
	}
	return s.climb(ctx, model)
}

// climb adds, removes and exchanges predictors until no step improves the model. Each step is the
// best one under the quadratic approximation of the log likelihood at the present mode.
func (s *stepwise) climb(ctx gocontext.Context, model []int) ([]int, error) {
	for seen := map[string]bool{}; ; {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("the search for models with other members was stopped: %w", err)
		}
		slices.Sort(model)
		key := fmt.Sprint(model)
		if seen[key] { // the approximations at two models can each prefer the other model
			return model, nil
		}
		seen[key] = true
		s.find(model)
		highest, next := leastStep, []int(nil)
		try := func(base []int, before float64, evidence []float64) {
			if more, ok := s.enters(base, before, evidence, nil, highest); ok {
				highest, next = before+evidence[more]+s.prior.Birth(len(base), more), append(slices.Clone(base), more)
			}
		}
		try(model, 0, s.scan(model))
		for k, member := range model {
			rest := slices.Delete(slices.Clone(model), k, k+1)
			evidence := s.scan(rest)
			less := -evidence[member] - s.prior.Birth(len(rest), member)
			if less > highest {
				highest, next = less, rest
			}
			evidence[member] = math.NaN()
			try(rest, less, evidence)
		}
		if highest == leastStep {
			return model, nil
		}
		model = next
	}
}

func (s *stepwise) find(model []int) {
	for _, f := range s.fits {
		f.find(model)
	}
}

// scan returns the log Bayes factors for adding each predictor, summed over parts of the response.
func (s *stepwise) scan(model []int) (evidence []float64) {
	for _, f := range s.fits {
		s.products += len(f.weights) * len(f.squares) * (len(model) + 2)
		evidences := f.evidences(model)
		if evidence == nil {
			evidence = make([]float64, len(evidences))
		}
		floats.AddScaled(evidence, s.share, evidences)
	}
	return evidence
}

// enters returns the predictor, not banned, whose addition makes a model most probable. before is
// the gain of the steps so far. ok is false if no addition makes the total gain larger than least.
func (s *stepwise) enters(model []int, before float64, evidence []float64, banned map[int]bool, least float64) (best int, ok bool) {
	if len(model) == s.limit {
		return 0, false
	}
	for predictor, e := range evidence {
		if value := before + e + s.prior.Birth(len(model), predictor); value > least && !banned[predictor] {
			best, least, ok = predictor, value, true
		}
	}
	return best, ok
}
