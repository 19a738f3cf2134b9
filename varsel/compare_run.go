package varsel

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/run"
)

// StoredRun is a finished run as its directory holds it.
type StoredRun struct {
	Dir    string
	Record *Record
	Result *Result
}

// OpenRun reads the record and the result of a run directory.
func OpenRun(dir string) (*StoredRun, error) {
	record, err := ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	run := &StoredRun{Dir: dir, Record: record, Result: &Result{}}
	if err := rundir.ReadResult(dir, run.Result); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, ResultFile)
	groups := len(run.Result.Data.Predictors)
	if groups == 0 || len(run.Result.Inclusion) != groups {
		return nil, fmt.Errorf("%s: damaged: got %d inclusion probabilities, want one for each of %d predictors", path, len(run.Result.Inclusion), groups)
	}
	for _, model := range run.Result.Models {
		if _, err := ModelMembers(model.Code, groups); err != nil {
			return nil, fmt.Errorf("%s: damaged: %w", path, err)
		}
	}
	return run, nil
}

// readDraws reads the draws of the run; nil without error when it has none.
func (r *StoredRun) readDraws() (*draws.Draws, error) {
	path := filepath.Join(r.Dir, DrawsParquet)
	if !rundir.Exists(path) {
		return nil, nil
	}
	return draws.Read(path)
}

// comparable says why two runs cannot be compared: they answer different questions about the models
// of different tables.
func comparable(a, b *StoredRun) error {
	if err := run.SameTable(a.Dir, &a.Record.Header, b.Dir, &b.Record.Header); err != nil {
		return err
	}
	if a.Record.Design.Target != b.Record.Design.Target {
		return fmt.Errorf("%s explains %q and %s explains %q", a.Dir, a.Record.Design.Target, b.Dir, b.Record.Design.Target)
	}
	if x, y := a.Result.Data.Rows, b.Result.Data.Rows; x != y {
		return fmt.Errorf("%s uses %d rows of the table and %s uses %d", a.Dir, x, b.Dir, y)
	}
	x, y := a.Result.Data.Predictors, b.Result.Data.Predictors
	if slices.Equal(x, y) {
		return nil
	}
	onlyA, onlyB := without(x, y), without(y, x)
	if len(onlyA)+len(onlyB) == 0 {
		return fmt.Errorf("%s and %s list the same predictors in different orders", a.Dir, b.Dir)
	}
	return fmt.Errorf("different predictors to select from: only in %s: %q; only in %s: %q", a.Dir, onlyA, b.Dir, onlyB)
}

// without returns the names in x that are not in y.
func without(x, y []string) []string {
	return slices.DeleteFunc(slices.Clone(x), func(name string) bool { return slices.Contains(y, name) })
}

// differences lists, in words, the settings of two comparable runs that change the posterior.
func differences(a, b *StoredRun) []string {
	x, y := a.Record.Model.withDefaults(), b.Record.Model.withDefaults()
	var list []string
	note := func(what string, x, y any) {
		if x != y {
			list = append(list, fmt.Sprintf("%s: %v in A, %v in B", what, x, y))
		}
	}
	note("likelihood", x.Likelihood, y.Likelihood)
	note("sigma (0: unknown)", x.Sigma, y.Sigma)
	if x.Likelihood == likelihood.RobustKind && y.Likelihood == likelihood.RobustKind {
		note("sigma1", x.Sigma1, y.Sigma1)
		note("sigma2", x.Sigma2, y.Sigma2)
		note("share of outliers", x.Outlier, y.Outlier)
		note("sigma1 unknown", x.UnknownSigma1, y.UnknownSigma1)
	}
	if x.Likelihood == likelihood.StudentKind && y.Likelihood == likelihood.StudentKind {
		note("degrees of freedom", x.Degrees, y.Degrees)
	}
	if x.Likelihood.HasCategories() && y.Likelihood.HasCategories() {
		note("levels of the response", fmt.Sprint(a.Record.Design.Levels), fmt.Sprint(b.Record.Design.Levels))
	}
	note("slab", x.Slab.String(), y.Slab.String())
	note("slab scale", x.SlabScale, y.SlabScale)
	note("prior over models", x.Prior.String(), y.Prior.String())
	note("not standardised", a.Record.Design.NoStandardize, b.Record.Design.NoStandardize)
	note("no intercept", a.Record.Design.NoIntercept, b.Record.Design.NoIntercept)
	note("offset", a.Record.Design.Offset, b.Record.Design.Offset)
	note("always in", fmt.Sprint(a.Record.Design.Always), fmt.Sprint(b.Record.Design.Always))
	return list
}
