package simd

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/notimplemented"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/pkg/errors"

	"github.com/transdim/vti/internal/kernel"
)

// BackendName is the name under which GoMLX finds this backend, in backends.NewWithConfig("simd")
// or in the environment variable GOMLX_BACKEND=simd.
const BackendName = "simd"

func init() { backends.Register(BackendName, New) }

// Backend runs GoMLX graphs on the CPU. Its methods, and the methods of the objects it creates, may
// be called from many goroutines.
type Backend struct {
	config    config
	kernels   *kernels
	pool      *pool
	memory    memory
	finalized atomic.Bool
	observe   func(*program) // called with each compiled program, if not nil; for tests
}

var _ backends.Backend = (*Backend)(nil)

// New returns a backend. The argument options is a comma-separated list of the following options.
// An option that is left out has its default:
//
//	isa=portable|avx2|avx512   instruction set; default: the best this CPU has
//	threads=N                  goroutines that compute; default: GOMAXPROCS
//	fuse=on|off                default: on; off runs each operation alone, for debugging
//
// The last bits of results depend on isa. Results never depend on threads.
func New(options string) (backends.Backend, error) {
	c, err := parseConfig(options)
	if err != nil {
		return nil, err
	}
	return &Backend{config: c, kernels: kernelsOf(c.isa), pool: newPool(c.threads)}, nil
}

// Name returns "simd".
func (b *Backend) Name() string { return BackendName }

// String returns "simd".
func (b *Backend) String() string { return BackendName }

// Description returns a sentence with the instruction set and the number of threads.
func (b *Backend) Description() string {
	return fmt.Sprintf("simd: compiled, fused and vectorised CPU backend in Go (%s, %d threads)", b.config.isa, b.config.threads)
}

// NumDevices returns 1: the only device is the CPU.
func (b *Backend) NumDevices() int { return 1 }

// DeviceDescription returns "cpu".
func (b *Backend) DeviceDescription(backends.DeviceNum) string { return "cpu" }

// Capabilities returns the supported operations and element types.
func (b *Backend) Capabilities() backends.Capabilities { return capabilities.Clone() }

// Builder returns a builder for a new computation.
func (b *Backend) Builder(name string) backends.Builder {
	builder := &Builder{backend: b, name: name}
	builder.ErrFn = func(op backends.OpType) error {
		return errors.Wrapf(notimplemented.NotImplementedError, "simd: operation %s", op)
	}
	return builder
}

// Finalize stops the worker goroutines. The backend must not be used afterwards.
func (b *Backend) Finalize() {
	if b.finalized.CompareAndSwap(false, true) {
		b.pool.close()
	}
}

// IsFinalized reports whether Finalize was called.
func (b *Backend) IsFinalized() bool { return b.finalized.Load() }

// supportedDTypes lists the supported element types. Each has a fixed size of 1, 2, 4 or 8 bytes.
var supportedDTypes = []dtypes.DType{
	dtypes.Bool, dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64,
	dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64, dtypes.Float32, dtypes.Float64,
}

// unsupportedOps lists the operations whose builder methods return an error that names the
// operation. Every other OpType is supported.
var unsupportedOps = map[backends.OpType]bool{
	backends.OpTypeInvalid: true, backends.OpTypeBroadcast: true,
	backends.OpTypeBatchNormForInference: true, backends.OpTypeBatchNormForTraining: true, backends.OpTypeBatchNormGradient: true,
	backends.OpTypeConvGeneral: true, backends.OpTypeFFT: true,
	backends.OpTypeComplex: true, backends.OpTypeConj: true, backends.OpTypeImag: true, backends.OpTypeReal: true,
	backends.OpTypeSelectAndScatterSum: true, // no builder method uses it
	backends.OpTypeAllReduce:           true, backends.OpTypeCollectiveBroadcast: true, backends.OpTypeAllGather: true,
}

var capabilities = func() backends.Capabilities {
	c := backends.Capabilities{Operations: map[backends.OpType]bool{}, DTypes: map[dtypes.DType]bool{}}
	for op := backends.OpTypeInvalid + 1; op < backends.OpTypeLast; op++ {
		if !unsupportedOps[op] {
			c.Operations[op] = true
		}
	}
	for _, dtype := range supportedDTypes {
		c.DTypes[dtype] = true
	}
	return c
}()

// config holds the options of a backend, which users write after "simd:". A config with unfused
// false fuses operations, which is the default. parseConfig always sets isa and threads.
type config struct {
	isa     kernel.ISA // instruction set of the kernels
	threads int        // goroutines that compute, the caller of Execute included
	unfused bool       // "fuse=off": every operation is a separate pass
}

// parseConfig parses a comma-separated list of key=value options:
//
//	isa=portable|avx2|avx512   default: the best of this CPU
//	threads=N                  default: GOMAXPROCS
//	fuse=on|off                default: on
func parseConfig(text string) (config, error) {
	isa, err := kernel.DetectErr()
	if err != nil {
		return config{}, errors.WithMessage(err, "simd")
	}
	c := config{isa: isa, threads: runtime.GOMAXPROCS(0)}
	for option := range strings.SplitSeq(text, ",") {
		option = strings.TrimSpace(option)
		if option == "" {
			continue
		}
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "isa":
			isa, err := parseISA(value)
			if err != nil {
				return config{}, err
			}
			c.isa = isa
		case "threads":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return config{}, errors.Errorf("simd: option threads=%q: want a positive integer", value)
			}
			c.threads = n
		case "fuse":
			if value != "on" && value != "off" {
				return config{}, errors.Errorf("simd: option fuse=%q: want on or off", value)
			}
			c.unfused = value == "off"
		default:
			return config{}, errors.Errorf("simd: unknown option %q: want isa=, threads= or fuse=", option)
		}
	}
	return c, nil
}

// parseISA returns the instruction set called name, or an error if this CPU cannot run it.
func parseISA(name string) (kernel.ISA, error) {
	available := kernel.Available()
	for _, isa := range available {
		if isa.String() == name {
			return isa, nil
		}
	}
	return 0, errors.Errorf("simd: option isa=%q: want one of %v, which this CPU has", name, available)
}
