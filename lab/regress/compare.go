package regress

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Numbers agree if they differ by at most errorsApart combined standard errors, which one number in
// 16,000 exceeds by chance, or by rounding. falseAlarm is the probability that, by chance, at least
// one number of a comparison differs by more than Comparison.Limit (Bonferroni). The true
// probability is somewhat larger, because standard errors are estimates.
const (
	errorsApart = 4
	rounding    = 1e-6
	falseAlarm  = 0.01
)

// verdicts holds the verdicts from the worst to the best.
var verdicts = []string{"failed", "doubtful", "trusted"}

// Difference is a difference between two answers of one run, in two records.
type Difference struct {
	// Run is the name of the run, and What describes the difference.
	Run, What string
	// Errors is the difference between two numbers in combined standard errors. It is +Inf for
	// exact numbers, worse verdicts, wrong answers and missing answers.
	Errors float64
}

// Comparison is the comparison of two records.
type Comparison struct {
	// Runs counts the runs that are in both records. Numbers counts the numbers of these runs that
	// are in both records, and Same the numbers among them that are equal up to rounding. Gone
	// counts the numbers that are only in the earlier record.
	Runs, Numbers, Same, Gone int
	Differences               []Difference
	// CPUBefore and CPUNow are the seconds of processor time, in each record, of runs in both.
	CPUBefore, CPUNow float64
	before, now       Record
}

// Compare compares the runs that are in both records. A run that is only in the earlier record
// counts as a difference.
func Compare(before, now Record) *Comparison {
	c := &Comparison{before: before, now: now}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, is := before[name], now[name]
		worse := func(format string, args ...any) {
			c.Differences = append(c.Differences, Difference{name, fmt.Sprintf(format, args...), math.Inf(1)})
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
		for _, field := range c.numbers(name, was, is) {
			worse("%s: not answered", field)
		}
	}
	slices.SortStableFunc(c.Differences, func(a, b Difference) int {
		return cmp.Or(-cmp.Compare(a.Errors, b.Errors), cmp.Compare(a.Run, b.Run))
	})
	return c
}

// inBrackets matches the labels of the elements of lists in a path.
var inBrackets = regexp.MustCompile(`\[[^\]]*\]`)

// numbers compares the numbers that are in both answers of a run, and returns the fields that are
// in the first answer only. It compares nothing if one of the answers failed, because its numbers
// are not reliable.
func (c *Comparison) numbers(name string, was, is Answer) []string {
	if was.Verdict == "failed" || is.Verdict == "failed" {
		return nil
	}
	fields := map[string]bool{} // for each field, whether the second answer has it
	for _, path := range slices.Sorted(maps.Keys(was.Numbers)) {
		a := was.Numbers[path]
		b, ok := is.Numbers[path]
		field := inBrackets.ReplaceAllString(path, "[]")
		fields[field] = fields[field] || ok
		if !ok {
			c.Gone++ // this may be harmless, such as a shorter list of best models
			continue
		}
		c.Numbers++
		distance := max(0, math.Abs(a.Value-b.Value)-rounding*max(1, math.Abs(a.Value)))
		switch errors := distance / math.Hypot(a.SE, b.SE); {
		case distance == 0:
			c.Same++
		case !(errors <= errorsApart):
			c.Differences = append(c.Differences, Difference{name, fmt.Sprintf("%s: %s, was %s", path, b, a), errors})
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(field string) bool { return fields[field] })
}

// Limit returns the largest difference, in combined standard errors, that counts as chance.
func (c *Comparison) Limit() float64 {
	return max(errorsApart, distuv.UnitNormal.Quantile(1-falseAlarm/2/float64(max(1, c.Numbers))))
}

// Failures returns the number of differences larger than Limit.
func (c *Comparison) Failures() (n int) {
	for _, d := range c.Differences {
		if d.Errors > c.Limit() {
			n++
		}
	}
	return n
}

// Print writes a comparison as text. The argument most is the largest number of listed differences
// of a run. If times is true, it also lists the processor seconds of every run.
func (c *Comparison) Print(w io.Writer, most int, times bool) {
	printed := map[string]int{}
	for _, d := range c.Differences {
		mark := ""
		if d.Errors > c.Limit() {
			mark = "DIFFERS"
		}
		if printed[d.Run]++; printed[d.Run] <= most {
			fmt.Fprintf(w, "%-8s %-26s %6.1f  %s\n", mark, d.Run, d.Errors, d.What)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(printed)) {
		if printed[name] > most {
			fmt.Fprintf(w, "%-8s %-26s %d more differences\n", "", name, printed[name]-most)
		}
	}
	if times {
		fmt.Fprintf(w, "%-26s %8s %8s  processor seconds, by the difference\n", "run", "before", "now")
		for _, name := range slices.SortedFunc(maps.Keys(c.before), func(a, b string) int {
			return cmp.Compare(c.now[b].CPU-c.before[b].CPU, c.now[a].CPU-c.before[a].CPU)
		}) {
			fmt.Fprintf(w, "%-26s %8.2f %8.2f\n", name, c.before[name].CPU, c.now[name].CPU)
		}
	}
	fmt.Fprintf(w, "%d runs, %d numbers: %d the same, %d beyond %d combined standard errors (%.1f expected by chance) or worse, %d of them beyond %.1f (%g expected); %d numbers not in both\n",
		c.Runs, c.Numbers, c.Same, len(c.Differences), errorsApart, float64(c.Numbers-c.Same)*math.Erfc(errorsApart/math.Sqrt2), c.Failures(), c.Limit(), falseAlarm, c.Gone)
	fmt.Fprintf(w, "processor time %.1f s, was %.1f s: %.3f times\n", c.CPUNow, c.CPUBefore, c.CPUNow/c.CPUBefore)
}
