package draws

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestColumnsCarryNames(t *testing.T) {
	h := Header{Cards: []int{2, 2}, Sites: []string{"bmi", "s.1"}, Coordinates: []string{"(Intercept)", "bmi", "s.1", "sigma"},
		Variables: []string{"beta[(Intercept)]", "beta[bmi]", "beta[s.1]", "sigma"}}
	assert.Equal(t, []string{"log_p__", "log_q__", "model__", "gamma[bmi]", "gamma[s.1]", "beta[(Intercept)]", "beta[bmi]", "beta[s.1]", "sigma"}, h.Numbered())
	assert.Equal(t, []string{"log_p__", "log_q__", "model__", "gamma[bmi]", "gamma[s_1]", "beta[(Intercept)]", "beta[bmi]", "beta[s_1]", "sigma"}, h.csvColumns())
	assert.Equal(t, "bmi + s.1", h.ModelName([]int32{1, 1}))
	assert.Equal(t, "(none)", h.ModelName([]int32{0, 0}))

	// Names that differ only in characters that a CSV file cannot hold must stay different.
	h = Header{Cards: []int{2, 3}, Sites: []string{"a.b", "a_b"}}
	assert.Equal(t, []string{"log_p__", "log_q__", "model__", "gamma[a_b]", "gamma[a_b] (2)"}, h.csvColumns())
	assert.Equal(t, "a_b=2", h.ModelName([]int32{0, 2}))

	lists := Header{Cards: []int{4, 4}, Items: []string{"x", "y", "z"}}
	assert.Equal(t, "member[2]", lists.siteColumn(1))
	assert.Equal(t, "x + z", lists.ModelName([]int32{1, 3}))
	assert.Error(t, Header{Cards: []int{2}, Coordinates: []string{"a"}, Variables: []string{"a", "b"}}.Validate())
}
