package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/lab/papers"
)

// paperFlags holds the flags that select the part of a published study to measure, and the
// directory of the results.
type paperFlags struct {
	lab    papers.Lab
	only   string
	shards cli.Shards
	device gpu.Kind
	quiet  bool
}

func paperCommand(a *shell.App) *cobra.Command {
	var f paperFlags
	cmd := &cobra.Command{
		Use:   "paper PAPER FIGURE",
		Short: "Repeat a figure or a table of one of the papers that vti follows",
		Long: "Measures the cells of a figure or table of a paper, and prints the numbers in the paper beside the\n" +
			"measured ones. Numbers are stored in a CSV file in --out. A cell that is in the file is not measured\n" +
			"again: to continue a study that was stopped, or to extend it, repeat the command. With --shard I/N, or\n" +
			"in an array job --shards N, the cells are split among N processes. `vtilab paper all` measures\n" +
			"nothing: from the stored numbers it writes a page with pictures for each paper.\n\n" +
			"With --quick a study is small enough for a test, and has a directory of its own. The command then\n" +
			"fails unless each number differs in the direction of the result in the paper, by four standard errors.\n\n" + studyList(),
		Example: "  vtilab paper vti fig7 --only 'categorical affine' --data-sets 1 --steps 2000 --out docs/papers\n  vtilab paper vti fig4 --quick\n  vtilab paper all --out docs/papers",
		Args:    cobra.RangeArgs(1, 2),
		RunE:    func(cmd *cobra.Command, args []string) error { return runPaper(a, cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.lab.Quick, "quick", false, "a small study, and a failure unless it shows the direction of the result")
	flags.StringVar(&f.only, "only", "", "regular `expression` that the cells to measure match; a cell is its first columns, separated by spaces")
	flags.Var(cli.Count(&f.lab.Steps, 1), "steps", "training steps (default: as in the paper)")
	flags.Var(cli.Count(&f.lab.DataSets, 1), "data-sets", "data sets of each kind (default: as in the paper)")
	flags.Var(cli.Count(&f.lab.Width, 4), "width", "width of networks of exchangeable data sets (default: as in the paper)")
	f.shards.Register(cmd)
	flags.Var(cli.Name(&f.device), "device", "where to compute")
	flags.StringVarP(&f.lab.Dir, "out", "o", "", "`directory` of the numbers")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

// studyList returns the list of the studies for the help.
func studyList() string {
	var text strings.Builder
	for _, s := range papers.All() {
		fmt.Fprintf(&text, "  %-13s %-14s %s\n", s.Paper, s.Name, s.Title)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// runPaper measures one study, or writes the pages of all studies.
func runPaper(a *shell.App, ctx context.Context, f *paperFlags, args []string) error {
	if len(args) == 1 && args[0] == "all" {
		if f.lab.Dir == "" {
			return errors.New("no directory was given: expected --out DIRECTORY")
		}
		if err := papers.WritePages(f.lab.Dir); err != nil {
			return shell.Failed(err)
		}
		fmt.Fprintf(a.Text, "%s holds %s and the pictures\n", f.lab.Dir, english.Count(len(papers.Papers), "page"))
		return nil
	}
	study, err := studyOf(args)
	if err != nil {
		return err
	}
	if f.only != "" {
		if f.lab.Only, err = regexp.Compile(f.only); err != nil {
			return fmt.Errorf("--only: %w", err)
		}
	}
	if f.lab.Own, err = f.shards.Own(); err != nil {
		return err
	}
	switch {
	case f.lab.Quick && f.lab.Dir != "":
		return errors.New("--quick has a directory of its own: expected no --out")
	case f.lab.Quick:
		if f.lab.Dir, err = os.MkdirTemp("", "vtilab-"); err != nil {
			return shell.Failed(err)
		}
		defer os.RemoveAll(f.lab.Dir)
	case f.lab.Dir == "":
		return errors.New("no directory was given: expected --out DIRECTORY or --quick")
	}
	if study.Missing != "" {
		return fmt.Errorf("%s %s cannot be run: %s", study.Paper, study.Name, study.Missing)
	}
	return measurePaper(a, ctx, f, study)
}

// measurePaper measures a study and prints its table.
func measurePaper(a *shell.App, ctx context.Context, f *paperFlags, study *papers.Study) error {
	if err := os.MkdirAll(f.lab.Dir, 0o755); err != nil {
		return shell.Failed(err)
	}
	f.lab.Own.Dir = filepath.Join(f.lab.Dir, "pieces")
	device, err := gpu.OpenWith(gpu.Options{Kind: f.device})
	if err != nil {
		return err
	}
	defer device.Close()
	shown := progress(a, f.quiet)
	f.lab.Device, f.lab.Status = device, func(text string) { shown.Line(text, true) }
	rows, err := study.Run(ctx, &f.lab)
	shown.End()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w\nto continue: give the same command again", err)
	}
	if err != nil {
		return shell.Failed(err)
	}
	study.Summary(a.Text, rows)
	if f.lab.Quick && slices.ContainsFunc(study.Claims(rows), func(c papers.Claim) bool { return !c.Holds() }) {
		return shell.Failed(fmt.Errorf("%s %s: the numbers do not show a claim of the study", study.Paper, study.Name))
	}
	return nil
}

// studyOf returns the study that the arguments of the command line name.
func studyOf(args []string) (*papers.Study, error) {
	if !slices.Contains(papers.Papers, args[0]) {
		return nil, fmt.Errorf("unknown paper %q: expected one of %s, or all", args[0], strings.Join(papers.Papers, ", "))
	}
	var names []string
	for _, s := range papers.Of(args[0]) {
		if len(args) == 2 && s.Name == args[1] {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("paper %s: expected one of the figures %s", args[0], strings.Join(names, ", "))
}
