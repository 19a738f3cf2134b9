package varsel

import (
	"fmt"
	"slices"
	"strings"
)

// Names of starts of chains that are not lists of predictors.
const (
	nullStart = "null"
	fullStart = "full"
)

// Start reads the model in which a chain starts: null (no predictor), full (all of them), or the names of its predictors,
// separated by commas. The code is one of the posterior's space.
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
				return nil, fmt.Errorf("start %q: %q is not a predictor; expected %s, %s or names of predictors separated by commas", text, name, nullStart, fullStart)
			case slices.Contains(members, int32(predictor)):
				return nil, fmt.Errorf("start %q: %s is listed twice", text, names[predictor])
			}
			members = append(members, int32(predictor))
		}
	}
	if limit := p.Model.Prior.limit(len(names)); len(members) > limit {
		return nil, fmt.Errorf("start %q: %d predictors, where a model has at most %d", text, len(members), limit)
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
