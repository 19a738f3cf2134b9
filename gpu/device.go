package gpu

import (
	"fmt"
	"os"
	"strings"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego" // registers "go"
	_ "github.com/transdim/vti/simd"             // registers "simd"
)

// Environment variables that set the options that are not given.
const (
	KindVariable   = "VTI_DEVICE"      // what Auto means
	PluginVariable = "VTI_PJRT_PLUGIN" // the plugin file of an XLA kind
)

// configuration of the GoMLX backend behind each kind that needs no plugin. The interpreter
// deadlocks when it runs operations in parallel on few cores, so it must be sequential.
var configuration = map[Kind]string{CPU: "simd", Reference: "go:ops_sequential"}

// Options say which device to open. The zero value takes the best there is.
type Options struct {
	Kind Kind
	// Plugin is the file of the PJRT plugin for CUDA and XLACPU; "" looks in VTI_PJRT_PLUGIN and
	// then in the usual folders.
	Plugin string
}

// Device is an open backend. Its methods may be called from several goroutines.
type Device struct {
	kind    Kind
	backend backends.Backend
	plugin  string
}

// Open starts the backend of the given kind. Auto honours the environment variable VTI_DEVICE.
func Open(kind Kind) (*Device, error) { return OpenWith(Options{Kind: kind}) }

// OpenWith starts a backend. Auto takes the kind in VTI_DEVICE; without that, CUDA if a plugin and
// a card are found, and CPU otherwise. Nothing is ever downloaded. An XLA kind fails at once,
// saying where it looked, if its plugin is not there.
func OpenWith(options Options) (*Device, error) {
	kind := options.Kind
	if kind == Auto {
		if name := strings.TrimSpace(os.Getenv(KindVariable)); name != "" {
			var err error
			if kind, err = ParseKind(name); err != nil {
				return nil, fmt.Errorf("environment variable %s: %w", KindVariable, err)
			}
		}
	}
	if kind == Auto {
		kind = CPU
		if cardPresent() {
			if device, err := openXLA(CUDA, options.Plugin); err == nil {
				return device, nil
			}
		}
	}
	if kind.platform() != "" {
		return openXLA(kind, options.Plugin)
	}
	config, ok := configuration[kind]
	if !ok {
		return nil, fmt.Errorf("gpu.OpenWith: no such device kind %v", kind)
	}
	backend, err := backends.NewWithConfig(config)
	if err != nil {
		return nil, fmt.Errorf("opening device %v (backend %q): %w", kind, config, err)
	}
	return &Device{kind: kind, backend: backend}, nil
}

func openXLA(kind Kind, file string) (*Device, error) {
	if err := xlaBuiltIn(); err != nil {
		return nil, fmt.Errorf("device %v: %w", kind, err)
	}
	plugin, err := findPlugin(kind, file)
	if err != nil {
		return nil, err
	}
	if err := checkPlugin(plugin); err != nil {
		return nil, fmt.Errorf("device %v: %w", kind, err)
	}
	if kind == CUDA && !cardPresent() {
		return nil, fmt.Errorf("device %v: found plugin %s but no NVIDIA card: no file %s", kind, plugin, cardPattern)
	}
	backend, err := newXLA(kind, plugin)
	if err != nil {
		return nil, fmt.Errorf("device %v: starting plugin %s: %w", kind, plugin, err)
	}
	device := &Device{kind: kind, plugin: plugin}
	watch := &guard{Backend: backend, device: device.String()}
	if kind == CUDA {
		watch.memory = largestMemory(querySMI("memory.total"))
	}
	device.backend = watch
	return device, nil
}

// Backend is the GoMLX backend that compiles and runs graphs on the device.
func (d *Device) Backend() backends.Backend { return d.backend }

// With is the same device with its graphs run by another backend, usually one that wraps d's own.
// Closing either closes its own backend only.
func (d *Device) With(backend backends.Backend) *Device {
	return &Device{kind: d.kind, backend: backend, plugin: d.plugin}
}

// Kind reports which kind was opened (never Auto).
func (d *Device) Kind() Kind { return d.kind }

// String names the device for run records: its kind, or the backend of those that need no plugin.
func (d *Device) String() string {
	if d.kind.platform() != "" {
		return "xla:" + d.kind.platform()
	}
	return d.backend.Name()
}

// Close releases the backend; the device and everything executed on it must no longer be used.
func (d *Device) Close() { d.backend.Finalize() }
