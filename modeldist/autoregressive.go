package modeldist

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/made"
	"github.com/transdim/vti/space"
)

// AutoregressiveConfig configures [NewAutoregressive]. With the zero value, training starts from
// the uniform distribution, and the size of the network depends on the space.
type AutoregressiveConfig struct {
	Hidden int // units in each layer; 0 means twice the number of inputs of the network, between 64 and 1024
	Blocks int // residual blocks; 0 means 2
	// SiteLogPrior holds initial log weights of the outcomes of each site (digit of a code). Sites
	// are independent before training. The weights need not be normalised; -Inf excludes an outcome
	// permanently. Nil means that all weights are equal.
	SiteLogPrior [][]float64
	// Constraint excludes outcomes of a site given the outcomes of earlier sites; nil for none.
	Constraint Constraint
	// Context is the length of the vectors on which [Autoregressive.Given] conditions; 0 for none.
	Context int
	Seed    uint64       // root seed of the initial weights
	DType   dtypes.DType // number type of the network, Float32 or Float64; the zero value means Float32
}

// Autoregressive is the distribution q(m) = ∏ q(m_s | m_1 … m_{s−1}) over codes m with S sites
// (digits). One residual masked network gives all conditionals, with an output for each outcome of
// a site (MADE+; Davies et al. 2025, section 3.2 and appendix F.8). Its memory grows with the
// number of sites and not with the number of models.
//
// The network reads the outcomes of earlier sites as [space.Features]. Probabilities are computed
// from its outputs in float64.
type Autoregressive struct {
	cards []int
	// inputs is cards with a 2 at the last site, whose outcome no conditional depends on. The
	// number of inputs of the network follows from it.
	inputs []int
	net    *made.Network
	dtype  dtypes.DType
	groups []siteGroup
	places []place // place of each site's outputs

	constraint Constraint
	power      float64 // power to which every conditional is raised, before it is normalised

	context, logMass *graph.Node // see Given
}

// siteGroup holds the sites with the same number of outcomes, which share an output layer.
type siteGroup struct {
	card    int
	sites   []int32
	initial [][]float64 // initial log weights [len(sites), card]; nil when all equal
}

// place locates the outputs of a site: the group of the site, and the position of the site in the
// group.
type place struct{ group, slot int }

// NewAutoregressive returns the autoregressive distribution over codes with the given outcome
// counts. It returns an error for a space with a single model, for sizes that a network cannot
// have, and for a SiteLogPrior of the wrong shape, with NaN or +Inf, or without a possible outcome
// at some site.
func NewAutoregressive(cards []int, cfg AutoregressiveConfig) (*Autoregressive, error) {
	if err := space.CheckCards(cards); err != nil {
		return nil, err
	}
	if err := cfg.check(cards); err != nil {
		return nil, err
	}
	a := &Autoregressive{cards: slices.Clone(cards), inputs: slices.Clone(cards), dtype: cfg.DType, constraint: cfg.Constraint, power: 1}
	a.inputs[len(cards)-1] = 2 // one feature, which the network never uses
	a.dtype = cmp.Or(a.dtype, dtypes.Float32)
	heads := a.groupSites(cfg.SiteLogPrior)
	if len(heads) == 0 {
		return nil, fmt.Errorf("modeldist: every site has one outcome: there is a single model and nothing to learn")
	}
	width := space.FeatureDim(a.inputs)
	cfg.Hidden = cmp.Or(cfg.Hidden, min(max(2*width, 64), 1024))
	cfg.Blocks = cmp.Or(cfg.Blocks, 2)
	net, err := made.New(made.Config{
		Inputs: width, Context: cfg.Context, Hidden: cfg.Hidden, Blocks: cfg.Blocks, Heads: heads, Seed: cfg.Seed,
	})
	if err != nil {
		return nil, fmt.Errorf("modeldist: %w", err)
	}
	a.net = net
	return a, nil
}

// groupSites fills groups and places. It returns, for each group, the number of network outputs
// that belong to each input and depend on earlier inputs only. Outputs of a site belong to its
// first input.
func (a *Autoregressive) groupSites(logPrior [][]float64) (heads [][]int) {
	width := space.FeatureDim(a.inputs)
	a.places = make([]place, len(a.cards))
	head := map[int]int{} // from the outcome count to the index of the group
	feature := 0
	for site, card := range a.cards {
		if card > 1 { // a site with one outcome needs no group
			h, ok := head[card]
			if !ok {
				h = len(a.groups)
				head[card] = h
				heads = append(heads, make([]int, width))
				a.groups = append(a.groups, siteGroup{card: card})
			}
			group := &a.groups[h]
			heads[h][feature] = group.outputs()
			a.places[site] = place{h, len(group.sites)}
			group.sites = append(group.sites, int32(site))
			if logPrior != nil {
				group.initial = append(group.initial, slices.Clone(logPrior[site]))
			}
		}
		feature += space.FeatureDim(a.inputs[site : site+1])
	}
	return heads
}

func (c AutoregressiveConfig) check(cards []int) error {
	if c.Hidden < 0 || c.Blocks < 0 || c.Context < 0 {
		return fmt.Errorf("modeldist: autoregressive network of %d units, %d blocks and a context of %d numbers, want none of them negative", c.Hidden, c.Blocks, c.Context)
	}
	if c.DType != dtypes.InvalidDType && c.DType != dtypes.Float32 && c.DType != dtypes.Float64 {
		return fmt.Errorf("modeldist: autoregressive network of dtype %s, want Float32 or Float64", c.DType)
	}
	if c.SiteLogPrior == nil {
		return nil
	}
	if len(c.SiteLogPrior) != len(cards) {
		return fmt.Errorf("modeldist: site log prior has %d rows, the space has %d sites", len(c.SiteLogPrior), len(cards))
	}
	for site, row := range c.SiteLogPrior {
		if len(row) != cards[site] {
			return fmt.Errorf("modeldist: site log prior of site %d has %d values, want %d", site, len(row), cards[site])
		}
		for outcome, value := range row {
			if math.IsNaN(value) || math.IsInf(value, 1) {
				return fmt.Errorf("modeldist: site log prior of site %d, outcome %d is %v", site, outcome, value)
			}
		}
		if math.IsInf(slices.Max(row), -1) {
			return fmt.Errorf("modeldist: site log prior of site %d is -Inf for all outcomes", site)
		}
	}
	return nil
}

// Cards returns the number of outcomes of each site. Callers must not change the slice.
func (a *Autoregressive) Cards() []int { return a.cards }

// Tempered returns the distribution whose conditionals are the conditionals of a raised to a power
// and normalised again. A power below one makes them flatter. It shares the variables of a.
func (a *Autoregressive) Tempered(power float64) *Autoregressive {
	tempered := *a
	tempered.power *= power
	return &tempered
}

// LogProb returns the log probability of each code in one pass of the network: codes [B, S] int32
// -> [B] float64, -Inf for codes with an excluded outcome.
func (a *Autoregressive) LogProb(ctx *context.Context, codes *graph.Node) *graph.Node {
	space.AssertCodes("modeldist.Autoregressive.LogProb", codes, len(a.cards))
	g := codes.Graph()
	outputs := a.bind(ctx, g).Outputs(space.FeaturesOf(a.inputs, codes, a.dtype))
	var total *graph.Node
	for h, group := range a.groups {
		logProbs := made.LogSoftmax(a.given(codes, group.sites, group.logits(outputs[h], group.initial))) // [B, n, K]
		outcome := graph.InsertAxes(space.TakeColumns(codes, group.sites), -1)
		chosen := graph.Equal(outcome, graph.Iota(g, shapes.Make(dtypes.Int32, 1, 1, group.card), 2))
		// A product with 0 instead of Where would give NaN for excluded outcomes, which have -Inf.
		sum := graph.ReduceSum(graph.Where(chosen, logProbs, graph.ZerosLike(logProbs)), 1, 2)
		if total == nil {
			total = sum
		} else {
			total = graph.Add(total, sum)
		}
	}
	return total
}

// Sample maps uniform random numbers [B, S] to codes [B, S] int32. It draws one site after the
// other, by inverting the cumulative conditional distribution of each site. All sites together cost
// about one evaluation of the network (made.Bound.Sequential). No gradient passes through Sample.
func (a *Autoregressive) Sample(ctx *context.Context, uniforms *graph.Node) *graph.Node {
	assertUniforms("modeldist.Autoregressive.Sample", uniforms, len(a.cards))
	g := uniforms.Graph()
	batch := uniforms.Shape().Dim(0)
	blank := func(n int) *graph.Node { return graph.Zeros(g, shapes.Make(dtypes.Int32, batch, n)) }
	var drawn []*graph.Node // the columns of codes so far, [B, 1] each
	draw := func(site int, outputs []*graph.Node) *graph.Node {
		if a.cards[site] == 1 {
			return blank(1)
		}
		place := a.places[site]
		group := a.groups[place.group]
		codes := graph.Concatenate(append(slices.Clone(drawn), blank(len(a.cards)-site)), 1)
		initial := group.initial
		if initial != nil {
			initial = initial[place.slot : place.slot+1]
		}
		logits := group.logits(outputs[place.group], initial)
		logits = graph.Squeeze(a.given(codes, []int32{int32(site)}, logits), 1) // [B, K]
		weights := graph.Exp(graph.Sub(logits, graph.ReduceAndKeep(logits, graph.ReduceMax, -1)))
		u := graph.Squeeze(graph.SliceAxis(uniforms, 1, graph.AxisElem(site)), 1)
		return graph.InsertAxes(invertCDF(weights, u), -1)
	}
	site, outcome := -1, 0 // the site and outcome of the present feature
	a.bind(ctx, g).Sequential(batch, func(_ int, outputs []*graph.Node) *graph.Node {
		if outcome++; site < 0 || outcome == space.FeatureDim(a.inputs[site:site+1]) {
			site, outcome = site+1, 0
			drawn = append(drawn, draw(site, outputs))
		}
		if a.inputs[site] == 2 {
			return graph.ConvertDType(drawn[site], a.dtype)
		}
		return graph.ConvertDType(graph.Equal(drawn[site], graph.Const(g, int32(outcome))), a.dtype)
	})
	return graph.StopGradient(graph.Concatenate(drawn, 1))
}

// given returns the logits of sites given the outcomes of earlier sites in codes [B, S]. The
// network has computed the argument logits [B, n, K]. Outcomes that the constraint forbids have
// −Inf.
func (a *Autoregressive) given(codes *graph.Node, sites []int32, logits *graph.Node) *graph.Node {
	all := func(of func(codes *graph.Node, site int) *graph.Node) *graph.Node {
		list := apply.To(sites, func(site int32) *graph.Node { return of(codes, int(site)) })
		return graph.Stack(list, 1)
	}
	if a.logMass != nil {
		logits = graph.Add(logits, all(a.offset))
	}
	logits = graph.MulScalar(logits, a.power)
	if a.constraint == nil {
		return logits
	}
	return graph.Where(all(a.constraint.Allowed), logits, graph.BroadcastToShape(graph.Const(logits.Graph(), math.Inf(-1)), logits.Shape()))
}

func (a *Autoregressive) bind(ctx *context.Context, g *graph.Graph) *made.Bound {
	var about *graph.Node
	if a.context != nil {
		about = graph.ConvertDType(a.context, a.dtype)
	}
	return a.net.Bind(ctx.In("autoregressive"), g, a.dtype, about)
}

// outputs returns the number of outputs of a site with K outcomes: 1 (log odds) if K = 2, else K
// logits.
func (s siteGroup) outputs() int {
	if s.card == 2 {
		return 1
	}
	return s.card
}

// logits computes the logits of the K outcomes of n sites of the group, [B, n, K] float64, from the
// outputs of the network for these sites, [B, n·outputs]. It adds initial [n, K] if it is not nil.
func (s siteGroup) logits(outputs *graph.Node, initial [][]float64) *graph.Node {
	x := graph.ConvertDType(outputs, dtypes.Float64)
	x = graph.Reshape(x, x.Shape().Dim(0), -1, s.outputs())
	if s.card == 2 {
		x = graph.Concatenate([]*graph.Node{graph.ZerosLike(x), x}, 2)
	}
	if initial != nil {
		x = graph.Add(x, graph.InsertAxes(graph.Const(x.Graph(), initial), 0))
	}
	return x
}
