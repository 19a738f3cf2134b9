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

// exact is the command that sums over all models. Its answers have no verdict.
const exact = "exact"

// Answer holds the parts of the answer of a command that are compared.
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

// Timing holds the times of a case and the errors of its answers.
type Timing struct {
	// Name and Wanted are copies of the fields of Case.
	Name   string  `json:"name"`
	Wanted float64 `json:"wanted_seconds,omitempty"`
	// Median and Worst are the median and the largest wall-clock time over all repetitions, in
	// seconds.
	Median float64 `json:"median_seconds"`
	Worst  float64 `json:"worst_seconds"`
	// CPU is the median over repetitions of the processor time of all threads, in seconds. It
	// depends little on other work on the machine.
	CPU float64 `json:"cpu_seconds"`
	// Verdict is the worst verdict over all repetitions.
	Verdict verdict.Verdict `json:"verdict"`
	// LargestError is the largest error of an inclusion probability compared with the reference,
	// over all repetitions, or nil if there is no reference. AgainstFixed is the largest difference
	// of a probability from the last answer with fixed effort, or nil if there is no such answer.
	LargestError *float64 `json:"largest_error,omitempty"`
	AgainstFixed *float64 `json:"largest_difference_from_fixed,omitempty"`
	// Fixed is the median time in seconds with fixed effort (--effort fixed), or 0 if not measured.
	// FixedVerdict is the worst verdict of these runs.
	Fixed        float64          `json:"fixed_seconds,omitempty"`
	FixedVerdict *verdict.Verdict `json:"fixed_verdict,omitempty"`
	// Skipped is the reason why nothing was measured.
	Skipped string `json:"skipped,omitempty"`
}

// Measurement holds the settings of measurements.
type Measurement struct {
	// Program is the path of vti. Repetitions is the number of runs of each command, whose seeds
	// are Seed, Seed+1 and so on.
	Program     string
	Repetitions int
	Seed        uint64
	// FixedRepetitions is the number of runs with fixed effort.
	FixedRepetitions int
	// Folders are the folders in which tables are searched for. Scratch is the folder for run
	// directories and simulated tables.
	Folders []string
	Scratch string
	// Progress, if not nil, is called before every run.
	Progress func(text string)
}

// Run runs the command of a case several times, and returns its times and errors.
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

// answer runs the command of a case once, with the seed of the given repetition. The argument more
// holds further flags.
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

// seconds holds the wall-clock time of a command and the processor time of all its threads, in
// seconds.
type seconds struct{ wall, cpu float64 }

// run runs a command with its run directory in scratch, and stores its JSON output in answer.
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
		err = nil // the answer has the verdict failed, but is an answer
	}
	if err != nil {
		return spent, fmt.Errorf("vti %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), answer); err != nil {
		return spent, fmt.Errorf("vti %s: its answer: %w", strings.Join(args, " "), err)
	}
	return spent, nil
}

// inclusion returns the inclusion probabilities by the name of the predictor.
func (a *Answer) inclusion() map[string]float64 {
	byName := make(map[string]float64, len(a.Inclusion))
	for _, predictor := range a.Inclusion {
		byName[predictor.Name] = predictor.Certified
	}
	return byName
}

// reference returns the correct inclusion probabilities by the name of the predictor, or nil if
// there are none.
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

// storedInclusion returns the inclusion probabilities of x1, x2, … from a file of log evidences.
// Column model has one bit for each predictor, and column logz the log evidence.
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
	// The bits of models are read as decimal numbers, without leading zeros.
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

// median returns the middle of the sorted values, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
