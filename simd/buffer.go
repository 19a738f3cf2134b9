package simd

import (
	"math/bits"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// Buffer is a dense row-major array in ordinary Go memory. Every buffer is "shared" in GoMLX's
// sense: BufferData returns the memory that executions read, not a copy.
type Buffer struct {
	shape  shapes.Shape
	block  *block
	shared bool // made by NewSharedBuffer; outputs never take over its memory, even if it is donated
	// users is the number of executions that read the buffer now. An output takes over the memory
	// of a donated buffer only if no other execution reads that buffer.
	users atomic.Int32
}

// flat returns the elements as a slice of the Go type of the shape's dtype.
func (b *Buffer) flat() any { return flatSlice(b.shape.DType, b.block.pointer(), b.shape.Size()) }

func (b *Buffer) bytes() []byte {
	return unsafe.Slice((*byte)(b.block.pointer()), b.shape.Size()*b.shape.DType.Size())
}

// block is memory that holds no Go pointers. It is aligned to 8 bytes, and to pages if it is large.
type block struct{ words []uint64 }

func (b *block) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b.words)) }

// memory keeps blocks for reuse, one pool for each size class; see sizeClass. The garbage collector
// frees blocks that are not reused.
type memory struct{ classes [1024]sync.Pool }

// sizeClass rounds a number of 8-byte words up to a number with four significant bits, which is at
// most an eighth larger. The result class is the number of the rounded size.
func sizeClass(words int) (class, rounded int) {
	shift := max(0, bits.Len(uint(words-1))-4)
	leading := (words + 1<<shift - 1) >> shift
	return shift<<4 + leading, leading << shift
}

// get returns a block of at least size bytes with arbitrary contents.
func (m *memory) get(size int) *block {
	class, words := sizeClass(max(1, (size+7)/8))
	if b, ok := m.classes[class].Get().(*block); ok {
		return b
	}
	return &block{words: make([]uint64, words)}
}

func (m *memory) put(b *block) {
	class, _ := sizeClass(len(b.words))
	m.classes[class].Put(b)
}

// flatSlice views n elements at p as a slice of the Go type of dtype.
func flatSlice(dtype dtypes.DType, p unsafe.Pointer, n int) any {
	switch dtype {
	case dtypes.Bool:
		return unsafe.Slice((*bool)(p), n)
	case dtypes.Int8:
		return unsafe.Slice((*int8)(p), n)
	case dtypes.Int16:
		return unsafe.Slice((*int16)(p), n)
	case dtypes.Int32:
		return unsafe.Slice((*int32)(p), n)
	case dtypes.Int64:
		return unsafe.Slice((*int64)(p), n)
	case dtypes.Uint8:
		return unsafe.Slice((*uint8)(p), n)
	case dtypes.Uint16:
		return unsafe.Slice((*uint16)(p), n)
	case dtypes.Uint32:
		return unsafe.Slice((*uint32)(p), n)
	case dtypes.Uint64:
		return unsafe.Slice((*uint64)(p), n)
	case dtypes.Float32:
		return unsafe.Slice((*float32)(p), n)
	case dtypes.Float64:
		return unsafe.Slice((*float64)(p), n)
	}
	panic(errors.Errorf("simd: element type %s is not supported", dtype))
}

// flatBytes returns the memory of a slice of a supported element type.
func flatBytes(flat any, dtype dtypes.DType) []byte {
	v := reflect.ValueOf(flat)
	return unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*dtype.Size())
}

// checkFlat returns the element type and length of a slice given by the user.
func checkFlat(flat any) (dtypes.DType, int, error) {
	t := reflect.TypeOf(flat)
	if t == nil || t.Kind() != reflect.Slice {
		return dtypes.InvalidDType, 0, errors.Errorf("want a slice of numbers or bools, got %T", flat)
	}
	dtype := dtypes.FromGoType(t.Elem())
	if !capabilities.DTypes[dtype] {
		return dtypes.InvalidDType, 0, errors.Errorf("element type %s is not supported", t.Elem())
	}
	return dtype, reflect.ValueOf(flat).Len(), nil
}

func (b *Backend) newBuffer(shape shapes.Shape) *Buffer {
	return &Buffer{shape: shape, block: b.memory.get(shape.Size() * shape.DType.Size())}
}

// asBuffer returns buffer as a *Buffer, or an error if buffer is not of this backend or was
// finalized or donated.
func (b *Backend) asBuffer(buffer backends.Buffer) (*Buffer, error) {
	buf, ok := buffer.(*Buffer)
	switch {
	case !ok || buf == nil:
		return nil, errors.Errorf("simd: want a buffer of this backend, got %T", buffer)
	case buf.block == nil:
		return nil, errors.Errorf("simd: buffer of shape %s was already finalized or donated", buf.shape)
	case b.IsFinalized():
		return nil, errors.Errorf("simd: backend was already finalized")
	}
	return buf, nil
}

func (b *Backend) checkNewBuffer(device backends.DeviceNum, shape shapes.Shape) error {
	switch {
	case b.IsFinalized():
		return errors.Errorf("simd: backend was already finalized")
	case device != 0:
		return errors.Errorf("simd: want device 0, the only one, got %d", device)
	case !capabilities.DTypes[shape.DType]:
		return errors.Errorf("simd: element type %s is not supported", shape.DType)
	}
	return nil
}

// BufferFinalize makes the memory of buffer available to new buffers at once.
func (b *Backend) BufferFinalize(buffer backends.Buffer) error {
	buf, err := b.asBuffer(buffer)
	if err != nil {
		return err
	}
	b.memory.put(buf.block)
	buf.block = nil
	return nil
}

// BufferShape returns the shape of buffer.
func (b *Backend) BufferShape(buffer backends.Buffer) (shapes.Shape, error) {
	buf, err := b.asBuffer(buffer)
	if err != nil {
		return shapes.Invalid(), err
	}
	return buf.shape, nil
}

// BufferDeviceNum returns 0, the only device.
func (b *Backend) BufferDeviceNum(buffer backends.Buffer) (backends.DeviceNum, error) {
	_, err := b.asBuffer(buffer)
	return 0, err
}

// BufferToFlatData copies the elements of buffer into flat, a slice of the same element type and
// length.
func (b *Backend) BufferToFlatData(buffer backends.Buffer, flat any) error {
	buf, err := b.asBuffer(buffer)
	if err != nil {
		return err
	}
	if err := matchFlat(flat, buf.shape); err != nil {
		return errors.WithMessage(err, "simd: BufferToFlatData")
	}
	copy(flatBytes(flat, buf.shape.DType), buf.bytes())
	return nil
}

// BufferFromFlatData returns a new buffer with a copy of flat.
func (b *Backend) BufferFromFlatData(device backends.DeviceNum, flat any, shape shapes.Shape) (backends.Buffer, error) {
	if err := b.checkNewBuffer(device, shape); err != nil {
		return nil, err
	}
	if err := matchFlat(flat, shape); err != nil {
		return nil, errors.WithMessage(err, "simd: BufferFromFlatData")
	}
	buf := b.newBuffer(shape.Clone())
	copy(buf.bytes(), flatBytes(flat, shape.DType))
	return buf, nil
}

func matchFlat(flat any, shape shapes.Shape) error {
	dtype, n, err := checkFlat(flat)
	if err != nil {
		return err
	}
	if dtype != shape.DType || n != shape.Size() {
		return errors.Errorf("want %d elements of %s for shape %s, got %d of %s", shape.Size(), shape.DType, shape, n, dtype)
	}
	return nil
}

// HasSharedBuffers returns true: the elements of buffers are ordinary Go memory.
func (b *Backend) HasSharedBuffers() bool { return true }

// NewSharedBuffer returns a zeroed buffer together with its elements. Executions never reuse its
// memory, even when the buffer is donated.
func (b *Backend) NewSharedBuffer(device backends.DeviceNum, shape shapes.Shape) (backends.Buffer, any, error) {
	if err := b.checkNewBuffer(device, shape); err != nil {
		return nil, nil, err
	}
	buf := b.newBuffer(shape.Clone())
	clear(buf.block.words)
	buf.shared = true
	return buf, buf.flat(), nil
}

// BufferData returns the elements of buffer themselves, not a copy of them.
func (b *Backend) BufferData(buffer backends.Buffer) (any, error) {
	buf, err := b.asBuffer(buffer)
	if err != nil {
		return nil, err
	}
	return buf.flat(), nil
}

// BufferCopyToDevice always returns an error, because there is only one device.
func (b *Backend) BufferCopyToDevice(backends.Buffer, backends.DeviceNum) (backends.Buffer, error) {
	return nil, errors.Errorf("simd: no other device to copy to than device 0")
}
