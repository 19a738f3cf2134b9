package gpu

import (
	"fmt"
	"os"
	"strings"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego" // registers "go"
	_ "github.com/transdim/vti/simd"             // registers "simd"
)

// These environment variables replace options that are not set.
const (
	KindVariable   = "VTI_DEVICE"      // the kind of device that Auto opens
	PluginVariable = "VTI_PJRT_PLUGIN" // the plugin file of an XLA kind
)

// configuration is the configuration of the GoMLX backend of each kind that needs no plugin. The
// interpreter deadlocks if it runs operations in parallel on few cores, and so must be sequential.
var configuration = map[Kind]string{CPU: "simd", Reference: "go:ops_sequential"}

// Options selects the device to open. The zero value opens CUDA if it is available, else CPU.
type Options struct {
	Kind Kind
	// Plugin is the file of the PJRT plugin for CUDA and XLACPU. If it is empty, the file in the
	// environment variable VTI_PJRT_PLUGIN is used, or else the first plugin in the usual folders.
	Plugin string
}

// Device is an open backend. Its methods may be called from several goroutines.
type Device struct {
	kind    Kind
	backend backends.Backend
	plugin  string
}

// Open opens a device of the given kind. Auto opens the kind in the environment variable VTI_DEVICE
// if that is set.
func Open(kind Kind) (*Device, error) { return OpenWith(Options{Kind: kind}) }

// OpenWith opens a device. Auto opens the kind in the environment variable VTI_DEVICE. If the
// variable is not set, it opens CUDA if a plugin and a card are found, else CPU. Nothing is ever
// downloaded. For CUDA and XLACPU an error is returned at once if there is no plugin; it names the
// folders that were searched.
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

// Backend returns the GoMLX backend that compiles and runs graphs on the device.
func (d *Device) Backend() backends.Backend { return d.backend }

// With returns the same device with another backend to run its graphs, usually a wrapper of the
// backend of d. Closing one of the two devices closes only the backend of that device.
func (d *Device) With(backend backends.Backend) *Device {
	return &Device{kind: d.kind, backend: backend, plugin: d.plugin}
}

// Kind returns the kind of the device, which is never Auto.
func (d *Device) Kind() Kind { return d.kind }

// String returns the name of the device for the records of runs. It is the kind and, for kinds that
// need no plugin, the name of the backend.
func (d *Device) String() string {
	if d.kind.platform() != "" {
		return "xla:" + d.kind.platform()
	}
	return d.backend.Name()
}

// Close releases the backend; the device and everything executed on it must no longer be used.
func (d *Device) Close() { d.backend.Finalize() }
