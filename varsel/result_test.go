package varsel

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestModelText(t *testing.T) {
	for _, c := range []struct {
		text       string
		members    []int
		predictors int
	}{
		{"0000", nil, 4}, {"0110", []int{1, 2}, 4}, {emptyModel, nil, 65}, {"1,3,65", []int{0, 2, 64}, 65},
	} {
		require.Equal(t, c.text, modelText(c.members, c.predictors))
	}
	rapid.Check(t, func(t *rapid.T) {
		predictors := rapid.IntRange(1, 200).Draw(t, "predictors")
		var members []int
		for predictor := range predictors {
			if rapid.Bool().Draw(t, "in") {
				members = append(members, predictor)
			}
		}
		read, err := ModelMembers(modelText(members, predictors), predictors)
		require.NoError(t, err)
		require.Equal(t, members, read)
	})
	for _, bad := range []struct {
		text       string
		predictors int
	}{{"011", 4}, {"01x0", 4}, {"1,2", 4}, {"", 65}, {"0,3", 65}, {"3,3", 65}, {"4,3", 65}, {"66", 65}, {"1,", 65}} {
		_, err := ModelMembers(bad.text, bad.predictors)
		require.ErrorContains(t, err, "code of a model: got", bad.text)
	}
}
