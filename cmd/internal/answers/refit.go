package answers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/predict"
	runs "github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// refitter repeats a finished run on its table without some rows, and predicts these rows.
type refitter struct {
	app    *shell.App
	all    application.Registry
	header runs.Header
	table  *table.Table
	dir    string   // directory for the files of the repeated run
	levels []string // flags that name the categories of the response, if the original run had none
}

// newRefitter reads the table of a run. The argument categories holds the categories of the
// response, or is empty if the response is a number. Flags give these categories to the repeated
// run, because some of them may be missing from the remaining rows. The caller removes the
// refitter's directory dir.
func newRefitter(a *shell.App, all application.Registry, run *application.Stored, categories []string) (*refitter, error) {
	header := run.Header
	if why := run.Command.Unrepeatable; why != "" {
		return nil, fmt.Errorf("runs of vti %s cannot be repeated without rows: %s", header.Command, why)
	}
	data, err := header.Table()
	if err != nil {
		return nil, err
	}
	header.Flags = maps.Clone(header.Flags)
	delete(header.Flags, "region") // the repeated run reads a copy of the columns of this region
	if slices.Equal(header.Flags["na"], []string{"mean"}) {
		data, _ = data.FillGenotypes(data.Names(), data)
		header.Flags["na"] = []string{"drop"}
	}
	// A column that mixes numbers and texts holds labels: the run could use it only as such.
	data = data.WithLabels(data.Names()...)
	dir, err := os.MkdirTemp("", "vti-refit-")
	if err != nil {
		return nil, shell.Failed(err)
	}
	r := &refitter{a, all, header, data, dir, nil}
	if _, recorded := header.Flags["levels"]; !recorded {
		r.levels = apply.To(categories, func(category string) string { return "--levels=" + cli.Listed(category) })
	}
	return r, nil
}

// without leaves out the rows of the table for which left returns true, and computes the posterior
// given the remaining rows. It returns the rows left out, with their densities under draws from
// this posterior, and the verdict on the posterior.
func (r *refitter) without(ctx context.Context, left func(row int) bool) (*predict.Rows, string, error) {
	kept, out := filepath.Join(r.dir, "kept.parquet"), filepath.Join(r.dir, "left.parquet")
	for path, keep := range map[string]bool{kept: false, out: true} {
		if err := r.table.WriteParquet(path, r.table.Names(), func(row int) bool { return left(row) == keep }); err != nil {
			return nil, "", shell.Failed(err)
		}
	}
	dir := filepath.Join(r.dir, "run")
	if err := os.RemoveAll(dir); err != nil {
		return nil, "", shell.Failed(err)
	}
	args := append(strings.Fields(r.header.Command), kept, "--quiet", "--no-report", "--out="+dir)
	args = append(args, r.levels...)
	args = append(args, rundir.FlagWords(r.header.Flags, strings.Clone, "out", "quiet", "json", "no-report", "resume")...)
	var said bytes.Buffer
	if status := r.app.Again(ctx, args, io.Discard, &said); status != shell.StatusOK && status != shell.StatusUntrusted {
		return nil, "", cmp.Or(ctx.Err(), shell.Failed(fmt.Errorf("without these rows: %s", strings.TrimPrefix(strings.TrimSpace(said.String()), "vti: "))))
	}
	fresh, err := table.ReadFile(out)
	if err != nil {
		return nil, "", err
	}
	again, err := r.all.ReadPredictor(dir)
	if err != nil {
		return nil, "", err
	}
	observed := again.Rows
	if repeating, ok := again.(interface {
		Observed(fresh *table.Table) (*predict.Rows, error)
	}); ok {
		observed = repeating.Observed
	}
	rows, err := observed(fresh)
	if err != nil {
		return nil, "", err
	}
	verdict, err := application.VerdictOf(dir)
	return rows, verdict, err
}

// refitRows repeats the run without each row for which importance sampling is not reliable, and
// replaces the estimate of the row.
func (r *refitter) refitRows(ctx context.Context, rows *predict.Rows, loo *predict.LOO, seed uint64, note func(string)) error {
	places, _ := r.table.Places()
	for k, row := range slices.Clone(loo.Rows) {
		if row.KHat <= loo.Limit {
			continue
		}
		if k > 0 && loo.Rows[k-1].Row == row.Row || k+1 < len(loo.Rows) && loo.Rows[k+1].Row == row.Row {
			return fmt.Errorf("%s %d stands for several rows, of which --refit cannot leave out one: make a row of each trial", rows.Unit, row.Row)
		}
		note(fmt.Sprintf("computing without %s %d (row %d of %d)", rows.Unit, row.Row, k+1, len(loo.Rows)))
		fresh, _, err := r.without(ctx, func(i int) bool { return places[i] == row.Row })
		if err != nil {
			return fmt.Errorf("%s %d: %w", rows.Unit, row.Row, err)
		}
		if err := loo.Replace(fresh, row.Row, seed); err != nil {
			return err
		}
	}
	loo.Summarise(rows)
	return nil
}

// byGroup predicts the rows of each level of a column from the rows of all other levels.
func (r *refitter) byGroup(ctx context.Context, rows *predict.Rows, name string, note func(string)) (*predict.ByGroup, error) {
	column, err := r.table.Lookup(name)
	if err != nil {
		return nil, err
	}
	column = column.AsFactor()
	used := map[int]bool{}
	for _, place := range rows.Places {
		used[place] = true
	}
	places, _ := r.table.Places()
	result := &predict.ByGroup{Column: name}
	for k, level := range column.Levels {
		count := len(apply.Where(len(places), func(row int) bool { return column.Codes[row] == k && used[places[row]] }))
		if count == 0 {
			continue
		}
		note(fmt.Sprintf("computing without %s %s (%d of %d)", name, level, k+1, len(column.Levels)))
		fresh, verdict, err := r.without(ctx, func(row int) bool { return column.Codes[row] == k && used[places[row]] })
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", name, level, err)
		}
		elpd, err := fresh.Joint()
		if err != nil {
			return nil, err
		}
		if math.IsNaN(elpd) {
			return nil, shell.Failed(errors.New("the log predictive density of " + name + " " + level + " is not a number"))
		}
		result.Groups = append(result.Groups, predict.HeldOut{Group: level, Rows: fresh.Len(), ELPD: predict.Number(elpd), Verdict: verdict})
	}
	result.Summarise()
	return result, nil
}
