package console

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/document"
)

// These are the shortest times between two lines of progress. On a terminal a line replaces the
// line before; elsewhere all lines remain.
const (
	terminalPause = 100 * time.Millisecond
	plainPause    = 5 * time.Second
)

// Progress shows the progress of a long computation. The zero value is silent.
type Progress struct {
	W        io.Writer
	Terminal bool
	Last     time.Time // the time of the last line shown
	open     bool      // a line on the terminal has no newline yet
}

// NewProgress returns a Progress that writes to w, or one that shows nothing if silent is set.
func NewProgress(w io.Writer, silent bool) *Progress {
	if silent {
		return &Progress{}
	}
	return &Progress{W: w, Terminal: isTerminal(w)}
}

// isTerminal reports whether a writer is a terminal that can move its cursor.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// Line shows a line of progress, unless a line was shown a moment ago. A final line is always
// shown.
func (p *Progress) Line(text string, final bool) {
	pause := plainPause
	if p.Terminal {
		pause = terminalPause
	}
	now := time.Now()
	if p.W == nil || !final && now.Sub(p.Last) < pause {
		return
	}
	p.Last = now
	if p.Terminal {
		const clearLine = "\r\x1b[K"
		fmt.Fprint(p.W, clearLine, text)
		p.open = true
		return
	}
	fmt.Fprintln(p.W, text)
}

// End ends a line that is open on the terminal.
func (p *Progress) End() {
	if p.open {
		fmt.Fprintln(p.W)
		p.open = false
	}
}

// TrainingLine returns a line on the progress of training. If single is true there is only one
// model, and the line leaves out the entropy of q(m), the approximate posterior of models.
func TrainingLine(info vti.Info, single bool) string {
	line := fmt.Sprintf("step %d/%d  loss %.3f", info.Step, info.Steps, info.Loss)
	if !single {
		line += fmt.Sprintf("  entropy of q(m) %.3f", info.Entropy)
	}
	return TrainingPace(line, info.Step, info.Steps, info.NonFinite, info.StepsPerSecond)
}

// TrainingPace appends the speed of training, and the remaining time, to a line.
func TrainingPace(line string, step, steps, nonFinite int, stepsPerSecond float64) string {
	line += "  " + rateText(stepsPerSecond) + " steps/s"
	if stepsPerSecond > 0 && step > 1 { // the first step includes compilation
		line += "  " + document.TimeText(float64(steps-step)/stepsPerSecond) + " left"
	}
	if nonFinite > 0 {
		line += fmt.Sprintf("  (%d draws not finite)", nonFinite)
	}
	return line
}

// rateText formats a number per second with three digits.
func rateText(rate float64) string {
	if rate < 1000 {
		return fmt.Sprintf("%.3g", rate)
	}
	unit := math.Pow(10, math.Floor(math.Log10(rate))-2)
	return fmt.Sprintf("%.0f", math.Round(rate/unit)*unit)
}

// pace measures the speed of work whose steps take about the same time each.
type pace struct{ started time.Time }

func NewPace() pace { return pace{time.Now()} }

// Text returns the average speed so far and the remaining time.
func (p pace) Text(done, total int) string {
	rate := float64(done) / time.Since(p.started).Seconds()
	return rateText(rate) + "/s  " + document.TimeText(float64(total-done)/rate) + " left"
}

// ReportEvery returns the number of training steps between two reports. A report makes the
// processor wait for the device. With this number the wait takes little of the time, and short runs
// have reports too.
func ReportEvery(steps int) int { return min(max(steps/50, 1), 100) }
