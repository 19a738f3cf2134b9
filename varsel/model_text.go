package varsel

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/transdim/vti/internal/english"
)

// mostBits is the largest number of predictors for which the text of a model has a bit for each.
const mostBits = 64

// emptyModel is the text of the empty model among many predictors.
const emptyModel = "none"

// modelText names the model that has the given predictors, ascending, of so many: one bit for each
// predictor in table order, "0110", or with more than 64 of them the numbers of the members from 1,
// "3,17,250", and emptyModel for the model without any.
func modelText(members []int, predictors int) string {
	switch {
	case predictors > mostBits && len(members) == 0:
		return emptyModel
	case predictors > mostBits:
		numbers := make([]string, len(members))
		for i, predictor := range members {
			numbers[i] = strconv.Itoa(predictor + 1)
		}
		return strings.Join(numbers, ",")
	}
	text := []byte(strings.Repeat("0", predictors))
	for _, predictor := range members {
		text[predictor] = '1'
	}
	return string(text)
}

// ModelMembers reads the code of a [ModelReport]: it lists the predictors of the model, from 0, of
// so many in all.
func ModelMembers(code string, predictors int) (members []int, err error) {
	if predictors <= mostBits {
		if len(code) != predictors || strings.Trim(code, "01") != "" {
			return nil, fmt.Errorf("code of a model: got %q, want one bit for each of %s", code, english.Count(predictors, "predictor"))
		}
		for predictor, bit := range code {
			if bit == '1' {
				members = append(members, predictor)
			}
		}
		return members, nil
	}
	if code == emptyModel {
		return nil, nil
	}
	for text := range strings.SplitSeq(code, ",") {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > predictors || len(members) > 0 && number-1 <= members[len(members)-1] {
			return nil, fmt.Errorf("code of a model: got %q, want ascending numbers from 1 to %d", code, predictors)
		}
		members = append(members, number-1)
	}
	return members, nil
}
