package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/verdict"
)

// Comparison holds the common fields of all comparisons; the applications embed it. A and B are the
// runs in the order given.
type Comparison struct {
	// Schema names the schema of the object, with its version; docs/schema has the file.
	Schema  string `json:"schema"`
	Command string `json:"command"`
	Version string `json:"version"`
	A       Run    `json:"a"`
	B       Run    `json:"b"`
	// Notes list settings that differ and change the posterior, and parts not compared.
	Notes []string `json:"notes,omitempty"`
	// LogEvidence are the log evidences over all models, in nats: the difference is the log Bayes
	// factor of A against B.
	LogEvidence *Pair `json:"log_evidence,omitempty"`
	// TotalVariation is ½ Σ_m |p_A(m) − p_B(m)|. It is an interval if a run lists only its best
	// models, and nil for runs with a single model.
	TotalVariation *Interval `json:"total_variation,omitempty"`
	// KLAB is Σ_m p_A(m) log (p_A(m) / p_B(m)) and KLBA the reverse, in nats. They are null without
	// the probability of every model, and where a model of one run has none in the other.
	KLAB report.Number `json:"kl_a_b"`
	KLBA report.Number `json:"kl_b_a"`
	// Models are the models in the list of either run, the most probable (in either) first.
	Models []Pair `json:"models,omitempty"`
	// Disagreements are the largest differences in units of their combined standard error.
	Disagreements []Pair `json:"disagreements"`
	RunDir        string `json:"run_dir,omitempty"`
}

// Run describes a compared run.
type Run struct {
	RunDir  string `json:"run_dir"`
	Command string `json:"command"`
	Seed    uint64 `json:"seed"`
	// Verdict is the verdict of the certificate or of the chains; nil for an exact answer.
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
}

// Interval bounds a number; Low equals High when it is known.
type Interval struct {
	Low  report.Number `json:"low"`
	High report.Number `json:"high"`
}

// Differences lists the settings that differ between structs of one type in A and B, by their JSON
// names.
func Differences(pairs ...[2]any) (list []string, err error) {
	for _, pair := range pairs {
		var settings [2]map[string]string
		names := map[string]string{}
		for k, value := range pair {
			if settings[k], err = report.Leaves(value); err != nil {
				return nil, err
			}
			maps.Copy(names, settings[k])
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if first, second := cmp.Or(settings[0][name], "none"), cmp.Or(settings[1][name], "none"); first != second {
				list = append(list, fmt.Sprintf("%s: %s in A, %s in B", name, first, second))
			}
		}
	}
	return list, nil
}

// These are the names of the files that [Comparison.Write] makes.
const (
	File       = "comparison.json"
	ModelsFile = "models.csv"
	figureName = "models" // .svg and .png
)

// ErrHoldsComparison means that a directory holds a comparison: results are never overwritten.
var ErrHoldsComparison = errors.New("already holds a comparison")

// Refuse fails for a directory that already holds a comparison.
func Refuse(dir string) error {
	if rundir.Exists(filepath.Join(dir, File)) {
		return fmt.Errorf("%s %w (%s): choose another directory", dir, ErrHoldsComparison, File)
	}
	return nil
}

// Files returns the names of the files of a comparison other than File and the tables of the
// application.
func Files() []string { return []string{ModelsFile, figureName + ".svg", figureName + ".png"} }

// Table is a CSV file.
type Table struct {
	Name string
	Rows [][]string // the names of the columns first
}

// Write stores a comparison in a directory: whole, the value that holds c, as JSON, the tables and
// a table of the models as CSV, and a figure as SVG and PNG. It fails if there already is one.
func (c *Comparison) Write(dir string, whole any, tables ...Table) error {
	if err := Refuse(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	c.RunDir = dir
	if len(c.Models) > 0 {
		tables = append(tables, Pairs(ModelsFile, "code", c.Models))
		if err := c.figure().Write(dir); err != nil {
			return err
		}
	}
	files := map[string][][]string{}
	for _, table := range tables {
		files[table.Name] = table.Rows
	}
	if err := rundir.WriteTables(dir, files); err != nil {
		return err
	}
	return rundir.WriteJSON(filepath.Join(dir, File), whole)
}

// Pairs is a table of pairs; first is the name of its first column.
func Pairs(name, first string, pairs []Pair) Table {
	rows := [][]string{{first, "a", "se_a", "b", "se_b", "difference", "z"}}
	for _, p := range pairs {
		rows = append(rows, []string{p.Name + p.Code, p.A.Text(), p.SEA.Text(), p.B.Text(), p.SEB.Text(), p.Difference.Text(), p.Z.Text()})
	}
	return Table{name, rows}
}
