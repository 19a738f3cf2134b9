package calibration

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
)

// Flags holds the flags of every calibration study.
type Flags struct {
	replicates    int
	Rows, Columns int // the sizes of generated tables
	only          int // number of a single problem to draw; −1 for all
	shards        cli.Shards
	Output        cli.Output
}

// Register adds the flags to a command.
func (f *Flags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.replicates = defaultReplicates
	flags.Var(cli.Count(&f.replicates, 1), "replicates", "number of problems")
	f.Rows, f.Columns = 50, 4
	flags.Var(cli.Count(&f.Rows, 3), "rows", "rows of generated tables")
	flags.Var(cli.Count(&f.Columns, 1), "predictors", "predictors, or nodes, of generated tables")
	f.only = -1
	flags.Var(cli.Count(&f.only, 0), "only", "run only the problem with this number, keep its table, and print all details")
	f.shards.Register(cmd)
	f.Output.Register(cmd, true)
	cmd.MarkFlagsMutuallyExclusive("only", "shard", "shards")
}

// defaultReplicates is the default number of replicates. With this number, the band within which
// the distribution function of the ranks should stay reaches about 0.1 to either side of the
// uniform distribution.
const defaultReplicates = 200

// repeated returns the command line that draws a single problem of a study again. It ends with the
// flag --only, after which the caller adds the number of the problem.
func repeated(cmd *cobra.Command) string {
	words := append([]string{cmd.CommandPath()}, cmd.Flags().Args()...)
	words = append(words, rundir.FlagWords(cli.GivenFlags(cmd.Flags()), rundir.Quoted, "replicates", "only", "shard", "shards", "out", "json", "quiet")...)
	return strings.Join(append(words, "--out DIRECTORY --only"), " ")
}

// Laboratory adds further studies to a command. It registers their flags, and returns a function
// that returns the study for a command line: the argument ordinary if none of these flags is given.
type Laboratory[S calibrate.Source] func(cmd *cobra.Command) func(args []string, ordinary S) (calibrate.Source, error)

// Ordinary is a Laboratory without further studies: it registers no flags, and returns the ordinary
// study unchanged.
func Ordinary[S calibrate.Source](*cobra.Command) func([]string, S) (calibrate.Source, error) {
	return func(_ []string, ordinary S) (calibrate.Source, error) { return ordinary, nil }
}

// Run runs a study and prints its summary.
func Run(a *shell.App, cmd *cobra.Command, f *Flags, source func(*gpu.Device) (calibrate.Source, error)) error {
	dir := f.Output.Out
	if dir == "" {
		return errors.New("--out is missing: the directory of the study")
	}
	device, err := gpu.OpenWith(gpu.Options{Kind: f.Output.Device, Plugin: f.Output.Plugin})
	if err != nil {
		return err
	}
	defer device.Close()
	made, err := source(device)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	part, err := f.shards.Own()
	if err != nil {
		return err
	}
	if part.Dir = filepath.Join(dir, "pieces"); !f.shards.Given() {
		release, err := rundir.Lock(dir)
		if err != nil {
			return err
		}
		defer release()
		if !rundir.Exists(part.Dir) {
			part = nil // no other process shares the study
		}
	}
	shown := console.NewProgress(a.Stderr, f.Output.Quiet)
	pace := console.NewPace()
	cfg := calibrate.Config{Replicates: f.replicates, Seed: f.Output.Seed, Dir: dir, Repeat: repeated(cmd), Shard: part}
	compared, wrong := false, 0
	cfg.Progress = func(done, total int, last *calibrate.Replicate) {
		text := fmt.Sprintf("replicate %d/%d  %s  ", done, total, last.Verdict)
		compared, wrong = compared || len(last.Comparisons) > 0, wrong+min(1, len(last.Wrong()))
		if compared {
			text += fmt.Sprintf("%d trusted and wrong  ", wrong)
		}
		shown.Line(text+pace.Text(done, total), done == total)
	}
	if f.only >= 0 {
		one, err := calibrate.One(cmd.Context(), made, cfg, f.only)
		if err != nil {
			return shell.Failed(err)
		}
		return a.Answer(f.Output.Json, shell.Described{Schema: "calibrate-one", Object: one}, func() { printReplicate(a.Text, one) })
	}
	replicates, err := calibrate.Run(cmd.Context(), made, cfg)
	shown.End()
	if err != nil {
		return shell.Failed(err)
	}
	if f.shards.Given() {
		if !f.Output.Json {
			fmt.Fprintf(a.Text, "shard %d of %d: %s drawn, %d of others read; %s without --shard puts them together\n", part.Index, part.Count, english.Count(part.Computed(), "problem"), part.Read(), cmd.CommandPath())
		}
		return nil
	}
	summary := calibrate.Summarize(made, cfg, replicates)
	if err := errors.Join(rundir.WriteJSON(filepath.Join(dir, calibrate.SummaryFile), summary), summary.WriteFigure(dir)); err != nil {
		return shell.Failed(err)
	}
	return a.Answer(f.Output.Json, shell.Described{Schema: "calibrate", Object: summary}, func() { printSummary(a.Text, summary) })
}

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
		table.Add("<answers", "<quantity", "numbers", "sd of z", "largest z", "bounds", "held", "largest error")
		for _, score := range s.Scores {
			table.Add(cmp.Or(score.Kind, "all"), string(score.Quantity), fmt.Sprint(score.Count), document.Short(score.SD), document.Short(score.Largest), fmt.Sprint(score.Bounds), fmt.Sprint(score.Held), fmt.Sprintf("%.2g", float64(score.Error)))
		}
		table.Print(w)
		document.PrintMeanings(w, document.WordZ, document.WordEvidence)
		fmt.Fprintln(w)
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
		fmt.Fprintf(w, "not trusted: %d: %s\n", s.Reasons[reason], reason)
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
	if s.Compared > 0 {
		fmt.Fprintf(w, "trusted and wrong: %d\n", len(s.Wrong))
	}
	for _, one := range s.Wrong {
		fmt.Fprintf(w, "  %d: %s\n", one.Number, one.About)
		for _, finding := range one.What {
			fmt.Fprintf(w, "    %s\n", finding)
		}
		for _, command := range []string{one.Command, one.Repeat} {
			if command != "" {
				fmt.Fprintf(w, "    repeat: %s\n", command)
			}
		}
	}
}
