package walk

import (
	"cmp"
	gocontext "context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/shard"
)

// ChainConfig sets the number, the length and the proposals of chains over graphs. The zero value
// is usable.
type ChainConfig struct {
	// Chains is the number of independent chains. Each chain starts at random. 0 stands for 6, and
	// for 4 with more than 128 nodes.
	Chains int
	// Rounds is the largest number of rounds; 0 stands for 6. If no cells are missing, a pilot of a
	// tenth of a round, whose graphs are dropped, comes before the rounds. The first round keeps
	// 500 graphs of each chain, with a sweep (a number of steps in proportion to the number of
	// nodes) between two graphs. Further rounds follow until the chains agree. Each further round
	// takes twice as many sweeps as the round before, and its 500 graphs replace the graphs of
	// earlier rounds.
	Rounds int
	// MaxTime, if not 0, limits the time: no round begins that would take longer than the time
	// left.
	MaxTime time.Duration
	// Candidates is the number of likely parents of each node whose sets are summed over, in
	// addition to required parents; 0 stands for 12, for 10 with more than 128 nodes, and for 7
	// with missing cells. If in a round a node often has parents that are not among its candidates,
	// it gets new candidates for the next round, at most two more than before. Candidates affects
	// the speed of the chains, not the distribution to which they converge.
	Candidates int
	// Seed is the random seed.
	Seed uint64
	// Shard, if not nil, says which part of the work this process does, among several processes
	// that run the same chains. They share the scores of sets of parents by node, and the rounds by
	// chain. Every process ends with the graphs that a single process would have. A single process
	// with a Shard continues a stopped run from its finished pieces.
	Shard *shard.Shard
}

func (c ChainConfig) withDefaults() ChainConfig {
	c.Chains = cmp.Or(c.Chains, 6)
	c.Rounds = cmp.Or(c.Rounds, 6)
	c.Candidates = cmp.Or(c.Candidates, 12)
	return c
}

// Validate returns an error for the first field out of range.
func (c ChainConfig) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Chains < 2:
		return fmt.Errorf("chains: got %d, want at least 2 to compare", c.Chains)
	case c.Candidates < 1 || c.Candidates > maxCandidates:
		return fmt.Errorf("candidates: got %d, want 1 to %d", c.Candidates, maxCandidates)
	case c.Rounds < 1:
		return fmt.Errorf("rounds: got %d, want at least 1", c.Rounds)
	}
	return nil
}

const (
	maxCandidates = 18
	KeptGraphs    = 500 // draws of each chain in a round
	annealBetas   = 40  // number of inverse temperatures from the prior to the posterior, with annealSweeps sweeps each
	annealFirst   = 0.003
	annealSweeps  = 10
	// These constants are the numbers of steps in a sweep, for each node.
	largeSteps = 1
	blocks     = 1
	reversals  = 1
	smallSteps = 10
	windows    = 10 // additional steps in a sweep of a wide walk, not for each node
	// sortedNodes bounds the time that grows with the square of the number of nodes. A large step
	// moves a node by at most sortedNodes places. One drawn order serves one large step for each
	// sortedNodes nodes, rounded up.
	sortedNodes = 128
)

// Graphs holds the graphs that chains visited in the last round.
type Graphs struct {
	nodes  int
	Graphs [][][]dgraph.Set // [chains][draws][N]
	scores [][]float64      // log posterior weights of the graphs [chains][draws]
	Last   Edges            // summaries of the edges in the last round, by SampleGraphs
	// parameters of each node, if cells are missing [chains][draws][N][D]
	thetas [][][][]float64
	sweeps int // sweeps between two draws
}

// SampleGraphs runs chains over graphs, and over the missing cells of the table if there are any.
// The evidences of the mechanisms must have a closed form.
func SampleGraphs(p *score.Problem, ctx gocontext.Context, cfg ChainConfig, status func(string)) (*Graphs, error) {
	imputes := p.Data.Missing != nil
	if imputes {
		cfg.Candidates = cmp.Or(cfg.Candidates, imputeCandidates)
	}
	if p.Data.Nodes() > dgraph.ManyNodes {
		cfg.Chains, cfg.Candidates = cmp.Or(cfg.Chains, wideChains), cmp.Or(cfg.Candidates, wideCandidates)
	}
	if err := errors.Join(p.CheckClosedForm(), cfg.Validate()); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	limit := budget.Start(cfg.MaxTime)
	r := &chainRun{problem: p, cfg: cfg}
	if err := r.initialise(ctx, status); err != nil {
		return nil, err
	}
	s := &Graphs{nodes: p.Data.Nodes()}
	if !imputes {
		if err := s.pilot(ctx, r, status); err != nil {
			return nil, err
		}
	}
	for ; ; r.round++ {
		began := time.Now()
		if !imputes {
			if err := r.findDoubts(ctx); err != nil {
				return nil, err
			}
		}
		s.sweeps = 1 << r.round
		if err := s.run(ctx, r, "round", KeptGraphs, func(done int) {
			status(fmt.Sprintf("round %d of at most %d: %d of %d graphs%s", r.round+1, cfg.Rounds, done, KeptGraphs*cfg.Chains, r.before))
		}); err != nil {
			return nil, err
		}
		if err := r.candidates.err(); err != nil {
			return nil, err
		}
		s.Last = s.Edges()
		worst := s.Last.Worst
		if verdict.Judge(Measured(len(r.walks), KeptGraphs, worst)).Verdict == verdict.Trusted || r.round >= cfg.Rounds-1 || !limit.Fits(2*time.Since(began)) {
			return s, nil
		}
		r.before = fmt.Sprintf(", R-hat %.3f in the round before", worst.RHat)
		if imputes { // the candidates do not change, because their sets are scored again in every step
			continue
		}
		if err := r.refine(ctx, s.visits(), worst.RHat > verdict.FailedRHat); err != nil {
			return nil, err
		}
	}
}

// Measured returns the diagnostics that package verdict judges. chains is the number of chains,
// draws the number of draws of each chain, and worst the worst summary of a quantity.
func Measured(chains, draws int, worst rjmcmc.Summary) verdict.Measured {
	return verdict.Measured{
		Chains: &verdict.Chains{RHat: worst.RHat}, ESS: worst.ESS, Draws: chains * draws, Event: "an edge", EventSE: worst.MCSE,
	}
}

// start anneals chains from the prior to the posterior, so that they do not all start in the
// nearest of many modes.
func (r *chainRun) start(ctx gocontext.Context, status func(string)) error {
	for k := range annealBetas {
		tables, err := r.candidates.newTables(ctx, math.Pow(annealFirst, 1-float64(k)/(annealBetas-1)))
		if err != nil {
			return err
		}
		for c := range r.cfg.Chains {
			if k == 0 {
				r.sources = append(r.sources, stream.Source(r.cfg.Seed, "chain/"+strconv.Itoa(c)))
				r.walks = append(r.walks, newWalk(tables, rand.New(r.sources[c])))
			}
			r.walks[c].use(tables)
		}
		if err := parallel.For(ctx, len(r.walks), func(c int) error {
			for range annealSweeps {
				r.walks[c].largeSteps()
			}
			return nil
		}); err != nil {
			return err
		}
		status(fmt.Sprintf("from the prior to the posterior: step %d/%d", k+1, annealBetas))
	}
	return nil
}

// refine chooses new candidates after a round whose graphs are dropped, so that the choice may
// depend on them. If wide is true, the walks become wide: their sweeps have additional, slow steps
// of many nodes. wide is true only after a round in which chains differed much.
func (r *chainRun) refine(ctx gocontext.Context, visits [][]float64, wide bool) (err error) {
	r.visits = visits
	if r.candidates, err = r.candidates.refined(ctx, r.cfg.Shard, visits, r.cfg.Candidates); err != nil {
		return err
	}
	tables, err := r.candidates.newTables(ctx, 1)
	if err != nil {
		return err
	}
	for _, w := range r.walks {
		w.use(tables)
		w.wide = w.wide || wide
	}
	return nil
}

// sweep makes a number of steps that is proportional to the number of nodes.
func (w *walk) sweep() {
	w.largeSteps()
	if w.wide { // draw the order of many nodes at once: of a block, or with the prior over orders of neighbours in the order
		step := w.block
		if w.tables.problem.Structure.Orders {
			step = w.orderWindow
		}
		for range windows {
			step(min(windowWidth, len(w.parents)))
		}
	}
	for range smallSteps * len(w.parents) {
		w.addOrRemove()
		w.toggleDoubtful()
		w.turn()
	}
	w.rescore()
}

func (w *walk) largeSteps() {
	nodes := len(w.parents)
	reaches := [...]int{1, 4, 16, min(sortedNodes, nodes-1)}
	for k := range largeSteps * nodes {
		reach := min(reaches[w.random.IntN(len(reaches))], nodes-1)
		if k%(1+(nodes-1)/sortedNodes) == 0 && !w.tables.problem.Structure.Orders {
			w.logOrder = w.sort()
		}
		w.step(reach)
	}
	for range blocks * nodes {
		w.block(blockWidth)
	}
	for range reversals * nodes {
		w.reverse()
	}
}

// pilotGraphs is the number of graphs of each chain in the pilot, which takes a tenth of the time
// of the first round. Without it, chains over 1,000 nodes spent the whole first round in two
// versions of the parents of a node, because some of these parents were not candidates.
const pilotGraphs = KeptGraphs / 10

// pilot runs every chain for a short time and chooses new candidates from the graphs visited. A few
// nodes have likely parents that were not among the first candidates. Large steps, which draw all
// parents of nodes, leave out a node while it has a parent that is not a candidate. The graphs
// visited also show doubtful edges for the blocks of the first round.
func (s *Graphs) pilot(ctx gocontext.Context, r *chainRun, status func(string)) error {
	s.sweeps = 1
	if err := r.findDoubts(ctx); err != nil {
		return err
	}
	if err := s.run(ctx, r, "pilot", pilotGraphs, func(done int) {
		status(fmt.Sprintf("pilot: %d of %d graphs", done, pilotGraphs*r.cfg.Chains))
	}); err != nil {
		return err
	}
	return r.refine(ctx, s.visits(), false)
}

// run runs every chain and keeps a number of graphs of each. progress is called with the number of
// graphs that all chains of this process have drawn.
func (s *Graphs) run(ctx gocontext.Context, r *chainRun, stage string, graphs int, progress func(done int)) error {
	var lock sync.Mutex
	done := 0
	count := func() {
		lock.Lock()
		defer lock.Unlock()
		if done++; done%100 == 0 {
			progress(done)
		}
	}
	pieces, err := r.share(ctx, stage, func(c int, piece *roundPiece) error {
		for range graphs {
			if err := r.advance(ctx, c, s.sweeps); err != nil {
				return err
			}
			piece.Graphs, piece.Scores = append(piece.Graphs, slices.Clone(r.walks[c].parents)), append(piece.Scores, r.walks[c].score)
			if r.imputers != nil {
				piece.Thetas = append(piece.Thetas, r.imputers[c].thetas)
			}
			count()
		}
		return nil
	})
	s.Graphs, s.scores, s.thetas = make([][][]dgraph.Set, len(pieces)), make([][]float64, len(pieces)), make([][][][]float64, len(pieces))
	for c, piece := range pieces {
		s.Graphs[c], s.scores[c], s.thetas[c] = piece.Graphs, piece.Scores, piece.Thetas
	}
	return err
}

func (r *chainRun) advance(ctx gocontext.Context, c, sweeps int) error {
	for range sweeps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped: %w", err)
		}
		if r.imputers == nil {
			r.walks[c].sweep()
		} else if err := r.imputers[c].step(ctx, r.candidates.parents); err != nil {
			return err
		}
	}
	return nil
}

// visits returns the fraction of draws in which each node had each other node as a parent
// [node][parent].
func (s *Graphs) visits() [][]float64 {
	shares := dgraph.Zeros(s.nodes)
	each := 1 / float64(len(s.Graphs)*len(s.Graphs[0]))
	for _, chain := range s.Graphs {
		for _, parents := range chain {
			for j, set := range parents {
				for i := range set.Nodes() {
					shares[j][i] += each
				}
			}
		}
	}
	return shares
}

// Edges returns the probabilities and errors of all edges.
func (s *Graphs) Edges() Edges {
	density := rjmcmc.Summarise(s.scores)
	if density.SD == 0 || s.oneScore() {
		density.RHat, density.ESS = 1, float64(len(s.Graphs)*KeptGraphs)
	}
	present := map[dgraph.Edge][]int{} // the draws that have an edge, counted through all chains
	for k, parents := range slices.Concat(s.Graphs...) {
		for to, set := range parents {
			for from := range set.Nodes() {
				e := dgraph.Edge{From: from, To: to}
				present[e] = append(present[e], k)
			}
		}
	}
	length := len(s.scores[0])
	summarise := func(draws []int) rjmcmc.Summary {
		all := make([]float64, len(s.Graphs)*length) // indicators of an edge in all draws, chain by chain
		for _, k := range draws {
			all[k] = 1
		}
		return rjmcmc.Summarise(slices.Collect(slices.Chunk(all, length)))
	}
	edges, absent := slices.Collect(maps.Keys(present)), summarise(nil)
	summaries := make([]rjmcmc.Summary, len(edges))
	parallel.Run(len(edges), func(k int) { summaries[k] = summarise(present[edges[k]]) })
	places := rank.Places(edges)
	return Summarise(s.nodes, density, func(e dgraph.Edge) rjmcmc.Summary {
		if k, ok := places[e]; ok {
			return summaries[k]
		}
		return absent
	})
}

// oneScore reports whether all but a few draws have the same log posterior weight, up to rounding:
// the score of one graph, or of an equivalence class with equal scores. A few visits of other
// graphs give no information about autocorrelation, and neither do rounding errors of equal scores.
func (s *Graphs) oneScore() bool {
	const digits = 1e-8
	counts, most, total := map[float64]int{}, 0, 0
	for _, chain := range s.scores {
		for _, score := range chain {
			rounded := math.Round(score / digits)
			counts[rounded]++
			most, total = max(most, counts[rounded]), total+1
		}
	}
	return float64(most) > (1-rareEdge)*float64(total)
}
