package answers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/predict"
)

// effectsFile is the file in the directory of the run to which vti effects writes its table. The
// picture has the same name with another extension.
const effectsFile = "effects.csv"

type effectsFlags struct {
	of, at                     []string
	curve, by, contrast, scale string
	average, out               string
	level                      float64
	noPicture, quiet, json     bool
}

// Effects returns the command vti effects.
func Effects(a *shell.App, all application.Registry) *cobra.Command {
	f := &effectsFlags{}
	cmd := &cobra.Command{
		Use:   "effects RUN",
		Short: "Marginal means, contrasts and conditional effects, averaged over models",
		Long: `Computes expected responses of a finished run of vti varsel, vti exact, vti rjmcmc varsel or vti hbm
at values of a predictor: marginal means (--of), their differences (--contrast), or the curve along
a numeric predictor (--conditional). Every posterior draw has its own model, so that results are
averaged over models by their probability. A difference is exactly zero in models without the
predictor, and the probability of that is shown.

Other numeric predictors are at their means, and labels are averaged with equal weights, as in
emmeans; with --average data each row of the table keeps its own values instead. --at fixes a
predictor. Means are of expected responses, or the probabilities of categories without an order;
--scale link averages the linear predictor, whose differences are log odds ratios or log ratios.
With vti hbm they are for a group whose effects are zero, not averages over groups; the two differ
if the link is not the identity.

Intervals are pointwise, not simultaneous. Values outside the rows of the table are noted. The
results are written to ` + effectsFile + ` in the directory of the run, or to --out, with a picture
next to it.`,
		Example: `  vti effects runs/hbm-20260131-120000 --of variety --contrast pairwise
  vti effects runs/varsel-20260131-120000 --of dose=1,2,4 --contrast reference --at age=50
  vti effects runs/hbm-20260131-120000 --conditional Days --by treatment`,
		Args: cli.Arguments(1, 1, "a run directory"),
		RunE: func(cmd *cobra.Command, args []string) error { return runEffects(a, cmd, all, args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.of, "of", nil, "`predictor` whose marginal means are computed, as NAME or NAME=VALUE,VALUE…; repeated: all combinations")
	flags.StringVar(&f.curve, "conditional", "", "`predictor` of numbers along which the curve runs")
	flags.StringVar(&f.by, "by", "", "`predictor` for each of whose values results are given separately, as NAME or NAME=VALUE,VALUE…")
	flags.StringArrayVar(&f.at, "at", nil, "fix another predictor, as `NAME=VALUE`; may be repeated")
	flags.StringVar(&f.contrast, "contrast", "", "differences of means: `pairwise` or reference (from the first value)")
	flags.StringVar(&f.scale, "scale", "response", "`scale`: response or link")
	flags.StringVar(&f.average, "average", "grid", "other predictors: `grid` (means, and labels with equal weights) or data (the rows of the table)")
	flags.Float64Var(&f.level, "level", 0.95, "`probability` of the intervals")
	flags.StringVarP(&f.out, "out", "o", "", "`file` of the effects as CSV (default "+effectsFile+" in the run directory)")
	flags.BoolVar(&f.noPicture, "no-picture", false, "do not write a picture")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing: effects are in the file")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	cmd.MarkFlagsMutuallyExclusive("of", "conditional")
	cmd.MarkFlagsMutuallyExclusive("conditional", "contrast")
	return cmd
}

// readFocus parses the value of a flag, NAME or NAME=VALUE,VALUE….
func readFocus(flag, text string) (predict.Focus, error) {
	name, values, hasValues := strings.Cut(text, "=")
	focus := predict.Focus{Name: strings.TrimSpace(name)}
	if focus.Name == "" || hasValues && values == "" {
		return focus, fmt.Errorf("--%s: got %q, want NAME or NAME=VALUE,VALUE…", flag, text)
	}
	if hasValues {
		focus.Values = strings.Split(values, ",")
	}
	return focus, nil
}

func (f *effectsFlags) config() (config predict.EffectsConfig, err error) {
	config = predict.EffectsConfig{Level: f.level, Curve: f.curve != "", OverData: f.average == "data", Link: f.scale == "link"}
	if err := (predict.Config{Level: f.level}).Validate(); err != nil || f.level == 0 {
		return config, fmt.Errorf("--level: got %v, want a number between 0 and 1", f.level)
	}
	if len(f.of) == 0 && f.curve == "" {
		return config, errors.New("expected a predictor: --of NAME or --conditional NAME")
	}
	if f.scale != "response" && f.scale != "link" {
		return config, fmt.Errorf("--scale: got %q, want response or link", f.scale)
	}
	if f.average != "grid" && f.average != "data" {
		return config, fmt.Errorf("--average: got %q, want grid or data", f.average)
	}
	if config.Contrast, err = predict.ReadContrast(f.contrast); err != nil {
		return config, fmt.Errorf("--contrast: %w", err)
	}
	for _, text := range f.of {
		focus, err := readFocus("of", text)
		if err != nil {
			return config, err
		}
		config.Of = append(config.Of, focus)
	}
	if config.Curve {
		config.Of = []predict.Focus{{Name: f.curve}}
	}
	if f.by != "" {
		focus, err := readFocus("by", f.by)
		if err != nil {
			return config, err
		}
		config.By = &focus
	}
	for _, text := range f.at {
		focus, err := readFocus("at", text)
		if err == nil && len(focus.Values) != 1 {
			err = fmt.Errorf("--at: got %q, want NAME=VALUE", text)
		}
		if err != nil {
			return config, err
		}
		config.Fixed = append(config.Fixed, focus)
	}
	return config, nil
}

func runEffects(a *shell.App, cmd *cobra.Command, all application.Registry, dir string, f *effectsFlags) error {
	config, err := f.config()
	if err != nil {
		return err
	}
	run, err := all.ReadPredictor(dir)
	if err != nil {
		return err
	}
	source, ok := run.(predict.Source)
	if !ok {
		return errors.New("the run has no effects")
	}
	result, err := predict.EffectsOf(cmd.Context(), source, config)
	if err != nil {
		return err
	}
	result.Schema, result.RunDir = shell.SchemaOf("effects"), dir
	if verdict, err := application.VerdictOf(dir); err == nil && verdict != "trusted" && verdict != "exact" {
		result.Notes = append([]string{"the run is " + verdict + ": so is what is said here"}, result.Notes...)
	}
	f.out = cmp.Or(f.out, filepath.Join(dir, effectsFile))
	if err := result.WriteCSV(f.out); err != nil {
		return shell.Failed(err)
	}
	result.Files = append(result.Files, f.out)
	if !f.noPicture {
		stem := strings.TrimSuffix(filepath.Base(f.out), filepath.Ext(f.out))
		if err := result.WritePicture(filepath.Dir(f.out), stem, config.Curve); err != nil {
			return shell.Failed(err)
		}
		result.Files = append(result.Files, filepath.Join(filepath.Dir(f.out), stem+".svg"), filepath.Join(filepath.Dir(f.out), stem+".png"))
	}
	return a.Answer(f.json, result, func() {
		if !f.quiet {
			printMarginal(a.Text, result, config.Curve)
		}
	})
}

// mostHeld is the largest number of other predictors whose fixed values are printed.
const mostHeld = 20

// printEvery selects the points of a curve that are printed: the first of every printEvery points.
const printEvery = 5

func printMarginal(w io.Writer, e *predict.Effects, curve bool) {
	level := fmt.Sprintf("%g%%", 100*float64(e.Level))
	title := "Marginal means"
	if curve {
		title = "Conditional effects"
	}
	fmt.Fprintf(w, "%s of %s, %s, averaged over the models of %d posterior draws\n", title, strings.Join(e.Of, " × "), e.Axis(), e.Draws)
	for _, h := range e.Held[:min(len(e.Held), mostHeld)] {
		fmt.Fprintf(w, "  %s: %s\n", h.Name, h.Value)
	}
	if more := len(e.Held) - mostHeld; more > 0 {
		fmt.Fprintf(w, "  and %s more, at values that --json lists\n", english.Count(more, "predictor"))
	}
	for _, note := range e.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	fmt.Fprintln(w)
	add := func(t *document.Grid, category, by string, cells ...string) {
		if e.By != "" {
			cells = append([]string{by}, cells...)
		}
		if e.Categories != nil {
			cells = append([]string{category}, cells...)
		}
		t.Add(cells...)
	}
	header := func(cells ...string) *document.Grid {
		t := &document.Grid{}
		add(t, e.Response, e.By, cells...)
		return t
	}
	means := header("<"+strings.Join(e.Of, ", "), "mean", "sd", "<"+level)
	for k, m := range e.Means {
		if curve && k%predict.CurvePoints%printEvery != 0 {
			continue
		}
		add(means, m.Category, m.By, strings.Join(m.Values, ", "), document.Short(m.Mean), document.Short(m.SD), document.Interval(m.Low, m.High))
	}
	means.Print(w)
	if len(e.Contrasts) > 0 {
		fmt.Fprintln(w)
		table := header("<difference", "mean", "sd", "<"+level, "P(>0)", "P(=0)")
		for _, c := range e.Contrasts {
			add(table, c.Category, c.By, strings.Join(c.First, ", ")+" − "+strings.Join(c.Second, ", "), document.Short(c.Mean), document.Short(c.SD), document.Interval(c.Low, c.High), boundedProbability(c.Positive, 0), boundedProbability(c.Zero, 0))
		}
		table.Print(w)
	}
	fmt.Fprintf(w, "\nWritten to %s.\n", strings.Join(e.Files, ", "))
}
