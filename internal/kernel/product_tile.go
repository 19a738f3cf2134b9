package kernel

import (
	"sync"
	"unsafe"
)

// tileKernel is the innermost loop of a product. A tile is a part of C with a fixed number of rows
// and at most a fixed number of columns, cols. For `tiles` tiles below each other, the kernel
// computes C = start + A·B with k terms. Strides are in elements. Element (i, p) of A is at
// a[i*aRow + p*aCol]. Row p of B is at b[p*bRow]; whole vectors are read from it. Row i of C is at
// c[i*cRow] and row i of start at start[i*startRow]; cols elements of each are accessed. A nil
// start means 0. Memory from next on is read after this call: for each term, the kernel prefetches
// nextStep elements of it into the L2 cache.
type tileKernel[T Float] func(tiles, k int, a *T, aRow, aCol int, b *T, bRow int, c *T, cRow int, start *T, startRow, cols int, next *T, nextStep int)

// tileKernels holds the tile kernels of an instruction set.
type tileKernels[T Float] struct {
	lanes  int            // elements of a vector
	shapes []tileShape[T] // in decreasing order of height; the last one has one row
	// copyRows and transpose are kernels of Vectors; they are used for packing.
	copyRows, transpose func(dst []T, dstStride int, src []T, srcStride, rows, cols int)
}

// tileShape holds the kernels for tiles of the given number of rows. run[v-1] is the kernel for
// tiles that are v vectors wide.
type tileShape[T Float] struct {
	rows int
	run  []tileKernel[T]
}

func (k *tileKernels[T]) height() int { return k.shapes[0].rows }
func (k *tileKernels[T]) width() int  { return k.lanes * len(k.shapes[0].run) }

func sizeOf[T Float]() int { return int(unsafe.Sizeof(T(0))) }

// tiles32 and tiles64 hold the tile kernels of each instruction set. They are made once, since a
// product of small matrices takes less time than making them.
var tiles32, tiles64 = tilesByISA[float32](), tilesByISA[float64]()

func tilesByISA[T Float]() (kernels [AVX512 + 1]func() *tileKernels[T]) {
	for isa := range kernels {
		kernels[isa] = sync.OnceValue(func() *tileKernels[T] { return newTileKernels[T](ISA(isa)) })
	}
	return kernels
}

func tileKernelsOf[T Float](isa ISA) *tileKernels[T] {
	kernels := any(tiles64[isa])
	if sizeOf[T]() == 4 {
		kernels = tiles32[isa]
	}
	return kernels.(func() *tileKernels[T])()
}

func newTileKernels[T Float](isa ISA) *tileKernels[T] {
	var assembly any
	if sizeOf[T]() == 4 {
		assembly = tileKernels32(isa)
	} else {
		assembly = tileKernels64(isa)
	}
	kernels := assembly.(*tileKernels[T])
	if kernels == nil {
		kernels = &tileKernels[T]{lanes: portableLanes, shapes: []tileShape[T]{
			{4, []tileKernel[T]{portableTile4[T]}},
			{1, []tileKernel[T]{portableTile1[T]}},
		}}
	}
	v := VectorsOf[T](isa)
	kernels.copyRows, kernels.transpose = v.CopyRows, v.Transpose
	return kernels
}

// portableLanes is the number of columns of a portable tile.
const portableLanes = 4

func portableTile1[T Float](tiles, k int, a *T, aRow, aCol int, b *T, bRow int, c *T, cRow int, start *T, startRow, cols int, next *T, nextStep int) {
	as := unsafe.Slice(a, (tiles-1)*aRow+(k-1)*aCol+1)
	bs := unsafe.Slice(b, (k-1)*bRow+portableLanes)
	for i := range tiles {
		sum := loadRow(start, i*startRow, cols)
		for p := range k {
			x, y := as[i*aRow+p*aCol], bs[p*bRow:][:portableLanes]
			sum[0] += x * y[0]
			sum[1] += x * y[1]
			sum[2] += x * y[2]
			sum[3] += x * y[3]
		}
		copy(unsafe.Slice(c, i*cRow+cols)[i*cRow:], sum[:])
	}
}

// portableTile4 works on two rows of a tile at a time, since two rows fit into the registers of
// most CPUs.
func portableTile4[T Float](tiles, k int, a *T, aRow, aCol int, b *T, bRow int, c *T, cRow int, start *T, startRow, cols int, next *T, nextStep int) {
	as := unsafe.Slice(a, (4*tiles-1)*aRow+(k-1)*aCol+1)
	bs := unsafe.Slice(b, (k-1)*bRow+portableLanes)
	for i := 0; i < 4*tiles; i += 2 {
		sum := loadRow(start, i*startRow, cols)
		next := loadRow(start, (i+1)*startRow, cols)
		s0, s1, s2, s3 := sum[0], sum[1], sum[2], sum[3]
		n0, n1, n2, n3 := next[0], next[1], next[2], next[3]
		for p := range k {
			y := bs[p*bRow:][:portableLanes]
			x, z := as[i*aRow+p*aCol], as[(i+1)*aRow+p*aCol]
			s0 += x * y[0]
			s1 += x * y[1]
			s2 += x * y[2]
			s3 += x * y[3]
			n0 += z * y[0]
			n1 += z * y[1]
			n2 += z * y[2]
			n3 += z * y[3]
		}
		sum, next = [portableLanes]T{s0, s1, s2, s3}, [portableLanes]T{n0, n1, n2, n3}
		copy(unsafe.Slice(c, i*cRow+cols)[i*cRow:], sum[:])
		copy(unsafe.Slice(c, (i+1)*cRow+cols)[(i+1)*cRow:], next[:])
	}
}

// loadRow returns cols elements from start[offset] on, followed by zeros. If start is nil, it
// returns zeros only.
func loadRow[T Float](start *T, offset, cols int) (row [portableLanes]T) {
	if start != nil {
		copy(row[:], unsafe.Slice(start, offset+cols)[offset:])
	}
	return row
}
