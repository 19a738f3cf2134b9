package made

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/graph"
)

// Sequential evaluates the network for inputs that are determined one after the other. The argument
// draw is called for input 0, 1, …, D-1 with the network's outputs for this input, which depend on
// the inputs before it. They are [B, Heads[h][input]] for each head h, and nil for a head without
// outputs for this input. draw returns the value of the input, [B, 1]. The outputs equal the
// outputs of [Bound.Outputs] up to rounding, but all inputs together cost about the same as a
// single call of Outputs. A hidden unit is computed once, when all inputs that it sees are known.
// Inputs are divided into blocks of about √D inputs. A product with a weight is computed in two
// parts: once for each block with the columns known before the block, and once for each input with
// the few columns known since then.
//
// No gradient may be taken through Sequential.
func (b *Bound) Sequential(batch int, draw func(input int, outputs []*graph.Node) *graph.Node) {
	s := newSequence(b, batch)
	inputs := b.net.cfg.Inputs
	block := int(math.Ceil(math.Sqrt(float64(inputs))))
	for start := 0; start < inputs; start += block {
		end := min(start+block, inputs)
		s.startBlock(start, end)
		for i := start; i < end; i++ {
			x := draw(i, s.outputs(i))
			x.AssertDims(batch, 1)
			s.x.add(x)
		}
		s.x.merge()
		for _, known := range s.units {
			known.merge()
		}
	}
}

// known holds the columns of one operand of a product that are already computed: old holds the
// columns from before the present block of inputs, and recent the columns since then. nil stands
// for no columns.
type known struct{ old, recent *graph.Node }

func (k *known) add(x *graph.Node) { k.recent = joined(k.recent, x) }

func (k *known) merge() { k.old, k.recent = joined(k.old, k.recent), nil }

// joined puts columns side by side; nil stands for no columns.
func joined(left, right *graph.Node) *graph.Node {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	}
	return graph.Concatenate([]*graph.Node{left, right}, 1)
}

// stage is a product with a masked weight. It keeps partial, the contribution of the operand's old
// columns to the outputs for the present block of inputs.
type stage struct {
	affine
	operand *known
	partial *graph.Node // [B, columns of the block]
	first   int         // first column of the block
}

// computePartial computes the field partial for the output columns from first to last−1.
func (s *stage) computePartial(batch, first, last int) {
	s.first = first
	if first == last {
		return
	}
	offset := graph.SliceAxis(s.offset, 1, graph.AxisRange(first, last))
	s.partial = graph.BroadcastToDims(offset, batch, last-first)
	if s.weight != nil && s.operand.old != nil {
		s.partial = graph.Add(s.partial, graph.MatMul(s.operand.old, s.window(0, width(s.operand.old), first, last)))
	}
}

// columns returns the output columns first to last−1, which must lie in the present block.
func (s *stage) columns(first, last int) *graph.Node {
	out := graph.SliceAxis(s.partial, 1, graph.AxisRange(first-s.first, last-s.first))
	if s.weight != nil && s.operand.recent != nil {
		from := width(s.operand.old)
		out = graph.Add(out, graph.MatMul(s.operand.recent, s.window(from, from+width(s.operand.recent), first, last)))
	}
	return out
}

func (s *stage) window(firstRow, lastRow, first, last int) *graph.Node {
	return graph.Slice(s.weight, graph.AxisRange(firstRow, lastRow), graph.AxisRange(first, last))
}

func width(x *graph.Node) int {
	if x == nil {
		return 0
	}
	return x.Shape().Dim(1)
}

// sequence is the state of Sequential.
type sequence struct {
	net   *Network
	act0  *graph.Node // field act0 of Bound
	batch int
	x     *known
	// units holds the activations before and inside each residual block, and the last hidden layer.
	units  []*known
	hidden []*stage // the first layer and both layers of each residual block
	heads  []*stage // one for each head; their operand is the last hidden layer
	counts []int    // number of hidden units that see no more than the first i inputs [D]
	starts [][]int  // first column of each input in each head [H][D+1]
	done   int      // number of hidden units that are computed
}

func newSequence(b *Bound, batch int) *sequence {
	s := &sequence{net: b.net, act0: b.act0, batch: batch, x: &known{}, counts: make([]int, b.net.cfg.Inputs)}
	s.hidden = []*stage{{affine: b.first, operand: s.x}}
	for _, block := range b.blocks {
		before, inside := &known{}, &known{}
		s.units = append(s.units, before, inside)
		s.hidden = append(s.hidden, &stage{affine: block.first, operand: before}, &stage{affine: block.second, operand: inside})
	}
	last := &known{}
	s.units = append(s.units, last)
	for h, head := range b.heads {
		s.heads = append(s.heads, &stage{affine: head, operand: last})
		starts := []int{0}
		for _, count := range b.net.cfg.Heads[h] {
			starts = append(starts, starts[len(starts)-1]+count)
		}
		s.starts = append(s.starts, starts)
	}
	for i := range s.counts {
		for _, degree := range b.net.degrees {
			if degree <= i {
				s.counts[i]++
			}
		}
	}
	return s
}

// startBlock starts the block of inputs from first to last−1.
func (s *sequence) startBlock(first, last int) {
	for _, stage := range s.hidden {
		stage.computePartial(s.batch, s.done, s.counts[last-1])
	}
	for h, head := range s.heads {
		head.computePartial(s.batch, s.starts[h][first], s.starts[h][last])
	}
}

// outputs returns the outputs for input i. Before that it computes the hidden units that see only
// inputs before i and are not computed yet.
func (s *sequence) outputs(i int) []*graph.Node {
	act := s.net.cfg.Activation.Apply
	if first, last := s.done, s.counts[i]; first < last {
		h := s.hidden[0].columns(first, last)
		if s.act0 != nil {
			h = graph.Add(h, graph.SliceAxis(s.act0, 1, graph.AxisRange(first, last)))
		}
		for k := 0; k+2 < len(s.units); k += 2 {
			s.units[k].add(act(h))
			s.units[k+1].add(act(s.hidden[k+1].columns(first, last)))
			h = graph.Add(h, s.hidden[k+2].columns(first, last))
		}
		s.units[len(s.units)-1].add(h)
		s.done = last
	}
	outputs := make([]*graph.Node, len(s.heads))
	for h, head := range s.heads {
		if first, last := s.starts[h][i], s.starts[h][i+1]; first < last {
			outputs[h] = head.columns(first, last)
		}
	}
	return outputs
}
