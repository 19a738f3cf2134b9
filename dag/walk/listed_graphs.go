package walk

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
)

// ListedGraphs computes the posterior over the graphs in which every node with its parents (its
// family) is on a list. The list may grow from call to call. ListedGraphs sums over all these
// graphs, or runs chains, which continue from their last graphs if log evidences change.
type ListedGraphs struct {
	structure dgraph.Structure
	sums      bool
	logMass   float64 // log of the sum of the prior weights of all graphs
	seed      uint64
	chains    []*listedWalk
	sweeps    int             // number of sweeps between two draws
	worst     *rjmcmc.Summary // worst summary of the last round of Settle; nil for sums
}

// MostSummed is the largest number of nodes for which graphs are summed in each round. Such a sum
// takes a second or less.
const MostSummed = 10

// These are sizes of the rounds of chains. Half and twice give the same answers
// (docs/benchmarks/constants.md).
const (
	listedChains = 6
	mostSweeps   = 64  // largest number of sweeps between two draws
	fewDraws     = 100 // draws of each chain in a round while evidences still change
)

// NewListedGraphs returns a ListedGraphs without chains yet. It will sum over graphs if there are
// at most mostSummed nodes.
func NewListedGraphs(s dgraph.Structure, seed uint64, mostSummed int) *ListedGraphs {
	l := &ListedGraphs{structure: s, sums: s.Nodes <= mostSummed, seed: seed, sweeps: 1}
	if l.sums {
		l.logMass = s.LogMass()
	}
	return l
}

// Posterior is a score.SumOfScores. It computes the posterior by a sum, or by one round of chains,
// over the graphs made of the families in scores. For each node, scores must contain the family
// with only the required parents.
func (l *ListedGraphs) Posterior(ctx gocontext.Context, s dgraph.Structure, scores score.Scores, _ func(string)) (*score.Posterior, error) {
	if !l.sums {
		_, sum, err := l.round(ctx, scores, fewDraws)
		if err != nil {
			return nil, err
		}
		return l.estimate(scores, sum, listedChains*fewDraws), nil
	}
	sum := s.Sum(scores.Families, scores.LogEvidence, func(int, int) bool { return ctx.Err() == nil })
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("stopped while summing over graphs: %w", err)
	}
	return l.estimate(scores, sum, 0), nil
}

// Settle computes the posterior by rounds of chains until they agree. Each round has twice as many
// sweeps as the round before.
func (l *ListedGraphs) Settle(ctx gocontext.Context, scores score.Scores, status func(string)) (*score.Posterior, error) {
	if l.sums {
		return l.Posterior(ctx, l.structure, scores, status)
	}
	for ; ; l.sweeps *= 2 {
		graphs, sum, err := l.round(ctx, scores, KeptGraphs)
		if err != nil {
			return nil, err
		}
		edges := graphs.Edges()
		l.worst = &edges.Worst
		status(fmt.Sprintf("chains over graphs: R-hat %.3f", l.worst.RHat))
		if l.judged().Verdict == verdict.Trusted || l.sweeps >= mostSweeps {
			return l.estimate(scores, sum, l.worst.ESS), nil
		}
	}
}

// estimate returns the posterior that follows from a sum over graphs. If chains estimated the sum,
// drawn is their effective number of draws; if drawn is 0, the sum is exact.
func (l *ListedGraphs) estimate(scores score.Scores, sum dgraph.Sum, drawn float64) *score.Posterior {
	return score.PosteriorOf(l.structure, scores, sum, l.logMass, drawn, func(int, int) bool { return true })
}

func (l *ListedGraphs) judged() *verdict.Judgement {
	return verdict.Judge(Measured(listedChains, KeptGraphs, *l.worst))
}

// Judge lowers the verdict if the chains do not agree. It returns the number of chains, zero if
// graphs were summed, and the worst summary of the last round of Settle.
func (l *ListedGraphs) Judge(v *verdict.Judgement) (chains int, worst rjmcmc.Summary) {
	if l.worst == nil {
		return 0, worst
	}
	v.Add(l.judged())
	return listedChains, *l.worst
}

func (l *ListedGraphs) round(ctx gocontext.Context, scores score.Scores, draws int) (*Graphs, dgraph.Sum, error) {
	s := l.structure
	families := newListedFamilies(s, scores, 1)
	if l.chains == nil {
		if err := l.start(ctx, scores); err != nil {
			return nil, nil, err
		}
	}
	graphs := &Graphs{nodes: s.Nodes, Graphs: make([][][]dgraph.Set, listedChains), scores: make([][]float64, listedChains)}
	drawn, shares := make([]drawnGraphs, listedChains), make([]float64, len(scores.Families))
	if err := parallel.For(ctx, listedChains, func(c int) error {
		w, d := l.chains[c], &drawn[c]
		w.use(families)
		d.shares = make([]float64, len(scores.Families))
		for range draws {
			for range l.sweeps {
				if err := ctx.Err(); err != nil {
					return fmt.Errorf("stopped: %w", err)
				}
				w.sweep()
			}
			d.add(w)
			graphs.Graphs[c], graphs.scores[c] = append(graphs.Graphs[c], slices.Clone(w.parents)), append(graphs.scores[c], w.score())
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	all := drawnGraphs{shares: shares}
	for _, d := range drawn {
		all.families = append(all.families, d.families...)
		for f, share := range d.shares {
			all.shares[f] += share / float64(listedChains*draws)
		}
	}
	return graphs, &all, nil
}

// start anneals chains from the prior to the posterior.
func (l *ListedGraphs) start(ctx gocontext.Context, scores score.Scores) error {
	s := l.structure
	for c := range listedChains {
		random := stream.Rand(l.seed, "chain over listed graphs/"+strconv.Itoa(c))
		l.chains = append(l.chains, &listedWalk{orderedGraph: newOrderedGraph(s.Required, random), graph: make([]*listedFamily, s.Nodes)})
	}
	for k := range annealBetas {
		families := newListedFamilies(s, scores, math.Pow(annealFirst, 1-float64(k)/(annealBetas-1)))
		if err := parallel.For(ctx, listedChains, func(c int) error {
			l.chains[c].use(families)
			for range annealSweeps {
				l.chains[c].sweep()
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// drawnGraphs takes the place of a sum over graphs, without its total. It holds the families of the
// graphs that chains visited, and the mean probability of each family given the rest of a visited
// graph.
type drawnGraphs struct {
	families [][]int
	shares   []float64
}

func (d *drawnGraphs) add(w *listedWalk) {
	places := make([]int, len(w.graph))
	for j, f := range w.graph {
		places[j] = f.place
		from, total := w.possible(j), 0.0
		w.families.sum(j, from, func(_ *listedFamily, weight float64) { total += weight })
		w.families.sum(j, from, func(f *listedFamily, weight float64) { d.shares[f.place] += weight / total })
	}
	d.families = append(d.families, places)
}

// LogTotal implements dgraph.Sum. It returns NaN because the total is unknown.
func (d *drawnGraphs) LogTotal() float64 { return math.NaN() }

// Draw implements dgraph.Sum.
func (d *drawnGraphs) Draw(random *rand.Rand, families []int) {
	copy(families, d.families[random.IntN(len(d.families))])
}

// Marginals implements dgraph.Sum.
func (d *drawnGraphs) Marginals(int, func(done, total int) bool) []float64 { return d.shares }
