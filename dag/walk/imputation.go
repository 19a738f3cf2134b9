package walk

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
)

// imputer is a chain over graphs, parameters and the missing cells of a table. The distribution of
// the chain converges to the posterior of all three given the observed cells. The chain alternates
// steps of [walk], given a completed table, with draws of the cells, given the graph. Numbers are
// drawn row by row, given parameters drawn for the graph. Categories are drawn cell by cell, with
// the tables of probabilities integrated out. Cells must be missing at random: given the observed
// cells, the fact that a cell is missing must have no information about its value.
type imputer struct {
	problem *score.Problem // with its own copy of the table
	random  *rand.Rand
	walk    *walk
	thetas  [][]float64 // parameters of each node in the graph, without soft interventions
	// index of the mechanism of each node in each row, as in [tables.Data.Mechanisms]
	mechanisms [][]int
}

// imputeBurnIn is the number of steps before the first round. Half and twice give the same answers
// (docs/benchmarks/constants.md).
const imputeBurnIn = 200

// imputeCandidates is the default number of candidates of a node, its likely parents, if cells are
// missing. It is small because the evidences of all sets of candidates are computed again in every
// step.
const imputeCandidates = 7

// newImputer completes the table with values from other rows of the same column.
func newImputer(p *score.Problem, random *rand.Rand) *imputer {
	data, copied := *p.Data, *p
	data.X, copied.Data = mat.DenseCopyOf(p.Data.X), &data
	for row, nodes := range data.Missing {
		for _, j := range nodes {
			for {
				if other := random.IntN(data.Rows()); !slices.Contains(data.Missing[other], j) {
					data.X.Set(row, j, p.Data.X.At(other, j))
					break
				}
			}
		}
	}
	return &imputer{problem: &copied, random: random, mechanisms: data.Mechanisms()}
}

// cells returns the values of the missing cells, row by row.
func (m *imputer) cells() (values []float64) {
	for row, nodes := range m.problem.Data.Missing {
		values = append(values, apply.To(nodes, func(j int) float64 { return m.problem.Data.X.At(row, j) })...)
	}
	return values
}

func (m *imputer) setCells(values []float64) {
	for row, nodes := range m.problem.Data.Missing {
		for _, j := range nodes {
			m.problem.Data.X.Set(row, j, values[0])
			values = values[1:]
		}
	}
}

// step takes a sweep over graphs, and then draws the missing cells.
func (m *imputer) step(ctx gocontext.Context, candidates [][]int) error {
	found := candidatesOf(m.problem, candidates)
	if err := parallel.For(ctx, len(candidates), func(j int) error {
		found.scoreSets(ctx, j)
		return found.err()
	}); err != nil {
		return err
	}
	tables, err := found.newTables(ctx, 1)
	if err != nil {
		return err
	}
	if m.walk == nil {
		m.walk = newWalk(tables, m.random)
	}
	m.walk.use(tables)
	clear(m.walk.known) // scores of the previous table
	m.walk.rescore()
	m.walk.sweep()
	if err := found.err(); err != nil {
		return err
	}
	m.thetas = make([][]float64, len(found.forms))
	if m.problem.Model.Mechanism == sem.Categorical {
		m.drawCategories()
		return nil
	}
	return m.drawNumbers(found.forms)
}

// numberMechanism holds the parameters of a mechanism of a numeric node.
type numberMechanism struct {
	theta     []float64
	intercept float64
}

// drawNumbers draws parameters, and then the missing cells of each row from their normal
// distribution given the other cells of the row. In each row it uses the mechanisms of this row;
// nodes set by an intervention have none.
func (m *imputer) drawNumbers(forms []score.Form) error {
	d, l := m.problem.Data, m.problem.Layout()
	drawn := make([][]numberMechanism, len(forms))
	for j, parents := range m.walk.parents {
		for _, one := range score.FormsOf(forms[j]) {
			form := one.(*score.BGe)
			theta := form.Posterior(parents)(m.random)
			drawn[j] = append(drawn[j], numberMechanism{theta, form.Intercept(parents, theta, m.random)})
		}
		m.thetas[j] = drawn[j][0].theta
	}
	for row, nodes := range d.Missing {
		if len(nodes) == 0 {
			continue
		}
		values := d.X.RawRowView(row)
		precision, right := mat.NewSymDense(len(nodes), nil), mat.NewVecDense(len(nodes), nil)
		for j := range forms {
			place := m.mechanisms[row][j]
			if place == tables.NoMechanism {
				continue
			}
			child := drawn[j][place]
			// weight returns the coefficient of node i in the residual of node j.
			weight := func(i int) float64 { return dgraph.Indicator(i == j) - child.theta[i] }
			residual := -child.intercept
			for i, x := range values {
				if !slices.Contains(nodes, i) {
					residual += weight(i) * x
				}
			}
			size := math.Exp(-2 * l.LogSigma(child.theta))
			for a, i := range nodes {
				right.SetVec(a, right.AtVec(a)-size*weight(i)*residual)
				for b, k := range nodes[:a+1] {
					precision.SetSym(a, b, precision.At(a, b)+size*weight(i)*weight(k))
				}
			}
		}
		var factor mat.Cholesky
		if !factor.Factorize(precision) {
			return fmt.Errorf("%s: missing cells of %s %d: their precision given the others is not positive", d.Path, d.PlaceUnit, d.Places[row])
		}
		var mean, noise mat.VecDense
		standard := mat.NewVecDense(len(nodes), stream.Normals(m.random, len(nodes)))
		var upper mat.TriDense
		factor.UTo(&upper)
		if err := factor.SolveVecTo(&mean, right); err != nil {
			return fmt.Errorf("%s: missing cells of %s %d: %w", d.Path, d.PlaceUnit, d.Places[row], err)
		}
		_ = noise.SolveVec(&upper, standard) // the matrix is positive definite
		for a, i := range nodes {
			d.X.Set(row, i, mean.AtVec(a)+noise.AtVec(a))
		}
	}
	return nil
}

// cellCounts counts the levels of a node in the rows with one of its mechanisms, for each
// combination of values of its parents. Combinations are identified by a number.
type cellCounts struct {
	node    int
	parents []int
	cell    float64 // weight of the prior in each cell
	counts  map[uint64][]float64
}

func (c *cellCounts) levels(d *tables.Data, row []float64) []float64 {
	combination := uint64(0)
	for _, i := range c.parents {
		combination = combination*uint64(len(d.Levels[i])) + uint64(row[i])
	}
	counts := c.counts[combination]
	if counts == nil {
		counts = make([]float64, len(d.Levels[c.node]))
		c.counts[combination] = counts
	}
	return counts
}

func (m *imputer) drawCategories() {
	d, counted := m.problem.Data, make([][]*cellCounts, m.problem.Data.Nodes())
	for j, parents := range m.walk.parents {
		cell := m.problem.Model.ImaginarySampleSize / float64(len(d.Levels[j]))
		for i := range parents.Nodes() {
			cell /= float64(len(d.Levels[i]))
		}
		for row := range d.Rows() {
			place := m.mechanisms[row][j]
			for len(counted[j]) <= place {
				counted[j] = append(counted[j], &cellCounts{node: j, parents: parents.List(), cell: cell, counts: map[uint64][]float64{}})
			}
			if values := d.X.RawRowView(row); place != tables.NoMechanism {
				counted[j][place].levels(d, values)[int(values[j])]++
			}
		}
	}
	for row, nodes := range d.Missing {
		values := d.X.RawRowView(row)
		for _, j := range nodes {
			var concerned []*cellCounts
			for k, place := range m.mechanisms[row] {
				if place != tables.NoMechanism && (k == j || m.walk.parents[k].Has(j)) {
					c := counted[k][place]
					concerned = append(concerned, c)
					c.levels(d, values)[int(values[k])]--
				}
			}
			probabilities := make([]float64, len(d.Levels[j]))
			for level := range probabilities {
				values[j], probabilities[level] = float64(level), 1
				for _, c := range concerned {
					counts, total := c.levels(d, values), 0.0
					for _, count := range counts {
						total += count + c.cell
					}
					probabilities[level] *= (counts[int(values[c.node])] + c.cell) / total
				}
			}
			values[j] = float64(pick.Index(probabilities, m.random.Float64()))
			for _, c := range concerned {
				c.levels(d, values)[int(values[c.node])]++
			}
		}
	}
}

// startImputed makes the chains and takes their burn-in steps.
func (r *chainRun) startImputed(ctx gocontext.Context, status func(string)) error {
	status("burn-in of the chains")
	for c := range r.cfg.Chains {
		r.sources = append(r.sources, stream.Source(r.cfg.Seed, "imputation/"+strconv.Itoa(c)))
		r.imputers = append(r.imputers, newImputer(r.problem, rand.New(r.sources[c])))
	}
	if err := parallel.For(ctx, len(r.imputers), func(c int) error { return r.advance(ctx, c, imputeBurnIn) }); err != nil {
		return err
	}
	r.walks = apply.To(r.imputers, func(m *imputer) *walk { return m.walk })
	return nil
}
