package hbm

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
)

// weighing computes importance weights in batches. An outer draw is a draw of the variables outside
// the members of one plate (such as groups), and every member has several inner draws of its
// variables for each outer draw.
type weighing struct {
	*Posterior
	plate        *Plate
	outer, inner int
	until        time.Time // the time at which draws end; see CertifyConfig
	// logWeights holds the log weight of each draw, and halfWeights the log weight from only the
	// first half of the inner draws
	logWeights, halfWeights []float64
	// shares holds, for each draw, the density of its noise under the family divided by the density
	// under the mixture with wider noise. The expectation of this ratio is 1. As a control variate
	// it lowers the variance of the evidence.
	shares []float64
}

// innerDraws returns a sufficient number of draws of the variables of a member, for each outer
// draw. If a member has one number, its draws are evenly spaced quantiles, and fewer draws suffice.
// With 4 or 16 draws instead of 8 answers are the same (docs/benchmarks/constants.md). On the table
// verbagg 28, 56 and 59 percent of the outer draws are effective with 4, 8 and 16 inner draws.
func (w *weighing) innerDraws() int {
	if w.plate == nil {
		return 1
	}
	numbers := 0
	for i, l := range w.family.latents {
		for member := range l.Members() {
			if l.belongs(w.plate) != nil {
				numbers += len(w.feed.numbers(i, l, member))
			}
		}
	}
	if numbers <= w.plate.size {
		return 8
	}
	return 16
}

// graph builds the graph of the weights. Its inputs are the noise of each latent variable,
// [plates..., outer·inner, U], or [plates..., outer, U] if the variable belongs to no member of the
// plate. The inputs of the feed follow. It returns the log weights of the variables that belong to
// no member [outer], the log weights of each member [members, outer, inner], and the values of all
// latent variables with draws on the first axis. Over a space of models they are unconstrained.
func (w *weighing) graph(ctx *context.Context, inputs []*Node) []*Node {
	noise := make([]*Node, len(w.family.latents))
	copy(noise, inputs)
	for i, l := range w.family.latents {
		if l.belongs(w.plate) == nil {
			noise[i] = repeatDraws(noise[i], len(l.plates), w.inner)
		}
	}
	r := w.feed.replica(w.everything, inputs[len(noise):])
	logP, logQ := w.termsAt(ctx, r, noise)
	members := 1
	if w.plate != nil {
		members = w.plate.size
	}
	common := Zeros(r.graph, shapes.Make(dtypes.Float64, w.outer*w.inner))
	perMember := Zeros(r.graph, shapes.Make(dtypes.Float64, members, w.outer*w.inner))
	for _, v := range w.model.variables {
		if v.role == Constant {
			continue
		}
		term := ConvertDType(logP[v], dtypes.Float64)
		if v.role == Latent {
			term = Sub(term, ConvertDType(logQ[v], dtypes.Float64))
		}
		term = BroadcastToDims(term, append(r.dims(v), w.outer*w.inner)...)
		carrier := v.belongs(w.plate)
		for axis := len(v.plates) - 1; axis >= 0; axis-- {
			if v.plates[axis] != carrier {
				term = ReduceSum(term, axis)
			}
		}
		switch carrier {
		case nil:
			common = Add(common, term)
		case w.plate:
			perMember = Add(perMember, term)
		default:
			perMember = ScatterSum(perMember, r.position(carrier, w.plate), term, false, false)
		}
	}
	common = ReduceMean(Reshape(common, w.outer, w.inner), -1) // one value for all inner draws
	outputs := []*Node{common, Reshape(perMember, members, w.outer, w.inner)}
	for _, l := range w.family.latents {
		values := r.values[l.Variable]
		if w.feed.target != nil {
			values = r.unconstrained[l.Variable]
		}
		outputs = append(outputs, ConvertDType(moved(values, len(l.plates), 0), dtypes.Float64))
	}
	return outputs
}

// repeatDraws repeats each entry along an axis n times.
func repeatDraws(x *Node, axis, n int) *Node {
	dims := append([]int{}, x.Shape().Dimensions...)
	wide := append(append(append([]int{}, dims[:axis+1]...), n), dims[axis+1:]...)
	dims[axis] *= n
	return Reshape(BroadcastToDims(InsertAxes(x, axis+1), wide...), dims...)
}

// run makes draws until sample holds sample.N draws, and w.logWeights their log weights.
func (w *weighing) run(ctx gocontext.Context, sample *Draws) error {
	chosen := w.everything.draw(nil)
	rest := w.feed.inputs(chosen)
	for start := len(w.logWeights); start < sample.N; start += w.outer {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("certification stopped after %d of %d draws: %w", start, sample.N, err)
		}
		if start > 0 && budget.Passed(w.until) {
			sample.N = start
			return nil
		}
		random := stream.Rand(w.config.Seed, fmt.Sprintf("certify/%d", start))
		noise, corrections := w.drawNoise(random, chosen)
		outputs, err := w.graphs.Run(fmt.Sprintf("certify/%d/%d", w.outer, w.inner), w.graph, append(noise, rest...)...)
		if err != nil {
			return err
		}
		keep := min(w.outer, sample.N-start)
		common, perMember := tensors.MustCopyFlatData[float64](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1])
		// picks holds the picked inner draw for each member and outer draw, [members][keep].
		picks := make([][]int, len(perMember)/(w.outer*w.inner))
		for s := range keep {
			w.shares = append(w.shares, math.Exp(-corrections.common[s]))
			w.logWeights = append(w.logWeights, common[s]-corrections.common[s])
			w.halfWeights = append(w.halfWeights, common[s]-corrections.common[s])
		}
		floats.Sub(perMember[:len(corrections.perMember)], corrections.perMember)
		for member := range picks {
			picks[member] = make([]int, keep)
			for s := range keep {
				at := (member*w.outer + s) * w.inner
				logMean, chosen := pickOne(random, perMember[at:at+w.inner])
				w.logWeights[start+s] += logMean
				half := perMember[at : at+(w.inner+1)/2]
				w.halfWeights[start+s] += logsum.Of(half) - math.Log(float64(len(half)))
				picks[member][s] = chosen
			}
		}
		for i, l := range w.family.latents {
			values := tensors.MustCopyFlatData[float64](outputs[2+i])
			sample.Values[l.Variable] = append(sample.Values[l.Variable], w.picked(l.Variable, values, picks, keep)...)
		}
		// The garbage collector does not free the memory of tensors soon enough.
		for _, output := range outputs {
			if err := output.FinalizeAll(); err != nil {
				return err
			}
		}
		for _, input := range noise {
			if err := input.(*tensors.Tensor).FinalizeAll(); err != nil {
				return err
			}
		}
	}
	return nil
}

// picked returns, from values [outer·inner, plates..., event...] of a variable, the draws picked
// for each member of the plate, [keep, plates..., event...].
func (w *weighing) picked(v *Variable, values []float64, picks [][]int, keep int) []float64 {
	rowSize := len(values) / (w.outer * w.inner)
	size := rowSize / v.Members()
	out := make([]float64, 0, keep*rowSize)
	owner := w.owners(v)
	for s := range keep {
		for member := range v.Members() {
			pick := 0
			if owner != nil {
				pick = picks[owner[member]][s]
			}
			at := (s*w.inner+pick)*rowSize + member*size
			out = append(out, values[at:at+size]...)
		}
	}
	return out
}

// owners returns, for each member of a variable, the member of the plate to which it belongs, or
// nil if no member belongs to any.
func (w *weighing) owners(v *Variable) []int32 {
	carrier := v.belongs(w.plate)
	if carrier == nil {
		return nil
	}
	// number of combinations of members of the plates after the carrier
	below := sizeOf(v.plates[slices.Index(v.plates, carrier)+1:])
	chain := carrier.path(w.plate)
	return apply.UpTo(v.Members(), func(member int) int32 { return follow(chain, int32(member/below%carrier.size)) })
}

// pickOne picks one of several draws with probability proportional to its weight, and returns the
// logarithm of the mean weight.
func pickOne(random *rand.Rand, logWeights []float64) (logMean float64, chosen int) {
	logMean = logsum.Of(logWeights) - math.Log(float64(len(logWeights)))
	if math.IsNaN(logMean) || math.IsInf(logMean, 0) {
		return logMean, 0
	}
	return logMean, pick.Log(logWeights, random.Float64())
}
