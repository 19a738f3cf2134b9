package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/lab/cardinality"
	"github.com/transdim/vti/varsel/design"
)

// cardinalityFlags say what vtilab cardinality measures.
type cardinalityFlags struct {
	sweep       cardinality.Sweep
	vti         measured
	predictors  sizeList
	levels      levelList
	shards      cli.Shards
	json, quiet bool
}

func cardinalityCommand(a *shell.App) *cobra.Command {
	f := cardinalityFlags{
		sweep:      cardinality.Sweep{DataSets: 1, Flow: "affine", Iterations: 32000},
		predictors: sizeList{9, 12, 16, 20, 24}, levels: levelList{design.MediumMisspecification, design.HighMisspecification},
	}
	cmd := &cobra.Command{
		Use:   "cardinality --out DIRECTORY",
		Short: "Compare samplers of models with reversible jump in growing spaces",
		Long: `Repeats figure 4 of Davies et al. (2025): tables of the robust design with more and more predictors, each
answered with every sampler of models that can hold its models, and by long tempered reversible-jump chains.
A row has the cross-entropy of the draws of the chains under q(m, θ), and the errors of certified inclusion
probabilities against the chains.

The directory gets the tables, a run for each table and sampler, cardinality.csv, and a figure for each level
of misspecification. A study that was stopped goes on when the same command is given again, and may grow.
With --shard I/N, or in an array job --shards N, the runs are split among N processes.`,
		Example: `  vtilab cardinality --out figure4
  vtilab cardinality --predictors 9,12 --misspecification medium --out figure4 --shard 0/4`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCardinality(a, cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(parsed[sizeList]{Value: &f.predictors, Parse: parseSizes("predictors", 2)}, "predictors", "`numbers` of predictors, separated by commas")
	flags.Var(parsed[levelList]{Value: &f.levels, Parse: parseLevels}, "misspecification", "`levels` of misspecification, separated by commas: none, medium, high")
	flags.Var(cli.Count{Value: &f.sweep.DataSets, Least: 1}, "data-sets", "tables of each kind (seeds from 1 on)")
	flags.StringSliceVar(&f.sweep.Only, "samplers", nil, "`samplers` of models: "+strings.Join(cardinality.Samplers, ", ")+" (default all)")
	flags.StringVar(&f.sweep.Flow, "flow", f.sweep.Flow, "`flow` of every fit, as vti varsel takes it")
	flags.Var(cli.Count{Value: &f.sweep.Steps, Least: 1}, "steps", "training steps of a fit (default that of vti varsel)")
	flags.Var(cli.Count{Value: &f.sweep.Iterations, Least: 1}, "iterations", "iterations of the chains")
	f.vti.register(cmd)
	f.shards.Register(cmd)
	flags.StringVarP(&f.sweep.Dir, "out", "o", "", "`directory` of the study (required)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

// levelList are levels of misspecification.
type levelList []design.Misspecification

func (l levelList) String() string {
	var names []string
	for _, level := range l {
		names = append(names, level.String())
	}
	return strings.Join(names, ",")
}

func parseLevels(text string) (list levelList, err error) {
	for name := range strings.SplitSeq(text, ",") {
		var level design.Misspecification
		if err := level.UnmarshalText([]byte(strings.TrimSpace(name))); err != nil {
			return nil, err
		}
		list = append(list, level)
	}
	return list, nil
}

// runCardinality runs the study and prints its table.
func runCardinality(a *shell.App, ctx context.Context, f cardinalityFlags) error {
	s := f.sweep
	if s.Dir == "" {
		return errors.New("no directory was given: expected --out DIRECTORY")
	}
	for _, sampler := range s.Only {
		if !slices.Contains(cardinality.Samplers, sampler) {
			return fmt.Errorf("--samplers: expected some of %s, found %q", strings.Join(cardinality.Samplers, ", "), sampler)
		}
	}
	var err error
	if s.Command, err = f.vti.commands(); err != nil {
		return err
	}
	if _, err := s.Command(ctx, "varsel", "--flow", s.Flow, "--help"); err != nil { // before any chain runs
		return err
	}
	own, err := f.shards.Own()
	if err != nil {
		return err
	}
	own.Dir = filepath.Join(s.Dir, "pieces")
	s.Predictors, s.Levels = f.predictors, f.levels
	shown := progress(a, f.quiet)
	s.Status = func(text string) { shown.Line(text, true) }
	own.Status = s.Status
	rows, err := s.Run(ctx, own)
	shown.End()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w\nto continue: give the same command again", err)
	}
	if err != nil {
		return shell.Failed(err)
	}
	if f.shards.Given() {
		fmt.Fprintf(a.Text, "shard %d of %d: %s made, %d of others found; the command without --shard makes the table\n", own.Index, own.Count, english.Count(own.Computed(), "run"), own.Read())
		return nil
	}
	table := cardinalityTable(rows)
	errs := []error{atomicfile.Write(filepath.Join(s.Dir, "cardinality.csv"), func(w io.Writer) error { return csv.NewWriter(w).WriteAll(table) })}
	for _, level := range f.levels {
		errs = append(errs, cardinality.WriteFigure(filepath.Join(s.Dir, "cardinality-"+level.String()), level.String(), rows))
	}
	if err := errors.Join(errs...); err != nil {
		return shell.Failed(err)
	}
	if f.json {
		return a.PrintJSON(map[string]any{"rows": rows})
	}
	printed := &document.Grid{}
	printed.Add("table", "<sampler", "cross-entropy", "mean error", "largest", "<verdict", "ESS", "seconds", "<chains", "seconds")
	for _, r := range rows {
		printed.Add(r.Table(), r.Sampler, document.PlusMinus(&r.CrossEntropy, &r.CrossEntropySE, 2),
			document.PlusMinus(&r.MeanError, nil, 4), document.PlusMinus(&r.LargestError, nil, 4), r.Verdict, document.PlusMinus(&r.ESS, nil, 0), document.PlusMinus(&r.Seconds, nil, 0),
			r.ChainVerdict, document.PlusMinus(&r.ChainSeconds, nil, 0))
	}
	printed.Print(a.Text)
	fmt.Fprintf(a.Text, "\n%s holds cardinality.csv, the figures and the runs\n", s.Dir)
	return nil
}

// cardinalityTable are the rows as CSV, with all digits.
func cardinalityTable(rows []cardinality.Row) [][]string {
	table := [][]string{{"misspecification", "predictors", "data_set", "sampler", "cross_entropy", "cross_entropy_se", "mean_error", "largest_error",
		"verdict", "khat", "ess", "seconds", "chain_verdict", "chain_rhat", "chain_seconds"}}
	for _, r := range rows {
		table = append(table, []string{r.Level, strconv.Itoa(r.Predictors), strconv.Itoa(r.DataSet), r.Sampler, r.CrossEntropy.Text(), r.CrossEntropySE.Text(),
			r.MeanError.Text(), r.LargestError.Text(), r.Verdict, r.KHat.Text(), r.ESS.Text(), r.Seconds.Text(), r.ChainVerdict, r.ChainRHat.Text(), r.ChainSeconds.Text()})
	}
	return table
}
