package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/lab/testkit"
)

// long returns arguments of a run of a few seconds, with a checkpoint every 500 steps.
func long(t *testing.T, out string) []string {
	return []string{"varsel", testdata(t, "hald.csv"), "--target", "y", "--out", out, "--seed", "3", "--quiet",
		"--steps", "3000", "--batch", "64", "--flow-layers", "2", "--flow-blocks", "1", "--flow-hidden", "8"}
}

func start(t *testing.T, args []string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, &stderr
}

func waitFor(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	}, time.Minute, time.Millisecond, path)
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(content)
}

// TestKilledRunsResume kills a run three times at random moments, resumes it each time, and
// compares its checkpoint with the checkpoint of an undisturbed run byte for byte.
func TestKilledRunsResume(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "", "")
	began := time.Now()
	mustRun(t, long(t, "whole")...)
	duration := time.Since(began)

	args := long(t, "killed")
	for range 3 {
		cmd, _ := start(t, args)
		waitFor(t, "killed/run.json")
		pause := time.Duration(rand.Float64() * 0.6 * float64(duration))
		time.Sleep(pause)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // an error only says that the process was killed
		t.Logf("killed after %v of %v", pause, duration)
		args = []string{"varsel", "--resume", "killed", "--quiet"}
	}
	mustRun(t, args...)
	assert.True(t, readFile(t, "whole", rundir.PosteriorFile) == readFile(t, "killed", rundir.PosteriorFile), "the checkpoints differ")
	whole, killed := decode(t, readFile(t, "whole/result.json")), decode(t, readFile(t, "killed/result.json"))
	assert.NotNil(t, killed.Loss)
	assert.InDelta(t, *whole.Loss, *killed.Loss, 0.5, "an average over the steps since the last report, which differ")
	for _, name := range []string{"inclusion.csv", "models.csv", "coefficients.csv", "draws.csv"} {
		assert.True(t, readFile(t, "whole", name) == readFile(t, "killed", name), "%s differs", name)
	}
}

// TestInterrupt sends Ctrl-C to a process, which says how to resume the run. The run can be
// resumed.
func TestInterrupt(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "", "")
	cmd, stderr := start(t, long(t, "run"))
	waitFor(t, "run/posterior.vti")
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() == shell.StatusOK || cmd.ProcessState.ExitCode() == shell.StatusUntrusted {
		t.Skip("the run was over before the signal came")
	}
	assert.Equal(t, shell.StatusInterrupted, cmd.ProcessState.ExitCode(), stderr.String())
	assert.Contains(t, stderr.String(), "stopping after the step in progress")
	assert.Contains(t, stderr.String(), "to continue: vti varsel --resume run")
	assert.NoFileExists(t, "run/result.json")
	mustRun(t, "varsel", "--resume", "run", "--quiet")
	assert.FileExists(t, "run/result.json")
}

// crossedSleep returns the table sleepstudy with a response of 0 and 1.
func crossedSleep(t *testing.T) string {
	lines := strings.Split(strings.TrimSpace(string(readFile(t, testdata(t, "sleepstudy.csv")))), "\n")
	for i, line := range lines {
		short := "short"
		if i > 0 {
			short = strconv.Itoa(int(line[0]-'0') % 2)
		}
		lines[i] = short + "," + line
	}
	path := filepath.Join(t.TempDir(), "sleep.csv")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

// TestCancelled cancels the context of every command that computes. The command must end with the
// status of an interruption, and say how to resume the run, or that it cannot be resumed.
func TestCancelled(t *testing.T) {
	emptyDir(t, "", "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	hald := testdata(t, "hald.csv")
	got := vtiIn(ctx, t, tiny("varsel", hald, "--target", "y", "--out", "run")...)
	assert.Equal(t, shell.StatusInterrupted, got.status)
	assert.Regexp(t, `stopped.*\nto continue: vti varsel --resume run\n`, got.stderr)
	for command, want := range map[string]string{
		"exact":         `stopped.*\n.*cannot be resumed`,
		"rjmcmc varsel": `stopped.*\nto continue: vti rjmcmc varsel --resume `,
	} {
		got = vtiIn(ctx, t, append(strings.Fields(command), hald, "--target", "y")...)
		assert.Equal(t, shell.StatusInterrupted, got.status)
		assert.Regexp(t, want, got.stderr)
		assert.NotContains(t, got.stderr, "context canceled")
	}
	for formula, likelihood := range map[string]string{"Reaction ~ Days + (Days | Subject)": "gaussian", "short ~ 1 + (1 | Subject) + (1 | Days)": "logistic"} {
		got = vtiIn(ctx, t, "hbm", crossedSleep(t), "--formula", formula, "--likelihood", likelihood)
		assert.Equal(t, shell.StatusInterrupted, got.status)
		assert.Regexp(t, `stopped.*\nthis run cannot be resumed`, got.stderr, "nothing is trained")
	}
	got = vtiIn(ctx, t, "hbm", crossedSleep(t), "--formula", "Reaction ~ Days + (1 | Subject)", "--likelihood", "student", "--out", "one")
	assert.Regexp(t, `to continue: vti hbm --resume one\n`, got.stderr)
}

// TestResumeRefuses: a directory that is damaged, foreign, or contradicted by a flag stays
// unchanged.
func TestResumeRefuses(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", "a,b,y\n1,2,3\n2,5,4.5\n4,3,1\n5,1,7\n7,2,6\n")
	mustRun(t, tiny("varsel", "data.csv", "--target", "y", "--out", "run")...)
	mustRun(t, tiny("varsel", "data.csv", "--target", "y", "--out", "other", "--seed", "1")...)
	mustRun(t, "exact", "data.csv", "--target", "y", "--out", "exact", "--quiet")
	record, posterior := readFile(t, "run/run.json"), readFile(t, "run/posterior.vti")
	table := readFile(t, "data.csv")
	write := func(name, content string) { require.NoError(t, os.WriteFile(name, []byte(content), 0o644)) }

	for name, test := range map[string]struct {
		damage func()
		args   string
		want   []string
	}{
		"no record":            {func() { require.NoError(t, os.Remove("run/run.json")) }, "run", []string{"run is not a run directory: it holds no run.json"}},
		"damaged record":       {func() { write("run/run.json", record[:len(record)/2]) }, "run", []string{"run/run.json: damaged"}},
		"foreign record":       {func() { write("run/run.json", `{"name": "package"}`) }, "run", []string{"not the record of a vti run"}},
		"unknown likelihood":   {func() { write("run/run.json", strings.Replace(record, "gaussian", "cauchy", 1)) }, "run", []string{"run/run.json: damaged", "cauchy"}},
		"truncated checkpoint": {func() { write("run/posterior.vti", posterior[:len(posterior)/2]) }, "run", []string{"run/posterior.vti: damaged checkpoint"}},
		"damaged checkpoint": {func() {
			write("run/posterior.vti", posterior[:300]+"x"+posterior[301:])
		}, "run", []string{"run/posterior.vti: damaged checkpoint"}},
		"not a checkpoint":   {func() { write("run/posterior.vti", "GIF89a") }, "run", []string{"not a vti checkpoint"}},
		"foreign checkpoint": {func() { write("run/posterior.vti", readFile(t, "other/posterior.vti")) }, "run", []string{"written by a different run", "seed was 1 and is now 0"}},
		"exact run":          {func() {}, "exact", []string{"exact is a run of vti exact, which cannot be resumed"}},
		"changed table":      {func() { write("data.csv", strings.Replace(table, "4.5", "4.6", 1)) }, "run", []string{"data.csv has changed since the run started"}},
		"table gone":         {func() { require.NoError(t, os.Remove("data.csv")) }, "run", []string{"no such file"}},
		"contradictions": {func() {}, "run --steps 61 --seed 0 --likelihood student --always a --target y --flow spline --dtype float64",
			[]string{"run.json, which says otherwise than --steps 61, --likelihood student, --always [a], --flow spline, --dtype float64"}},
		"another table":  {func() { write("copy.csv", table) }, "run copy.csv", []string{"says otherwise than the table copy.csv"}},
		"another out":    {func() {}, "run --out elsewhere", []string{"--out elsewhere"}},
		"another device": {func() {}, "run --device go", []string{"--device go"}},
	} {
		t.Run(name, func(t *testing.T) {
			write("run/run.json", record)
			write("run/posterior.vti", posterior)
			write("data.csv", table)
			test.damage()
			before := entries(t)
			got := vtiCommand(t, append([]string{"varsel", "--resume"}, strings.Fields(test.args)...)...)
			assert.Equal(t, shell.StatusUsage, got.status)
			assert.Empty(t, got.stdout)
			for _, want := range test.want {
				assert.Contains(t, got.stderr, want)
			}
			assert.Equal(t, before, entries(t))
		})
	}
	write("run/run.json", record)
	write("run/posterior.vti", posterior)
	write("data.csv", table)
	t.Run("agreeing flags are fine", func(t *testing.T) {
		got := mustRun(t, "varsel", "data.csv", "--resume", "run", "--steps", "60", "--flow", "affine", "--dtype", "float32", "--flow-layers", "2", "--prior-sd", "1.5", "--json", "--quiet")
		assert.NotNil(t, decode(t, got.stdout).Loss, "of the run's last report, although no step was left to take")
	})
}

// TestCertifyDraws certifies a run with fewer draws than the default, resumes it, and then
// certifies it with more draws. The record must have the latest number, and nothing may be trained
// again.
func TestCertifyDraws(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "", "")
	draws := func(args ...string) int {
		return decode(t, mustRun(t, append(args, "--json", "--quiet")...).stdout).Certificate.Draws
	}
	few := draws(append(tiny("varsel", testdata(t, "prostate.csv"), "--target", "lpsa", "--likelihood", "student", "--exclude", "lbph,svi,lcp,gleason,pgg45", "--out", "run"), "--certify-draws", "100")...)
	assert.Contains(t, readFile(t, "run/run.json"), `"certify_draws": 100`)
	trained := readFile(t, "run/posterior.vti")
	assert.Equal(t, few, draws("varsel", "--resume", "run"), "a resumed run keeps the number")
	more := draws("varsel", "--resume", "run", "--certify-draws", "4000")
	assert.Contains(t, readFile(t, "run/run.json"), `"certify_draws": 4000`)
	assert.Greater(t, more, few)
	assert.True(t, trained == readFile(t, "run/posterior.vti"), "nothing is trained anew")
}

// TestFloatType trains in float32 and in float64. The record and a resumed run keep the type, and
// the numbers of the two runs differ.
func TestFloatType(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "data.csv", collider(40))
	varsel := func(out string, more ...string) []string {
		return append(tiny("varsel", "data.csv", "--target", "c", "--out", out), more...)
	}
	discover := func(out string, more ...string) []string {
		return append(append([]string{"dag", "data.csv", "--out", out}, flowDag...), more...)
	}
	for command, args := range map[string]func(string, ...string) []string{"varsel": varsel, "dag": discover} {
		narrow, wide := command+"32", command+"64"
		mustRun(t, args(narrow)...)
		mustRun(t, args(wide, "--dtype", "float64")...)
		assert.Contains(t, readFile(t, narrow, "run.json"), `"dtype": "Float32"`)
		assert.Contains(t, readFile(t, wide, "run.json"), `"dtype": "Float64"`)
		assert.NotEqual(t, readFile(t, narrow, "trace.csv"), readFile(t, wide, "trace.csv"))
		// Without its checkpoint a resumed run starts again, with the float type in its record.
		whole := readFile(t, wide, "posterior.vti")
		require.NoError(t, os.Remove(wide+"/posterior.vti"))
		mustRun(t, command, "--resume", wide, "--quiet")
		assert.True(t, whole == readFile(t, wide, "posterior.vti"), "the checkpoints differ")
		got := vtiCommand(t, args("other", "--dtype", "float16")...)
		assert.Equal(t, shell.StatusUsage, got.status)
		assert.Contains(t, got.stderr, `expected float32 or float64, found "float16"`)

		record := readFile(t, narrow, "run.json")
		require.NoError(t, os.WriteFile(narrow+"/run.json", []byte(strings.Replace(record, "Float32", "Float64", 1)), 0o644))
		got = vtiCommand(t, command, "--resume", narrow)
		assert.Equal(t, shell.StatusUsage, got.status)
		assert.Contains(t, got.stderr, `dtype was "Float32" and is now "Float64"`)
	}
}

// TestStepsPerLaunch checks that the number of steps in a launch changes no numbers, and that a
// resumed run can have another value.
func TestStepsPerLaunch(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "data.csv", collider(40))
	for command, args := range map[string][]string{
		"varsel": tiny("varsel", "data.csv", "--target", "c"), "dag": append([]string{"dag", "data.csv"}, flowDag...),
	} {
		mustRun(t, append(args, "--out", command+"1")...)
		mustRun(t, append(args, "--out", command+"4", "--steps-per-launch", "4")...)
		want := readFile(t, command+"1", "posterior.vti")
		assert.True(t, want == readFile(t, command+"4", "posterior.vti"), "the checkpoints differ")
		require.NoError(t, os.Remove(command+"4/posterior.vti"))
		mustRun(t, command, "--resume", command+"4", "--steps-per-launch", "2", "--quiet")
		assert.True(t, want == readFile(t, command+"4", "posterior.vti"), "the checkpoints differ")
	}
}

// All commands treat --resume alike: repeated flags must agree with the record, and an error names
// the flags that do not.
func TestResumePolicy(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", collider(40))
	rows := "y,x,g\n"
	for i := range 24 {
		rows += fmt.Sprintf("%d.%d,%d,%c\n", i%5, i*7%10, i*i%7, 'a'+i%4)
	}
	require.NoError(t, os.WriteFile("groups.csv", []byte(rows), 0o644))
	for name, test := range map[string]struct {
		first, agree, differ []string
		want                 string
	}{
		"dag": {
			append([]string{"dag", "data.csv", "--sigma", "1"}, flowDag...), []string{"data.csv", "--sigma", "1", "--prior-sd", "1", "--seed", "0"},
			[]string{"--sigma", "2", "--forbid", "a->b"}, "run.json, which says otherwise than --sigma 2, --forbid [a->b]: leave out what differs",
		},
		"hbm": {
			[]string{"hbm", "groups.csv", "-f", "y ~ x + (1 | g)", "--steps", "20", "--batch", "64", "--quiet", "--certify-draws", "500"},
			[]string{"-f", "y ~ x + (1 | g)", "--steps", "20", "--sd-scale", "1", "--flow", "spline"},
			[]string{"-f", "y ~ (1 | g)", "--flow-layers", "4"}, "run.json, which says otherwise than --formula y ~ (1 | g), --flow-layers 4: leave out",
		},
		"rjmcmc varsel": {
			[]string{"rjmcmc", "varsel", "data.csv", "--target", "c", "--chains", "16", "--iterations", "40", "--burn-in", "20", "--thin", "5", "--quiet"},
			[]string{"--target", "c", "--chains", "16"}, []string{"--chains", "8", "--likelihood", "student"}, "--chains 8, --likelihood student",
		},
		"rjmcmc dag": {
			[]string{"rjmcmc", "dag", "data.csv", "--chains", "16", "--iterations", "40", "--burn-in", "20", "--thin", "5", "--quiet"},
			[]string{"--scale", "standardize"}, []string{"--seed", "3"}, "--seed 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "rjmcmc dag" {
				testkit.Long(t)
			}
			dir := strings.ReplaceAll(name, " ", "-")
			mustRun(t, append(test.first, "--out", dir)...)
			again := append(strings.Fields(name), "--resume", dir, "--quiet")
			got := vtiCommand(t, append(slices.Clone(again), test.differ...)...)
			assert.Equal(t, shell.StatusUsage, got.status)
			assert.Contains(t, got.stderr, test.want)
			first := readFile(t, dir, "result.json")
			mustRun(t, append(slices.Clone(again), test.agree...)...)
			times := regexp.MustCompile(`"(train|certify|total)": [^,\n]*`)
			assert.Equal(t, times.ReplaceAllString(first, ""), times.ReplaceAllString(readFile(t, dir, "result.json"), ""))
		})
	}
}

// TestKilledChainsResume checks that a run by chains that is stopped and resumed ends with the same
// draws.
func TestKilledChainsResume(t *testing.T) {
	testkit.Slow(t)
	emptyDir(t, "data.csv", collider(40))
	args := []string{"rjmcmc", "varsel", "data.csv", "--target", "c", "--chains", "16", "--iterations", "3000", "--quiet", "--out"}
	mustRun(t, append(slices.Clone(args), "whole")...)
	cmd, stderr := start(t, append(slices.Clone(args), "stopped"))
	waitFor(t, "stopped/run.json")
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	_ = cmd.Wait() // an error only says that the process was interrupted
	if cmd.ProcessState.ExitCode() == shell.StatusInterrupted {
		assert.Contains(t, stderr.String(), "to continue: vti rjmcmc varsel --resume stopped")
		assert.NoFileExists(t, "stopped/result.json")
	}
	mustRun(t, "rjmcmc", "varsel", "--resume", "stopped", "--quiet")
	assert.True(t, readFile(t, "whole/draws.csv") == readFile(t, "stopped/draws.csv"), "the draws differ")
}
