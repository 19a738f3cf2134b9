package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/verdict"
)

// The first sentence of an answer, which stands above the verdict, says if the computation failed.
func TestFailedAnswersBeginWithThat(t *testing.T) {
	for v, want := range map[verdict.Verdict]string{
		verdict.Trusted:  "x matters.",
		verdict.Doubtful: "x matters.",
		verdict.Failed:   "The computation failed, and what follows is not to be used. x matters.",
	} {
		d := (&source{}).answer(&document.Document{Answer: []string{"x matters."}}, &computation{level: &v}, nil, "")
		assert.Equal(t, want, d.Answer[0], v)
	}
	failed := verdict.Failed
	assert.Empty(t, (&source{}).answer(&document.Document{}, &computation{level: &failed}, nil, "").Answer)
}

// A terminal shows the meaning of a verdict and the advice in one line. A page shows the meaning
// beside the verdict, and the advice among the next steps.
func TestMeaningAndAdvice(t *testing.T) {
	doubtful := verdict.Doubtful
	c := &computation{level: &doubtful, text: "it may be right. Try more --steps.", reasons: []string{"few draws"}, basis: []string{"by weights"}}
	m := c.mark()
	assert.Equal(t, []string{"DOUBTFUL: it may be right. Try more --steps.", "  few draws", "  by weights", "  Reasons explained: " + reasonsPage}, m.Lines)
	assert.Equal(t, "It may be right.", m.Text)
	assert.Equal(t, []string{"Try more --steps.", "Causes and remedies of each reason: " + reasonsPage, "otherwise"}, c.next(nil, "otherwise"))
	c.help = "more draws"
	assert.Equal(t, "  What would help: more draws.", c.mark().Lines[3])
	assert.Equal(t, "What would help the computation: more draws.", c.next(nil, "otherwise")[0])
}
