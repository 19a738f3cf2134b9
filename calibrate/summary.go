package calibrate

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
)

// SummaryFile is the name of the summary in the directory of a study.
const SummaryFile = "summary.json"

// Summary counts the verdicts of all replicates of a study, and compares their answers with the
// truth or with exact answers.
type Summary struct {
	Study      string `json:"study"`
	Seed       uint64 `json:"seed"`
	Replicates int    `json:"replicates"`
	// Verdicts counts replicates by verdict.
	Verdicts map[string]int `json:"verdicts"`
	// ModelChecks counts replicates by the verdict of the model check. If tables are drawn from the
	// model, every verdict other than good is a false alarm.
	ModelChecks map[string]int `json:"model_checks"`
	// Uniformity compares the ranks of true parameters with the uniform distribution, for each kind
	// of parameter. Reliability compares stated probabilities with frequencies, for each kind of
	// statement.
	Uniformity  []*Uniformity  `json:"uniformity,omitempty"`
	Reliability []*Reliability `json:"reliability,omitempty"`
	// Reasons counts the reasons why answers are not trusted, by text, with # for numbers in it.
	Reasons map[string]int `json:"reasons,omitempty"`
	// Scores says how far the numbers in trusted answers are from their exact values. It has an
	// entry for each quantity, first over all replicates, then for each kind of replicate.
	Scores []Score `json:"scores,omitempty"`
	// Compared counts the trusted answers that were compared with exact answers.
	Compared int `json:"compared"`
	// Wrong lists the replicates whose answer is trusted although a number in it is wrong
	// ([Replicate.Wrong]).
	Wrong []Wrong `json:"trusted_and_wrong"`
}

// Score describes the errors of one quantity in trusted answers.
type Score struct {
	// Kind is the kind of the replicates. It is empty for the score over all replicates, if they
	// are of several kinds.
	Kind     string   `json:"kind,omitempty"`
	Quantity Quantity `json:"quantity"`
	Count    int      `json:"count"`
	// SD is the standard deviation of z = (stated − exact)/SE, where SE is the stated standard
	// error, and Largest the largest absolute z. SD should be about 1, and Largest about 4 at most.
	// Numbers with a stated SE of almost 0, and numbers whose SE is only a bound, are left out.
	SD      Number `json:"z_sd"`
	Largest Number `json:"z_largest"`
	// Bounds counts probabilities whose stated error is at least as large as their distance from 0
	// or 1. This error is then a bound rather than a standard error. Held counts the probabilities,
	// among these, whose true error is within the bound.
	Bounds int `json:"bounds,omitempty"`
	Held   int `json:"bounds_held,omitempty"`
	// Error is the largest absolute difference between a stated and an exact number.
	Error Number `json:"largest_error"`
}

// Wrong is a replicate with a trusted and wrong answer.
type Wrong struct {
	Number int    `json:"number"`
	About  string `json:"about"`
	// What lists the errors, the largest first. Command is the command line that runs vti on the
	// table, from the directory of the study. Repeat is the command line that draws the problem
	// again.
	What    []string `json:"what"`
	Command string   `json:"command,omitempty"`
	Repeat  string   `json:"repeat,omitempty"`
}

// Summarize summarises the replicates of a study.
func Summarize(source Source, cfg Config, replicates []*Replicate) *Summary {
	s := &Summary{Study: source.Name(), Seed: cfg.Seed, Replicates: len(replicates), Verdicts: map[string]int{}, ModelChecks: map[string]int{}, Reasons: map[string]int{}, Wrong: []Wrong{}}
	ranks, events := map[string][]float64{}, map[string][]Event{}
	for _, r := range replicates {
		s.Verdicts[r.Verdict]++
		if r.ModelCheck != "" {
			s.ModelChecks[r.ModelCheck]++
		}
		for _, rank := range r.Ranks {
			ranks[rank.Kind] = append(ranks[rank.Kind], rank.Value)
		}
		for _, e := range r.Events {
			events[e.Kind] = append(events[e.Kind], e)
		}
		if r.Verdict != trusted {
			for reason := range strings.SplitSeq(r.Reasons, "; ") {
				if reason != "" {
					s.Reasons[numbers.ReplaceAllString(reason, "#")]++
				}
			}
			continue
		}
		if len(r.Comparisons) > 0 {
			s.Compared++
		}
		if wrong := r.Wrong(); len(wrong) > 0 {
			slices.SortStableFunc(wrong, func(a, b Comparison) int { return cmp.Compare(math.Abs(b.Error()), math.Abs(a.Error())) })
			s.Wrong = append(s.Wrong, Wrong{Number: r.Number, About: r.About, What: apply.To(wrong, Comparison.String), Command: r.Command, Repeat: r.Repeat})
		}
	}
	s.Uniformity = apply.To(slices.Sorted(maps.Keys(ranks)), func(kind string) *Uniformity { return NewUniformity(kind, ranks[kind]) })
	s.Reliability = apply.To(slices.Sorted(maps.Keys(events)), func(kind string) *Reliability { return NewReliability(kind, events[kind]) })
	s.Scores = scores(replicates)
	return s
}

// numbers matches the numbers in the text of a reason, so that texts that differ only in numbers
// count as one reason.
var numbers = regexp.MustCompile(`[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?`)

// scores returns the scores over all trusted answers, and then the scores for each kind of answer.
// If all answers are of one kind, it returns only the scores for that kind.
func scores(replicates []*Replicate) (list []Score) {
	compared := map[string][]Comparison{"": nil}
	for _, r := range replicates {
		if r.Verdict == trusted {
			for _, kind := range slices.Compact([]string{"", r.Kind}) {
				compared[kind] = append(compared[kind], r.Comparisons...)
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(compared)) {
		if kind == "" && len(compared) == 2 {
			continue
		}
		for _, quantity := range []Quantity{Inclusion, Mean, SD, Evidence} {
			some := apply.Keep(compared[kind], func(c Comparison) bool { return c.Quantity == quantity && !math.IsNaN(c.Error()) })
			if len(some) > 0 {
				list = append(list, newScore(kind, quantity, some))
			}
		}
	}
	return list
}

// negligibleSE is the largest standard error of a number that counts as exact. The exact answers
// used for comparison have such errors themselves if the noise of the data is almost zero.
const negligibleSE = 1e-6

func newScore(kind string, quantity Quantity, list []Comparison) Score {
	score := Score{Kind: kind, Quantity: quantity, Count: len(list), SD: Number(math.NaN()), Largest: Number(math.NaN())}
	var scores []float64
	for _, c := range list {
		off, se := math.Abs(c.Error()), float64(c.SE)
		score.Error = max(score.Error, Number(off))
		switch {
		case !(se > negligibleSE) || math.IsInf(se, 1):
		case quantity == Inclusion && c.SE >= min(c.Stated, 1-c.Stated):
			score.Bounds++
			if off <= se {
				score.Held++
			}
		default:
			scores = append(scores, c.Error()/se)
		}
	}
	if len(scores) > 1 {
		score.SD = Number(stat.StdDev(scores, nil))
		sort.Float64s(scores)
		score.Largest = Number(math.Max(-scores[0], scores[len(scores)-1]))
	}
	return score
}
