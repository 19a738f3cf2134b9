// Package cardinality repeats the study of growing model spaces of Davies et al. (2025), figure 4:
// robust regressions with more and more predictors, whose models every sampler of models draws,
// each against long reversible-jump chains.
//
//	sweep.go   the runs of the study, shared among processes, and its rows
//	figure.go  cross-entropies against the number of predictors
package cardinality

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/shard"
	"github.com/transdim/vti/varsel/design"
)

// Sweep says what is drawn and how it is answered.
type Sweep struct {
	// Predictors are their numbers, Levels those of misspecification, and DataSets how many tables
	// there are of each kind, with seeds from 1 on.
	Predictors []int
	Levels     []design.Misspecification
	DataSets   int
	// Only lists the samplers to fit with; nil: all of [Samplers].
	Only []string
	// Flow is that of every fit, and Steps its training; 0: the default of vti varsel.
	Flow  string
	Steps int
	// Iterations are those of the chains. A sixth more comes before them.
	Iterations int
	// Dir is the directory of tables and runs.
	Dir string
	// Command runs a command line of vti and returns its standard output.
	Command func(ctx context.Context, args ...string) ([]byte, error)
	// Status, if not nil, is called with what is begun.
	Status func(text string)
}

// Row is one fit against the chains of its table.
type Row struct {
	Level      string `json:"misspecification"`
	Predictors int    `json:"predictors"`
	DataSet    int    `json:"data_set"`
	Sampler    string `json:"sampler"`
	// CrossEntropy of the draws of the chains under q, in nats on the working scale.
	CrossEntropy   report.Number `json:"cross_entropy"`
	CrossEntropySE report.Number `json:"cross_entropy_se"`
	// MeanError and LargestError are those of certified inclusion probabilities.
	MeanError    report.Number `json:"mean_error"`
	LargestError report.Number `json:"largest_error"`
	Verdict      string        `json:"verdict"`
	KHat         report.Number `json:"khat"`
	ESS          report.Number `json:"ess"`
	Seconds      report.Number `json:"seconds"`
	// Those of the chains.
	ChainVerdict string        `json:"chain_verdict"`
	ChainRHat    report.Number `json:"chain_rhat"`
	ChainSeconds report.Number `json:"chain_seconds"`
}

// Table is the name of the table: misspecification, predictors and data set.
func (r Row) Table() string { return tableName(r.Level, r.Predictors, r.DataSet) }

// Samplers of models, in the order of the rows of a table.
var Samplers = []string{"categorical", "surrogate", "autoregressive"}

// largestTable is the number of predictors up to which q(m) can be a table, or a surrogate over
// one, that starts from a pilot run of every model.
const largestTable = 16

// Chains of a table, at so many temperatures, of which about so many draws of each are kept.
const (
	chains       = 32
	temperatures = 16
	keptDraws    = 800
)

// fewDraws certify the samplers but the last of a table: the same chains would certify all.
const fewDraws = 1 << 14

// dataSet is a table of the study.
type dataSet struct {
	level      design.Misspecification
	predictors int
	number     int
}

func (d dataSet) String() string { return tableName(d.level.String(), d.predictors, d.number) }

func tableName(level string, predictors, number int) string {
	return fmt.Sprintf("%s-%d-%d", level, predictors, number)
}

func (d dataSet) samplers() []string {
	if d.predictors > largestTable {
		return Samplers[len(Samplers)-1:]
	}
	return Samplers
}

// fit is a run of vti varsel.
type fit struct {
	dataSet
	sampler string
}

// Run makes the runs that are not there, and returns a row for each fit: by misspecification,
// number of predictors, table and sampler. A sweep that was stopped continues, and one may grow.
//
// own, if not nil, is the part of this process among several that make the runs; each ends with all
// rows.
func (s Sweep) Run(ctx context.Context, own *shard.Shard) ([]Row, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	var sets []dataSet
	var fits []fit
	for _, level := range s.Levels {
		for _, predictors := range s.Predictors {
			for number := 1; number <= s.DataSets; number++ {
				set := dataSet{level, predictors, number}
				sets = append(sets, set)
				for _, sampler := range set.samplers() {
					if s.Only == nil || slices.Contains(s.Only, sampler) {
						fits = append(fits, fit{set, sampler})
					}
				}
			}
		}
	}
	// A piece says that the chains are there.
	if _, err := shard.Map(ctx, own, shard.Stage[dataSet, bool]{
		Name: "chains",
		Key:  func(w io.Writer, set dataSet) { fmt.Fprintln(w, s.chainsDir(set)) },
		Do: func(ctx context.Context, set dataSet) (bool, error) {
			return true, s.sample(ctx, set)
		},
	}, sets); err != nil {
		return nil, err
	}
	return shard.Map(ctx, own, shard.Stage[fit, Row]{
		Name: "fits",
		Key:  func(w io.Writer, f fit) { fmt.Fprintln(w, s.chainsDir(f.dataSet), s.fitDir(f)) },
		Do:   s.measure,
	}, fits)
}

func (s Sweep) tablePath(set dataSet) string { return filepath.Join(s.Dir, set.String()+".csv") }

func (s Sweep) chainsDir(set dataSet) string {
	return filepath.Join(s.Dir, fmt.Sprintf("%s-chains-%d", set, s.Iterations))
}

func (s Sweep) fitDir(f fit) string {
	name := fmt.Sprintf("%s-%s-%s", f.dataSet, f.sampler, s.Flow)
	if s.Steps > 0 {
		name += fmt.Sprintf("-%d", s.Steps)
	}
	return filepath.Join(s.Dir, name)
}

// problem are the arguments of a command that answers a table.
func (s Sweep) problem(set dataSet) []string {
	return []string{s.tablePath(set), "--target", "y", "--likelihood", "robust", "--no-standardize", "--no-intercept", "--always", "x0"}
}

// sample draws a table and runs chains on it.
func (s Sweep) sample(ctx context.Context, set dataSet) error {
	if _, err := s.Command(ctx, "simulate", "varsel", "--design", "paper", "--misspecification", set.level.String(),
		"--predictors", strconv.Itoa(set.predictors), "--seed", strconv.Itoa(set.number), "--out", s.tablePath(set)); err != nil {
		return err
	}
	count := func(n int) string { return strconv.Itoa(max(1, n)) }
	return s.run(ctx, s.chainsDir(set), append([]string{"rjmcmc", "varsel", "--seed", "2", "--chains", count(chains), "--temperatures", count(temperatures),
		"--iterations", count(s.Iterations), "--burn-in", count(s.Iterations / 6), "--thin", count(s.Iterations / keptDraws)}, s.problem(set)...)...)
}

// run makes a run directory by a command, unless it is there. A process that is killed leaves
// nothing under its name.
func (s Sweep) run(ctx context.Context, dir string, args ...string) error {
	if rundir.Exists(dir) {
		return nil
	}
	if s.Status != nil {
		s.Status(filepath.Base(dir))
	}
	work, err := os.MkdirTemp(s.Dir, ".work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "run")
	if _, err := s.Command(ctx, append(args, "--quiet", "--no-report", "--out", made)...); err != nil {
		return err
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return err
	}
	return nil
}

// answer is what a row takes from a run.
type answer struct {
	Seconds     struct{ Total report.Number }
	Certificate struct {
		Verdict   string
		KHat, ESS report.Number
	}
	Diagnostics struct {
		Verdict string
		RHat    report.Number
	}
}

func readAnswer(dir string) (a answer, err error) {
	path := filepath.Join(dir, rundir.ResultFile)
	content, err := os.ReadFile(path)
	if err == nil {
		if err = json.Unmarshal(content, &a); err != nil {
			err = fmt.Errorf("%s: damaged: %w", path, err)
		}
	}
	return a, err
}

// measure fits a table and compares with its chains.
func (s Sweep) measure(ctx context.Context, f fit) (row Row, err error) {
	args := append([]string{"varsel", "--sampler", f.sampler, "--flow", s.Flow}, s.problem(f.dataSet)...)
	if s.Steps > 0 {
		args = append(args, "--steps", strconv.Itoa(s.Steps))
	}
	if f.sampler != Samplers[len(Samplers)-1] {
		args = append(args, "--certify-draws", strconv.Itoa(fewDraws))
	}
	if err := s.run(ctx, s.fitDir(f), args...); err != nil {
		return row, err
	}
	sampled, err := readAnswer(s.chainsDir(f.dataSet))
	if err != nil {
		return row, err
	}
	fitted, err := readAnswer(s.fitDir(f))
	if err != nil {
		return row, err
	}
	output, err := s.Command(ctx, "compare", s.chainsDir(f.dataSet), s.fitDir(f), "--json")
	if err != nil {
		return row, err
	}
	var compared struct {
		CrossEntropy struct{ Mean, SE report.Number } `json:"cross_entropy"`
		Inclusion    []struct{ Difference float64 }
	}
	if err := json.Unmarshal(output, &compared); err != nil {
		return row, fmt.Errorf("vti compare %s %s: %w", s.chainsDir(f.dataSet), s.fitDir(f), err)
	}
	row = Row{
		Level: f.level.String(), Predictors: f.predictors, DataSet: f.number, Sampler: f.sampler,
		CrossEntropy: compared.CrossEntropy.Mean, CrossEntropySE: compared.CrossEntropy.SE,
		Verdict: fitted.Certificate.Verdict, KHat: fitted.Certificate.KHat, ESS: fitted.Certificate.ESS, Seconds: fitted.Seconds.Total,
		ChainVerdict: sampled.Diagnostics.Verdict, ChainRHat: sampled.Diagnostics.RHat, ChainSeconds: sampled.Seconds.Total,
	}
	for _, predictor := range compared.Inclusion {
		difference := math.Abs(predictor.Difference)
		row.MeanError += report.Number(difference / float64(len(compared.Inclusion)))
		row.LargestError = max(row.LargestError, report.Number(difference))
	}
	return row, nil
}
