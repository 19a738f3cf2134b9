package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/transdim/vti"
	"github.com/transdim/vti/varsel"
)

func TestGridAligns(t *testing.T) {
	g := &grid{}
	g.add("", "A", "<B", "C")
	g.add("x", "1.25", "one")
	g.add("longer σ", "3", "two words", "4")
	var out strings.Builder
	g.print(&out)
	assert.Equal(t, "               A  B          C\n  x         1.25  one\n  longer σ     3  two words  4\n", out.String())
}

func TestProgressIsPlainAwayFromATerminal(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out)
	p.line("first", false)
	p.line("too soon", false)
	p.line("last", true)
	p.end()
	assert.Equal(t, "first\nlast\n", out.String())

	out.Reset()
	p = &progress{w: &out, terminal: true}
	p.line("first", false)
	p.last = p.last.Add(-time.Second)
	p.line("second", false)
	p.end()
	assert.Equal(t, "\r\x1b[Kfirst\r\x1b[Ksecond\n", out.String())

	(&progress{}).line("silent", true)
}

func TestTrainingLine(t *testing.T) {
	info := vti.Info{Step: 500, Steps: 3000, Loss: 12.3456, Entropy: 1.5, StepsPerSecond: 25}
	assert.Equal(t, "step 500/3000  loss 12.346  entropy of q(m) 1.500  25 steps/s  1 min 40 s left", trainingLine(info, false))
	assert.Equal(t, "42 s", timeText(42))
	assert.Equal(t, "2 h 3 min", timeText(7400))
}

func TestQuoted(t *testing.T) {
	assert.Equal(t, "runs/a-b_1.2", quoted("runs/a-b_1.2"))
	assert.Equal(t, `'my runs/it'\''s'`, quoted("my runs/it's"))
}

// TestHumanOutput checks what a reader gets: factors, groups, always-in columns, and names of
// models.
func TestHumanOutput(t *testing.T) {
	emptyDir(t, "data.csv", "a,b,c,k,y\n1,2,u,1,3\n2,5,v,1,4.5\n4,3,w,2,1\n5,1,v,2,7\n7,2,u,1,6\n3,3,w,3,2\n")
	got := mustRun(t, "exact", "data.csv", "--target", "y", "--always", "k", "--group", "pair=a,b", "--quiet", "--out", "my run")
	for _, want := range []string{
		"data.csv: 6 rows, target y, 2 predictors to select from\n",
		"likelihood: gaussian, log σ ~ N(",
		"(Intercept)", "always", "\n  pair ", "\n    a ", "\n    c=v ", "pair + c", "(none)",
		"log evidence of all models together", "my run holds",
	} {
		assert.Contains(t, got.stdout, want)
	}
	assert.Empty(t, got.stderr)
	trained := mustRun(t, append(tiny("varsel", "data.csv", "--target", "y"), "--quiet=false")...)
	assert.Regexp(t, `(?m)^(TRUSTED|DOUBTFUL|FAILED): .*\n(  .*\n)*  (Pareto k̂|by tempered chains|exact:)`, trained.stdout)
	assert.Regexp(t, `(?m)^step 60/60  loss \d+\.\d+  entropy of q\(m\) \d+\.\d+  .* steps/s  0 s left$`, trained.stderr)
}

// Few predictors are printed in the order of the table, of many the most probable.
func TestMostProbable(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2}, mostProbable([]varsel.Number{0.1, 0.9, 0.5}))
	many := make([]varsel.Number, 100)
	many[70], many[20], many[5] = 0.3, 0.9, 0.3
	assert.Equal(t, []int{20, 5, 70, 0}, mostProbable(many)[:4])
	assert.Len(t, mostProbable(many), shownPredictors)
}
