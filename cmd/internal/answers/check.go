package answers

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/predict"
	runs "github.com/transdim/vti/run"
)

// looFile is the file that vti check and vti loo write to the directory of a run.
const looFile = "loo.csv"

// Checked is the object that vti check prints as JSON.
type Checked struct {
	RunDir string `json:"run_dir"`
	// ModelCheck is the model check of the run, which uses data simulated from the posterior.
	ModelCheck  *modelcheck.Report   `json:"model_check,omitempty"`
	LOO         *predict.LOO         `json:"loo"`
	Calibration *predict.Calibration `json:"calibration"`
}

// Ranking is the object that vti loo prints as JSON.
type Ranking struct {
	Runs []predict.Ranked `json:"runs"`
}

// Check returns the command vti check.
func Check(a *shell.App, all application.Registry) *cobra.Command {
	var asJSON bool
	var seed uint64
	cmd := &cobra.Command{
		Use:   "check RUN",
		Short: "Check how well a finished run describes and predicts its table",
		Long: `Checks the model of a finished run of vti varsel, vti exact, vti rjmcmc varsel or vti hbm in three
ways: the model check of the run (data simulated from the posterior against the table),
leave-one-out cross-validation (how well each row is predicted from all others, by Pareto-smoothed
importance sampling), and the calibration of these predictions (whether intervals contain as many
responses as they should).

The result is written to ` + predict.CheckFile + ` and ` + looFile + ` in the directory of the run. For
graphs only the model check is printed.`,
		Example: `  vti check runs/varsel-20260131-120000`,
		Args:    cli.Arguments(1, 1, "one run directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return checkRun(a, cmd, all, args[0], seed, asJSON)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "random seed of simulated responses")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

func checkRun(a *shell.App, cmd *cobra.Command, all application.Registry, dir string, seed uint64, asJSON bool) error {
	var stored struct {
		ModelCheck *modelcheck.Report `json:"model_check"`
	}
	run, err := all.Read(dir)
	if err != nil {
		return err
	}
	if err := rundir.ReadResult(dir, &stored); err != nil {
		return err
	}
	result := &Checked{RunDir: dir, ModelCheck: stored.ModelCheck}
	if run.Page.Predictor != nil {
		rows, err := run.OwnRows()
		if err != nil {
			return err
		}
		if result.LOO, err = leaveOneOut(cmd, dir, rows, seed); err != nil {
			return err
		}
		result.Calibration = predict.Calibrate(result.LOO, result.LOO.Spikes(rows), seed)
	}
	if err := rundir.WriteJSON(filepath.Join(dir, predict.CheckFile), result); err != nil {
		return shell.Failed(err)
	}
	return a.Answer(asJSON, shell.Described{Schema: "check", Object: result}, func() { printChecked(a.Text, result) })
}

// leaveOneOut computes leave-one-out cross-validation of a run and writes the values of each row to
// the run directory.
func leaveOneOut(cmd *cobra.Command, dir string, rows *predict.Rows, seed uint64) (*predict.LOO, error) {
	loo, err := predict.LeaveOneOut(cmd.Context(), rows, seed)
	if err != nil {
		return nil, err
	}
	return loo, writeLOO(dir, loo)
}

func writeLOO(dir string, loo *predict.LOO) error {
	cells := report.Rows(loo.Rows, "row", "elpd", "khat", "mean", "pit", "refit")
	return shell.Failed(rundir.WriteTables(dir, map[string][][]string{looFile: cells}))
}

func printChecked(w io.Writer, c *Checked) {
	if c.ModelCheck != nil {
		fmt.Fprintln(w, c.ModelCheck)
	}
	if c.LOO == nil {
		return
	}
	fmt.Fprintf(w, "leave-one-out: %s\n", looText(c.LOO))
	table := &document.Grid{}
	table.Add("", "log predictive density", "effective parameters", "largest k̂")
	table.Add("", fmt.Sprintf("%.2f ± %.2f", float64(c.LOO.ELPD), float64(c.LOO.SE)), fmt.Sprintf("%.1f", float64(c.LOO.P)), fmt.Sprintf("%.2f", float64(c.LOO.KHat)))
	table.Print(w)
	fmt.Fprintf(w, "\ncalibration: %s (p = %.2g)\n", c.Calibration.Verdict, float64(c.Calibration.P))
	intervals := &document.Grid{}
	intervals.Add("interval", "responses in it", "if calibrated")
	for _, i := range c.Calibration.Intervals {
		intervals.Add(fmt.Sprintf("%.0f%%", 100*float64(i.Level)), fmt.Sprintf("%.1f%%", 100*float64(i.Share)), fmt.Sprintf("%.0f%% ± %.1f%%", 100*float64(i.Level), 100*float64(i.SE)))
	}
	intervals.Print(w)
	fmt.Fprint(w, "\n"+looWords)
}

// looWords explains the numbers of leave-one-out cross-validation.
const looWords = `The log predictive density is the sum over rows of the log density of each response given all other rows; ` +
	`only differences between models of the same rows say anything. k̂ says how far the estimate of a row can be relied on.
`

func looText(l *predict.LOO) string {
	text := fmt.Sprintf("%s, each predicted from all others", english.Count(len(l.Rows), "row"))
	if l.R2 != nil {
		text += fmt.Sprintf(", explain %.0f%% of the variance", 100*float64(*l.R2))
	}
	if l.Refits > 0 {
		text += fmt.Sprintf("; %d of them by a posterior computed without them", l.Refits)
	}
	if l.Unreliable > 0 {
		text += fmt.Sprintf("; of %s the estimate is not reliable (k̂ above %.2f): each moves the posterior by itself", english.Count(l.Unreliable, "row"), float64(l.Limit))
	}
	return text
}

// LeaveOneOut returns the command vti loo.
func LeaveOneOut(a *shell.App, all application.Registry) *cobra.Command {
	f := &looFlags{}
	cmd := &cobra.Command{
		Use:   "loo RUN...",
		Short: "Leave-one-out cross-validation of finished runs: which model predicts better",
		Long: `Computes how well each row of a table is predicted from all others, by Pareto-smoothed importance
sampling, for one or several finished runs on the same rows, and ranks the runs. One model predicts
better if the log predictive densities differ by more than about four and by more than two standard
errors.

The rows are written to ` + looFile + ` in the directory of each run, with k̂: above 0.7 the estimate
of a row is not reliable. With --refit, the posterior is recomputed without each such row, by the
command of the run.

With --by COLUMN whole groups are left out: the posterior is computed without each level of the
column, and predicts the rows of that level. With hbm these are rows of a new group.`,
		Example: `  vti loo runs/hbm-20260131-120000 runs/hbm-20260131-120500
  vti loo runs/hbm-20260131-120000 --refit
  vti loo runs/hbm-20260131-120000 --by Subject`,
		Args: cli.Arguments(1, 0, "run directories"),
		RunE: func(cmd *cobra.Command, args []string) error { return runLoo(a, cmd, all, args, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.refit, "refit", false, "recompute the posterior without each row whose k̂ is too large")
	flags.StringVar(&f.by, "by", "", "`column` whose levels are left out, one at a time")
	flags.Uint64Var(&f.seed, "seed", 0, "random seed of simulated responses")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

type looFlags struct {
	refit, json, quiet bool
	by                 string
	seed               uint64
}

// refitRanked computes the numbers that need posteriors without some rows, for which it runs the
// command of the run again.
func refitRanked(a *shell.App, cmd *cobra.Command, all application.Registry, run *application.Stored, rows *predict.Rows, one *predict.Ranked, f *looFlags) error {
	if !f.refit && f.by == "" {
		return nil
	}
	r, err := newRefitter(a, all, run, rows.Categories)
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	shown := console.NewProgress(a.Stderr, f.quiet)
	defer shown.End()
	note := func(text string) { shown.Line(text, false) }
	if f.refit && one.LOO.Unreliable > 0 {
		if err := r.refitRows(cmd.Context(), rows, one.LOO, f.seed, note); err != nil {
			return err
		}
		if err := writeLOO(one.RunDir, one.LOO); err != nil {
			return err
		}
	}
	if f.by != "" {
		one.ByGroup, err = r.byGroup(cmd.Context(), rows, f.by, note)
	}
	return err
}

func runLoo(a *shell.App, cmd *cobra.Command, all application.Registry, dirs []string, f *looFlags) error {
	list := make([]predict.Ranked, len(dirs))
	var first runs.Header
	for k, dir := range dirs {
		run, err := all.Read(dir)
		if err != nil {
			return err
		}
		if k == 0 {
			first = run.Header
		} else if err := runs.SameTable(dirs[0], &first, dir, &run.Header); err != nil {
			return err
		}
		rows, err := run.OwnRows()
		if err != nil {
			return err
		}
		list[k].RunDir = dir
		if list[k].LOO, err = leaveOneOut(cmd, dir, rows, f.seed); err != nil {
			return err
		}
		if err := refitRanked(a, cmd, all, run, rows, &list[k], f); err != nil {
			return err
		}
	}
	list, err := predict.Compare(list)
	if err != nil {
		return err
	}
	return a.Answer(f.json, shell.Described{Schema: "loo", Object: Ranking{list}}, func() { printRanking(a.Text, list) })
}

func printRanking(w io.Writer, list []predict.Ranked) {
	fmt.Fprintf(w, "%s\n\n", rankingText(list))
	table := &document.Grid{}
	table.Add("run", "log predictive density", "less than best", "k̂", "unreliable rows")
	for k, r := range list {
		difference := ""
		if k > 0 {
			difference = fmt.Sprintf("%.2f ± %.2f", -float64(r.Difference), float64(r.DifferenceSE))
		}
		table.Add(r.RunDir, fmt.Sprintf("%.2f ± %.2f", float64(r.LOO.ELPD), float64(r.LOO.SE)), difference, fmt.Sprintf("%.2f", float64(r.LOO.KHat)), fmt.Sprint(r.LOO.Unreliable))
	}
	table.Print(w)
	for _, r := range list {
		printByGroup(w, r)
	}
	fmt.Fprint(w, "\n"+looWords)
}

// shownGroups is the number of groups that are printed as text; JSON has all groups.
const shownGroups = 12

// printByGroup prints how well each group is predicted from all other groups, the worst first.
func printByGroup(w io.Writer, r predict.Ranked) {
	b := r.ByGroup
	if b == nil {
		return
	}
	fmt.Fprintf(w, "\n%s: each %s predicted from all others: log predictive density %.2f ± %.2f\n", r.RunDir, b.Column, float64(b.ELPD), float64(b.SE))
	groups := slices.SortedStableFunc(slices.Values(b.Groups), func(x, y predict.HeldOut) int {
		return cmp.Compare(float64(x.ELPD)/float64(x.Rows), float64(y.ELPD)/float64(y.Rows))
	})
	table := &document.Grid{}
	table.Add("<"+b.Column, "rows", "log predictive density", "a row", "<computation")
	for _, g := range groups[:min(shownGroups, len(groups))] {
		table.Add(g.Group, fmt.Sprint(g.Rows), fmt.Sprintf("%.2f", float64(g.ELPD)), fmt.Sprintf("%.2f", float64(g.ELPD)/float64(g.Rows)), g.Verdict)
	}
	table.Print(w)
	if left := len(groups) - shownGroups; left > 0 {
		fmt.Fprintf(w, "  and %d that are predicted better\n", left)
	}
}

// clearDifference is a difference in log predictive density. Models with smaller differences count
// as equally good, however small the standard error is (Sivula, Magnusson and Vehtari 2020).
const clearDifference = 4

// rankingText returns a sentence that names the run that predicts best, or says that the
// differences are not clear.
func rankingText(list []predict.Ranked) string {
	best := list[0]
	if len(list) == 1 {
		return best.RunDir + ": " + looText(best.LOO)
	}
	next := list[1]
	if difference := -float64(next.Difference); difference > clearDifference && difference > 2*float64(next.DifferenceSE) {
		return fmt.Sprintf("%s predicts rows better than the others.", best.RunDir)
	}
	return fmt.Sprintf("%s and %s predict rows about equally well.", best.RunDir, next.RunDir)
}
