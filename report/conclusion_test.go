package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/transdim/vti/internal/verdict"
)

// The first sentence is read alone, above the verdict.
func TestFailedAnswersBeginWithThat(t *testing.T) {
	for v, want := range map[verdict.Verdict]string{
		verdict.Trusted:  "x matters.",
		verdict.Doubtful: "x matters.",
		verdict.Failed:   "The computation failed, and what follows is not to be used. x matters.",
	} {
		a := &article{Answer: []string{"x matters."}, Marks: []badge{computation(&v, nil)}}
		a.warn()
		assert.Equal(t, want, a.Answer[0], v)
	}
	empty := &article{}
	empty.warn()
	assert.Empty(t, empty.Answer)
}
