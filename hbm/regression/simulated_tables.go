package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/likelihood"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/stream"
)

// A simulated response is used if it could be the response of a table: it is not constant, counts
// are not too large, and some noise is not explained by the predictors. Without the bound
// leastNoise, a few tables with very narrow posteriors would dominate training.
const (
	largestCount   = 1e5
	leastNoise     = 0.1 // relative to the standard deviation of the response
	simulateRounds = 100
)

// simulatedTable is one data set for training an amortized family.
type simulatedTable struct {
	x, offset, y []float64
	z            [][]float64 // varying columns of each grouping
}

// simulator returns a function that makes tables from the prior predictive distribution. Like
// [New], it centres and scales their predictors and continuous responses, in whose units the prior
// is. Half of the tables have the predictors of the present table. In the other half, the rows of
// each group are drawn, with replacement, from the rows of one group of the present table. The
// argument over is the target of a selection of terms, or nil for a single model.
func (p *PlateModel) simulator(device *gpu.Device, over *hbm.Target) (func(ctx gocontext.Context, sets int, codes [][]int32, seed uint64, name string, left map[*hbm.Plate][]bool) (hbm.Values, error), error) {
	simulator, err := hbm.NewSimulator(device, p.Model)
	if over != nil {
		simulator, err = over.Simulator(device)
	}
	if err != nil {
		return nil, err
	}
	r := p.regression
	return func(ctx gocontext.Context, sets int, codes [][]int32, seed uint64, name string, left map[*hbm.Plate][]bool) (hbm.Values, error) {
		random := stream.Rand(seed, "tables/"+name)
		kept := apply.Where(len(r.y), func(row int) bool { return left == nil || left[p.rows][row] })
		good, found := make([]*simulatedTable, sets), 0
		for round := 0; found < sets; round++ {
			if round == simulateRounds {
				return nil, fmt.Errorf("%s: hardly any response simulated from the priors resembles the response of a table: narrow the priors", r.Frame.Path)
			}
			tables := apply.UpTo(sets, func(int) *simulatedTable { return p.simulatePredictors(kept, random) })
			drawn, err := simulator.DrawSets(ctx, p.collect(tables), sets, codes, seed, fmt.Sprintf("%s/%d", name, round))
			if err != nil {
				return nil, err
			}
			for i, t := range tables {
				t.y = apply.UpTo(len(r.y), func(row int) float64 { return drawn[p.y][row*sets+i] })
				sigma := math.Inf(1)
				if r.noise >= 0 {
					sigma = drawn[p.globals[r.noise]][i]
				}
				place := i // table i is from the model of code i
				if over == nil {
					place = found
				}
				if found < sets && good[place] == nil && r.usableResponse(t.y, kept, sigma) {
					good[place] = t
					found++
				}
			}
		}
		values := p.collect(good)
		values[p.y] = interleave(good, 1, func(t *simulatedTable) []float64 { return t.y })
		return values, nil
	}, nil
}

// usableResponse reports whether a response, with noise of standard deviation sigma, could be the
// response of a table with the rows in kept. It standardises a continuous response.
func (r *Regression) usableResponse(y []float64, kept []int, sigma float64) bool {
	some := distinct.At(y, kept)
	if len(some) < 2 {
		return true // with so few rows posteriors are hardly narrower than the prior
	}
	low, high := slices.Min(some), slices.Max(some)
	if !(low < high) || r.Frame.Response == likelihood.PoissonKind && high > largestCount {
		return false
	}
	if !r.Frame.Response.Continuous() {
		return true
	}
	mean, sd := frame.CentreAndSpread(some, r.Frame.Formula.HasIntercept())
	for i := range y {
		y[i] = (y[i] - mean) / sd
	}
	return !math.IsInf(sd, 0) && sigma > leastNoise*sd
}

// simulatePredictors returns the predictors of a random table, standardised over the rows in kept.
func (p *PlateModel) simulatePredictors(kept []int, random *rand.Rand) *simulatedTable {
	r := p.regression
	sources := [][]int{rank.UpTo(len(r.y))}
	groups := r.innerRows()
	if groups == nil {
		groups = sources
	}
	if random.IntN(2) == 0 {
		drawn := make([]int, len(r.y))
		for _, rows := range groups {
			from := groups[random.IntN(len(groups))]
			for _, row := range rows {
				drawn[row] = from[random.IntN(len(from))]
			}
		}
		sources = [][]int{drawn, sources[0]}
	}
	for _, source := range sources {
		if t := p.predictorsOf(source, kept); t != nil {
			return t
		}
	}
	z := apply.To(p.groups, func(g *plateGroup) []float64 { return p.Data[g.z] })
	return &simulatedTable{x: p.Data[p.x], offset: p.Data[p.offset], z: z}
}

// predictorsOf returns a table whose row i has the predictors of row source[i] of the table of the
// run. It returns nil if the predictors of the rows in kept cannot be scaled.
func (p *PlateModel) predictorsOf(source, kept []int) *simulatedTable {
	r := p.regression
	t := &simulatedTable{}
	var x *mat.Dense
	if r.x != nil {
		x = rowsAt(r.Frame.X, source)
		for j, c := range r.Frame.Columns {
			if c.Name == formula.InterceptName {
				continue
			}
			mean, sd := frame.CentreAndSpread(distinct.At(mat.Col(nil, j, x), kept), r.Frame.Formula.HasIntercept())
			if !frame.UsableSpread(sd) {
				return nil
			}
			scaleColumn(x, j, mean, sd)
		}
	}
	for _, g := range p.groups {
		z := rowsAt(g.Grouping.Z, source)
		for c := range g.Columns {
			sd := frame.VaryingSpread(distinct.At(mat.Col(nil, c, z), kept))
			if !frame.UsableSpread(sd) {
				return nil
			}
			scaleColumn(z, c, 0, sd)
		}
		t.z = append(t.z, mat.DenseCopyOf(z).RawMatrix().Data)
	}
	if p.x != nil {
		t.x = mat.DenseCopyOf(x).RawMatrix().Data
	}
	t.offset = distinct.At(r.offset, source)
	return t
}

func (p *PlateModel) collect(tables []*simulatedTable) hbm.Values {
	values := hbm.Values{}
	put := func(v *hbm.Variable, valuesOf func(t *simulatedTable) []float64) {
		if v != nil {
			values[v] = interleave(tables, v.EventSize(), valuesOf)
		}
	}
	put(p.x, func(t *simulatedTable) []float64 { return t.x })
	put(p.offset, func(t *simulatedTable) []float64 { return t.offset })
	for i, g := range p.groups {
		put(g.z, func(t *simulatedTable) []float64 { return t.z[i] })
	}
	return values
}

// interleave puts values [members, size] of each table together as [members, tables, size].
func interleave(tables []*simulatedTable, size int, values func(t *simulatedTable) []float64) []float64 {
	all := make([]float64, 0, len(tables)*len(values(tables[0])))
	for at := 0; at < len(values(tables[0])); at += size {
		for _, t := range tables {
			all = append(all, values(t)[at:at+size]...)
		}
	}
	return all
}
