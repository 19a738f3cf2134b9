package regression

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// StoredRun is a finished run of a regression, read from its directory.
type StoredRun struct{ run.Stored[Record, Result] }

// OpenRun reads the record and the result of a run directory.
func OpenRun(dir string) (*StoredRun, error) {
	stored, err := run.ReadStored[Record, Result](dir)
	return &StoredRun{stored}, err
}

// Comparison holds the agreement of two regressions. Models and terms are compared only for two
// selections of terms from one formula.
type Comparison struct {
	compare.Comparison
	// Terms compares the probabilities of the states of each term, such as absent or pooled.
	Terms []compare.Pair `json:"terms,omitempty"`
	// Estimates compares the posterior of every number that both runs have, including the effects
	// of single levels of a grouping.
	Estimates []Estimates `json:"estimates"`
}

// Estimates holds the posterior of one number in two runs, A and B.
type Estimates struct {
	// Name is the name of the number. MeanA and SDA are its posterior mean and standard deviation
	// in A, MeanB and SDB in B.
	Name  string `json:"name"`
	MeanA Figure `json:"mean_a"`
	SDA   Figure `json:"sd_a"`
	MeanB Figure `json:"mean_b"`
	SDB   Figure `json:"sd_b"`
	// Shift is the difference of the means, A − B, divided by the root mean square of the two
	// standard deviations. Ratio is SDA / SDB.
	Shift Figure `json:"shift"`
	Ratio Figure `json:"ratio"`
}

// Compare sets two finished regressions on the same rows of the same table side by side. If their
// formulas differ, the log evidences compare the formulas. It refuses runs on different tables,
// rows or responses.
func Compare(a, b *StoredRun) (*Comparison, error) {
	if err := run.SameTable(a.Dir, &a.Record.Header, b.Dir, &b.Record.Header); err != nil {
		return nil, err
	}
	if x, y := a.Result.Data.Rows, b.Result.Data.Rows; x != y {
		return nil, fmt.Errorf("%s uses %d rows of the table and %s uses %d, want the same rows", a.Dir, x, b.Dir, y)
	}
	formulas := make([]*formula.Formula, 2)
	for k, run := range []*StoredRun{a, b} {
		var err error
		if formulas[k], err = formula.Parse(run.Record.Frame.Formula); err != nil {
			return nil, fmt.Errorf("%s: %w", run.Dir, err)
		}
	}
	if x, y := formulas[0].Response.String(), formulas[1].Response.String(); x != y {
		return nil, fmt.Errorf("%s explains %s and %s explains %s, want one response", a.Dir, x, b.Dir, y)
	}
	c := &Comparison{Comparison: compare.Comparison{
		Schema: "vti/compare-regressions/1", Command: "compare", Version: vti.Version, A: a.summary(), B: b.summary(), KLAB: Figure(math.NaN()), KLBA: Figure(math.NaN()), Disagreements: []compare.Pair{},
	}}
	var err error
	if c.Notes, err = compare.Differences([2]any{a.Record.Frame, b.Record.Frame}, [2]any{a.Record.Model, b.Record.Model}); err != nil {
		return nil, err
	}
	if x, y := a.Result, b.Result; x.LogEvidence != nil && y.LogEvidence != nil {
		unknown := Figure(math.NaN())
		c.LogEvidence = new(compare.NewPair(*x.LogEvidence, *cmp.Or(x.LogEvidenceSE, &unknown), *y.LogEvidence, *cmp.Or(y.LogEvidenceSE, &unknown)))
	}
	if len(a.Result.Models) > 0 && len(b.Result.Models) > 0 && a.Record.Frame.Formula == b.Record.Frame.Formula {
		c.CompareModels(a.Result.listed(), b.Result.listed())
		c.Terms = pairTerms(a.Result.Terms, b.Result.Terms)
		c.Disagreements = compare.Disagreements(c.Terms, c.Models)
	}
	ofA, ofB := a.Result.estimates(), b.Result.estimates()
	if x, y := a.Result.reference(), b.Result.reference(); x != y {
		c.Notes = append(c.Notes, fmt.Sprintf("log odds are against %q and against %q: effects are not compared", x, y))
		ofA = a.Result.SDs
	}
	c.Estimates = pairEstimates(ofA, ofB)
	return c, nil
}

// Write makes a directory and writes the comparison to it: the whole as JSON, estimates, terms and
// models as CSV, and a plot of the probabilities of models in one run against the other as SVG and
// PNG. It refuses a directory that already holds a comparison.
func (c *Comparison) Write(dir string) error {
	tables := map[string][][]string{"estimates.csv": report.Rows(c.Estimates, "name", "mean_a", "sd_a", "mean_b", "sd_b", "shift", "ratio")}
	if len(c.Terms) > 0 {
		tables["terms.csv"] = compare.Pairs("term", c.Terms)
	}
	return c.Comparison.Write(dir, c, tables)
}

func (r *StoredRun) summary() compare.Run {
	s := compare.Run{RunDir: r.Dir, Command: r.Record.Command, Seed: r.Record.Seed}
	if r.Result.Certificate != nil {
		s.Verdict = &r.Result.Certificate.Verdict
	}
	return s
}

func (r *Result) listed() []compare.Model {
	return apply.To(r.Models, func(m ModelSummary) compare.Model {
		return compare.Model{Code: m.Code, Probability: m.Certified, SE: m.SE}
	})
}

func pairTerms(a, b []TermState) (pairs []compare.Pair) {
	for _, x := range a {
		if k := slices.IndexFunc(b, func(y TermState) bool { return x.Term == y.Term && x.State == y.State }); k >= 0 {
			pair := compare.NewPair(x.Prob, x.SE, b[k].Prob, b[k].SE)
			pair.Name = x.Term + ": " + x.State
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// reference returns the category in the denominator of log odds, or "" if there is none.
func (r *Result) reference() string {
	if len(r.Categories) == 0 {
		return ""
	}
	return r.Categories[0]
}

// estimates returns the posteriors of all single numbers, under distinct names.
func (r *Result) estimates() []Summary {
	varying := apply.To(r.Varying, func(v LevelSummary) Summary {
		return Summary{Name: v.Group + " " + v.Level + ": " + v.Term, Mean: v.Mean, SD: v.SD}
	})
	return slices.Concat(r.Effects, r.SDs, r.Cuts, r.Shares, varying)
}

func pairEstimates(a, b []Summary) []Estimates {
	inB := make(map[string]Summary, len(b))
	for _, y := range b {
		inB[y.Name] = y
	}
	list := []Estimates{}
	for _, x := range a {
		y, ok := inB[x.Name]
		if !ok {
			continue
		}
		scale := Figure(math.Hypot(float64(x.SD), float64(y.SD)) / math.Sqrt2)
		list = append(list, Estimates{Name: x.Name, MeanA: x.Mean, SDA: x.SD, MeanB: y.Mean, SDB: y.SD, Shift: (x.Mean - y.Mean) / scale, Ratio: x.SD / y.SD})
	}
	return list
}
