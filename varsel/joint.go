package varsel

import (
	gocontext "context"
	"fmt"
	"slices"
)

const (
	// jointOfModel pairs, and as many triples, are taken of each scan. Chosen by hand: their
	// evidences cost no more than a few steps of a search.
	jointOfModel = 32
	// mostScans bounds the scans on top of one model and what is left of it without a member, and
	// allProducts their multiplications, some seconds, but for the first two. Chosen by hand.
	mostScans   = 8
	allProducts = 1 << 34
)

// jointSearch finds members of models that matter only together, or that stand in for others.
type jointSearch struct{ models }

// together returns models with two or three more members each than others, which promise most
// beyond what fewer of these add: on top of the model of a code, of the model without members, and
// of the model without each of its first members, which they may replace. without are the models
// before.
func (s jointSearch) together(ctx gocontext.Context, code []int32) (with, without [][]int32, err error) {
	return s.bits().jointAround(ctx, s.members(code), s.code)
}

// instead returns models that searches without members of a model end with.
func (s jointSearch) instead(ctx gocontext.Context, code []int32) ([][]int32, error) {
	return s.bits().instead(ctx, s.members(code), s.code)
}

// limit is the largest number of predictors of a model.
func (t *Target) limit() int { return t.prior.Limit(len(t.design.Predictors)) }

// jointAround are such models, given the members of one, with the code of each.
func (t *Target) jointAround(ctx gocontext.Context, members []int, code func(model []int) []int32) (with, without [][]int32, err error) {
	if t.Responses.Categories != nil {
		return nil, nil, nil
	}
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
		if len(base)+2 > t.limit() {
			continue
		}
		f := newScreenFit(t)
		f.find(base)
		scan := f.jointScan(base)
		products += scan.pairs() * scan.lengths
		found := scan.best(jointOfModel)
		if len(base)+3 <= t.limit() {
			found = append(found, scan.bestTriples(jointOfModel)...)
		}
		for _, joint := range found {
			with, without = append(with, code(append(slices.Clone(base), joint.members...))), append(without, code(base))
		}
	}
	return with, without, nil
}
