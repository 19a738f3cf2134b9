package dag

import (
	gocontext "context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/shard"
)

// Benchmark is the simulation study of the paper (F.4, figure 3): data sets whose first rows are
// analysed at several sizes, with the mechanisms and the noise of the simulation known and a prior
// uniform over graphs.
type Benchmark struct {
	// Structures are the methods to compare, Exact and Made; empty stands for Exact.
	Structures []Method     `json:"structures,omitempty"`
	DataSets   int          `json:"data_sets"`
	Sizes      []int        `json:"sizes"` // rows
	Simulation Simulation   `json:"simulation"`
	Steps      int          `json:"steps"`           // of training; 0: the default
	DType      dtypes.DType `json:"dtype,omitempty"` // of flow and target; absent: Float32
	// of the first data set; the others have the next
	Seed uint64 `json:"seed"`
}

// benchmarkPoint is one place of the figure: a number of rows and a way that graphs are found.
type benchmarkPoint struct {
	rows      int
	structure Method
}

// benchmarkRun is one data set at one point.
type benchmarkRun struct {
	set int
	benchmarkPoint
}

// place is the run directory of a run.
func (b Benchmark) place(dir string, r benchmarkRun) string {
	name := strconv.Itoa(r.rows)
	if r.structure == Made {
		name += "-made"
	}
	return filepath.Join(dir, fmt.Sprintf("data-%d", b.Seed+uint64(r.set)), name)
}

// validate reports settings that no run can have.
func (b Benchmark) validate() error {
	if b.DataSets < 1 || len(b.Sizes) == 0 {
		return fmt.Errorf("benchmark: got %d data sets and %d sizes, want at least one of each", b.DataSets, len(b.Sizes))
	}
	if other := slices.IndexFunc(b.structures(), func(m Method) bool { return m != Exact && m != Made }); other >= 0 {
		return fmt.Errorf("benchmark: got the structure %s, want exact or made", b.structures()[other])
	}
	if nodes := b.Simulation.withDefaults().Nodes; nodes > maxMadeNodes && slices.Contains(b.structures(), Made) {
		return fmt.Errorf("benchmark: got %d nodes, want at most %d with the structure made", nodes, maxMadeNodes)
	}
	return nil
}

// Run analyses every data set at every size, each in a run directory of its own below dir, and
// writes table and figure there. Existing runs are kept, so that a benchmark can be resumed or
// extended; sizes and structures that it has and that are not requested stay. A directory of other
// settings is refused, as Check says. status is called with the state of each run.
//
// own, if not nil, is the part of this process among several that make the runs. Each ends when
// all are there; of several none writes the table and the figure, and the rows are nil.
func (b Benchmark) Run(ctx gocontext.Context, device *gpu.Device, dir string, own *shard.Shard, status func(string)) ([]BenchmarkRow, error) {
	if err := b.validate(); err != nil {
		return nil, err
	}
	b, err := b.claim(dir)
	if err != nil {
		return nil, err
	}
	var runs []benchmarkRun
	for set := range b.DataSets {
		for _, rows := range b.Sizes {
			for _, structure := range b.structures() {
				runs = append(runs, benchmarkRun{set, benchmarkPoint{rows, structure}})
			}
		}
	}
	// A piece says that the run is there.
	if _, err := shard.Map(ctx, own, shard.Stage[benchmarkRun, bool]{
		Name: "runs",
		Key:  func(w io.Writer, r benchmarkRun) { fmt.Fprintln(w, r.set, r.rows, r.structure) },
		Do: func(ctx gocontext.Context, r benchmarkRun) (bool, error) {
			place := b.place(dir, r)
			_, err := readResult(place)
			if errors.Is(err, fs.ErrNotExist) {
				status(fmt.Sprintf("data set %d of %d, %d rows, %s", r.set+1, b.DataSets, r.rows, vtiMethod(r.structure)))
				_, err = b.analyse(ctx, device, r.structure, r.set, r.rows, place)
			}
			if err != nil {
				return false, fmt.Errorf("%s: %w", place, err)
			}
			return true, nil
		},
	}, runs); err != nil {
		return nil, err
	}
	found := map[benchmarkPoint][]*Result{}
	for _, r := range runs {
		result, err := readResult(b.place(dir, r))
		if err != nil {
			return nil, err
		}
		found[r.benchmarkPoint] = append(found[r.benchmarkPoint], result)
	}
	if own != nil && own.Count > 1 {
		return nil, nil
	}
	table := b.table(found)
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

// analyse makes one run. One that was stopped in the middle continues from its checkpoint.
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
