package dag

import (
	gocontext "context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/shard"
)

// Benchmark is the simulation study of the paper (F.4, figure 3): data sets whose first rows are
// analysed at several sizes, with the mechanisms and the noise of the simulation known and a prior
// uniform over graphs.
type Benchmark struct {
	// Structures are the ways that are compared: Exact, node by node, and Made; none: Exact.
	Structures []Method     `json:"structures,omitempty"`
	DataSets   int          `json:"data_sets"`
	Sizes      []int        `json:"sizes"` // rows
	Simulation Simulation   `json:"simulation"`
	Steps      int          `json:"steps"`           // of training; 0: the default
	DType      dtypes.DType `json:"dtype,omitempty"` // of flow and target; absent: Float32
	// of the first data set; the others have the next
	Seed uint64 `json:"seed"`
}

// BenchmarkRow are the means over data sets of the paper's four scores, each with its standard
// error, of one method at one size.
type BenchmarkRow struct {
	Rows     int    `json:"rows"`
	Method   string `json:"method"` // vti, vti made, greedy BIC or empty
	DataSets int    `json:"data_sets"`
	F1       Number `json:"f1"`
	F1SE     Number `json:"f1_se"`
	SHD      Number `json:"shd"` // a reversed edge counts twice
	SHDSE    Number `json:"shd_se"`
	Brier    Number `json:"brier"`
	BrierSE  Number `json:"brier_se"`
	AUROC    Number `json:"auroc"`
	AUROCSE  Number `json:"auroc_se"`
	Seconds  Number `json:"seconds"` // of a run
	// Trusted and Failed count the runs with these verdicts, of those of vti.
	Trusted int `json:"trusted"`
	Failed  int `json:"failed"`
}

// benchmarkFile holds the settings of a benchmark in its directory.
const benchmarkFile = "benchmark.json"

// Run analyses every data set at every size, each in a run directory of its own below dir, and
// writes table and figure there. Runs that are there already are kept, so that a benchmark that
// was stopped goes on, or grows. A directory of other settings is refused, as Check says. status
// is called with of each run.
//
// own, if not nil, is the part of this process among several that make the runs. Each ends when
// all are there; of several none writes the table and the figure, and the rows are nil.
func (b Benchmark) Run(ctx gocontext.Context, device *gpu.Device, dir string, own *shard.Shard, status func(string)) ([]BenchmarkRow, error) {
	if b.DataSets < 1 || len(b.Sizes) == 0 {
		return nil, fmt.Errorf("benchmark: got %d data sets and %d sizes, want at least one of each", b.DataSets, len(b.Sizes))
	}
	if other := slices.IndexFunc(b.structures(), func(m Method) bool { return m != Exact && m != Made }); other >= 0 {
		return nil, fmt.Errorf("benchmark: got the structure %s, want exact or made", b.structures()[other])
	}
	if nodes := b.Simulation.withDefaults().Nodes; nodes > maxMadeNodes && slices.Contains(b.structures(), Made) {
		return nil, fmt.Errorf("benchmark: got %d nodes, want at most %d with the structure made", nodes, maxMadeNodes)
	}
	if err := b.claim(dir); err != nil {
		return nil, err
	}
	type run struct {
		set, size int
		structure Method
	}
	var runs []run
	for set := range b.DataSets {
		for k := range b.Sizes {
			for _, structure := range b.structures() {
				runs = append(runs, run{set, k, structure})
			}
		}
	}
	place := func(r run) string {
		name := strconv.Itoa(b.Sizes[r.size])
		if r.structure == Made {
			name += "-made"
		}
		return filepath.Join(dir, fmt.Sprintf("data-%d", b.Seed+uint64(r.set)), name)
	}
	// A piece says that the run is there.
	if _, err := shard.Map(ctx, own, shard.Stage[run, bool]{
		Name: "runs",
		Key:  func(w io.Writer, r run) { fmt.Fprintln(w, r.set, b.Sizes[r.size], r.structure) },
		Do: func(ctx gocontext.Context, r run) (bool, error) {
			_, err := readResult(place(r))
			if errors.Is(err, fs.ErrNotExist) {
				status(fmt.Sprintf("data set %d of %d, %d rows, %s", r.set+1, b.DataSets, b.Sizes[r.size], vtiMethod(r.structure)))
				_, err = b.analyse(ctx, device, r.structure, r.set, b.Sizes[r.size], place(r))
			}
			if err != nil {
				return false, fmt.Errorf("%s: %w", place(r), err)
			}
			return true, nil
		},
	}, runs); err != nil {
		return nil, err
	}
	type point struct {
		size      int
		structure Method
	}
	found := map[point][]*Result{}
	for _, r := range runs {
		result, err := readResult(place(r))
		if err != nil {
			return nil, err
		}
		at := point{r.size, r.structure}
		found[at] = append(found[at], result)
	}
	if own != nil && own.Count > 1 {
		return nil, nil
	}
	var table []BenchmarkRow
	for k, rows := range b.Sizes {
		for _, structure := range b.structures() {
			table = append(table, summariseBenchmark(vtiMethod(structure), rows, found[point{k, structure}], func(m *Metrics) dgraph.PaperMetrics { return m.Answer.Paper }))
		}
		first := found[point{k, b.structures()[0]}]
		table = append(table,
			summariseBenchmark("greedy BIC", rows, first, func(m *Metrics) dgraph.PaperMetrics { return m.GreedyBIC.Paper }),
			summariseBenchmark("empty", rows, first, func(m *Metrics) dgraph.PaperMetrics { return m.Empty.Paper }))
	}
	return table, errors.Join(writeBenchmarkTable(filepath.Join(dir, "table.csv"), table), writeBenchmarkFigure(filepath.Join(dir, "figure"), table))
}

// structures are Structures with their default.
func (b Benchmark) structures() []Method {
	if len(b.Structures) == 0 {
		return []Method{Exact}
	}
	return b.Structures
}

// vtiMethod names the rows of a way.
func vtiMethod(structure Method) string {
	if structure == Made {
		return "vti made"
	}
	return "vti"
}

// Check fails for a directory that holds something else than a benchmark, or one of other
// settings. More data sets, sizes and structures are no other settings: the runs that are there
// already are kept.
func (b Benchmark) Check(dir string) error {
	path := filepath.Join(dir, benchmarkFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) // of another shard
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case len(entries) > 0:
			return fmt.Errorf("%s holds %s and is no benchmark: want a new or an empty directory", dir, entries[0].Name())
		}
		return nil
	}
	if err != nil {
		return err
	}
	var found Benchmark
	if err := json.Unmarshal(content, &found); err != nil {
		return fmt.Errorf("%s: damaged: %w", path, err)
	}
	differs := func(setting string, there, asked any) error {
		return fmt.Errorf("%s is a benchmark with other settings: %s is %v there, %v was asked for", dir, setting, there, asked)
	}
	for _, rows := range found.Sizes {
		if !slices.Contains(b.Sizes, rows) {
			return differs("--sizes", found.Sizes, b.Sizes)
		}
	}
	for _, structure := range found.structures() {
		if !slices.Contains(b.structures(), structure) {
			return differs("--structure", found.structures(), b.structures())
		}
	}
	there, asked := found.Simulation.withDefaults(), b.Simulation.withDefaults()
	switch {
	case found.DataSets > b.DataSets:
		return differs("--data-sets", found.DataSets, b.DataSets)
	case there.Nodes != asked.Nodes:
		return differs("--nodes", there.Nodes, asked.Nodes)
	case there.Mechanism != asked.Mechanism:
		return differs("--sem", there.Mechanism, asked.Mechanism)
	case found.Steps != b.Steps:
		return differs("--steps", found.Steps, b.Steps)
	case found.DType != b.DType:
		return differs("--dtype", found.DType, b.DType)
	case found.Seed != b.Seed:
		return differs("--seed", found.Seed, b.Seed)
	}
	// the file does not have them
	there.Graph, there.Names, asked.Graph, asked.Names = nil, nil, nil, nil
	if !reflect.DeepEqual(there, asked) {
		return differs("the simulation", there, asked)
	}
	return nil
}

// claim makes the directory, or checks that it is of the same settings.
func (b Benchmark) claim(dir string) error {
	if err := b.Check(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return rundir.WriteJSON(filepath.Join(dir, benchmarkFile), b)
}

func readResult(dir string) (*Result, error) {
	path := filepath.Join(dir, rundir.ResultFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var result Result
	if err := json.Unmarshal(content, &result); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, err)
	}
	if result.Metrics == nil {
		return nil, fmt.Errorf("%s: has no metrics", path)
	}
	return &result, nil
}

// analyse makes one run. One that was stopped in the middle goes on from its checkpoint.
func (b Benchmark) analyse(ctx gocontext.Context, device *gpu.Device, structure Method, set, rows int, dir string) (*Result, error) {
	s := b.Simulation.withDefaults()
	s.Rows, s.Seed = rows, b.Seed+uint64(set)
	simulated, err := Simulate(s)
	if err != nil {
		return nil, err
	}
	data := &Data{Path: dir, Names: simulated.Names, X: mat.NewDense(rows, s.Nodes, nil), Scaling: Unscaled}
	for i, row := range simulated.Values {
		data.X.SetRow(i, row)
	}
	if err := data.scale(Unscaled); err != nil {
		return nil, err
	}
	problem, err := NewProblem(data, ModelOptions{Mechanism: s.Mechanism, Graphs: UniformGraphs, Hidden: s.Hidden, NoBias: !s.Bias, Sigma: s.Noise}, Constraints{})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	training := RunConfig{Fit: vti.Config{Steps: b.Steps, Seed: s.Seed, DType: b.DType, Resume: true}, Truth: simulated.Truth, Dir: dir}
	switch {
	case structure == Made:
		return RunMade(ctx, device, problem, training)
	case s.Mechanism == MLP:
		return RunParticles(ctx, problem, ParticlesConfig{Seed: s.Seed, Truth: simulated.Truth, Dir: dir})
	}
	return RunFlow(ctx, device, problem, training)
}

// summariseBenchmark averages over data sets.
func summariseBenchmark(method string, rows int, results []*Result, of func(*Metrics) dgraph.PaperMetrics) BenchmarkRow {
	row := BenchmarkRow{Rows: rows, Method: method, DataSets: len(results)}
	average := func(value func(*Result) Number) (mean, se Number) {
		var values []float64
		for _, r := range results {
			if x := float64(value(r)); !math.IsNaN(x) { // the AUROC of a truth without edges
				values = append(values, x)
			}
		}
		m, sd := stat.MeanStdDev(values, nil)
		return Number(m), Number(sd / math.Sqrt(float64(len(values))))
	}
	row.F1, row.F1SE = average(func(r *Result) Number { return of(r.Metrics).F1 })
	row.SHD, row.SHDSE = average(func(r *Result) Number { return of(r.Metrics).SHD })
	row.Brier, row.BrierSE = average(func(r *Result) Number { return of(r.Metrics).Brier })
	row.AUROC, row.AUROCSE = average(func(r *Result) Number { return of(r.Metrics).AUROC })
	row.Seconds, _ = average(func(r *Result) Number { return Number(r.Seconds.Total) })
	if method != vtiMethod(Exact) && method != vtiMethod(Made) {
		row.Seconds = Number(math.NaN())
		return row
	}
	for _, r := range results {
		switch r.Certificate.Verdict {
		case vti.Trusted:
			row.Trusted++
		case vti.Failed:
			row.Failed++
		}
	}
	return row
}

// writeBenchmarkTable writes the rows as CSV.
func writeBenchmarkTable(path string, table []BenchmarkRow) error {
	rows := [][]string{{"rows", "method", "data_sets", "f1", "f1_se", "shd", "shd_se", "brier", "brier_se", "auroc", "auroc_se", "seconds", "trusted", "failed"}}
	for _, r := range table {
		row := []string{strconv.Itoa(r.Rows), r.Method, strconv.Itoa(r.DataSets)}
		for _, n := range []Number{r.F1, r.F1SE, r.SHD, r.SHDSE, r.Brier, r.BrierSE, r.AUROC, r.AUROCSE, r.Seconds} {
			row = append(row, n.Text())
		}
		rows = append(rows, append(row, strconv.Itoa(r.Trusted), strconv.Itoa(r.Failed)))
	}
	return atomicfile.Write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}
