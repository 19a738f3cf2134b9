package timing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/table"
)

// exact is the command that sums over all models: its answers need no verdict.
const exact = "exact"

// Answer has the compared parts of the answer of a command.
type Answer struct {
	Certificate struct {
		Verdict verdict.Verdict `json:"verdict"`
	} `json:"certificate"`
	Inclusion []struct {
		Name      string  `json:"name"`
		Certified float64 `json:"certified"`
		SE        float64 `json:"se"`
	} `json:"inclusion"`
}

// Timing is the time of a case, and the error of its answer.
type Timing struct {
	Name   string  `json:"name"`
	Wanted float64 `json:"wanted_seconds,omitempty"`
	// Median and Worst are wall-clock times of all repetitions, in seconds.
	Median float64 `json:"median_seconds"`
	Worst  float64 `json:"worst_seconds"`
	// CPU is the median of the processor times of all threads, in seconds, which other work on the
	// machine changes little.
	CPU float64 `json:"cpu_seconds"`
	// Verdict is the worst verdict of all repetitions.
	Verdict verdict.Verdict `json:"verdict"`
	// LargestError is the largest error of an inclusion probability against the reference, over all
	// repetitions; nil without a reference. AgainstFixed is the difference from fixed effort.
	LargestError *float64 `json:"largest_error,omitempty"`
	AgainstFixed *float64 `json:"largest_difference_from_fixed,omitempty"`
	// Fixed is the time with fixed effort, and FixedVerdict its verdict; 0 if not measured.
	Fixed        float64          `json:"fixed_seconds,omitempty"`
	FixedVerdict *verdict.Verdict `json:"fixed_verdict,omitempty"`
	// Skipped is the reason why nothing was measured.
	Skipped string `json:"skipped,omitempty"`
}

// Measurement has the settings of measurements.
type Measurement struct {
	// Program is vti. Repetitions is the number of runs of a command, with seeds from Seed on.
	Program     string
	Repetitions int
	Seed        uint64
	// FixedRepetitions is the number of runs with fixed effort.
	FixedRepetitions int
	// Folders are searched for tables. Scratch takes runs and simulated tables.
	Folders []string
	Scratch string
	// Progress, if not nil, is called before every run.
	Progress func(text string)
}

// Run measures one case.
func (m Measurement) Run(ctx context.Context, c Case) (Timing, error) {
	t := Timing{Name: c.Name, Wanted: c.Wanted, Verdict: verdict.Trusted}
	path, ok, err := c.Table(m.Folders, m.Scratch)
	if err != nil {
		return t, err
	}
	if !ok {
		t.Skipped = c.File + " is in no folder of data"
		return t, nil
	}
	reference, err := m.reference(ctx, c, path)
	if err != nil {
		return t, err
	}
	compare := func(largest *float64, a *Answer, with map[string]float64) *float64 {
		if with == nil {
			return largest
		}
		if largest == nil {
			largest = new(float64)
		}
		for _, predictor := range a.Inclusion {
			*largest = math.Max(*largest, math.Abs(predictor.Certified-with[predictor.Name]))
		}
		return largest
	}
	var times, processor, fixedTimes []float64
	var fixed map[string]float64
	fixedRepetitions := m.FixedRepetitions
	if c.Command == exact {
		fixedRepetitions = 0
	}
	for k := range fixedRepetitions {
		spent, answer, err := m.answer(ctx, c, path, k, "--effort", "fixed")
		if err != nil {
			return t, err
		}
		fixedTimes = append(fixedTimes, spent.wall)
		if t.FixedVerdict == nil || answer.Certificate.Verdict < *t.FixedVerdict {
			t.FixedVerdict = &answer.Certificate.Verdict
		}
		fixed = answer.inclusion()
	}
	for k := range m.Repetitions {
		spent, answer, err := m.answer(ctx, c, path, k)
		if err != nil {
			return t, err
		}
		times, processor = append(times, spent.wall), append(processor, spent.cpu)
		if c.Command != exact {
			t.Verdict = min(t.Verdict, answer.Certificate.Verdict)
		}
		t.LargestError = compare(t.LargestError, answer, reference)
		t.AgainstFixed = compare(t.AgainstFixed, answer, fixed)
	}
	t.Median, t.Worst, t.CPU = median(times), slices.Max(times), median(processor)
	if len(fixedTimes) > 0 {
		t.Fixed = median(fixedTimes)
	}
	return t, nil
}

// answer runs the command of a case once.
func (m Measurement) answer(ctx context.Context, c Case, path string, repetition int, more ...string) (spent seconds, a *Answer, err error) {
	seed := strconv.FormatUint(m.Seed+uint64(repetition), 10)
	a = &Answer{}
	args := append([]string{c.Command, path}, c.Flags...)
	if c.Command != exact {
		args = append(args, append(more, "--seed", seed)...)
	}
	spent, err = m.run(ctx, args, a)
	return spent, a, err
}

// seconds are the wall-clock time of a command, and the processor time of all its threads.
type seconds struct{ wall, cpu float64 }

// run runs a command with its run directory in the scratch folder, and reads its JSON.
func (m Measurement) run(ctx context.Context, args []string, answer any) (spent seconds, err error) {
	dir := filepath.Join(m.Scratch, strconv.FormatInt(time.Now().UnixNano(), 36))
	args = append(args, "--json", "--quiet", "--out", dir)
	if m.Progress != nil {
		m.Progress("vti " + strings.Join(args, " "))
	}
	command := exec.CommandContext(ctx, m.Program, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	start := time.Now()
	err = command.Run()
	spent.wall = time.Since(start).Seconds()
	if command.ProcessState != nil {
		spent.cpu = (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds()
	}
	if ctx.Err() != nil {
		return spent, ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == verdict.ExitFailed {
		err = nil // an unusable answer
	}
	if err != nil {
		return spent, fmt.Errorf("vti %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), answer); err != nil {
		return spent, fmt.Errorf("vti %s: its answer: %w", strings.Join(args, " "), err)
	}
	return spent, nil
}

// inclusion are the inclusion probabilities by name.
func (a *Answer) inclusion() map[string]float64 {
	byName := make(map[string]float64, len(a.Inclusion))
	for _, predictor := range a.Inclusion {
		byName[predictor.Name] = predictor.Certified
	}
	return byName
}

// reference are the correct inclusion probabilities by name, or nil.
func (m Measurement) reference(ctx context.Context, c Case, path string) (map[string]float64, error) {
	switch c.Reference {
	case Enumerated:
		answer := &Answer{}
		if _, err := m.run(ctx, append([]string{exact, path}, c.Flags...), answer); err != nil {
			return nil, err
		}
		return answer.inclusion(), nil
	case Stored:
		return storedInclusion(strings.TrimSuffix(path, ".csv") + "_logz.csv")
	}
	return nil, nil
}

// storedInclusion reads a file with columns model, a bit for each of x1, x2, …, and logz.
func storedInclusion(path string) (map[string]float64, error) {
	data, err := table.ReadFile(path)
	if err != nil {
		return nil, err
	}
	models, err := data.Lookup("model")
	if err != nil {
		return nil, err
	}
	logZ, err := data.Lookup("logz")
	if err != nil {
		return nil, err
	}
	largest := slices.Max(logZ.Values)
	inclusion, total := map[string]float64{}, 0.0
	// codes are read as numbers, without the zeros in front
	width := len(strconv.Itoa(int(slices.Max(models.Values))))
	for row, value := range logZ.Values {
		weight := math.Exp(value - largest)
		total += weight
		code := fmt.Sprintf("%0*d", width, int(models.Values[row]))
		for site, bit := range code {
			if bit == '1' {
				inclusion[fmt.Sprintf("x%d", site+1)] += weight
			}
		}
	}
	for name := range inclusion {
		inclusion[name] /= total
	}
	return inclusion, nil
}

// median is the middle of the values, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
