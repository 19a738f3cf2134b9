package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// studyFlags are those of every study.
type studyFlags struct {
	replicates    int
	hard          bool
	rows, columns int // of generated tables
	only          int // the number of the one problem to draw, or −1
	shards        cli.Shards
	output        cli.Output
}

func (f *studyFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.replicates = defaultReplicates
	flags.Var(cli.Count{Value: &f.replicates, Least: 1}, "replicates", "number of problems")
	flags.BoolVar(&f.hard, "hard", false, "draw difficult tables, and compare only with exact answers")
	f.rows, f.columns = 50, 4
	flags.Var(cli.Count{Value: &f.rows, Least: 3}, "rows", "rows of generated tables")
	flags.Var(cli.Count{Value: &f.columns, Least: 1}, "predictors", "predictors, or nodes, of generated tables")
	f.only = -1
	flags.Var(cli.Count{Value: &f.only, Least: 0}, "only", "run only the problem with this number, keep its table, and print all details")
	f.shards.Register(cmd)
	f.output.Register(cmd, true)
	cmd.MarkFlagsMutuallyExclusive("only", "shard", "shards")
}

// defaultReplicates is enough for bands of a tenth.
const defaultReplicates = 200

func calibrateCommand(a *shell.App, all application.Registry) *cobra.Command {
	return all.Choice(a, &cobra.Command{
		Use:   "calibrate",
		Short: "Measure whether answers are right, on problems with known answers",
		Long: `Simulates many problems, answers each with the command, and compares the answers with the true model
and parameters and, where it is known, with the exact posterior.

The output directory has results.jsonl, with a line for each problem, summary.json and, if problems
are drawn from the priors, calibration.svg and calibration.png. A study that was stopped continues
when it is started again with the same --out. To repeat a single problem, use the command that is
given with each result, which has --only and its number.

With --shard I/N, or in an array job --shards N, the problems are split among N processes on any
machines that see the directory; the same command without the flag then merges them.`,
	})
}

func calibrateVarselCommand(a *shell.App) *cobra.Command {
	var study studyFlags
	var f varselFlags
	ordinary := false
	cmd := &cobra.Command{
		Use:   "varsel [TABLE] --out DIRECTORY",
		Short: "Measure vti varsel",
		Long: `Draws models, coefficients, noise scales and responses from the priors of vti varsel, whose flags it
takes, for the predictors of a table or for simulated ones, and runs vti varsel on each. Priors that
refer to the mean and sd of the response use 0 and 1 instead.

With --ordinary it draws tables of 30 to 200 rows with one to eight predictors, correlations up to
0.95 and any likelihood. With --hard it draws difficult tables, under gaussian, robust, student,
logistic and poisson likelihoods unless --likelihood names one.`,
		Example: `  vti calibrate varsel --likelihood logistic --rows 60 --predictors 4 --out studies/logistic
  vti calibrate varsel testdata/diabetes.csv --target y --out studies/diabetes
  vti calibrate varsel --hard --replicates 500 --out studies/hard`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.Output = study.output
		record, err := f.Describe(cmd.Flags())
		if err != nil {
			return err
		}
		if study.hard || ordinary {
			if len(args) > 0 {
				return errors.New("--hard and --ordinary draw their own tables: leave the table out")
			}
			if err := refuseFlags(cmd.Flags(), "--hard and --ordinary choose it", "rows", "predictors"); err != nil {
				return err
			}
		}
		var only *likelihood.Kind
		if cmd.Flags().Changed("likelihood") {
			only = &record.Model.Likelihood
		}
		if ordinary && only != nil {
			return errors.New("--ordinary draws tables of every likelihood: leave --likelihood out")
		}
		if study.hard {
			if only != nil && only.HasCategories() {
				return fmt.Errorf("--hard draws no responses of categories: got --likelihood %s; leave out --hard for tables from the priors", *only)
			}
			return runCalibration(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
				return calibrate.HardVarsel{Device: device, Record: *record, Only: only}
			})
		}
		if ordinary {
			if record.Design.Target == "" {
				record.Design.Target = "y"
			}
			return runCalibration(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
				return calibrate.OrdinaryVarsel{Device: device, Record: *record}
			})
		}
		source := calibrate.Varsel{Record: *record, Rows: study.rows, Predictors: study.columns}
		if source.Record.Design.Target == "" {
			source.Record.Design.Target = "y"
		}
		if len(args) > 0 {
			if source.Table, err = table.ReadFile(args[0]); err != nil {
				return err
			}
		}
		return runCalibration(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
			source.Device = device
			return source
		})
	}
	study.register(cmd)
	f.data.register(cmd)
	f.fit.register(cmd)
	cmd.Flags().BoolVar(&ordinary, "ordinary", false, "draw tables of many sizes, correlations and likelihoods")
	cmd.MarkFlagsMutuallyExclusive("hard", "ordinary")
	f.registerFrom(cmd)
	cmd.Flags().Var(cli.Count{Value: &f.certifyDraws, Least: 1}, "certify-draws", "draws of certification, beyond a pilot run over every model (default 262144)")
	return cmd
}

func calibrateDagCommand(a *shell.App) *cobra.Command {
	var study studyFlags
	var f dagFlags
	cmd := &cobra.Command{
		Use:   "dag --out DIRECTORY",
		Short: "Measure vti dag",
		Long: `Draws graphs, weights and tables from the priors of vti dag --scale none, whose flags it takes, and
runs vti dag on each: with bge mechanisms, with linear ones of known noise scale (--sem linear,
--sigma 1), or with mixed ones, where every second column is a category (--sem mixed; the exact answer
is for at most 3 columns and categories of two levels). With --hard it draws nasty tables with bge and
linear mechanisms, unknown noise scales and categories instead, mixed ones with --sem mixed, or with
--sem mlp, for which there is no exact answer.`,
		Example: "  vti calibrate dag --rows 60 --predictors 4 --out studies/dag\n  vti calibrate dag --hard --replicates 500 --out studies/hard-dag",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseFlags(cmd.Flags(), "the table is drawn", "exclude", "intervened", "discrete", "continuous", "log", "scale", "na", "truth"); err != nil {
				return err
			}
			f.Output = study.output
			record, err := f.Describe(cmd.Flags())
			if err != nil {
				return err
			}
			return runCalibration(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
				if study.hard {
					return calibrate.HardDag{Device: device, Record: *record}
				}
				return calibrate.Dag{Device: device, Record: *record, Rows: study.rows, Nodes: study.columns}
			})
		},
	}
	study.register(cmd)
	f.model.register(cmd, dag.BGe, dag.Linear, dag.Mixed, dag.MLP)
	f.walks.register(cmd)
	f.fit.register(cmd)
	return cmd
}

func calibrateHbmCommand(a *shell.App) *cobra.Command {
	var study studyFlags
	var f hbmFlags
	groups := 8
	cmd := &cobra.Command{
		Use:   "hbm --out DIRECTORY",
		Short: "Measure vti hbm",
		Long: `Draws regressions y ~ x + (1 | g) from the priors of vti hbm, whose flags it takes, and runs it on
each, with any family. Priors that refer to the mean and sd of the response use 0 and 1 instead.
With --hard it draws difficult tables, with gaussian, logistic and poisson responses unless
--likelihood names one.`,
		Example: "  vti calibrate hbm --rows 60 --groups 8 --out studies/hbm\n  vti calibrate hbm --family pavi-f --out studies/hbm-pavi-f\n  vti calibrate hbm --hard --replicates 500 --out studies/hard-hbm",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if groups > study.rows {
				return fmt.Errorf("--groups: got %d, want at most the %d rows", groups, study.rows)
			}
			if err := refuseFlags(cmd.Flags(), "the regression is "+calibrate.HbmFormula, "formula", "levels", "se", "select", "na", "amortize", "predictors"); err != nil {
				return err
			}
			f.Output, f.frame.Formula = study.output, calibrate.HbmFormula
			record, err := f.Describe(cmd.Flags())
			if err != nil {
				return err
			}
			if kind := record.Frame.Response; study.hard && !calibrate.ExactHbm(kind) {
				return fmt.Errorf("--hard compares with exact answers, which there are for --likelihood gaussian, logistic and poisson: got %s; leave out --hard for ranks of what tables are drawn from", kind)
			}
			// of few coordinates
			if err := f.chooseFlow(cmd.Flags(), record, cosmic.Spline); err != nil {
				return err
			}
			return runCalibration(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
				source := calibrate.Hbm{Device: device, Record: *record, Rows: study.rows, Groups: groups, Hard: study.hard}
				if study.hard && !cmd.Flags().Changed("likelihood") { // many of these are integrated without training
					g := likelihood.GaussianKind
					source.Responses = []likelihood.Kind{g, g, g, likelihood.LogisticKind, likelihood.PoissonKind}
				}
				return source
			})
		},
	}
	study.register(cmd)
	cmd.Flags().Var(cli.Count{Value: &groups, Least: 2}, "groups", "groups of generated tables")
	f.registerModel(cmd)
	return cmd
}

// refuseFlags refuses flags that were given, and says why.
func refuseFlags(flags *pflag.FlagSet, why string, names ...string) error {
	for _, name := range names {
		if flags.Changed(name) {
			return fmt.Errorf("--%s: %s", name, why)
		}
	}
	return nil
}

// repeated is the command that draws one problem of a study again, up to the number.
func repeated(cmd *cobra.Command) string {
	words := append([]string{cmd.CommandPath()}, cmd.Flags().Args()...)
	given := cli.GivenFlags(cmd.Flags())
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains([]string{"replicates", "only", "shard", "shards", "out", "json", "quiet"}, name) {
			continue
		}
		for _, value := range given[name] {
			words = append(words, fmt.Sprintf("--%s=%s", name, rundir.Quoted(value)))
		}
	}
	return strings.Join(append(words, "--out DIRECTORY --only"), " ")
}

// runCalibration runs a study and prints its summary.
func runCalibration(a *shell.App, cmd *cobra.Command, f *studyFlags, source func(*gpu.Device) calibrate.Source) error {
	dir := f.output.Out
	if dir == "" {
		return errors.New("--out is missing: the directory of the study")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	own, err := f.shards.Own()
	if err != nil {
		return err
	}
	if own.Dir = filepath.Join(dir, "pieces"); !f.shards.Given() {
		release, err := rundir.Lock(dir)
		if err != nil {
			return err
		}
		defer release()
		if !rundir.Exists(own.Dir) {
			own = nil // nobody shares it
		}
	}
	device, err := gpu.OpenWith(gpu.Options{Kind: f.output.Device, Plugin: f.output.Plugin})
	if err != nil {
		return err
	}
	defer device.Close()
	shown := console.NewProgress(a.Stderr, f.output.Quiet)
	pace := console.NewPace()
	cfg := calibrate.Config{Replicates: f.replicates, Seed: f.output.Seed, Dir: dir, Repeat: repeated(cmd), Shard: own}
	wrong := 0
	cfg.Progress = func(done, total int, last *calibrate.Replicate) {
		wrong += min(1, len(last.Wrong()))
		shown.Line(fmt.Sprintf("replicate %d/%d  %s  %d trusted and wrong  %s", done, total, last.Verdict, wrong, pace.Text(done, total)), done == total)
	}
	made := source(device)
	if f.only >= 0 {
		one, err := calibrate.One(cmd.Context(), made, cfg, f.only)
		if err != nil {
			return shell.Failed(err)
		}
		if f.output.Json {
			return a.Describe("calibrate-one", one)
		}
		printReplicate(a.Text, one)
		return nil
	}
	replicates, err := calibrate.Run(cmd.Context(), made, cfg)
	shown.End()
	if err != nil {
		return shell.Failed(err)
	}
	if f.shards.Given() {
		if !f.output.Json {
			fmt.Fprintf(a.Text, "shard %d of %d: %s drawn, %d of others read; vti %s without --shard puts them together\n", own.Index, own.Count, english.Count(own.Computed(), "problem"), own.Read(), cli.CommandName(cmd))
		}
		return nil
	}
	summary := calibrate.Summarize(made, cfg, replicates)
	if err := errors.Join(rundir.WriteJSON(filepath.Join(dir, calibrate.SummaryFile), summary), summary.WriteFigure(dir)); err != nil {
		return shell.Failed(err)
	}
	if f.output.Json {
		return a.Describe("calibrate", summary)
	}
	printSummary(a.Text, summary)
	return nil
}

// printReplicate prints all that is known of one problem.
func printReplicate(w io.Writer, r *calibrate.Replicate) {
	fmt.Fprintf(w, "%d: %s\n%s", r.Number, r.About, r.Verdict)
	for _, text := range []string{r.Reasons, r.Error} {
		if text != "" {
			fmt.Fprintf(w, ": %s", text)
		}
	}
	fmt.Fprintln(w)
	if r.ModelCheck != "" {
		fmt.Fprintf(w, "model check: %s\n", strings.Join(append([]string{r.ModelCheck}, r.Findings...), "; "))
	}
	for _, c := range r.Comparisons {
		fmt.Fprintf(w, "  %v%s\n", c, map[bool]string{true: "  wrong"}[c.Wrong()])
	}
	if len(r.Comparisons) > 0 {
		document.PrintMeanings(w, document.WordEvidence)
	}
	if r.Command != "" {
		fmt.Fprintln(w, r.Command)
	}
}

// printSummary prints a study for a reader.
func printSummary(w io.Writer, s *calibrate.Summary) {
	var verdicts []string
	for _, verdict := range []string{"trusted", "doubtful", "failed", "refused", "error"} {
		if count := s.Verdicts[verdict]; count > 0 {
			verdicts = append(verdicts, fmt.Sprintf("%d %s", count, verdict))
		}
	}
	fmt.Fprintf(w, "%s: %s: %s\n\n", s.Study, english.Count(s.Replicates, "replicate"), strings.Join(verdicts, ", "))
	if len(s.Scores) > 0 {
		fmt.Fprintf(w, "%s against exact ones\n", english.Count(s.Compared, "trusted answer"))
		table := &document.Grid{}
		table.Add("<quantity", "numbers", "sd of z", "largest z", "largest error")
		for _, score := range s.Scores {
			table.Add(string(score.Quantity), fmt.Sprint(score.Count), document.Short(score.SD), document.Short(score.Largest), fmt.Sprintf("%.2g", float64(score.Error)))
		}
		table.Print(w)
		document.PrintMeanings(w, document.WordZ, document.WordEvidence)
		fmt.Fprintln(w)
	}
	if checks := s.ModelChecks; len(checks) > 0 {
		fmt.Fprintf(w, "model checks: %d good, %d questionable, %d poor\n", checks["good"], checks["questionable"], checks["poor"])
	}
	for _, u := range s.Uniformity {
		fmt.Fprintf(w, "ranks of true values among draws, %s: %d, %s\n", u.Kind, u.Count, map[bool]string{false: "uniform within the band", true: "not uniform: they leave the band"}[u.Crossed])
	}
	for _, r := range s.Reliability {
		fmt.Fprintf(w, "probabilities, %s: %d, expected calibration error %.3f (%.3f by chance)%s\n", r.Kind, r.Count, r.ExpectedError, r.Noise, map[bool]string{true: ", outside the band"}[r.Crossed])
	}
	fmt.Fprintf(w, "trusted and wrong: %d\n", len(s.Wrong))
	for _, one := range s.Wrong {
		fmt.Fprintf(w, "  %d: %s\n", one.Number, one.About)
		for _, what := range one.What {
			fmt.Fprintf(w, "    %s\n", what)
		}
		for _, command := range []string{one.Command, one.Repeat} {
			if command != "" {
				fmt.Fprintf(w, "    repeat: %s\n", command)
			}
		}
	}
}
