package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/rjmcmc"
)

// imputer is a chain over graphs, parameters and the missing cells of a table, whose distribution
// converges to their posterior given the others: steps of [walk] given a completed table, then
// draws of the cells given the graph. Numbers are drawn row by row given parameters drawn for that
// graph; categories cell by cell with tables of probabilities integrated out. That cells are
// missing must tell nothing of their values beyond what the others tell (missing at random).
type imputer struct {
	problem *Problem // with a table of its own
	random  *rand.Rand
	walk    *walk
	thetas  [][]float64 // parameters of the graph, by node, of usual mechanisms
	// places of the mechanisms of nodes in rows, as [Data.mechanisms] has them
	mechanisms [][]int
}

// imputeBurnIn is the number of steps before the first round; chosen by hand.
const imputeBurnIn = 200

// imputeCandidates is the default number of candidates of a node: all their sets are scored anew
// in every step.
const imputeCandidates = 7

// newImputer completes the table with values that its columns have elsewhere.
func newImputer(p *Problem, random *rand.Rand) *imputer {
	data, own := *p.Data, *p
	data.X, own.Data = mat.DenseCopyOf(p.Data.X), &data
	for row, nodes := range data.missing {
		for _, j := range nodes {
			for {
				if other := random.IntN(data.Rows()); !slices.Contains(data.missing[other], j) {
					data.X.Set(row, j, p.Data.X.At(other, j))
					break
				}
			}
		}
	}
	return &imputer{problem: &own, random: random, mechanisms: data.mechanisms()}
}

// cells are the values of the missing cells, row by row.
func (m *imputer) cells() (values []float64) {
	for row, nodes := range m.problem.Data.missing {
		for _, j := range nodes {
			values = append(values, m.problem.Data.X.At(row, j))
		}
	}
	return values
}

// setCells takes over what cells returned.
func (m *imputer) setCells(values []float64) {
	for row, nodes := range m.problem.Data.missing {
		for _, j := range nodes {
			m.problem.Data.X.Set(row, j, values[0])
			values = values[1:]
		}
	}
}

// step moves the graph, and then draws the missing cells.
func (m *imputer) step(ctx gocontext.Context, candidates [][]int) error {
	own, err := candidatesOf(ctx, m.problem, candidates)
	if err != nil {
		return err
	}
	tables, err := own.newTables(ctx, 1)
	if err != nil {
		return err
	}
	if m.walk == nil {
		m.walk = newWalk(tables, m.random)
	}
	m.walk.use(tables)
	clear(m.walk.known) // scores of the table before
	m.walk.rescore()
	m.walk.sweep()
	if err := own.failed.get(); err != nil {
		return err
	}
	m.thetas = make([][]float64, len(own.forms))
	if m.problem.Model.Mechanism == Categorical {
		m.drawCategories()
		return nil
	}
	return m.drawNumbers(own.forms)
}

// numberMechanism is a mechanism of a number with its parameters.
type numberMechanism struct {
	theta     []float64
	intercept float64
}

// drawNumbers draws parameters, and then the missing cells of each row from their normal
// distribution given its other cells, by the mechanisms that the row has. Mechanisms of nodes that
// were set have no part in it.
func (m *imputer) drawNumbers(forms []closedForm) error {
	d, l := m.problem.Data, m.problem.layout()
	drawn := make([][]numberMechanism, len(forms))
	for j, parents := range m.walk.parents {
		for _, one := range formsOf(forms[j]) {
			form := one.(*bgeForm)
			theta := form.posterior(parents)(m.random)
			drawn[j] = append(drawn[j], numberMechanism{theta, form.intercept(parents, theta, m.random)})
		}
		m.thetas[j] = drawn[j][0].theta
	}
	for row, nodes := range d.missing {
		if len(nodes) == 0 {
			continue
		}
		values := d.X.RawRowView(row)
		precision, right := mat.NewSymDense(len(nodes), nil), mat.NewVecDense(len(nodes), nil)
		for j := range forms {
			place := m.mechanisms[row][j]
			if place == noMechanism {
				continue
			}
			own := drawn[j][place]
			// weight is the coefficient of node i in the residual
			weight := func(i int) float64 { return indicator(i == j) - own.theta[i] }
			residual := -own.intercept
			for i, x := range values {
				if !slices.Contains(nodes, i) {
					residual += weight(i) * x
				}
			}
			size := math.Exp(-2 * l.logSigma(own.theta))
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
		standard := mat.NewVecDense(len(nodes), nil)
		for a := range nodes {
			standard.SetVec(a, m.random.NormFloat64())
		}
		var upper mat.TriDense
		factor.UTo(&upper)
		if err := factor.SolveVecTo(&mean, right); err != nil {
			return fmt.Errorf("%s: missing cells of %s %d: %w", d.Path, d.PlaceUnit, d.Places[row], err)
		}
		_ = noise.SolveVec(&upper, standard) // of a positive definite matrix
		for a, i := range nodes {
			d.X.Set(row, i, mean.AtVec(a)+noise.AtVec(a))
		}
	}
	return nil
}

// cellCounts are how often each combination of values of the parents of a node has each of its
// levels, by the number of the combination, in the rows with one of its mechanisms.
type cellCounts struct {
	node    int
	parents []int
	cell    float64 // weight of the prior
	counts  map[uint64][]float64
}

// levels are the counts of the combination that a row has.
func (c *cellCounts) levels(d *Data, row []float64) []float64 {
	combination := uint64(0)
	for _, i := range c.parents {
		combination = combination*uint64(len(d.Levels[i])) + uint64(row[i])
	}
	own := c.counts[combination]
	if own == nil {
		own = make([]float64, len(d.Levels[c.node]))
		c.counts[combination] = own
	}
	return own
}

// drawCategories draws the missing cells one by one given all others.
func (m *imputer) drawCategories() {
	d, tables := m.problem.Data, make([][]*cellCounts, m.problem.Data.Nodes())
	for j, parents := range m.walk.parents {
		cell := m.problem.Model.ImaginarySampleSize / float64(len(d.Levels[j]))
		for i := range parents.Nodes() {
			cell /= float64(len(d.Levels[i]))
		}
		for row := range d.Rows() {
			place := m.mechanisms[row][j]
			for len(tables[j]) <= place {
				tables[j] = append(tables[j], &cellCounts{node: j, parents: parents.List(), cell: cell, counts: map[uint64][]float64{}})
			}
			if values := d.X.RawRowView(row); place != noMechanism {
				tables[j][place].levels(d, values)[int(values[j])]++
			}
		}
	}
	for row, nodes := range d.missing {
		values := d.X.RawRowView(row)
		for _, j := range nodes {
			var concerned []*cellCounts
			for k, place := range m.mechanisms[row] {
				if place != noMechanism && (k == j || m.walk.parents[k].Has(j)) {
					c := tables[k][place]
					concerned = append(concerned, c)
					c.levels(d, values)[int(values[k])]--
				}
			}
			probabilities := make([]float64, len(d.Levels[j]))
			for level := range probabilities {
				values[j], probabilities[level] = float64(level), 1
				for _, c := range concerned {
					own, total := c.levels(d, values), 0.0
					for _, count := range own {
						total += count + c.cell
					}
					probabilities[level] *= (own[int(values[c.node])] + c.cell) / total
				}
			}
			values[j] = float64(pickLevel(probabilities, m.random.Float64()))
			for _, c := range concerned {
				c.levels(d, values)[int(values[c.node])]++
			}
		}
	}
}

// startImputed chooses candidates and makes chains that have burnt in.
func (r *chainRun) startImputed(ctx gocontext.Context) (err error) {
	if r.candidates, err = newCandidates(ctx, nil, r.problem, r.cfg.Candidates, func(int, int) {}); err != nil {
		return err
	}
	for c := range r.cfg.Chains {
		r.sources = append(r.sources, stream.Source(r.cfg.Seed, "imputation/"+strconv.Itoa(c)))
		r.imputers = append(r.imputers, newImputer(r.problem, rand.New(r.sources[c])))
	}
	failed := &firstError{}
	if err := eachNode(ctx, len(r.imputers), func(c int) { failed.set(r.stepImputed(ctx, c, imputeBurnIn)) }); err != nil {
		return err
	}
	for _, m := range r.imputers {
		r.walks = append(r.walks, m.walk)
	}
	return failed.get()
}

// stepImputed takes so many steps of a chain.
func (r *chainRun) stepImputed(ctx gocontext.Context, c, count int) error {
	for range count {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped: %w", err)
		}
		if err := r.imputers[c].step(ctx, r.candidates.parents); err != nil {
			return err
		}
	}
	return nil
}

// sampleImputed runs chains over graphs and missing cells, in rounds as [Problem.sampleGraphs] has
// them, and returns the draws of the last.
func (p *Problem) sampleImputed(ctx gocontext.Context, cfg ChainConfig, status func(string)) (*sampledGraphs, drawn, error) {
	if cfg.Candidates == 0 {
		cfg.Candidates = imputeCandidates
	}
	if err := cfg.Validate(); err != nil {
		return nil, drawn{}, err
	}
	cfg = cfg.withDefaults()
	r := &chainRun{problem: p, cfg: cfg}
	if found, err := r.read(ctx); err != nil {
		return nil, drawn{}, err
	} else if !found {
		status("burn-in of the chains")
		if err := r.startImputed(ctx); err != nil {
			return nil, drawn{}, err
		}
	}
	failed := &firstError{}
	for ; ; r.round++ {
		if err := r.write(); err != nil {
			return nil, drawn{}, err
		}
		s := &sampledGraphs{nodes: p.Data.Nodes(), sweeps: 1 << r.round, graphs: make([][][]dgraph.Set, cfg.Chains), scores: make([][]float64, cfg.Chains)}
		thetas := make([][][][]float64, cfg.Chains)
		err := eachNode(ctx, cfg.Chains, func(c int) {
			for k := range keptGraphs {
				if err := r.stepImputed(ctx, c, s.sweeps); err != nil {
					failed.set(err)
					return
				}
				m := r.imputers[c]
				s.graphs[c], s.scores[c] = append(s.graphs[c], slices.Clone(m.walk.parents)), append(s.scores[c], m.walk.score)
				thetas[c] = append(thetas[c], m.thetas)
				if c == 0 && (k+1)%50 == 0 {
					status(fmt.Sprintf("round %d of at most %d: graph %d/%d of each chain%s", r.round+1, cfg.Rounds, k+1, keptGraphs, r.before))
				}
			}
		})
		if err == nil {
			err = failed.get()
		}
		if err != nil {
			return nil, drawn{}, err
		}
		_, worst := s.edges()
		if certifyChains(cfg.Chains, keptGraphs, worst).Verdict == vti.Trusted || r.round >= cfg.Rounds-1 {
			var d drawn
			for k := range keptGraphs { // in order of time, the chains side by side
				for c := range r.imputers {
					d.parents, d.thetas, d.chain = append(d.parents, s.graphs[c][k]), append(d.thetas, thetas[c][k]), append(d.chain, int32(c+1))
				}
			}
			return s, d, nil
		}
		r.before = fmt.Sprintf(", R-hat %.3f in the round before", worst.RHat)
	}
}

// runImputed is [RunGraphChains] of a table with missing cells.
func (p *Problem) runImputed(ctx gocontext.Context, result *Result, cfg GraphChainsConfig) error {
	if cfg.Chains.Shard != nil {
		return fmt.Errorf("chains over missing cells are those of one process: got shard %d of %d", cfg.Chains.Shard.Index, cfg.Chains.Shard.Count)
	}
	sampled, own, err := p.sampleImputed(ctx, cfg.Chains, cfg.Status)
	if err != nil {
		return err
	}
	edges, worst := sampled.edges()
	probabilities, errors := matricesOf(edges)
	result.Certificate = certifyChains(len(sampled.graphs), keptGraphs, worst)
	draws := own.count()
	if err := p.fillGraphs(ctx, result, graphEstimates{probabilities, errors, draws, shareOf(draws, worst.ESS)}, cfg.Truth); err != nil {
		return err
	}
	random := stream.Rand(cfg.Chains.Seed, "parameters")
	posterior, source := own.split(random)
	return p.describe(ctx, result, cfg.Dir, posterior, source, nil, own.thin(fileDraws), random)
}

// matricesOf are the probabilities of edges and their standard errors [N][N].
func matricesOf(edges [][]rjmcmc.Summary) (probabilities, errors [][]float64) {
	probabilities, errors = zeros(len(edges)), zeros(len(edges))
	for _, e := range dgraph.OrderedPairs(len(edges)) {
		probabilities[e.From][e.To], errors[e.From][e.To] = edges[e.From][e.To].Mean, edges[e.From][e.To].MCSE
	}
	return probabilities, errors
}

// checkComplete fails for a table with missing cells, which chains alone draw.
func (d *Data) checkComplete() error {
	if d.missing == nil {
		return nil
	}
	return fmt.Errorf("%s: missing cells are drawn by chains over graphs alone: drop the rows that have them, or take chains", d.Path)
}

// checkImputed fails for mechanisms whose missing cells are not drawn.
func (p *Problem) checkImputed() error {
	switch m := p.Model.Mechanism; {
	case p.Data.missing == nil, m == BGe, m == Categorical:
		return nil
	default:
		return fmt.Errorf("%s: missing cells are drawn with bge and categorical mechanisms, not with %s: drop the rows that have them", p.Data.Path, m)
	}
}
