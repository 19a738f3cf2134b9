// Package timing measures the time from a table to a trusted answer.
//
//	tables.go       the tables, and the command for each
//	measure.go      one command, run several times, and its answer compared with a reference
//	hierarchies.go  tables of hierarchical regressions, and stored references for their answers
package timing

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/lab/published"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/design"
)

// Case is a table together with the command that is run on it.
type Case struct {
	// Name is the name of the table.
	Name string
	// Command is the command of vti. Flags are its flags, which follow the file.
	Command string
	Flags   []string
	// File is the name of the file in the folders of data, or "" for a simulated table.
	File string
	// Simulation or Robust, if not nil, describes the simulation of the table.
	Simulation *design.Simulation
	Robust     *published.Design
	// Reference is the source of the correct inclusion probabilities.
	Reference Reference
	// Wanted is the target time in seconds on an idle machine with two cores. It is 0 if there is
	// no target, or if the target is half of the time with fixed effort.
	Wanted float64
}

// Reference is a source of correct inclusion probabilities.
type Reference int

const (
	// NoReference means that there are no correct probabilities.
	NoReference Reference = iota
	// Enumerated means that the command "vti exact" computes the probabilities.
	Enumerated
	// Stored means that the probabilities follow from the log evidences of all models, with a
	// uniform prior over models. The evidences are in the file NAME_logz.csv next to the table.
	Stored
)

// Cases returns all cases.
func Cases() []Case {
	varselOf := func(name, target string, wanted float64, reference Reference, flags ...string) Case {
		return Case{Name: name, Command: "varsel", File: name + ".csv", Flags: append([]string{"--target", target}, flags...), Wanted: wanted, Reference: reference}
	}
	robust := []string{"--likelihood", "robust", "--no-intercept", "--no-standardize", "--always", "x0", "--model-prior", "uniform"}
	made := func(kind likelihood.Kind, rows, predictors int, wanted float64) Case {
		return Case{
			Name: fmt.Sprintf("%s %d x %d", kind, rows, predictors), Command: "varsel", Flags: []string{"--target", "y", "--likelihood", kind.String()}, Wanted: wanted,
			Simulation: &design.Simulation{Rows: rows, Predictors: predictors, Effects: 4, Correlation: 0.5, Likelihood: kind, Seed: 1},
		}
	}
	wide := func(predictors int, wanted float64) Case {
		c := made(likelihood.GaussianKind, 300, predictors, wanted)
		c.Simulation.Effects = 8
		return c
	}
	sum := made(likelihood.GaussianKind, 300, 20, 0)
	sum.Name, sum.Command, sum.Flags, sum.Simulation.Effects = "exact 300 x 20", exact, []string{"--target", "y"}, 8
	return []Case{
		varselOf("hald", "y", 0.5, Enumerated),
		varselOf("prostate", "lpsa", 0.5, Enumerated, "--exclude", "train"),
		varselOf("diabetes", "y", 0.5, Enumerated),
		varselOf("ozone", "O3", 0.5, Enumerated),
		varselOf("boston", "medv", 1, Enumerated),
		varselOf("uscrime", "y", 2, Enumerated),
		varselOf("pima", "type", 1.5, NoReference, "--exclude", "train", "--likelihood", "logistic"),
		varselOf("biochemists", "art", 1.5, NoReference, "--likelihood", "poisson"),
		varselOf("robust_vs/high_1000", "y", 8, Stored, robust...),
		varselOf("robust_vs/mid_1000", "y", 8, Stored, robust...),
		made(likelihood.LogisticKind, 300, 30, 10),
		made(likelihood.PoissonKind, 200, 30, 6),
		made(likelihood.StudentKind, 120, 20, 12),
		made(likelihood.RobustKind, 100, 20, 25),
		made(likelihood.LogisticKind, 200, 100, 40),
		{Name: "radon", Command: "hbm", File: "radon.csv", Flags: []string{"--formula", "log_radon ~ floor + (1 + floor | county)", "--select"}},
		sum,
		wide(1000, 15),
		wide(10000, 40),
		varselOf("riboflavin", "y", 180, NoReference),
		varselOf("leukemia", "y", 180, NoReference, "--likelihood", "logistic"),
		varselOf("colon", "y", 180, NoReference, "--likelihood", "logistic"),
		{
			Name: "robust design, 16 predictors", Command: "varsel", Flags: append([]string{"--target", "y"}, robust...), Wanted: 120,
			Robust: &published.Design{Predictors: 16, Misspecification: published.HighMisspecification, Seed: 1},
		},
	}
}

// Table returns the path of the file of the table. A simulated table is written to the folder
// scratch. Other tables are searched for in the folders of data and their subfolders; in each
// folder, the subfolder with the name of the table is searched first. ok is false if the file is
// not found.
func (c Case) Table(folders []string, scratch string) (path string, ok bool, err error) {
	var data *design.SimulatedData
	switch {
	case c.Robust != nil:
		data = c.Robust.Simulate()
	case c.Simulation != nil:
		if data, err = design.Simulate(*c.Simulation); err != nil {
			return "", false, err
		}
	}
	if data != nil {
		path = filepath.Join(scratch, strings.ReplaceAll(c.Name, " ", "-")+".csv")
		return path, true, atomicfile.Write(path, func(w io.Writer) error { return data.WriteCSV(w) })
	}
	for _, folder := range folders {
		inside, err := filepath.Glob(filepath.Join(folder, "*", c.File))
		if err != nil {
			return "", false, err
		}
		for _, path := range append([]string{filepath.Join(folder, c.File), filepath.Join(folder, c.Name, c.File)}, inside...) {
			if _, err := os.Stat(path); err == nil {
				return path, true, nil
			}
		}
	}
	return "", false, nil
}
