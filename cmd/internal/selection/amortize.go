package selection

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel"
)

type amortizeFlags struct {
	family         varsel.FamilyConfig
	training       amortize.Config
	heldOut        int
	device         gpu.Kind
	out, resume    string
	overJSON, mute bool
}

func (f *amortizeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	cli.Group(cmd, "Tables", func() {
		flags.Var(rangeFlag(&f.family.Predictors), "predictors", "number of predictors of a table, as `low:high` (default 2:8)")
		flags.Var(rangeFlag(&f.family.Rows), "rows", "number of rows of a table, as low:high (default 20:150)")
		flags.Var(rangeFlag(&f.family.Correlation), "correlation", "correlations of predictors, each with the next one or all with all (default 0:0.9)")
		flags.Var(rangeFlag(&f.family.Noise), "noise", "robust: sigma1 over the sd of the response (default 0.02:0.9)")
	})
	model := &f.family.Model
	cli.Group(cmd, "Likelihood and priors", func() {
		flags.VarP(cli.Name(&model.Likelihood), "likelihood", "l", "gaussian, robust, logistic or poisson")
		flags.Var(cli.Positive(&model.Sigma2), "sigma2", "robust: scale of the outliers over that of the bulk (default 10)")
		flags.Var(cli.Positive(&model.Outlier), "outlier", "robust: `proportion` of outliers (default 0.1)")
		flags.Var(cli.Positive(&model.SlabScale), "prior-sd", "prior sd of a coefficient that is in the model (default 1.5)")
		flags.Var(cli.Name(&model.Prior), "model-prior", "betabinomial:a,b (default betabinomial:1,1), bernoulli:π, expected:s or uniform")
	})
	cli.Group(cmd, "Training", func() {
		cli.Named(cmd, &f.training.Objective, "objective", "forward, reverse or both", "forward", "reverse", "both")
		flags.Var(cli.Count(&f.training.Steps, 1), "steps", "training steps (default 2000)")
		flags.Var(cli.Count(&f.training.Batch, 1), "batch", "tables per training step (default 64)")
		flags.Var(cli.Count(&f.training.Draws, 2), "draws", "reverse: draws of each table (default 4)")
		flags.Var(cli.Positive(&f.training.LearningRate), "learning-rate", "largest step of Adam (default 0.002)")
		f.heldOut = 200
		flags.Var(cli.Count(&f.heldOut, 0), "held-out", "number of fresh tables on which the network is evaluated at the end")
	})
	cli.Group(cmd, cli.OutputGroup, func() {
		flags.Uint64Var(&f.training.Seed, "seed", 0, "random seed")
		flags.Var(cli.Name(&f.device), "device", "device: auto, cpu, cuda, xla-cpu, or go")
		flags.StringVarP(&f.out, "out", "o", "", "`file` of the network (required)")
		flags.StringVar(&f.resume, "resume", "", "continue training the network in `file`; needs no other flag")
		flags.BoolVar(&f.overJSON, "json", false, "print one JSON object on standard output, and nothing else")
		flags.BoolVarP(&f.mute, "quiet", "q", false, "no progress on standard error")
	})
	cli.CompleteWith(cmd, "likelihood", "gaussian", "robust", "logistic", "poisson")
}

func amortizeVarselCommand(a *shell.App) *cobra.Command {
	f := &amortizeFlags{}
	cmd := &cobra.Command{
		Use:   "varsel --out FILE",
		Short: "Train a network for variable selection",
		Long: `Trains one network on simulated tables of one kind: any number of predictors and rows in the given
ranges, with models, coefficients and responses from the priors of vti varsel. vti varsel TABLE
--from FILE then starts from the network's answer for the table, computed in one pass, and certifies
it as always. If the network is wrong about a table, the certificate shows it, and training
continues from there.

The file is updated during training, and --resume FILE continues a training that was stopped or
killed. At the end the network is evaluated on fresh tables, by the effective fraction of its
draws.`,
		Example: `  vti amortize varsel --likelihood robust --predictors 2:8 --rows 20:150 --out robust.vti
  vti amortize varsel --resume robust.vti
  vti varsel table.csv --target y --likelihood robust --from robust.vti`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAmortizeVarsel(a, cmd, f) },
	}
	f.register(cmd)
	return cmd
}

// prepare checks the flags of a new network, or reads the settings from the file of a network whose
// training continues.
func (f *amortizeFlags) prepare(cmd *cobra.Command) (*varsel.Family, error) {
	if f.resume != "" {
		for name := range cli.GivenFlags(cmd.Flags()) {
			if !slices.Contains([]string{"resume", "quiet", "json", "held-out", "device"}, name) {
				return nil, fmt.Errorf("%s: training goes on as it began; leave out --%s", f.resume, name)
			}
		}
		family, s, err := varsel.ReadFamily(f.resume)
		if err != nil {
			return nil, err
		}
		f.out = f.resume
		f.training, err = s.Config()
		f.training.Resume = true
		return family, err
	}
	if f.out == "" {
		return nil, errors.New("--out: expected the file of the network")
	}
	if _, err := os.Lstat(f.out); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--out %s: there is such a file; --resume goes on with a network", f.out)
	}
	if _, err := os.Stat(filepath.Dir(f.out)); err != nil {
		return nil, fmt.Errorf("--out %s: %w", f.out, err)
	}
	if kind := f.family.Model.Likelihood; kind != likelihood.RobustKind {
		if err := cli.Refuse(cmd.Flags(), fmt.Sprintf(" is for --likelihood robust; this one is %s", kind), "sigma2", "outlier", "noise"); err != nil {
			return nil, err
		}
	}
	return varsel.NewFamily(f.family)
}

// Amortized is the object that vti amortize varsel prints as JSON.
type Amortized struct {
	File     string              `json:"file"`
	Family   varsel.FamilyConfig `json:"family"`
	Steps    int                 `json:"steps"`
	HeldOut  int                 `json:"held_out"`
	Share    *report.Number      `json:"effective_share,omitempty"`
	Training float64             `json:"seconds"`
}

func runAmortizeVarsel(a *shell.App, cmd *cobra.Command, f *amortizeFlags) error {
	family, err := f.prepare(cmd)
	if err != nil {
		return err
	}
	f.training.Checkpoint = f.out
	if err := f.training.Validate(); err != nil {
		return err
	}
	release, err := rundir.LockFile(f.out)
	if err != nil {
		return err
	}
	defer release()
	device, err := gpu.OpenWith(gpu.Options{Kind: f.device})
	if err != nil {
		return err
	}
	defer device.Close()
	shown := console.NewProgress(a.Stderr, f.mute)
	var last amortize.Info
	f.training.Progress = func(info amortize.Info) {
		last = info
		shown.Line(fmt.Sprintf("step %d of %d  loss %.4f  gradient %.3g  on held-out tables %.4f, best %.4f after step %d  %s", info.Step, info.Steps, info.Loss, info.GradientNorm,
			info.HeldOut, info.Best, info.BestStep, document.TimeText(info.Elapsed.Seconds())), info.Step == info.Steps)
	}
	if f.training.Steps > 0 {
		f.training.LogEvery = min(max(f.training.Steps/20, 1), 100) // the interval between measurements on held-out tables
	}
	shown.Line("held-out tables are simulated and measured before the first step", true)
	started := time.Now()
	network, err := amortize.Fit(cmd.Context(), device, family, f.training)
	shown.End()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w\nto continue: vti amortize varsel --resume %s", err, rundir.Quoted(f.out))
	}
	if err != nil {
		return shell.Failed(err)
	}
	result := Amortized{File: f.out, Family: family.Config(), Steps: network.Steps(), HeldOut: f.heldOut, Training: time.Since(started).Seconds()}
	if f.heldOut > 0 {
		share, err := network.Efficiency(cmd.Context(), f.heldOut, "held-out")
		if err != nil {
			return shell.Failed(err)
		}
		result.Share = new(report.Number(share))
	}
	if f.overJSON {
		return a.PrintJSON(shell.Described{Schema: "amortize", Object: result})
	}
	cfg := family.Config()
	fmt.Fprintf(a.Text, "%s: a network for %s tables of %g to %g predictors and %g to %g rows, %d steps, %s\n",
		f.out, cfg.Model.Likelihood, cfg.Predictors.Low, cfg.Predictors.High, cfg.Rows.Low, cfg.Rows.High, result.Steps, document.TimeText(result.Training))
	switch {
	case last.Steps > 0 && last.BestStep == 0:
		fmt.Fprintln(a.Text, "  weights are those at the start: no training was better on held-out tables")
	case last.Steps > 0:
		fmt.Fprintf(a.Text, "  weights are those after step %d, by %.4f nats a table better on held-out tables than at the start\n", last.BestStep, last.Start-last.Best)
	}
	if result.Share != nil {
		fmt.Fprintf(a.Text, "  on %d fresh tables a draw of it is worth %.2f of one of the posterior, in the mean\n", f.heldOut, float64(*result.Share))
	}
	return nil
}

// rangeFlag returns a flag that takes a range low:high, or a single number.
func rangeFlag(value *varsel.Range) cli.Value[varsel.Range] {
	return cli.Value[varsel.Range]{To: value, Kind: "range", Wants: "low:high, two numbers in order", Parse: func(text string) (varsel.Range, bool) {
		low, high, found := strings.Cut(text, ":")
		if !found {
			high = low
		}
		a, err := strconv.ParseFloat(low, 64)
		b, other := strconv.ParseFloat(high, 64)
		return varsel.Range{Low: a, High: b}, err == nil && other == nil && a <= b
	}, Text: func(r varsel.Range) string {
		if (r == varsel.Range{}) {
			return "" // the flag is not given
		}
		return fmt.Sprintf("%g:%g", r.Low, r.High)
	}}
}
