package hierarchies

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/rundir"
	runs "github.com/transdim/vti/run"
)

type hbmInferFlags struct {
	na           string
	certifyDraws int
	cli.Output
}

func hbmInferCommand(a *shell.App) *cobra.Command {
	f := &hbmInferFlags{na: "refuse"}
	cmd := &cobra.Command{
		Use:   "infer MODEL TABLE",
		Short: "Answer for another table in one pass of a network trained by vti hbm --amortize",
		Long: `Fits a regression to a table without training, by the network of MODEL, a run directory of vti hbm
--amortize. TABLE needs the columns of the table that MODEL was trained for. It may have other
groups, and from a quarter to twice as many groups and rows, because training simulates tables of
these sizes. Importance weights correct and judge the answer, which has the form and files of vti
hbm.

If vti hbm --family marginal answers for a response without training (gaussian; logistic, poisson
and others with a grouping), vti hbm infer gives that answer and does not use the network. For
other responses the network proposes draws of all effects. With --select it does so for each model,
so that terms and models have probabilities.

The verdict is at most doubtful if the table is unlike the tables simulated for training. It is if
the model check finds it poor, for example because of gross outliers. It also is if the table is
more probable, or less probable, than all responses simulated from the answer, for example because
a number separates its labels.`,
		Example: `  vti hbm testdata/sleepstudy.csv --formula "Reaction ~ Days + (Days | Subject)" \
      --family pavi-e --amortize --out model
  vti hbm infer model other.csv`,
		Args: cli.Arguments(2, 2, "a run directory and a table"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return hbmInfer(a, cmd, args[0], args[1], f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	cli.OneWord(cmd, &f.na, "na", "rows with missing values: refuse or drop", "refuse", "drop")
	flags.Var(cli.Count(&f.certifyDraws, 1), "certify-draws", "draws that certify where effects are not integrated out (default 8000, and up to 64000 where these do not show enough; with --select 4000)")
	f.Output.Register(cmd, true)
	return cmd
}

func hbmInfer(a *shell.App, cmd *cobra.Command, model, path string, f *hbmInferFlags) error {
	trained, err := runs.ReadRecord[regression.Record](model)
	if err != nil {
		return err
	}
	if trained.Amortize == 0 || trained.Shape == nil {
		return fmt.Errorf("%s was not trained for other tables than its own: that takes vti hbm --family pavi-e --amortize", model)
	}
	record := &regression.Record{
		Header: application.NewHeader(cmd, path),
		Frame:  trained.Frame, Model: trained.Model, Family: trained.Family, TrainedBy: model, CertifyDraws: f.certifyDraws, Seed: f.Seed,
	}
	record.Frame.DropMissing = f.na == "drop"
	job := &shell.Job{Output: f.Output, Stored: record, Paths: []*string{&record.TrainedBy}}
	r, err := newHierarchical(cmd.Context(), &application.Asked[*regression.Record]{App: a, Job: job, Record: record, Flags: cmd.Flags()})
	if err != nil {
		return err
	}
	if err := r.regression.CheckInfer(trained.Shape); err != nil {
		return err
	}
	if _, err := checkpoint.ReadInfo(filepath.Join(model, rundir.PosteriorFile)); err != nil {
		return err
	}
	return a.Execute(cmd.Context(), job, shell.Task{
		Name: "hbm", Files: regression.Files(), Computes: true, Intro: r.PrintProblem,
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			return r.regression.Infer(ctx, session.Device, regression.InferRun{
				Model: model, Shape: trained.Shape, Fit: trained.FamilyRun(r.family).Fit, Seed: record.Seed, Certify: hbm.CertifyConfig{Draws: record.CertifyDraws}, Dir: session.Dir,
			})
		},
	})
}
