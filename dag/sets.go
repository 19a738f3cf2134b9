package dag

import (
	"iter"
	"math/bits"
)

// members yields the elements of a bit set, ascending.
func members(set uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

// subsets yields the subsets of a bit set, itself first and the empty one last.
func subsets(set uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for sub := set; ; sub = (sub - 1) & set {
			if !yield(sub) || sub == 0 {
				return
			}
		}
	}
}
