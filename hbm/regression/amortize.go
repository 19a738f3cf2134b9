package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
)

// Shape is what a table must have in common with the one that an amortized family was
// trained on.
type Shape struct {
	Columns []string        `json:"columns"`
	Groups  []GroupingShape `json:"groups,omitempty"`
}

// GroupingShape is what is fixed of a grouping: by name, what varies by it, and the groupings that
// it is nested in.
type GroupingShape struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	In      []string `json:"in,omitempty"`
}

// Shape is the shape of the table.
func (r *Regression) Shape() *Shape {
	s := &Shape{Columns: namesOf(r.Frame.Columns)}
	for i, above := range r.nesting() {
		g := GroupingShape{Name: r.groups[i].Name, Columns: namesOf(r.groups[i].Columns)}
		for _, k := range above {
			g.In = append(g.In, r.groups[k].Name)
		}
		s.Groups = append(s.Groups, g)
	}
	return s
}

func namesOf(columns []Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// fit returns the nesting that the shape asks for, or what keeps the table from having it.
func (s *Shape) fit(r *Regression) (above [][]int, err error) {
	differ := func(what string, was, is []string) error {
		return fmt.Errorf("%s: a table of another shape: %s were %q in training, and here are %q", r.Frame.Path, what, was, is)
	}
	if columns := namesOf(r.Frame.Columns); !slices.Equal(s.Columns, columns) {
		return nil, differ("population effects", s.Columns, columns)
	}
	if len(s.Groups) != len(r.groups) {
		return nil, fmt.Errorf("%s: a table of another shape: %d groupings in training, and here %d", r.Frame.Path, len(s.Groups), len(r.groups))
	}
	for i, g := range s.Groups {
		if columns := namesOf(r.groups[i].Columns); !slices.Equal(g.Columns, columns) {
			return nil, differ("effects by "+g.Name, g.Columns, columns)
		}
		var in []int
		for _, name := range g.In {
			k := slices.IndexFunc(r.groups, func(other *varyingGroup) bool { return other.Name == name })
			if k < 0 || r.groups[i].within(r.groups[k]) == nil {
				return nil, fmt.Errorf("%s: a table of another shape: in training each group of %s lay in one of %s, and here they are crossed", r.Frame.Path, g.Name, name)
			}
			in = append(in, k)
		}
		above = append(above, in)
	}
	return above, nil
}

// amortized is the model with plates for inference from any table, which starts at the prior.
func (r *Regression) amortized(above [][]int) (*PlateModel, error) {
	if r.Frame.SE != nil || r.Options.Intercept != nil {
		return nil, fmt.Errorf("a family for many tables cannot have known standard errors, nor a prior in the units of one response")
	}
	return r.plates(above, func(j int) (mean, sd float64) {
		if sd = r.coordinates[j].sd; sd == 0 {
			sd = 1
		}
		return 0, math.Min(sd, widestStart)
	}, true)
}

// enlarged is the table twice with other groups, and every row of that twice: the largest table
// that a family for many tables learns from. Thinned, it is a table of any size up to that.
func (f *Frame) enlarged() *Frame {
	const copies, repeats = 2, 2
	large := *f
	large.Y, large.Offset, large.X, large.Groupings = nil, nil, nil, nil
	stack := func(a *mat.Dense) *mat.Dense {
		if a == nil {
			return nil
		}
		rows, columns := a.Dims()
		return mat.NewDense(copies*repeats*rows, columns, slices.Repeat(rowsOf(a), copies*repeats))
	}
	large.X = stack(f.X)
	large.Y, large.Offset = slices.Repeat(f.Y, copies*repeats), slices.Repeat(f.Offset, copies*repeats)
	if f.Offset == nil {
		large.Offset = nil
	}
	for _, g := range f.Groupings {
		wide := *g
		wide.Levels, wide.Index, wide.Z = nil, nil, stack(g.Z)
		wide.Counts = slices.Repeat(g.Counts, copies)
		for i := range wide.Counts {
			wide.Counts[i] *= repeats
		}
		for c := range copies {
			for _, level := range g.Levels {
				wide.Levels = append(wide.Levels, fmt.Sprintf("%s (%d)", level, c+1))
			}
			for range repeats {
				for _, level := range g.Index {
					wide.Index = append(wide.Index, c*len(g.Levels)+level)
				}
			}
		}
		large.Groupings = append(large.Groupings, &wide)
	}
	return &large
}

// InferCommand is the command of a result of [Regression.Infer].
const InferCommand = "hbm infer"

// InferRun says how [Regression.Infer] works.
type InferRun struct {
	// Model is the run directory of a RunFamily with Fit.Amortize, and Shape that of its
	// regression.
	Model string
	Shape *Shape
	// Seed is the root of every random stream.
	Seed    uint64
	Certify hbm.CertifyConfig
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
}

// CheckInfer reports what keeps Infer from the table: a shape that the model was not trained for.
func (r *Regression) CheckInfer(shape *Shape) error {
	above, err := shape.fit(r)
	if err == nil {
		_, err = r.amortized(above)
	}
	return err
}

// Infer answers for a table in one pass of a family that was trained on simulated tables, certifies
// the answer, and writes what [Regression.RunFamily] writes, without training. Cancelling ctx stops
// it with an error that wraps ctx.Err().
func (r *Regression) Infer(ctx gocontext.Context, device *gpu.Device, cfg InferRun) (*Result, error) {
	clock := run.NewClock()
	above, err := cfg.Shape.fit(r)
	if err != nil {
		return nil, err
	}
	plates, err := r.amortized(above)
	if err != nil {
		return nil, err
	}
	posterior, err := hbm.LoadAmortized(device, plates.Model, plates.Data, hbm.Config{Checkpoint: filepath.Join(cfg.Model, rundir.PosteriorFile), Seed: cfg.Seed})
	if err != nil {
		return nil, err
	}
	result := r.newResult(device, cfg.Seed, posterior.Family().String(), cfg.Dir)
	result.Command = InferCommand
	if err := plates.answer(ctx, posterior, cfg.Certify, result, clock); err != nil {
		return nil, err
	}
	return result, nil
}

// A simulated response is used if it could be one of a table: not the same in every row, counts
// within reason, and some noise beside what the predictors explain. Without that bound a few tables
// with next to no noise, whose posteriors are very narrow, would dominate training.
const (
	largestCount   = 1e5
	leastNoise     = 0.1 // of the standard deviation of the response
	simulateRounds = 100
)

// simulatedTable is one data set for amortization.
type simulatedTable struct {
	x, offset, estimates, y []float64
	z                       [][]float64 // of each grouping
	means                   []float64
}

// simulator makes tables from the prior predictive distribution. As [New] does with any
// table, it centres and scales a continuous response of each of them, and its predictors: the prior
// is relative to these. Half of them have the predictors of the table at hand; in others the rows
// of each group are drawn, with replacement, from those of a group of it.
func (p *PlateModel) simulator(device *gpu.Device) (func(ctx gocontext.Context, sets int, seed uint64, name string, left map[*hbm.Plate][]bool) (hbm.Values, error), error) {
	simulator, err := hbm.NewSimulator(device, p.Model)
	if err != nil {
		return nil, err
	}
	r := p.regression
	return func(ctx gocontext.Context, sets int, seed uint64, name string, left map[*hbm.Plate][]bool) (hbm.Values, error) {
		random := stream.Rand(seed, "tables/"+name)
		var kept []int
		for row := range r.y {
			if left == nil || left[p.rows][row] {
				kept = append(kept, row)
			}
		}
		var good []*simulatedTable
		for round := 0; len(good) < sets; round++ {
			if round == simulateRounds {
				return nil, fmt.Errorf("%s: hardly any response simulated from the priors is like one of a table: narrow them", r.Frame.Path)
			}
			tables := make([]*simulatedTable, sets)
			for i := range tables {
				tables[i] = p.predictors(kept, random)
			}
			drawn, err := simulator.DrawSets(ctx, p.collect(tables), sets, seed, fmt.Sprintf("%s/%d", name, round))
			if err != nil {
				return nil, err
			}
			for i, t := range tables {
				t.y = make([]float64, len(r.y))
				for row := range t.y {
					t.y[row] = drawn[p.y][row*sets+i]
				}
				sigma := math.Inf(1)
				if r.noise >= 0 {
					sigma = drawn[p.globals[r.noise]][i]
				}
				if r.usableResponse(t.y, kept, sigma) && len(good) < sets {
					t.estimates = p.estimatesOf(t, kept)
					good = append(good, t)
				}
			}
		}
		values := p.collect(good)
		values[p.y] = interleave(good, 1, func(t *simulatedTable) []float64 { return t.y })
		return values, nil
	}, nil
}

// entries are the values of some rows.
func entries(values []float64, rows []int) []float64 {
	some := make([]float64, len(rows))
	for i, row := range rows {
		some[i] = values[row]
	}
	return some
}

// usableResponse reports whether a response with noise of a standard deviation could be one of a
// table of the rows kept, and brings a continuous one to the working scale.
func (r *Regression) usableResponse(y []float64, kept []int, sigma float64) bool {
	some := entries(y, kept)
	if len(some) < 2 {
		return true // it says next to nothing
	}
	low, high := slices.Min(some), slices.Max(some)
	if !(low < high) || r.Frame.Response == PoissonResponse && high > largestCount {
		return false
	}
	if !r.Frame.Response.Continuous() {
		return true
	}
	mean, sd := centreAndSpread(some, r.Frame.Formula.HasIntercept())
	for i := range y {
		y[i] = (y[i] - mean) / sd
	}
	return !math.IsInf(sd, 0) && sigma > leastNoise*sd
}

// predictors are those of a table at random, on the working scale of the rows kept.
func (p *PlateModel) predictors(kept []int, random *rand.Rand) *simulatedTable {
	r := p.regression
	source := make([]int, len(r.y))
	for i := range source {
		source[i] = i
	}
	groups := r.innerRows()
	if groups == nil {
		groups = [][]int{slices.Clone(source)}
	}
	if random.IntN(2) == 0 {
		for _, rows := range groups {
			from := groups[random.IntN(len(groups))]
			for _, row := range rows {
				source[row] = from[random.IntN(len(from))]
			}
		}
		if t := p.predictorsOf(source, kept); t != nil {
			return t
		}
		for i := range source {
			source[i] = i
		}
	}
	if t := p.predictorsOf(source, kept); t != nil {
		return t
	}
	t := &simulatedTable{x: p.Data[p.x], offset: p.Data[p.offset], estimates: p.Data[p.estimates]}
	for _, g := range p.groups {
		t.z = append(t.z, p.Data[g.z])
		if g.a != nil {
			t.means = p.Data[g.a]
		}
	}
	return t
}

// predictorsOf are those of the rows of source, each in the place of a row of the table. It is nil
// if those of the rows kept cannot be scaled, or not be taken apart as those of the model.
func (p *PlateModel) predictorsOf(source, kept []int) *simulatedTable {
	r := p.regression
	t := &simulatedTable{estimates: p.Data[p.estimates]}
	pick := func(from *mat.Dense) *mat.Dense {
		_, columns := from.Dims()
		picked := mat.NewDense(len(source), columns, nil)
		for i, row := range source {
			picked.SetRow(i, from.RawRowView(row))
		}
		return picked
	}
	var x *mat.Dense
	if r.x != nil {
		x = pick(r.Frame.X)
		for j, c := range r.Frame.Columns {
			if c.Name == formula.InterceptName {
				continue
			}
			mean, sd := centreAndSpread(entries(mat.Col(nil, j, x), kept), r.Frame.Formula.HasIntercept())
			if !usableSpread(sd) {
				return nil
			}
			scaleColumn(x, j, mean, sd)
		}
	}
	for _, g := range p.groups {
		z := pick(g.Grouping.Z)
		for c := range g.Columns {
			sd := varyingSpread(entries(mat.Col(nil, c, z), kept))
			if !usableSpread(sd) {
				return nil
			}
			scaleColumn(z, c, 0, sd)
		}
		t.z = append(t.z, rowsOf(z))
		if g.a == nil {
			continue
		}
		a := means(x, z)
		if a == nil {
			return nil
		}
		for j := range r.Frame.Columns {
			if (mat.Norm(a.ColView(j), 1) > 0) != (mat.Norm(g.means.ColView(j), 1) > 0) {
				return nil
			}
		}
		t.means = rowsOf(a)
	}
	if p.x != nil {
		t.x = rowsOf(p.design(x))
	}
	if p.offset != nil {
		t.offset = entries(r.offset, source)
	}
	return t
}

// collect brings the predictors of tables together.
func (p *PlateModel) collect(tables []*simulatedTable) hbm.Values {
	values := hbm.Values{}
	put := func(v *hbm.Variable, of func(t *simulatedTable) []float64) {
		if v != nil {
			values[v] = interleave(tables, v.EventSize(), of)
		}
	}
	put(p.x, func(t *simulatedTable) []float64 { return t.x })
	put(p.offset, func(t *simulatedTable) []float64 { return t.offset })
	put(p.estimates, func(t *simulatedTable) []float64 { return t.estimates })
	for i, g := range p.groups {
		put(g.z, func(t *simulatedTable) []float64 { return t.z[i] })
		put(g.a, func(t *simulatedTable) []float64 { return t.means })
	}
	return values
}

// interleave puts values [members, size] of each table together as [members, tables, size].
func interleave(tables []*simulatedTable, size int, of func(t *simulatedTable) []float64) []float64 {
	all := make([]float64, 0, len(tables)*len(of(tables[0])))
	for at := 0; at < len(of(tables[0])); at += size {
		for _, t := range tables {
			all = append(all, of(t)[at:at+size]...)
		}
	}
	return all
}
