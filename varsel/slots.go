package varsel

import (
	"math"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/regression"
	"github.com/transdim/vti/varsel/wide"
)

// SlotTarget is the posterior of a [Target] for models with few of many predictors. A model is a
// list of its predictors (space.Lists). A position in the list is a slot. The parameters of a model
// are packed: first the coordinates in every model, which are columns of the design and then log σ
// if it is unknown, then a block for each slot. The likelihood gathers the columns of the
// predictors in the list, so that the time of a density grows with the size of the largest model
// and not with the number of predictors. SlotTarget satisfies vti.QuadraticTarget and
// rjmcmc.Target.
//
// The items of the lists are the predictors, numbered by falling log odds from screening.
type SlotTarget struct {
	base  *Target // likelihood and priors
	space *slotSpace
	order []int // predictor of each item
	item  []int // item of each predictor

	fixed   []int       // columns of the design in every model, in order; log σ follows
	columns [][]float64 // [C][n]: columns of the fixed coordinates, of every item, and one of zeros
	source  []int       // index of each column in the design, −1 for zeros
	mean    []float64   // prior means and standard deviations of the D packed coordinates
	sd      []float64
	prior   Prior // prior over models, of the items
	terms   space.LogTerms
	start   *wide.Screening

	making sync.Mutex
	made   map[dtypes.DType]*tensors.Tensor // the columns as a tensor for graphs, by type of number
}

// slotSpace is the space of lists. Networks read a list as features of its predictors, which come
// from screening.
type slotSpace struct {
	*space.Lists
	target *SlotTarget
}

var (
	_ space.Featurer      = (*slotSpace)(nil)
	_ vti.QuadraticTarget = (*SlotTarget)(nil)
	_ models              = (*SlotTarget)(nil)
)

// Unimodal reports whether the posterior given a model has one mode.
func (t *SlotTarget) Unimodal() bool { return t.base.Unimodal() }

// newSlotTarget returns the posterior of the argument bits with its models written as lists. The
// size of models must be limited.
func newSlotTarget(bits *Target) (*SlotTarget, error) {
	design := bits.design
	predictors := len(design.Predictors)
	t := &SlotTarget{base: bits, fixed: design.Always, start: bits.search().Screen()}
	t.order = t.start.Order
	t.prior = bits.prior.Reordered(t.order)
	t.terms = t.prior.LogTerms(predictors)
	t.item = make([]int, predictors)
	widths, weights := make([]int, predictors), make([]float64, predictors)
	for item, predictor := range t.order {
		t.item[predictor] = item
		widths[item] = len(design.Predictors[predictor].Coordinates)
		weights[item] = t.start.Weight(predictor)
	}
	fixed := len(t.fixed)
	if bits.Scale >= 0 {
		fixed++
	}
	lists, err := space.NewLists(widths, bits.prior.Limit(predictors), fixed)
	if err != nil {
		return nil, err
	}
	if lists, err = lists.WithWeights(weights); err != nil {
		return nil, err
	}
	t.space = &slotSpace{lists, t}

	t.source = slices.Clone(t.fixed)
	if bits.Scale >= 0 {
		t.source = append(t.source, bits.Scale) // the column of log σ in the design, which holds zeros
	}
	for _, j := range t.source {
		t.mean, t.sd = append(t.mean, bits.Mean[j]), append(t.sd, bits.SD[j])
	}
	slab := 0.0
	for _, predictor := range t.order {
		coordinates := design.Predictors[predictor].Coordinates
		for place := range lists.Width() {
			if place < len(coordinates) {
				t.source = append(t.source, coordinates[place])
				slab = bits.SD[coordinates[place]] // the same for all predictors
			} else {
				t.source = append(t.source, -1)
			}
		}
	}
	t.source = append(t.source, -1)
	rows, _ := bits.X.Dims()
	zero := make([]float64, rows)
	for _, j := range t.source {
		if j < 0 {
			t.columns = append(t.columns, zero)
		} else {
			t.columns = append(t.columns, bits.Columns[j])
		}
	}
	t.mean = append(t.mean, make([]float64, lists.Slots()*lists.Width())...)
	t.sd = append(t.sd, slices.Repeat([]float64{slab}, lists.Slots()*lists.Width())...)
	return t, nil
}

// Space returns the set of lists of predictors.
func (t *SlotTarget) Space() space.Space { return t.space }

// LogPrior returns log p(m), or −Inf for a code whose members do not ascend: codes [B,k] -> [B],
// for B codes of k slots (positions in a list of predictors).
func (t *SlotTarget) LogPrior(codes *Node) *Node {
	g, k := codes.Graph(), t.space.Slots()
	none := Const(g, int32(t.space.Items()))
	sizes := ReduceSum(ConvertDType(LessThan(codes, none), dtypes.Int32), -1)
	logPrior := Gather(Const(g, t.terms.Sizes), InsertAxes(sizes, -1))
	if t.terms.Members != nil { // an empty slot adds 0
		members := Const(g, append(slices.Clone(t.terms.Members), 0))
		each := Gather(members, Reshape(codes, codes.Shape().Size(), 1))
		logPrior = Add(logPrior, ReduceSum(Reshape(each, codes.Shape().Dimensions...), -1))
	}
	if k == 1 {
		return logPrior
	}
	before, after := Slice(codes, AxisRange(), AxisRange(0, k-1)), Slice(codes, AxisRange(), AxisRange(1, k))
	ascends := Or(LessThan(before, after), And(Equal(before, none), Equal(after, none)))
	all := ReduceMin(ConvertDType(ascends, dtypes.Int32), -1)
	return Where(Equal(all, Const(g, int32(1))), logPrior, BroadcastToShape(Const(g, math.Inf(-1)), logPrior.Shape()))
}

// LogJoint returns log p(y, θ | m): codes [B,k], mask [B,D], theta [B,D] -> [B].
func (t *SlotTarget) LogJoint(codes, mask, theta *Node) *Node {
	active := Where(mask, theta, ZerosLike(theta))
	x := t.gather(codes, theta.DType())
	eta := Einsum("bd,bdn->bn", active, x)
	if t.base.Offset != nil {
		eta = Add(eta, regression.Constant(theta, t.base.Offset, 1, len(t.base.Offset)))
	}
	return Add(t.base.Responses.LogDensity(eta, t.logScaleOf(active)), regression.LogNormalPrior(mask, theta, t.mean, t.sd))
}

// gather returns the columns of the coordinates of each model, zeros for an unused coordinate:
// codes [B,k] -> [B,D,n].
func (t *SlotTarget) gather(codes *Node, dtype dtypes.DType) *Node {
	g := codes.Graph()
	batch, dim, width, fixed := codes.Shape().Dim(0), t.space.Dim(), t.space.Width(), t.space.Fixed()
	// the column of a coordinate is its slot's item × width + its place in the slot's block
	slots, places := make([]int32, dim), make([]int32, dim)
	ofSlot := make([]int32, dim)
	for j := range dim {
		if j < fixed {
			places[j] = int32(j)
			continue
		}
		slots[j], places[j], ofSlot[j] = int32((j-fixed)/width), int32(fixed+(j-fixed)%width), int32(width)
	}
	columns := Add(Mul(space.TakeColumns(codes, slots), Const(g, [][]int32{ofSlot})), Const(g, [][]int32{places}))
	columns = Min(columns, Const(g, int32(len(t.columns)-1))) // "no more" is the column of zeros
	table := ConstCachedTensor(g, t.table(dtype))
	rows := table.Shape().Dim(1)
	return StopGradient(Reshape(Gather(table, Reshape(columns, batch*dim, 1)), batch, dim, rows))
}

// table returns the columns as a tensor that all graphs share. A constant for each graph
// (graph.Const) would take 5 s for 5,000 columns of 5,000 rows.
func (t *SlotTarget) table(dtype dtypes.DType) *tensors.Tensor {
	t.making.Lock()
	defer t.making.Unlock()
	if t.made[dtype] == nil {
		if t.made == nil {
			t.made = map[dtypes.DType]*tensors.Tensor{}
		}
		if dtype == dtypes.Float32 {
			t.made[dtype] = tableOf[float32](t.columns)
		} else {
			t.made[dtype] = tableOf[float64](t.columns)
		}
	}
	return t.made[dtype]
}

func tableOf[T float32 | float64](columns [][]float64) *tensors.Tensor {
	flat := make([]T, 0, len(columns)*len(columns[0]))
	for _, column := range columns {
		for _, x := range column {
			flat = append(flat, T(x))
		}
	}
	return tensors.FromFlatDataAndDimensions(flat, len(columns), len(columns[0]))
}

// logScaleOf returns log σ [B,1] for each point in active [B,D], whose coordinates are packed.
func (t *SlotTarget) logScaleOf(active *Node) *Node {
	if t.base.Scale < 0 {
		return t.base.LogScaleOf(active)
	}
	return regression.ColumnOf(active, t.scaleCoordinate())
}

// scaleCoordinate returns the coordinate of log σ, or −1 if σ is known.
func (t *SlotTarget) scaleCoordinate() int {
	if t.base.Scale < 0 {
		return -1
	}
	return t.space.Fixed() - 1
}

// newModels returns a q(m) over lists that starts at the log odds of the predictors from screening.
func (t *SlotTarget) newModels(seed uint64, dtype dtypes.DType) (vti.ModelDistribution, error) {
	logOdds := apply.To(t.order, func(predictor int) float64 { return t.start.LogOdds[predictor] })
	return modeldist.NewList(t.space.Items(), t.space.Slots(), modeldist.ListConfig{LogOdds: logOdds, Seed: seed, DType: dtype})
}

func (t *SlotTarget) bits() *Target { return t.base }

// active returns the coordinates of the model of a code.
func (t *SlotTarget) active(code []int32) regression.Active {
	fixed, width := t.space.Fixed(), t.space.Width()
	a := regression.Active{Scale: t.scaleCoordinate()}
	for j, on := range t.space.MaskRow(code, nil) {
		column := j
		if j >= fixed {
			column = fixed + int(code[(j-fixed)/width])*width + (j-fixed)%width
		}
		if on && j != a.Scale {
			t.base.Include(&a, j, t.source[column])
		}
	}
	return a
}

func (t *SlotTarget) code(members []int) []int32 {
	items := apply.To(members, func(predictor int) int32 { return int32(t.item[predictor]) })
	return t.space.Code(items, nil)
}

func (t *SlotTarget) members(code []int32) []int {
	items := t.space.Set(code)
	members := apply.To(items, func(item int32) int { return t.order[item] })
	slices.Sort(members)
	return members
}

// featuresPerSlot is the number of features of each slot: the number of its item (its predictor), 1
// if the slot is used and 0 otherwise, the correlation of the item with the response, and its log
// odds of inclusion. Each pair of slots adds one feature, the correlation of their predictors.
const featuresPerSlot = 4

// FeatureDim returns the number of features of a list.
func (s *slotSpace) FeatureDim() int {
	k := s.Slots()
	return 1 + k*featuresPerSlot + k*(k-1)/2
}

// Features returns the features of lists, which come from the screening of their members: codes
// [B,k] -> [B,C], where C is FeatureDim. The first k columns are the numbers of the items, for the
// flow's embedding. Correlations between rows are weighted by the working weights of screening.
func (s *slotSpace) Features(codes *Node, dtype dtypes.DType) *Node {
	g := codes.Graph()
	t, k := s.target, s.Slots()
	batch := codes.Shape().Dim(0)
	used := LessThan(codes, Const(g, int32(s.Items())))
	// [B·k, 2]
	about := Gather(ConvertDType(Const(g, t.about()), dtype), Reshape(codes, batch*k, 1))
	flags := ConvertDType(used, dtype)
	numbers := ConvertDType(Where(used, Min(AddScalar(codes, 1), Const(g, int32(embeddedItems))), ZerosLike(codes)), dtype)
	features := []*Node{numbers, MulScalar(ReduceAndKeep(flags, ReduceSum, -1), 1/float64(k)), flags, Reshape(about, batch, 2*k)}
	if k > 1 {
		_, _, information := t.information(codes, dtype)
		dim, fixed, width := s.Dim(), s.Fixed(), s.Width()
		flat := Reshape(information, batch, dim*dim)
		var squares, pairs, first, second []int32
		for i := range k {
			at := fixed + i*width
			squares = append(squares, int32(at*dim+at))
			for j := range i {
				pairs = append(pairs, int32(at*dim+fixed+j*width))
				first, second = append(first, int32(i)), append(second, int32(j))
			}
		}
		unit := Rsqrt(MaxScalar(space.TakeColumns(flat, squares), 1e-30)) // [B, k]
		correlations := Mul(space.TakeColumns(flat, pairs), Mul(space.TakeColumns(unit, first), space.TakeColumns(unit, second)))
		features = append(features, StopGradient(correlations))
	}
	return Concatenate(features, 1)
}

// embeddedItems is the number of items (predictors in a list) with separate rows in the flow's
// embedding, the most promising ones. All other items share the last row. Row 0 is for an empty
// slot. With 8 numbers in a row the embedding has at most 4,104 parameters.
const embeddedItems = 512

// embed gives a flow on lists its embedding of items, and a small network between the features and
// the layers, which all layers share. Half and twice these sizes give the same answers
// (docs/benchmarks/constants.md).
func (t *SlotTarget) embed(flow *cosmic.Config) {
	const width, context = 8, 64
	if flow.Embedding == (cosmic.Embedding{}) {
		flow.Embedding = cosmic.Embedding{Columns: t.space.Slots(), Rows: min(t.space.Items(), embeddedItems) + 1, Width: width}
	}
	if len(flow.Encoder) == 0 {
		flow.Encoder = []int{context}
	}
}

// about returns, for each item (predictor in a list), its correlation with the response and its
// scaled log odds from screening. The last row, for an empty slot, is zero.
func (t *SlotTarget) about() [][]float64 {
	rows := make([][]float64, len(t.order)+1)
	for item, predictor := range t.order {
		rows[item] = []float64{t.start.Correlation[predictor], math.Tanh(t.start.LogOdds[predictor] / 5)}
	}
	rows[len(t.order)] = []float64{0, 0}
	return rows
}

// birthDeath returns the posterior over models, without coefficients, for a process that adds and
// removes predictors (births and deaths), given models found before. It returns nil if predictors
// have several columns.
func (t *SlotTarget) birthDeath() func(found [][]int32) rjmcmc.Collapsed {
	if t.space.Width() != 1 {
		return nil
	}
	return func(found [][]int32) rjmcmc.Collapsed { return t.base.search().Births(t.code, t.active, found) }
}

// augmented returns the posterior for births and deaths given latent precisions of the rows. It
// returns nil if predictors have several columns, and if wide.Search.MayAugment returns false.
func (t *SlotTarget) augmented() func(found [][]int32) rjmcmc.Collapsed {
	search := t.base.search()
	if t.space.Width() != 1 || !search.MayAugment() {
		return nil
	}
	return func(found [][]int32) rjmcmc.Collapsed { return search.Augmented(t.code, t.active, found) }
}
