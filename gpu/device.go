package gpu

import (
	"fmt"
	"os"
	"strings"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego" // registers "go"
	_ "github.com/transdim/vti/simd"             // registers "simd"
)

// Kind names a place where graphs can run.
type Kind int

const (
	// Auto takes the fastest device there is.
	Auto Kind = iota
	// CPU is this project's own compiled and vectorised backend.
	CPU
	// Reference is GoMLX's interpreter in Go, run sequentially: slow, simple, the oracle of tests.
	Reference
)

var kindNames = map[Kind]string{Auto: "auto", CPU: "cpu", Reference: "go"}

// EnvironmentVariable overrides Auto when it is set.
const EnvironmentVariable = "VTI_DEVICE"

// String returns the name that ParseKind takes.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// ParseKind reads the name of a device kind: auto, cpu or go.
func ParseKind(name string) (Kind, error) {
	for kind, kindName := range kindNames {
		if name == kindName {
			return kind, nil
		}
	}
	return Auto, fmt.Errorf("unknown device %q: expected auto, cpu or go", name)
}

// configuration of the GoMLX backend behind each kind. The interpreter deadlocks when it runs
// operations in parallel on few cores, so it must be sequential.
var configuration = map[Kind]string{CPU: "simd", Reference: "go:ops_sequential"}

// Device is an open backend. Its methods may be called from several goroutines.
type Device struct {
	kind    Kind
	backend backends.Backend
}

// Open starts the backend of the given kind. Auto honours the environment variable VTI_DEVICE.
func Open(kind Kind) (*Device, error) {
	if kind == Auto {
		if name := strings.TrimSpace(os.Getenv(EnvironmentVariable)); name != "" {
			var err error
			if kind, err = ParseKind(name); err != nil {
				return nil, fmt.Errorf("environment variable %s: %w", EnvironmentVariable, err)
			}
		}
	}
	if kind == Auto {
		kind = CPU
	}
	config, ok := configuration[kind]
	if !ok {
		return nil, fmt.Errorf("gpu.Open: no such device kind %v", kind)
	}
	backend, err := backends.NewWithConfig(config)
	if err != nil {
		return nil, fmt.Errorf("opening device %v (backend %q): %w", kind, config, err)
	}
	return &Device{kind: kind, backend: backend}, nil
}

// Backend is the GoMLX backend that compiles and runs graphs on the device.
func (d *Device) Backend() backends.Backend { return d.backend }

// Kind tells which kind was opened (never Auto).
func (d *Device) Kind() Kind { return d.kind }

// String names the device and its backend for run records.
func (d *Device) String() string { return d.backend.Name() }

// Close releases the backend; the device and everything executed on it must no longer be used.
func (d *Device) Close() { d.backend.Finalize() }
