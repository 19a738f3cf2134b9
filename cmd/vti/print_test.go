package main

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/varsel"
)

func TestGridAligns(t *testing.T) {
	g := &document.Grid{}
	g.Add("", "A", "<B", "C")
	g.Add("x", "1.25", "one")
	g.Add("longer σ", "3", "two words", "4")
	var out strings.Builder
	g.Print(&out)
	assert.Equal(t, "               A  B          C\n  x         1.25  one\n  longer σ     3  two words  4\n", out.String())
}

func TestHelpFitsTerminals(t *testing.T) {
	commands := []*cobra.Command{rootCommand(&shell.App{})}
	for len(commands) > 0 {
		cmd := commands[0]
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, "%s: %s", cmd.CommandPath(), line)
		}
		commands = append(commands[1:], cmd.Commands()...)
	}
}

func TestProgressIsPlainAwayFromATerminal(t *testing.T) {
	var out strings.Builder
	p := console.NewProgress(&out, false)
	p.Line("first", false)
	p.Line("too soon", false)
	p.Line("last", true)
	p.End()
	assert.Equal(t, "first\nlast\n", out.String())

	out.Reset()
	p = &console.Progress{W: &out, Terminal: true}
	p.Line("first", false)
	p.Last = p.Last.Add(-time.Second)
	p.Line("second", false)
	p.End()
	assert.Equal(t, "\r\x1b[Kfirst\r\x1b[Ksecond\n", out.String())

	(&console.Progress{}).Line("silent", true)
}

func TestTrainingLine(t *testing.T) {
	info := vti.Info{Step: 500, Steps: 3000, Loss: 12.3456, Entropy: 1.5, StepsPerSecond: 25}
	assert.Equal(t, "step 500/3000  loss 12.346  entropy of q(m) 1.500  25 steps/s  1 min 40 s left", console.TrainingLine(info, false))
	assert.Equal(t, "42 s", document.TimeText(42))
	assert.Equal(t, "2 h 3 min", document.TimeText(7400))
}

// TestHumanOutput checks the printed text: factors, groups, always-in columns, model names.
func TestHumanOutput(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", "a,b,c,k,y\n1,2,u,1,3\n2,5,v,1,4.5\n4,3,w,2,1\n5,1,v,2,7\n7,2,u,1,6\n3,3,w,3,2\n")
	got := mustRun(t, "exact", "data.csv", "--target", "y", "--always", "k", "--group", "pair=a,b", "--quiet", "--out", "my run")
	for _, want := range []string{
		"data.csv: 6 rows, target y, 2 predictors to select from\n",
		"likelihood: gaussian, log σ ~ N(",
		"(Intercept)", "always", "\n  pair ", "\n    a ", "\n    c=v ", "pair + c", "(none)",
		"Log evidence of all models together", "my run holds", "report.html",
	} {
		assert.Contains(t, got.stdout, want)
	}
	assert.Empty(t, got.stderr)
	trained := mustRun(t, append(tiny("varsel", "data.csv", "--target", "y"), "--quiet=false")...)
	assert.Regexp(t, `(?m)^(TRUSTED|DOUBTFUL|FAILED): .*\n`, trained.stdout)
	assert.Regexp(t, `(?m)^Computation: `, trained.stdout)
	assert.Regexp(t, `(?m)^step 60/60  loss \d+\.\d+  entropy of q\(m\) \d+\.\d+  .* steps/s  0 s left$`, trained.stderr)
}

// A probability that four decimals cannot distinguish from 0 or 1 is printed as a bound, such as
// <1e-4. If an interval holds only 0, the probability of 0 is printed instead.
func TestProbabilityText(t *testing.T) {
	none := varsel.Number(math.NaN())
	for _, test := range []struct {
		p, se varsel.Number
		want  string
	}{
		{0.5, 0, "0.5000"}, {0.5, 0.001, "0.5000 ± 0.0010"}, {0.5, 0.00001, "0.5000"}, {3e-5, 0, "<1e-4"}, {3e-5, 2e-4, "3e-05 ± 2e-04"},
		{0, 0, "0"}, {1, none, "1"}, {0.99996, none, ">0.9999"}, {none, 0, "?"},
	} {
		assert.Equal(t, test.want, document.Probability(test.p, test.se))
	}
	assert.Equal(t, "0 (0.9800)", document.AveragedInterval(0, 0, 0.98))
	assert.Equal(t, "0 (0.9999)", document.AveragedInterval(0, 0, 0.99999))
	assert.Equal(t, "[-1, 0]", document.AveragedInterval(-1, 0, 0.5))
	assert.Equal(t, "0.123 ± 0.001", document.InThree(0.1234, 0.001))
	assert.Equal(t, "4e-04", document.InThree(0.0004, 0))
	assert.Equal(t, "<1e-4", document.InThree(0.00004, 0))
	assert.Equal(t, "1", document.InThree(1, 0))
}

// Output is coloured only on a terminal, and only if NO_COLOR is not set.
func TestColours(t *testing.T) {
	var out strings.Builder
	w := &console.Writer{W: &out, Colour: true}
	fmt.Fprint(w, "TRUSTED: yes\nmodel check: poor: no\nmodel check of it\n")
	assert.Equal(t, "\x1b[1;32mTRUSTED\x1b[0m: yes\n\x1b[31mmodel check: poor\x1b[0m: no\nmodel check of it\n", out.String())
	assert.False(t, console.NewWriter(&out, &out).Colour)
	if terminal, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		defer terminal.Close()
		t.Setenv("TERM", "xterm")
		assert.True(t, console.NewWriter(&out, terminal).Colour)
		t.Setenv("NO_COLOR", "1")
		assert.False(t, console.NewWriter(&out, terminal).Colour)
	}
}

// mostLines is the largest number of lines that a command may print.
const mostLines = 100

// emptyNumbers matches probabilities and errors of 0.0000, intervals of zero, NaN and Inf.
var emptyNumbers = regexp.MustCompile(`(^|[ (])0\.0000\b|± 0\.0+\b|\[0, 0\]|\bNaN\b|[+-]Inf\b`)

// checkScreen checks the text that a command prints: at most mostLines lines, no colours in a pipe,
// no empty numbers, and technical terms explained once.
func checkScreen(t *testing.T, command, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	assert.LessOrEqual(t, len(lines), mostLines, command)
	for _, line := range lines {
		longest := 0 // length of the longest word, since words are not broken
		for word := range strings.FieldsSeq(line) {
			longest = max(longest, utf8.RuneCountInString(word))
		}
		assert.LessOrEqual(t, utf8.RuneCountInString(line), max(document.TextWidth, longest+4), "%s: %s", command, line)
		assert.False(t, emptyNumbers.MatchString(line), "%s: %s", command, line)
	}
	assert.NotContains(t, text, "\x1b", command)
	plain := strings.Join(strings.Fields(text), " ")
	said, _, _ := strings.Cut(plain, "Words: ")
	for _, m := range document.Meanings {
		if len(m.Word) == 1 || !strings.Contains(strings.ToLower(said), strings.ToLower(m.Word)) {
			continue
		}
		assert.Equal(t, 1, strings.Count(plain, m.Word+": "+m.Meaning)+strings.Count(plain, m.Word+" says"), "%s: %s is explained once", command, m.Word)
	}
}
