package simd

import (
	"encoding/binary"
	"math/bits"
)

// RNGBitGenerator is Philox 4x32-10, a counter-based generator: block i of 16 bytes is a function
// of the key and of counter + i only, so that tasks are independent. The state is a [3]uint64: the
// key, and the lower and upper half of the 128-bit counter. In the new state, the counter is the
// number that follows the last block.

const (
	philoxMul0, philoxMul1 = 0xD2511F53, 0xCD9E8D57
	philoxKey0, philoxKey1 = 0x9E3779B9, 0xBB67AE85 // added to the key every round
	philoxRounds           = 10
	philoxBytes            = 16
)

// philox returns the block with the given 128-bit counter in the stream of key.
func philox(key, counterLow, counterHigh uint64) (x0, x1, x2, x3 uint32) {
	x0, x1 = uint32(counterLow), uint32(counterLow>>32)
	x2, x3 = uint32(counterHigh), uint32(counterHigh>>32)
	k0, k1 := uint32(key), uint32(key>>32)
	for range philoxRounds {
		a, b := uint64(philoxMul0)*uint64(x0), uint64(philoxMul1)*uint64(x2)
		x0, x1, x2, x3 = uint32(b>>32)^x1^k0, uint32(b), uint32(a>>32)^x3^k1, uint32(a)
		k0 += philoxKey0
		k1 += philoxKey1
	}
	return x0, x1, x2, x3
}

// randomBlocks returns the number of blocks that are needed for size bytes.
func randomBlocks(size int) int { return (size + philoxBytes - 1) / philoxBytes }

// randomStep fills its result with random bits, or writes the state that follows after a number of
// blocks.
type randomStep struct {
	state, dst int // ids of values
	bytes      int
	advance    int // number of blocks after which the state is written; -1 for a step that writes random bits
}

// randomSpan is the number of blocks per task. They take about as long as a task of copyWork
// elements.
const randomSpan = 1 << 10

func (l *lowering) lowerRandom(n *node) {
	s := &randomStep{state: l.stored[n.inputs[0].id].id, dst: l.stored[n.id].id, bytes: n.bytes(), advance: -1}
	if n.op == opRandomState {
		s.advance = n.attr.(int)
	}
	l.emit(scheduled{step: s, reads: []*value{l.stored[n.inputs[0].id]}, writes: []*value{l.stored[n.id]}})
}

func (s *randomStep) run(f *frame) {
	if s.advance < 0 {
		f.parallel(s, 0, (randomBlocks(s.bytes)+randomSpan-1)/randomSpan)
		return
	}
	state, next := elements[uint64](f.memory[s.state], 3), elements[uint64](f.memory[s.dst], 3)
	low, carry := bits.Add64(state[1], uint64(s.advance), 0)
	next[0], next[1], next[2] = state[0], low, state[2]+carry
}

func (s *randomStep) task(f *frame, _, task, _ int) {
	state := elements[uint64](f.memory[s.state], 3)
	out := elements[byte](f.memory[s.dst], s.bytes)
	var block [philoxBytes]byte
	for i := task * randomSpan; i < min((task+1)*randomSpan, randomBlocks(s.bytes)); i++ {
		low, carry := bits.Add64(state[1], uint64(i), 0)
		x0, x1, x2, x3 := philox(state[0], low, state[2]+carry)
		binary.LittleEndian.PutUint32(block[0:], x0)
		binary.LittleEndian.PutUint32(block[4:], x1)
		binary.LittleEndian.PutUint32(block[8:], x2)
		binary.LittleEndian.PutUint32(block[12:], x3)
		copy(out[i*philoxBytes:], block[:])
	}
}
