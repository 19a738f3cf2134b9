package report

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
)

// Study is what the page of a study shows.
type Study struct {
	Name, Command string
	// Tasks are how many there are, and Done, Failed and Missing how they ended.
	Tasks, Done, Failed, Missing int
	// Verdicts counts answers.
	Verdicts map[string]int
	// CPUSeconds are those of all tasks, and Longest the seconds of the longest.
	CPUSeconds, Longest float64
	// Seconds, MiB and Probabilities are distributions over tasks, and over all probabilities of
	// all answers.
	Seconds, MiB, Probabilities []Bin
	// Settings are the tasks with each value of each varied setting, by verdict.
	Settings []StudySetting
	// Failures are tasks and why they failed.
	Failures [][2]string
}

// Bin is a bar of a distribution.
type Bin struct {
	From, To float64
	Count    int
}

// StudySetting are the tasks with one value of a setting.
type StudySetting struct {
	Setting, Value string
	Counts         map[string]int
}

// WriteStudy writes the page of a study to a file.
func WriteStudy(path string, s Study) error {
	a := article{ID: "study", Title: s.Name, Subtitle: fmt.Sprintf("%s of vti %s", counted(s.Tasks, "task"), s.Command)}
	a.Answer = []string{fmt.Sprintf("Of %s %d %s done; %d failed, and %d %s missing.", counted(s.Tasks, "task"), s.Done, english.Form(s.Done, "is", "are"), s.Failed, s.Missing, english.Form(s.Missing, "is", "are"))}
	verdicts := slices.Sorted(maps.Keys(s.Verdicts))
	for _, verdict := range verdicts {
		a.Answer = append(a.Answer, fmt.Sprintf("%s: %s.", counted(s.Verdicts[verdict], "answer"), verdict))
	}
	a.Answer = append(a.Answer, fmt.Sprintf("They took %s s of processor time, the longest %s s in all.", picture.Number(s.CPUSeconds), picture.Number(s.Longest)))
	switch {
	case s.Failed > 0:
		a.Marks = []badge{{"bad", "Study", "failures", fmt.Sprintf("%s without an answer: what is said of the others may not hold for all", counted(s.Failed, "task")), nil}}
		a.Next = append(a.Next, "Read why tasks failed, below; vti study run --failed tries them again.")
	case s.Missing > 0:
		a.Marks = []badge{{"fair", "Study", "incomplete", fmt.Sprintf("%s not at an end", counted(s.Missing, "task")), nil}}
		a.Next = append(a.Next, "Go on with vti study run.")
	default:
		a.Marks = []badge{{"good", "Study", "complete", "every task has an answer", nil}}
		a.Next = append(a.Next, "Gather the answers with vti study collect.")
	}
	a.Sections = append(a.Sections, s.settings()...)
	spread := section{ID: "distributions", Title: "Distributions"}
	for _, one := range []struct {
		name, title, x, y string
		bins              []Bin
	}{
		{"probabilities", "Probabilities of all answers", "probability", "number", s.Probabilities},
		{"seconds", "Processor time of tasks", "log₁₀ seconds", "tasks", s.Seconds},
		{"memory", "Memory of tasks", "log₁₀ MiB", "tasks", s.MiB},
	} {
		if len(one.bins) > 0 {
			spread.Pictures = append(spread.Pictures, binsPicture(one.name, one.title, one.x, one.y, one.bins))
		}
	}
	if len(spread.Pictures) > 0 {
		a.Sections = append(a.Sections, spread)
	}
	if len(s.Failures) > 0 {
		failures := table{ID: "failures", Caption: "Tasks without an answer", Columns: []column{{"task", false}, {"why", false}}, Open: true}
		for _, one := range s.Failures {
			failures.Rows = append(failures.Rows, []cell{words(one[0]), words(one[1])})
		}
		a.Sections = append(a.Sections, section{ID: "failed", Title: "Failures", Tables: []table{failures}})
	}
	p := &page{Title: filepath.Base(s.Name), Subtitle: a.Subtitle, Version: vti.Version, Articles: []article{a}}
	return atomicfile.Write(path, p.write)
}

// settings is the table of verdicts by setting, where there are any.
func (s Study) settings() []section {
	if len(s.Settings) == 0 {
		return nil
	}
	endings := map[string]bool{}
	for _, one := range s.Settings {
		for ending := range one.Counts {
			endings[ending] = true
		}
	}
	t := table{ID: "settings", Caption: "How tasks ended, by setting", Columns: []column{{"setting", false}, {"value", false}}, Open: true}
	order := slices.Sorted(maps.Keys(endings))
	for _, ending := range order {
		t.Columns = append(t.Columns, column{ending, true})
	}
	for _, one := range s.Settings {
		row := []cell{words(one.Setting), words(one.Value)}
		for _, ending := range order {
			row = append(row, cell{strconv.Itoa(one.Counts[ending]), sortKey(float64(one.Counts[ending]))})
		}
		t.Rows = append(t.Rows, row)
	}
	return []section{{ID: "verdicts", Title: "Verdicts", Tables: []table{t}}}
}

// binsPicture draws a distribution.
func binsPicture(name, title, x, y string, bins []Bin) *picture.Picture {
	var bars []picture.Bar
	total := 0
	for _, b := range bins {
		total += b.Count
		bars = append(bars, picture.Bar{From: b.From, To: b.To, Value: float64(b.Count), Compared: math.NaN(),
			Hint: fmt.Sprintf("%s to %s: %d", picture.Number(b.From), picture.Number(b.To), b.Count)})
	}
	p := picture.Bars(name, title, picture.Column, 180, bars, x, y)
	p.Text = fmt.Sprintf("%s of %s.", title, counted(total, "value"))
	return p
}
