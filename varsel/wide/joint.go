package wide

import (
	gocontext "context"
	"fmt"
	"slices"

	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/regression"
)

const (
	// jointOfModel is the number of pairs, and the number of triples, taken from each scan of the
	// pairs that can be added to a model. Their evidences take no longer than a few steps of a
	// search.
	jointOfModel = 32
	// mostScans is the largest number of scans around one model. After the first two scans, another
	// scan begins only if the scans so far have taken fewer than allProducts multiplications, some
	// seconds. Half and twice these values give the same answers (docs/benchmarks/constants.md).
	mostScans   = 8
	allProducts = 1 << 34
)

// Search looks for predictors among many, given the rows of a table and a prior over models.
type Search struct {
	*regression.Regression
	Design *design.Design
	Prior  space.Prior
}

// limit returns the largest number of predictors of a model, and prior the terms of log p(m).
func (s Search) limit() int            { return s.Prior.Limit(len(s.Design.Predictors)) }
func (s Search) prior() space.LogTerms { return s.Prior.LogTerms(len(s.Design.Predictors)) }

// joint returns the best pairs and triples to add to the model in the argument base, whose mode f
// has found. The extended models have at most the number limit of predictors. products is the
// number of multiplications that the pairs took.
func (f *screenFit) joint(base []int, limit int) (pairs, triples []jointGain, products int) {
	if len(base)+2 > limit {
		return nil, nil, 0
	}
	scan := f.jointScan(base)
	if pairs = scan.best(jointOfModel); len(base)+3 <= limit {
		triples = scan.bestTriples(jointOfModel)
	}
	return pairs, triples, scan.pairs() * scan.lengths
}

// Together returns models (with) that add two or three predictors to other models (without). The
// added predictors are the pairs and triples that gain most in excess of the gains of their parts.
// They are added to the given model, to the empty model, and to the given model without each of its
// first members, which they may replace. The function code returns the code of a model.
func (s Search) Together(ctx gocontext.Context, members []int, code func(model []int) []int32) (with, without [][]int32, err error) {
	parts, _ := s.parts()
	bases := [][]int{members}
	if len(members) > 0 {
		bases = append(bases, nil)
	}
	for k := 0; k < len(members) && len(members) > 1 && len(bases) < mostScans; k++ {
		bases = append(bases, slices.Delete(slices.Clone(members), k, k+1))
	}
	products := 0
	for k, base := range bases {
		if k > 1 && products > allProducts {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("the search for predictors that matter only together was stopped: %w", err)
		}
		var pairs, triples []jointGain
		for _, part := range parts {
			f := part.fit()
			f.find(base)
			two, three, cost := f.joint(base, s.limit())
			pairs, triples, products = append(pairs, two...), append(triples, three...), products+cost
		}
		for _, joint := range append(bestOf(jointOfModel, pairs), bestOf(jointOfModel, triples)...) {
			with, without = append(with, code(append(slices.Clone(base), joint.members...))), append(without, code(base))
		}
	}
	return with, without, nil
}
