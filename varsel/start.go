package varsel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/stream"
)

// Names of starts of chains that are not lists of predictors.
const (
	nullStart = "null"
	fullStart = "full"
)

// Start reads the model in which a chain starts: null (no predictor), full (all of them), or the
// names of its predictors, separated by commas. The code is one of the posterior's space.
func (p *Problem) Start(text string) ([]int32, error) {
	names := p.Design.PredictorNames()
	var members []int32
	switch text {
	case nullStart:
	case fullStart:
		for predictor := range names {
			members = append(members, int32(predictor))
		}
	default:
		for name := range strings.SplitSeq(text, ",") {
			predictor := slices.Index(names, strings.TrimSpace(name))
			switch {
			case predictor < 0:
				return nil, fmt.Errorf("start %q: %q is not a predictor; want %s, %s or names of predictors separated by commas", text, name, nullStart, fullStart)
			case slices.Contains(members, int32(predictor)):
				return nil, fmt.Errorf("start %q: %s is listed twice", text, names[predictor])
			}
			members = append(members, int32(predictor))
		}
	}
	if limit := p.Model.Prior.Limit(len(names)); len(members) > limit {
		return nil, fmt.Errorf("start %q: %d predictors, where a model has at most %d", text, len(members), limit)
	}
	for _, predictor := range members {
		if !p.Target.heredity.allowed(int(predictor), func(parent int) bool { return slices.Contains(members, int32(parent)) }) {
			return nil, fmt.Errorf("start %q: %s without the parents that %s heredity asks for", text, names[predictor], p.Model.Heredity)
		}
	}
	if p.Slots != nil {
		for i, predictor := range members {
			members[i] = int32(p.Slots.item[predictor])
		}
		return p.Slots.space.Code(members, nil), nil
	}
	code := make([]int32, len(names))
	for _, predictor := range members {
		code[predictor] = 1
	}
	return code, nil
}

// startSites is the number of predictors up to which spread starts range from none to all of them;
// more thin out as (startSites/n)², because a start with many wrong predictors explains the data by
// accident. Chosen by hand, not tuned.
const startSites = 16

// spreadStarts draws for every chain a model of predictors without parents, sparse in some chains
// and dense in others. A model drawn regardless of heredity is hardly ever allowed unless it is
// nearly empty, and chains that all start nearly empty never see two predictors together: what they
// learn of the posterior in burn-in is then wrong about most models, and they get stuck.
func (p *Problem) spreadStarts(chains int, seed uint64) [][]int32 {
	var roots []int
	for g, predictor := range p.Design.Predictors {
		if len(predictor.Parents) == 0 {
			roots = append(roots, g)
		}
	}
	sparsity := min(1, startSites/float64(max(len(roots), 1)))
	limit := p.Model.Prior.Limit(len(p.Design.Predictors))
	starts := make([][]int32, chains)
	for c := range starts {
		random := stream.Rand(seed, fmt.Sprintf("starts/%d", c))
		starts[c] = make([]int32, len(p.Design.Predictors))
		share, size := random.Float64()*sparsity*sparsity, 0
		for _, i := range random.Perm(len(roots)) {
			if size < limit && random.Float64() < share {
				starts[c][roots[i]] = 1
				size++
			}
		}
	}
	return starts
}
