package graphs

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
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/shard"
)

// Study is the simulation study of Davies et al. (2025, appendix F.4 and figure 3). It simulates
// data sets, and analyses the first rows of each data set, for several numbers of rows. The
// analysis knows the mechanism and the noise of the simulation, and its prior over graphs is
// uniform.
type Study struct {
	// Structures lists the methods to compare, from dag.Exact and dag.GraphFlow. An empty list
	// stands for dag.Exact only.
	Structures []dag.Method   `json:"structures,omitempty"`
	DataSets   int            `json:"data_sets"`
	Sizes      []int          `json:"sizes"` // numbers of rows
	Simulation sem.Simulation `json:"simulation"`
	Steps      int            `json:"steps"`           // training steps; 0 for the default
	DType      dtypes.DType   `json:"dtype,omitempty"` // type of flow and target; Float32 if absent
	// Seed is the seed of the first data set. The other data sets have the seeds that follow.
	Seed uint64 `json:"seed"`
}

// point is a point of the figure: a number of rows of data, and a method.
type point struct {
	rows      int
	structure dag.Method
}

// analysis is the analysis of one data set at one point of the figure.
type analysis struct {
	set int
	point
}

// place returns the run directory of an analysis.
func (b Study) place(dir string, r analysis) string {
	name := strconv.Itoa(r.rows)
	if r.structure == dag.GraphFlow {
		name += "-flow"
	}
	return filepath.Join(dir, fmt.Sprintf("data-%d", b.Seed+uint64(r.set)), name)
}

// validate returns an error if the settings are impossible.
func (b Study) validate() error {
	if b.DataSets < 1 || len(b.Sizes) == 0 {
		return fmt.Errorf("study: got %d data sets and %d sizes, want at least one of each", b.DataSets, len(b.Sizes))
	}
	if other := slices.IndexFunc(b.structures(), func(m dag.Method) bool { return m != dag.Exact && m != dag.GraphFlow }); other >= 0 {
		return fmt.Errorf("study: got the structure %s, want exact or flow", b.structures()[other])
	}
	return nil
}

// Run analyses every data set at every size, each in a separate run directory below dir, and writes
// table and figure there. Existing runs are kept, so that a study can be resumed or extended. Sizes
// and structures of an existing study in dir stay in the study even if b does not have them. Run
// returns an error if dir holds a study with other settings (see Check). The function status is
// called before each run with a description of the run.
//
// If several processes share the runs, the argument part is the share of this process; otherwise it
// is nil. Each process returns when all runs exist. Processes that share runs do not write the
// table and the figure, and return no rows.
func (b Study) Run(ctx gocontext.Context, device *gpu.Device, dir string, part *shard.Shard, status func(string)) ([]Row, error) {
	if err := b.validate(); err != nil {
		return nil, err
	}
	b, err := b.claim(dir)
	if err != nil {
		return nil, err
	}
	var runs []analysis
	for set := range b.DataSets {
		for _, rows := range b.Sizes {
			for _, structure := range b.structures() {
				runs = append(runs, analysis{set, point{rows, structure}})
			}
		}
	}
	// The result of an analysis is only a bool, which states that its run exists.
	if _, err := shard.Map(ctx, part, shard.Stage[analysis, bool]{
		Name: "runs",
		Key:  func(w io.Writer, r analysis) { fmt.Fprintln(w, r.set, r.rows, r.structure) },
		Do: func(ctx gocontext.Context, r analysis) (bool, error) {
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
	found := map[point][]*dag.Result{}
	for _, r := range runs {
		result, err := readResult(b.place(dir, r))
		if err != nil {
			return nil, err
		}
		found[r.point] = append(found[r.point], result)
	}
	if part != nil && part.Count > 1 {
		return nil, nil
	}
	table := b.table(found)
	return table, errors.Join(writeTable(filepath.Join(dir, "table.csv"), table), writeFigure(filepath.Join(dir, "figure"), table))
}

func (b Study) structures() []dag.Method {
	if len(b.Structures) == 0 {
		return []dag.Method{dag.Exact}
	}
	return b.Structures
}

// vtiMethod returns the text in the column method for a method of package dag.
func vtiMethod(structure dag.Method) string {
	if structure == dag.GraphFlow {
		return "vti flow"
	}
	return "vti"
}

func readResult(dir string) (*dag.Result, error) {
	path := filepath.Join(dir, rundir.ResultFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var result dag.Result
	if err := json.Unmarshal(content, &result); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, err)
	}
	if result.Metrics == nil {
		return nil, fmt.Errorf("%s: got an answer without metrics, want one of data whose graph is known", path)
	}
	return &result, nil
}

// analyse makes one run, or continues an interrupted run from its checkpoint.
func (b Study) analyse(ctx gocontext.Context, device *gpu.Device, structure dag.Method, set, rows int, dir string) (*dag.Result, error) {
	s := b.Simulation.WithDefaults()
	s.Rows, s.Seed = rows, b.Seed+uint64(set)
	simulated, err := sem.Simulate(s)
	if err != nil {
		return nil, err
	}
	data := &dag.Data{
		Path: dir, Names: simulated.Names, X: mat.NewDense(rows, s.Nodes, nil), Scaling: tables.Unscaled,
		Shift: make([]float64, s.Nodes), Scale: slices.Repeat([]float64{1}, s.Nodes),
	}
	for i, row := range simulated.Values {
		data.X.SetRow(i, row)
	}
	problem, err := dag.NewProblem(data, dag.ModelOptions{Mechanism: s.Mechanism, Graphs: dag.UniformGraphs, Hidden: s.Hidden, NoBias: !s.Bias, Sigma: s.Noise}, dag.Constraints{})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	switch {
	case structure == dag.GraphFlow:
		fit := vti.Config{Steps: b.Steps, Seed: s.Seed, DType: b.DType, Resume: true}
		return dag.RunGraphFlow(ctx, device, problem, dag.RunConfig{Fit: fit, Truth: simulated.Truth, Dir: dir})
	case s.Mechanism == dag.MLP:
		return dag.RunParticles(ctx, problem, dag.ParticlesConfig{Seed: s.Seed, Truth: simulated.Truth, Dir: dir})
	}
	return dag.RunExact(ctx, problem, dag.ExactConfig{Command: "dag", Seed: s.Seed, Truth: simulated.Truth, Dir: dir})
}
