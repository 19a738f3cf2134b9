package regress

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// Differences of up to errorsApart combined standard errors, and rounding beside them, are chance:
// one of 16,000 numbers that agree lies further apart. Errors are estimates themselves, so a few
// more may.
const (
	errorsApart = 4
	rounding    = 1e-6
)

// verdicts are ordered from worst to best.
var verdicts = []string{"failed", "doubtful", "trusted"}

// Difference is what a run answers otherwise than before.
type Difference struct {
	Run, What string
	// Worse: a verdict is worse, more answers are wrong, or the run fails. Else a number differs.
	Worse bool
}

// Comparison is what two records have in common and what not.
type Comparison struct {
	Runs, Numbers int
	// Largest is the largest distance of two numbers, in combined standard errors, of those with
	// errors.
	Largest     float64
	Differences []Difference
	// CPU are the seconds of processor time before and now, of the runs in both records.
	CPUBefore, CPUNow float64
}

// Compare compares the runs that two records share, and lists those that are missing now.
func Compare(before, now Record) (c Comparison) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, is := before[name], now[name]
		worse := func(format string, args ...any) {
			c.Differences = append(c.Differences, Difference{name, fmt.Sprintf(format, args...), true})
		}
		if _, ok := now[name]; !ok {
			worse("not run")
			continue
		}
		c.Runs++
		c.CPUBefore, c.CPUNow = c.CPUBefore+was.CPU, c.CPUNow+is.CPU
		if was.Exit != is.Exit && (was.Exit == 0 || is.Exit != 0) {
			worse("exit status %d, was %d", is.Exit, was.Exit)
		}
		if slices.Index(verdicts, is.Verdict) < slices.Index(verdicts, was.Verdict) {
			worse("verdict %q, was %q", is.Verdict, was.Verdict)
		}
		if is.Wrong > was.Wrong || is.Trusted < was.Trusted {
			worse("%d trusted and %d wrong, was %d and %d", is.Trusted, is.Wrong, was.Trusted, was.Wrong)
		}
		c.numbers(name, was, is)
	}
	return c
}

// numbers compares those that two answers share. The answer of a run that failed has none to rely
// on.
func (c *Comparison) numbers(name string, was, is Answer) {
	if was.Verdict == "failed" || is.Verdict == "failed" {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(was.Numbers)) {
		a := was.Numbers[path]
		b, ok := is.Numbers[path]
		if !ok {
			continue // lists of the best models end elsewhere
		}
		c.Numbers++
		se, distance := math.Hypot(a.SE, b.SE), math.Abs(a.Value-b.Value)
		if se > 0 {
			c.Largest = math.Max(c.Largest, (distance-rounding*math.Max(1, math.Abs(a.Value)))/se)
		}
		if !(distance <= errorsApart*se+rounding*math.Max(1, math.Abs(a.Value))) {
			c.Differences = append(c.Differences, Difference{name, fmt.Sprintf("%s: %.6g ± %.2g, was %.6g ± %.2g", path, b.Value, b.SE, a.Value, a.SE), false})
		}
	}
}

// Print writes a comparison as text.
func (c Comparison) Print(w io.Writer) {
	for _, d := range c.Differences {
		kind := "differs"
		if d.Worse {
			kind = "WORSE"
		}
		fmt.Fprintf(w, "%-8s %-28s %s\n", kind, d.Run, d.What)
	}
	fmt.Fprintf(w, "%d runs, %d numbers, largest distance %.1f combined standard errors (%.2g of %d expected beyond %d by chance), %d differences\n",
		c.Runs, c.Numbers, c.Largest, float64(c.Numbers)*math.Erfc(errorsApart/math.Sqrt2), c.Numbers, errorsApart, len(c.Differences))
	fmt.Fprintf(w, "processor time %.1f s, was %.1f s: %.3f times\n", c.CPUNow, c.CPUBefore, c.CPUNow/c.CPUBefore)
}
