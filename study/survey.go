package study

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Survey is an overview of a study: how its tasks ended, their costs, and the distribution of the
// probabilities in its answers. Its size does not grow with the number of tasks.
type Survey struct {
	*Summary
	// Seconds and Bytes are histograms of the tasks' processor times and memory. Their bins are
	// given by [LogBin].
	Seconds, Bytes Histogram
	// Probabilities is a histogram of the inclusion probabilities in all answers. Its bins are
	// twentieths.
	Probabilities Histogram
	// BySetting counts the tasks by verdict or state, for each value of each setting that varies.
	BySetting []SettingCount
	// Failures are the first failed tasks, at most [MostFailures].
	Failures []Failure
}

// MostFailures is the largest number of failed tasks that a survey lists.
const MostFailures = 100

// Histogram counts values by the number of their bin.
type Histogram map[int]int

// SettingCount counts the tasks that have one value of a setting, by verdict, or by state for tasks
// without a verdict.
type SettingCount struct {
	Setting, Value string
	// Counts has the number of tasks for each verdict or state.
	Counts map[string]int
}

// LogBin returns the bin of a positive value in a histogram with ten bins for each power of ten:
// bin k holds the values from 10^(k/10) to 10^((k+1)/10).
func LogBin(x float64) int { return int(math.Floor(10 * math.Log10(x))) }

// repeating lists the settings that number repetitions. BySetting leaves them out.
var repeating = []string{"data_seed", "replicate"}

// BySetting leaves out settings with more than mostValues values, such as tables or seeds.
const mostValues = 20

// Survey reads all tasks, as Collect does, and writes no files.
func (p *Plan) Survey(ctx context.Context) (*Survey, error) {
	s := &Survey{Seconds: Histogram{}, Bytes: Histogram{}, Probabilities: Histogram{}}
	counts := map[[2]string]map[string]int{}
	values := map[string]int{}
	var order [][2]string
	var err error
	s.Summary, err = p.Collect(ctx, CollectConfig{each: func(t Task, g *gathered) {
		if g.cost != nil && g.cost.CPUSeconds > 0 {
			s.Seconds[LogBin(g.cost.CPUSeconds)]++
		}
		if g.cost != nil && g.cost.PeakBytes > 0 {
			s.Bytes[LogBin(g.cost.PeakBytes)]++
		}
		for _, probability := range g.probabilities() {
			s.Probabilities[min(int(20*probability), 19)]++
		}
		ending := cmp.Or(g.verdict, g.state.String())
		if g.state == Failed && len(s.Failures) < MostFailures {
			s.Failures = append(s.Failures, Failure{t.Index, t.Name, g.failure})
		}
		for _, setting := range t.Settings {
			if slices.Contains(repeating, setting.Name) {
				continue
			}
			key := [2]string{setting.Name, setting.Text()}
			if counts[key] == nil {
				if values[setting.Name]++; values[setting.Name] > mostValues {
					continue
				}
				counts[key] = map[string]int{}
				order = append(order, key)
			}
			counts[key][ending]++
		}
	}})
	for _, key := range order {
		if n := values[key[0]]; n > 1 && n <= mostValues {
			s.BySetting = append(s.BySetting, SettingCount{key[0], key[1], counts[key]})
		}
	}
	slices.SortStableFunc(s.BySetting, func(a, b SettingCount) int {
		return slices.IndexFunc(order, func(k [2]string) bool { return k[0] == a.Setting }) - slices.IndexFunc(order, func(k [2]string) bool { return k[0] == b.Setting })
	})
	return s, err
}

// probabilities returns the inclusion probabilities of predictors or edges in the answer, nil if
// there are none.
func (g *gathered) probabilities() (list []float64) {
	for _, table := range []string{"inclusion", "edges"} {
		for _, row := range g.flat.tables[table] {
			for _, c := range row {
				p, number := c.value.(float64)
				if number && p >= 0 && p <= 1 && (c.column == "certified" || c.column == "probability" || c.column == "inclusion") {
					list = append(list, p)
					break
				}
			}
		}
	}
	return list
}
