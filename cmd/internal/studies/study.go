package studies

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/study"
)

// Command returns the command vti study.
func Command(a *shell.App, all application.Registry) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "study",
		Short: "Run a command thousands of times, here or on a cluster",
		Long: `Runs a command of vti on many tables, with every combination of some flags, from several seeds. A
plan, a small TOML file, says what to run:

  command = "exact"
  seed = 1
  [tables]
  files = ["tables/*.csv"]
  [flags]
  target = "y"
  [grid]
  prior-sd = [0.5, 1.5]

Each task works in its own directory and ends with an atomic rename. To resume a study that was
stopped or killed, repeat the command, on any machine that sees the same folder.

Tables are files (patterns; folders named key=value become settings), columns of one file
(responses, and the pairs of responses and predictors), or simulated ([simulate] with problem,
seeds, flags and grid, as vti simulate takes them). replicates = 10 repeats each task from ten
seeds; keep = ["draws.parquet"] keeps files of its run.`,
		Example: `  vti study plan eqtl.toml
  vti study run eqtl.toml --jobs 4
  vti study status eqtl.toml
  vti study collect eqtl.toml --out results.parquet
  vti study submit eqtl.toml --slurm --print`,
	}
	read := planReader(a, all)
	return cli.Choice(cmd, studyPlanCommand(a, read), studyRunCommand(a, read), studySubmitCommand(a, read), studyStatusCommand(a, read), studyCollectCommand(a, read), studyDiscoveriesCommand(a))
}

// planArgument accepts the one argument of the commands of a study.
var planArgument = cli.Arguments(1, 1, "one PLAN")

// planFunc is a function that reads the plan in a file.
type planFunc func(path string) (*study.Plan, error)

// run returns the RunE function of a command that reads a plan and then does work with it.
func (read planFunc) run(work func(cmd *cobra.Command, plan *study.Plan) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		plan, err := read(args[0])
		if err != nil {
			return err
		}
		return work(cmd, plan)
	}
}

// planReader returns a function that reads a plan, and checks its command and the values of all
// flags in it.
func planReader(a *shell.App, all application.Registry) planFunc {
	return func(path string) (*study.Plan, error) {
		plan, err := study.Read(path)
		if err != nil {
			return nil, err
		}
		if studied := all.Studied(); !slices.Contains(studied, plan.Command) {
			return nil, fmt.Errorf("%s: command: expected %s, found %q", path, strings.Join(studied, ", "), plan.Command)
		}
		root := a.Commands()
		return plan, plan.EachFlag(func(command, flag, value string) error {
			cmd, _, err := root.Find(strings.Fields(command))
			if err != nil {
				return err
			}
			known := cmd.Flags().Lookup(flag)
			switch {
			case slices.Contains(study.Reserved, flag):
				return fmt.Errorf("flag %s: every task sets it itself", flag)
			case known == nil:
				return fmt.Errorf("flag %s: vti %s has none of that name", flag, command)
			}
			if err := known.Value.Set(value); err != nil {
				return fmt.Errorf("flag %s: %w", flag, err)
			}
			return nil
		})
	}
}

func launcher(a *shell.App) (study.Launcher, error) {
	program, err := os.Executable()
	if err != nil {
		return study.Launcher{}, shell.Failed(err)
	}
	return study.Launcher{Program: program, Seeded: func(command string) bool {
		cmd, _, err := a.Commands().Find(strings.Fields(command))
		return err == nil && cmd.Flags().Lookup("seed") != nil
	}}, nil
}

// Plan is the object that vti study plan prints as JSON.
type Plan struct {
	Plan      string  `json:"plan"`
	Directory string  `json:"directory"`
	Tasks     int     `json:"tasks"`
	Remaining int     `json:"remaining"`
	Jobs      int     `json:"jobs,omitempty"`
	Seconds   float64 `json:"seconds_per_task,omitempty"` // time of a task on one core
	PeakBytes float64 `json:"peak_bytes,omitempty"`
	Total     float64 `json:"total_seconds,omitempty"` // time of the remaining tasks with this number of jobs
}

func studyPlanCommand(a *shell.App, read planFunc) *cobra.Command {
	var asJSON, noPilot bool
	cmd := &cobra.Command{
		Use:   "plan PLAN",
		Short: "List the tasks of a study and estimate their cost",
		Long: `Lists the first tasks of a plan, and estimates time and memory from three pilot tasks: the first,
the middle and the last one. Their answers are kept.`,
		Example: "  vti study plan eqtl.toml",
		Args:    planArgument,
		RunE: read.run(func(cmd *cobra.Command, plan *study.Plan) error {
			says := Plan{Plan: plan.Path(), Directory: plan.Dir(), Tasks: plan.Tasks()}
			if !asJSON {
				printTasks(a, plan)
			}
			if noPilot {
				status, err := plan.Status(0)
				if err != nil {
					return shell.Failed(err)
				}
				says.Remaining = status.Missing
			} else if err := estimateStudy(a, cmd, plan, &says); err != nil {
				return err
			}
			return a.Answer(asJSON, shell.Described{Schema: "study-plan", Object: says}, func() { printEstimate(a, says) })
		}),
	}
	cmd.Flags().BoolVar(&noPilot, "no-pilot", false, "run nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// estimateStudy runs a few tasks of the plan to estimate the time of all tasks.
func estimateStudy(a *shell.App, cmd *cobra.Command, plan *study.Plan, says *Plan) error {
	start, err := launcher(a)
	if err != nil {
		return err
	}
	e, err := plan.Estimate(cmd.Context(), start)
	if err != nil {
		return shell.Failed(err)
	}
	says.Remaining, says.Seconds, says.PeakBytes = e.Remaining, e.Seconds, e.PeakBytes
	says.Jobs = e.Jobs(runtime.GOMAXPROCS(0), memory.Total())
	says.Total = math.Ceil(float64(e.Remaining)/float64(says.Jobs)) * e.Seconds
	if e.Failed > 0 {
		fmt.Fprintf(a.Stderr, "vti: %d of %s failed: vti study status says why\n", e.Failed, english.Count(len(e.Pilots), "pilot task"))
	}
	return nil
}

// shownTasks is the number of tasks of a plan that are printed.
const shownTasks = 5

func printTasks(a *shell.App, plan *study.Plan) {
	fmt.Fprintf(a.Text, "%s: %s of vti %s, in %s\n", plan.Path(), english.Count(plan.Tasks(), "task"), plan.Command, plan.Dir())
	for i := range min(plan.Tasks(), shownTasks) {
		t := plan.Task(i)
		settings := apply.To(t.Settings, func(s study.Setting) string { return s.Name + "=" + s.Text() })
		fmt.Fprintf(a.Text, "  %d  %s  %s\n", i, t.Name, strings.Join(settings, " "))
	}
	if more := plan.Tasks() - shownTasks; more > 0 {
		fmt.Fprintf(a.Text, "  … and %d more\n", more)
	}
}

func printEstimate(a *shell.App, says Plan) {
	if says.Jobs == 0 {
		fmt.Fprintf(a.Text, "%s to run\n", english.Count(says.Remaining, "task"))
		return
	}
	fmt.Fprintf(a.Text, "%s to run; by the pilot tasks, each takes %.3g s on one core and %s,\n", english.Count(says.Remaining, "task"), says.Seconds, memory.Text(says.PeakBytes))
	fmt.Fprintf(a.Text, "so that all take %s here with --jobs %d\n", document.TimeText(says.Total), says.Jobs)
}

func studyStatusCommand(a *shell.App, read planFunc) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:     "status PLAN",
		Short:   "Count the tasks that are done, failed and missing",
		Example: "  vti study status eqtl.toml",
		Args:    planArgument,
		RunE: read.run(func(cmd *cobra.Command, plan *study.Plan) error {
			shown := 10
			if all {
				shown = -1
			}
			status, err := plan.Status(shown)
			if err != nil {
				return shell.Failed(err)
			}
			return a.Answer(asJSON, shell.Described{Schema: "study-status", Object: status}, func() {
				fmt.Fprintf(a.Text, "%s: %d done, %d failed, %d missing; %d in work or left by a process that was killed\n",
					english.Count(status.Tasks, "task"), status.Done, status.Failed, status.Missing, status.Working)
				for _, f := range status.Failures {
					fmt.Fprintf(a.Text, "  task %d (%s) failed: %s\n", f.Index, f.Name, f.Error)
				}
				if more := status.Failed - len(status.Failures); more > 0 {
					fmt.Fprintf(a.Text, "  … and %d more: --all lists them\n", more)
				}
			})
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "list all failed tasks, not only ten")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
