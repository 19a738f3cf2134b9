package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/varsel"
)

// studyFlags are those of every study.
type studyFlags struct {
	replicates int
	hard       bool
	output     outputFlags
}

func (f *studyFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.replicates = defaultReplicates
	flags.Var(count{&f.replicates, 1}, "replicates", "problems that are drawn")
	flags.BoolVar(&f.hard, "hard", false, "draw nasty tables, and compare with exact answers only")
	f.output.register(cmd, true)
}

// defaultReplicates is enough for bands of a tenth.
const defaultReplicates = 200

func (a *app) calibrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure whether answers are right, on problems whose answer is known",
		Long: `Draws many problems, answers each as the command does, and compares the answers with the truth that
the problem was drawn from and, where there is one, with the exact posterior.

The directory of a study holds results.jsonl, with a line for each problem, and summary.json. A study
that was stopped goes on when it is started again with the same --out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.calibrateVarselCommand())
	return cmd
}

func (a *app) calibrateVarselCommand() *cobra.Command {
	var study studyFlags
	var f varselFlags
	cmd := &cobra.Command{
		Use:     "varsel --hard --out DIRECTORY",
		Short:   "Measure vti varsel",
		Example: `  vti calibrate varsel --hard --replicates 500 --out studies/hard`,
		Args:    cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !study.hard {
			return errors.New("vti calibrate varsel: --hard is missing: other problems are not drawn yet")
		}
		f.output = study.output
		described, err := f.describe(cmd.Flags(), "")
		if err != nil {
			return err
		}
		record := described.(*varsel.Record)
		return a.study(cmd.Context(), &study, func(device *gpu.Device) calibrate.Source {
			return calibrate.HardVarsel{Device: device, Record: *record}
		})
	}
	study.register(cmd)
	f.fit.register(cmd)
	return cmd
}

// study runs a study and prints its summary.
func (a *app) study(ctx context.Context, f *studyFlags, source func(*gpu.Device) calibrate.Source) error {
	dir := f.output.out
	if dir == "" {
		return errors.New("--out is missing: the directory of the study")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	device, err := gpu.OpenWith(gpu.Options{Kind: f.output.device, Plugin: f.output.plugin})
	if err != nil {
		return err
	}
	defer device.Close()
	shown := newProgress(a.stderr)
	if f.output.quiet {
		shown = &progress{}
	}
	pace := newPace()
	cfg := calibrate.Config{Replicates: f.replicates, Seed: f.output.seed, Dir: dir}
	wrong := 0
	cfg.Progress = func(done, total int, last *calibrate.Replicate) {
		wrong += min(1, len(last.Wrong()))
		shown.line(fmt.Sprintf("replicate %d/%d  %s  %d trusted and wrong  %s", done, total, last.Verdict, wrong, pace.text(done, total)), done == total)
	}
	made := source(device)
	replicates, err := calibrate.Run(ctx, made, cfg)
	shown.end()
	if err != nil {
		return failure{err}
	}
	summary := calibrate.Summarize(made, cfg, replicates)
	if err := rundir.WriteJSON(filepath.Join(dir, "summary.json"), summary); err != nil {
		return failure{err}
	}
	if f.output.json {
		return a.printJSON(summary)
	}
	printSummary(a.stdout, summary)
	return nil
}

// printSummary prints a study for a reader.
func printSummary(w io.Writer, s *calibrate.Summary) {
	var verdicts []string
	for _, verdict := range []string{"trusted", "doubtful", "failed", "refused", "error"} {
		if count := s.Verdicts[verdict]; count > 0 {
			verdicts = append(verdicts, fmt.Sprintf("%d %s", count, verdict))
		}
	}
	fmt.Fprintf(w, "%s: %d replicates: %s\n\n", s.Study, s.Replicates, strings.Join(verdicts, ", "))
	if len(s.Scores) > 0 {
		fmt.Fprintf(w, "%d trusted answers against exact ones\n", s.Compared)
		table := &grid{}
		table.add("<quantity", "numbers", "sd of z", "largest z", "largest error")
		for _, score := range s.Scores {
			table.add(string(score.Quantity), fmt.Sprint(score.Count), fmt.Sprintf("%.2f", float64(score.SD)), fmt.Sprintf("%.1f", float64(score.Largest)), fmt.Sprintf("%.2g", float64(score.Error)))
		}
		table.print(w)
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "trusted and wrong: %d\n", len(s.Wrong))
	for _, one := range s.Wrong {
		fmt.Fprintf(w, "  %d: %s\n", one.Number, one.About)
		for _, what := range one.What {
			fmt.Fprintf(w, "    %s\n", what)
		}
		fmt.Fprintf(w, "    repeat: %s\n", one.Command)
	}
}
