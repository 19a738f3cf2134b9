package varsel

import (
	gocontext "context"
	"fmt"
	"slices"

	"github.com/transdim/vti"
)

var (
	_ vti.JointTarget = (*Target)(nil)
	_ vti.JointTarget = (*SlotTarget)(nil)
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

// Together returns models with two or three more members each than others, which promise most
// beyond what fewer of these add: on top of the model of a code, of that without members, and of
// the model without each of its first members, which they may replace. without are the models
// before.
func (t *Target) Together(ctx gocontext.Context, code []int32) (with, without [][]int32, err error) {
	return t.jointAround(ctx, t.membersOf(code), t.prior.Limit(len(t.design.Predictors)), t.codeOf)
}

// Instead returns models that searches without members of a model end with.
func (t *Target) Instead(ctx gocontext.Context, code []int32) ([][]int32, error) {
	return t.instead(ctx, t.membersOf(code), t.prior.Limit(len(t.design.Predictors)), t.codeOf)
}

// membersOf are the predictors of a model.
func (t *Target) membersOf(code []int32) (members []int) {
	for predictor, outcome := range code {
		if outcome > 0 {
			members = append(members, predictor)
		}
	}
	return members
}

// codeOf is the code of a model with these predictors.
func (t *Target) codeOf(model []int) []int32 {
	bits := make([]int32, len(t.design.Predictors))
	for _, predictor := range model {
		bits[predictor] = 1
	}
	return bits
}

// Together returns models with two or three more members; see [Target.Together].
func (t *SlotTarget) Together(ctx gocontext.Context, code []int32) (with, without [][]int32, err error) {
	return t.bits.jointAround(ctx, t.members(code), t.space.Slots(), t.codeOf)
}

// Instead returns models that searches without members of a model end with.
func (t *SlotTarget) Instead(ctx gocontext.Context, code []int32) ([][]int32, error) {
	return t.bits.instead(ctx, t.members(code), t.space.Slots(), t.codeOf)
}

// codeOf is the code of a model with these predictors.
func (t *SlotTarget) codeOf(model []int) []int32 {
	items := make([]int32, len(model))
	for k, predictor := range model {
		items[k] = int32(t.item[predictor])
	}
	return t.space.Code(items, nil)
}

// jointAround are such models of at most so many predictors, given the members of one, with the
// code of each.
func (t *Target) jointAround(ctx gocontext.Context, members []int, limit int, code func(model []int) []int32) (with, without [][]int32, err error) {
	if t.responses.categories != nil {
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
		if len(base)+2 > limit {
			continue
		}
		f := newScreenFit(t)
		f.find(base)
		scan := f.jointScan(base)
		products += scan.pairs() * scan.lengths
		found := scan.best(jointOfModel)
		if len(base)+3 <= limit {
			found = append(found, scan.bestTriples(jointOfModel)...)
		}
		for _, joint := range found {
			with, without = append(with, code(append(slices.Clone(base), joint.members...))), append(without, code(base))
		}
	}
	return with, without, nil
}
