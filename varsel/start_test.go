package varsel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStart(t *testing.T) {
	data := parseTable(t, "a,b,c,y\n1,2,5,1\n2,1,3,2\n4,4,1,3\n3,5,2,5\n6,1,1,2\n")
	design, err := NewDesign(data, DesignOptions{Target: "y"})
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{})
	require.NoError(t, err)
	for text, want := range map[string][]int32{"null": {0, 0, 0}, "full": {1, 1, 1}, "c, a": {1, 0, 1}, "b": {0, 1, 0}} {
		code, err := problem.Start(text)
		require.NoError(t, err)
		assert.Equal(t, want, code, text)
	}
	for text, message := range map[string]string{"d": `"d" is not a predictor`, "": "is not a predictor", "a,a": "a is listed twice"} {
		_, err := problem.Start(text)
		assert.ErrorContains(t, err, message)
	}
	limited, err := NewProblem(design, ModelOptions{Prior: Prior{MaxSize: 2}, Codes: ListCodes})
	require.NoError(t, err)
	require.NotNil(t, limited.Slots)
	code, err := limited.Start("c,a")
	require.NoError(t, err)
	assert.Equal(t, []int{0, 2}, limited.members(code))
	_, err = limited.Start("full")
	assert.ErrorContains(t, err, "3 predictors, where a model has at most 2")
}
