package compare

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/verdict"
)

// Comparison compares two runs, A and B. It holds the fields that all comparisons have. The type of
// the comparison of an application, such as variable selection, embeds it.
type Comparison struct {
	// Schema is the name of the JSON schema of the object, in docs/schema, with its version.
	Schema string `json:"schema"`
	// Command is the command that made the comparison, and Version the version of the module.
	Command string `json:"command"`
	Version string `json:"version"`
	// A and B describe the two runs, in the order in which they were given.
	A Run `json:"a"`
	B Run `json:"b"`
	// Notes lists the settings that differ between the runs and change the posterior, and the parts
	// of the answers that were not compared.
	Notes []string `json:"notes,omitempty"`
	// LogEvidence holds the log evidences of the two runs, in nats. The evidence of a run is the
	// mean of the evidences of its models under their prior. The difference is the log Bayes factor
	// of A against B.
	LogEvidence *Pair `json:"log_evidence,omitempty"`
	// TotalVariation is ½ Σ_m |p_A(m) − p_B(m)|. It is an interval if a run lists only its most
	// probable models, and nil for runs with a single model.
	TotalVariation *Interval `json:"total_variation,omitempty"`
	// KLAB is Σ_m p_A(m) log (p_A(m) / p_B(m)) in nats, and KLBA is the same with A and B
	// exchanged. They are null in JSON if a run does not list every model, or if the sum is
	// infinite because a model with probability 0 in the run of the denominator has a positive
	// probability in the other run.
	KLAB report.Number `json:"kl_a_b"`
	KLBA report.Number `json:"kl_b_a"`
	// Models holds the models that either run lists, ordered by the larger of two probabilities.
	Models []Pair `json:"models,omitempty"`
	// Disagreements holds the numbers that differ most between the two runs, in units of the
	// standard error of the difference.
	Disagreements []Pair `json:"disagreements"`
	// RunDir is the directory of the comparison; absent if it has none.
	RunDir string `json:"run_dir,omitempty"`
}

// Run describes one of the two compared runs.
type Run struct {
	// RunDir is the directory of the run, Command its command and Seed its random seed.
	RunDir  string `json:"run_dir"`
	Command string `json:"command"`
	Seed    uint64 `json:"seed"`
	// Verdict is the verdict of the certificate or of the chains; nil for an exact answer.
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
}

// String returns the directory of the run, its command and its verdict.
func (r Run) String() string {
	said := "exact"
	if r.Verdict != nil {
		said = r.Verdict.String()
	}
	return fmt.Sprintf("%s (vti %s, %s)", r.RunDir, r.Command, said)
}

// Interval holds bounds of a number. Low equals High if the number is known.
type Interval struct {
	Low  report.Number `json:"low"`
	High report.Number `json:"high"`
}

// Differences returns the settings that differ between A and B. Each pair holds two structs of the
// same type, one of A and one of B. Settings are given by their names in JSON.
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

// These constants are the names of the files that [Comparison.Write] writes.
const (
	File       = "comparison.json"
	ModelsFile = "models.csv"
	figureName = "models" // name of the figures without the extensions .svg and .png
)

// Refuse returns an error if the directory already holds a comparison, which is never overwritten.
func Refuse(dir string) error {
	if rundir.Exists(filepath.Join(dir, File)) {
		return fmt.Errorf("%s already holds a comparison (%s): choose another directory", dir, File)
	}
	return nil
}

// Files returns the names of the table of models and of the figures that [Comparison.Write] writes.
// It leaves out comparison.json, and the tables that an application adds.
func Files() []string { return []string{ModelsFile, figureName + ".svg", figureName + ".png"} }

// Write writes a comparison to a directory. The argument whole is the value that embeds c; it is
// written as JSON. A figure is written as SVG and PNG. A table of the models and the given tables,
// whose keys are names of files, are written as CSV. Write returns an error if the directory
// already holds a comparison.
func (c *Comparison) Write(dir string, whole any, tables map[string][][]string) error {
	if err := Refuse(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	c.RunDir = dir
	if len(c.Models) > 0 {
		models := map[string][][]string{ModelsFile: Pairs("code", c.Models)}
		if err := rundir.WriteTables(dir, models); err != nil {
			return err
		}
		if err := c.figure().Write(dir); err != nil {
			return err
		}
	}
	if err := rundir.WriteTables(dir, tables); err != nil {
		return err
	}
	return rundir.WriteJSON(filepath.Join(dir, File), whole)
}

// Pairs returns a table of pairs. The argument first is the name of its first column.
func Pairs(first string, pairs []Pair) [][]string {
	rows := [][]string{{first, "a", "se_a", "b", "se_b", "difference", "z"}}
	for _, p := range pairs {
		rows = append(rows, []string{p.Name + p.Code, p.A.Text(), p.SEA.Text(), p.B.Text(), p.SEB.Text(), p.Difference.Text(), p.Z.Text()})
	}
	return rows
}
