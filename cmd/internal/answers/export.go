package answers

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/zarr"
	"github.com/transdim/vti/predict"
)

// Exported is the object that vti export prints as JSON.
type Exported struct {
	RunDir string   `json:"run_dir"`
	Format string   `json:"format"`
	File   string   `json:"file"`
	Groups []string `json:"groups"`
	Chains int      `json:"chains"`
	Draws  int      `json:"draws"` // number of draws of each chain
}

// Export returns the command vti export.
func Export(a *shell.App, all application.Registry) *cobra.Command {
	var out, format string
	var most int
	var least float64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a finished run for other tools",
		Long: `Writes the draws of a finished run as ArviZ InferenceData, a Zarr store that xarray opens: posterior
(beta, gamma, sigma, … with the names of predictors as coordinates), sample_stats (log densities,
the number of the model) and, where the run predicts a response, log_likelihood,
posterior_predictive and observed_data, so that plot_forest, loo, compare and plot_ppc work at once.
Independent draws are written as four chains.

Runs on graphs can also be written as a graph. dot and graphml have all edges with a probability of
at least --least (default 0.1). bnlearn (a model string), dagitty and bif (a network over categories
with its probability tables) have one acyclic graph: that of the edges with at least this
probability, or else the most probable graph.`,
		Example: `  vti export runs/varsel-20260131-120000 --format arviz --out diabetes.zarr
  python -c "import arviz as az, xarray as xr
  print(az.loo(az.from_datatree(xr.open_datatree('diabetes.zarr', engine='zarr'))))"
  vti export runs/dag-20260131-120000 --format bif --least 0.5 --out net.bif`,
		Args: cli.Arguments(1, 1, "one run directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "arviz" {
				if cmd.Flags().Changed("draws") {
					return fmt.Errorf("--draws is for --format arviz; this one is %s", format)
				}
				return exportText(a, all, args[0], format, out, least, asJSON)
			}
			if cmd.Flags().Changed("least") {
				return fmt.Errorf("--least is for formats of graphs; this one is arviz")
			}
			return exportRun(a, cmd.Context(), all, args[0], out, most, asJSON)
		},
	}
	cmd.Flags().StringVar(&format, "format", "arviz", "format: arviz, or for graphs dot, graphml, bnlearn, dagitty or bif")
	cli.CompleteWith(cmd, "format", append([]string{"arviz"}, all.Formats()...)...)
	cmd.Flags().StringVarP(&out, "out", "o", "", "`folder` of the store (default arviz.zarr in the run directory), or file of the graph (default standard output)")
	cmd.Flags().Float64Var(&least, "least", 0, "graphs: smallest `probability` of an edge")
	cmd.Flags().IntVar(&most, "draws", 0, "largest number of draws to write, evenly spaced (default all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

// mostExported is the largest number of values in an array over rows and draws: 2 GiB of float64.
const mostExported = 1 << 28

func exportRun(a *shell.App, ctx context.Context, all application.Registry, dir, out string, most int, asJSON bool) error {
	run, err := all.Read(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, draws.ParquetFile)
	if !rundir.Exists(path) {
		return fmt.Errorf("%s holds no %s: there are no draws to export", dir, draws.ParquetFile)
	}
	stored, err := draws.Read(path)
	if err != nil {
		return err
	}
	chosen, chains, err := chooseExported(stored, most)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var rows *predict.Rows
	if run.Page.Predictor != nil {
		if rows, err = run.OwnRows(); err != nil {
			return err
		}
		if rows.Len()*len(chosen) > mostExported {
			return fmt.Errorf("%d rows and %d draws are too many to write: choose --draws %d or fewer", rows.Len(), len(chosen), mostExported/rows.Len())
		}
	}
	out = cmp.Or(out, filepath.Join(dir, "arviz.zarr"))
	w, err := zarr.Create(out)
	if err != nil {
		return err
	}
	defer w.Abort()
	e := &exporter{w: w, stored: stored, chosen: chosen, shape: zarr.Shape{{Name: "chain", Length: chains}, {Name: "draw", Length: len(chosen) / chains}}}
	if err := e.posterior(); err != nil {
		return shell.Failed(err)
	}
	if rows != nil {
		if err := e.rows(ctx, rows); err != nil {
			return shell.Failed(err)
		}
	}
	if err := w.Close(); err != nil {
		return shell.Failed(err)
	}
	result := Exported{RunDir: dir, Format: "arviz", File: out, Groups: e.groups, Chains: chains, Draws: len(chosen) / chains}
	return a.Answer(asJSON, shell.Described{Schema: "export", Object: result}, func() {
		fmt.Fprintf(a.Text, "%s holds %s: %s of %s\n\n", out, strings.Join(e.groups, ", "), english.Count(result.Chains, "chain"), english.Count(result.Draws, "draw"))
		fmt.Fprintf(a.Text, "  import arviz as az, xarray as xr\n  run = az.from_datatree(xr.open_datatree(%q, engine=\"zarr\"))\n", out)
		fmt.Fprint(a.Text, "  az.summary(run); az.plot_forest(run)\n")
		if rows != nil {
			fmt.Fprint(a.Text, "  az.loo(run)\n")
		}
	})
}

// independentChains is the number of chains into which independent draws are split, because
// programs that read InferenceData compare chains.
const independentChains = 4

// chooseExported returns the indices of the draws to write, chain by chain. All chains have the
// same length.
func chooseExported(d *draws.Draws, most int) (chosen []int, chains int, err error) {
	byChain := make([][]int, independentChains)
	if d.Chain != nil {
		byChain = make([][]int, slices.Max(d.Chain))
	}
	for i := range d.Len() {
		chain := i * independentChains / d.Len()
		if d.Chain != nil {
			chain = int(d.Chain[i] - 1)
		}
		byChain[chain] = append(byChain[chain], i)
	}
	length := d.Len()
	for _, chain := range byChain {
		length = min(length, len(chain))
	}
	if length == 0 {
		return nil, 0, fmt.Errorf("got %d draws, want one for each of %d chains", d.Len(), len(byChain))
	}
	keep := length
	if most > 0 {
		keep = min(length, max(1, most/len(byChain)))
	}
	for _, chain := range byChain {
		chosen = append(chosen, apply.UpTo(keep, func(k int) int { return chain[k*length/keep] })...)
	}
	return chosen, len(byChain), nil
}

// exporter writes the groups of InferenceData, the format of ArviZ.
type exporter struct {
	w      *zarr.Writer
	stored *draws.Draws
	chosen []int      // indices of draws, chain by chain
	shape  zarr.Shape // number of chains, and number of draws of each
	groups []string
}

// startGroup starts a group, with the coordinates of chains and draws.
func (e *exporter) startGroup(name string, withDraws bool) error {
	e.groups = append(e.groups, name)
	err := e.w.Group(name, map[string]any{
		"inference_library": "vti", "inference_library_version": vti.Version, "creation_library": "vti", "density_scale": e.stored.DensityScale,
	})
	if err != nil || !withDraws {
		return err
	}
	for _, dim := range e.shape {
		numbers := apply.UpTo(dim.Length, func(i int) int64 { return int64(i) })
		if err := e.w.Integers(name, dim.Name, zarr.Shape{dim}, numbers); err != nil {
			return err
		}
	}
	return nil
}

// posterior writes the draws of parameters and indicators, and the statistics of the sampler.
func (e *exporter) posterior() error {
	if err := e.startGroup("posterior", true); err != nil {
		return err
	}
	columns := e.stored.Numbered()
	first := len(columns) - len(e.stored.Cards) - len(e.stored.Coordinates)
	for _, v := range variablesOf(columns[first:]) {
		if err := e.variable(v); err != nil {
			return err
		}
	}
	if err := e.startGroup("sample_stats", true); err != nil {
		return err
	}
	stats := map[string]func(i int) float64{
		"lp":    func(i int) float64 { return e.stored.LogP[i] },
		"model": func(i int) float64 { return e.stored.ModelNumber(e.stored.Code(i)) },
	}
	if e.stored.LogQ != nil {
		stats["log_q"] = func(i int) float64 { return e.stored.LogQ[i] }
	}
	for name, value := range stats {
		values := apply.To(e.chosen, value)
		if err := e.w.Floats("sample_stats", name, e.shape, values); err != nil {
			return err
		}
	}
	return nil
}

// variable is an array in the group posterior of InferenceData. It holds the columns of draws whose
// names differ only in the label in brackets.
type variable struct {
	name    string
	labels  []string // labels of the columns; nil for a single number
	columns []int    // numbers of the columns: sites of the code first, then coordinates
}

// variablesOf groups columns, such as beta[bmi] and sd(Days | Subject), by the text before the
// bracket.
func variablesOf(columns []string) (list []*variable) {
	byName := map[string]*variable{}
	for at, column := range columns {
		name, label, labelled := column, "", false
		if k := strings.IndexAny(column, "[("); k > 0 && strings.HasSuffix(column, map[byte]string{'[': "]", '(': ")"}[column[k]]) {
			name, label, labelled = column[:k], column[k+1:len(column)-1], true
		}
		name = strings.Map(func(r rune) rune {
			if r == '/' || r == '\\' {
				return '_'
			}
			return r
		}, name)
		v := byName[name]
		if v == nil || !labelled || v.labels == nil {
			v = &variable{name: name}
			byName[name] = v
			list = append(list, v)
		}
		if v.columns = append(v.columns, at); labelled {
			v.labels = append(v.labels, label)
		}
	}
	return list
}

func (e *exporter) variable(v *variable) error {
	sites := len(e.stored.Cards)
	value := func(i, at int) float64 {
		if at < sites {
			return float64(e.stored.Code(i)[at])
		}
		return e.stored.Values(i)[at-sites]
	}
	values := make([]float64, 0, len(e.chosen)*len(v.columns))
	for _, i := range e.chosen {
		values = append(values, apply.To(v.columns, func(at int) float64 { return value(i, at) })...)
	}
	if v.labels == nil {
		return e.w.Floats("posterior", v.name, e.shape, values)
	}
	dim := v.name + "_name"
	if err := e.w.Texts("posterior", dim, dim, v.labels); err != nil {
		return err
	}
	return e.w.Floats("posterior", v.name, append(slices.Clone(e.shape), zarr.Dim{Name: dim, Length: len(v.labels)}), values)
}

// rows writes the predictions of the run for the rows of its own table.
func (e *exporter) rows(ctx context.Context, rows *predict.Rows) error {
	places := apply.To(rows.Places, func(place int) int64 { return int64(place) })
	dim := zarr.Dim{Name: "row", Length: rows.Len()}
	shape := append(slices.Clone(e.shape), dim)
	eta, all := make([]float64, rows.Draws()*rows.Planes()), make([]float64, rows.Draws())
	column := func(fill func(row int)) func(row int, values []float64) error {
		return func(row int, values []float64) error {
			rows.Predictor(row, eta)
			fill(row)
			for k, i := range e.chosen {
				values[k] = all[i]
			}
			return ctx.Err()
		}
	}
	for _, group := range []struct {
		name string
		fill func(row int)
	}{
		{"log_likelihood", func(row int) { rows.LogDensities(row, eta, all) }},
		{"posterior_predictive", func(row int) {
			random := stream.Rand(e.stored.Seed, fmt.Sprintf("export/%d", row))
			for s := range all {
				all[s] = rows.Draw(row, s, eta, random)
			}
		}},
	} {
		if err := e.startGroup(group.name, true); err != nil {
			return err
		}
		if err := e.w.Integers(group.name, dim.Name, zarr.Shape{dim}, places); err != nil {
			return err
		}
		if err := e.w.Columns(group.name, "y", shape, column(group.fill)); err != nil {
			return err
		}
	}
	if err := e.startGroup("observed_data", false); err != nil {
		return err
	}
	if err := e.w.Integers("observed_data", dim.Name, zarr.Shape{dim}, places); err != nil {
		return err
	}
	return e.w.Floats("observed_data", "y", zarr.Shape{dim}, rows.Y)
}
