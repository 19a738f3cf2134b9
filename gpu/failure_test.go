package gpu

import (
	"errors"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
)

func TestUnderstand(t *testing.T) {
	const gib = 1 << 30
	for text, want := range map[string]struct {
		memory bool
		asked  uint64
	}{
		"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes.":                  {true, 64 * gib},
		"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.50GiB.":                            {true, 3 * gib / 2},
		"INTERNAL: Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to ...)":  {true, 2 * gib},
		"RESOURCE_EXHAUSTED: Out of memory allocating 4096 bytes":                                        {true, 4096},
		"CUDA_ERROR_OUT_OF_MEMORY: out of memory":                                                        {true, 0},
		"INTERNAL: CUDA error: unspecified launch failure: CUDA_ERROR_LAUNCH_FAILED; allocated 12 bytes": {false, 0},
		"UNAVAILABLE: the device was reset":                                                              {false, 0},
	} {
		cause := errors.New(text)
		f := asFailure(cause, "xla:cuda", 7, 80*gib)
		require.ErrorIs(t, f, cause)
		require.Equal(t, want.memory, f.OutOfMemory, text)
		require.Equal(t, want.asked, f.Asked, text)
		require.ErrorContains(t, f, "device xla:cuda: ")
		require.ErrorContains(t, f, text)
	}
	f := asFailure(errors.New("Out of memory while trying to allocate 68719476736 bytes."), "xla:cuda", 3*gib, 80*gib)
	require.ErrorContains(t, f, "out of memory asking for 64 GiB, the card has 80 GiB, data and variables take 3 GiB")
}

func TestFits(t *testing.T) {
	const gib = 1 << 30
	for _, test := range []struct {
		held, asked, memory uint64
		batch, want         int
	}{
		{0, 0, 0, 65536, 32768}, // no sizes are known: half of the batch
		{0, 0, 0, 1000, 256},
		{0, 96 * gib, 80 * gib, 65536, 32768},        // 60 of 96 GiB are usable, enough for 40,960, but at most half of the batch
		{10 * gib, 400 * gib, 80 * gib, 65536, 8192}, // 50 GiB are free of the 400 GiB needed
		{0, 1 * gib, 80 * gib, 65536, 32768},         // 1 GiB failed, so that other processes hold the card: half of the batch
		{90 * gib, 0, 80 * gib, 65536, 0},            // the data alone do not fit
		{70 * gib, 1 * gib, 80 * gib, 65536, 0},      // the data leave no memory for a batch
		{0, 0, 0, 1, 0},
	} {
		f := &Failure{OutOfMemory: true, Held: test.held, Asked: test.asked, Memory: test.memory}
		require.Equal(t, test.want, f.Fits(test.batch), "%+v", test)
	}
}

// small returns the backend of a device with the given memory in bytes: the backend of the CPU,
// changed by the function behind, and then wrapped in a guard.
func small(t *testing.T, memory uint64, behind func(backends.Backend) backends.Backend) backends.Backend {
	device, err := Open(CPU)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return &guard{Backend: behind(device.Backend()), device: "xla:cuda", memory: memory}
}

func TestDataLargerThanTheCard(t *testing.T) {
	data := make([]float64, 1<<10) // 8 KiB
	add := func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Add(graph.Const(x.Graph(), data), x)) }
	itself := func(b backends.Backend) backends.Backend { return b }
	got, err := graph.ExecOnce(small(t, 0, itself), add, 1.0)
	require.NoError(t, err)
	require.Equal(t, 1024.0, got.Value())
	_, err = graph.ExecOnce(small(t, 16<<10, itself), add, 1.0)
	require.NoError(t, err)

	// The card has 8 KiB, which the constant already takes; the input needs 8 bytes more.
	_, err = graph.ExecOnce(small(t, 8<<10, itself), add, 1.0)
	var failure *Failure
	require.ErrorAs(t, err, &failure)
	require.True(t, failure.OutOfMemory)
	require.ErrorContains(t, err, "device xla:cuda: data and variables take 8.008 KiB and the card has 8 KiB")
	require.Zero(t, failure.Fits(1024))

	_, err = graph.ExecOnce(small(t, 4<<10, itself), func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(x) }, data)
	require.ErrorContains(t, err, "data and variables take 8 KiB and the card has 4 KiB")
}

// broken is a backend that fails to run anything.
type broken struct {
	backends.Backend
	err error
}

func (b *broken) Builder(name string) backends.Builder {
	return &brokenBuilder{b.Backend.Builder(name), b}
}

type brokenBuilder struct {
	backends.Builder
	backend *broken
}

func (b *brokenBuilder) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	executable, err := b.Builder.Compile(outputs, shardings)
	return &brokenExecutable{executable, b.backend}, err
}

type brokenExecutable struct {
	backends.Executable
	backend *broken
}

func (e *brokenExecutable) Execute([]backends.Buffer, []bool, backends.DeviceNum) ([]backends.Buffer, error) {
	return nil, e.backend.err
}

func TestTroubleOfTheBackendIsAFailure(t *testing.T) {
	cause := errors.New("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 65536 bytes.")
	device := small(t, 32<<10, func(b backends.Backend) backends.Backend { return &broken{b, cause} })
	_, err := graph.ExecOnce(device, func(x *graph.Node) *graph.Node { return graph.Sin(x) }, make([]float64, 1<<10))
	var failure *Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, Failure{Device: "xla:cuda", OutOfMemory: true, Held: 8 << 10, Asked: 64 << 10, Memory: 32 << 10, Err: cause}, *failure)
	require.Equal(t, 256, failure.Fits(1024)) // (24 − 8) / 64
}

func TestLargestMemory(t *testing.T) {
	require.Equal(t, uint64(143771)<<20, largestMemory("81559 MiB\n143771 MiB\n[N/A]\n"))
	require.Zero(t, largestMemory(""))
}
