//go:build cgo && linux

package gpu

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The head of PJRT_Api, whose layout every version of the interface keeps.
typedef struct {
	size_t struct_size;
	void *extension_start;
	struct { size_t struct_size; void *extension_start; int major; int minor; } version;
} pjrt_head;

// plugin_version reads the version of the interface that a plugin implements. It returns NULL, or
// an error message.
static const char *plugin_version(const char *path, int *major, int *minor) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library) return dlerror();
	const pjrt_head *(*get)(void) = (const pjrt_head *(*)(void))dlsym(library, "GetPjrtApi");
	if (!get) return "it has no function GetPjrtApi, so it is no PJRT plugin";
	const pjrt_head *api = get();
	if (!api) return "its GetPjrtApi returned nothing";
	*major = api->version.major;
	*minor = api->version.minor;
	return NULL; // the library stays loaded: XLA opens it again, and plugins do not survive being closed
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/xla"
)

// The oldest version of the PJRT C interface with all functions that go-xla calls. go-xla is
// written for version 0.83 but does not call the two functions that were added after 0.81. Later
// minor versions only add functions.
const (
	pjrtMajor = 0
	pjrtMinor = 81
)

// By default XLA rounds the factors of Float32 products to 10 bits on a card (TF32). The rounding
// causes errors of 1e-3 in log densities, too large for importance weights. An environment variable
// forbids TF32 in NVIDIA's libraries. Kernels that XLA generates itself ignore the variable, and
// are switched off.
const (
	tf32Variable  = "NVIDIA_TF32_OVERRIDE"
	flagsVariable = "XLA_FLAGS"
	ownProducts   = "--xla_gpu_enable_triton_gemm"
	dataFolder    = "--xla_gpu_cuda_data_dir"
)

func xlaBuiltIn() error { return nil }

// checkPlugin loads a plugin. It returns an error if the file is no plugin, or if the version of
// its interface is too old.
func checkPlugin(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var major, minor C.int
	if problem := C.plugin_version(name, &major, &minor); problem != nil {
		return fmt.Errorf("plugin %s cannot be used: %s", path, C.GoString(problem))
	}
	if major != pjrtMajor || minor < pjrtMinor {
		return fmt.Errorf("plugin %s: got version %d.%d of the PJRT C interface, want %d.%d or a later minor version: install a newer plugin",
			path, int(major), int(minor), pjrtMajor, pjrtMinor)
	}
	return nil
}

// newXLA starts the backend of a plugin that checkPlugin has accepted.
func newXLA(kind Kind, plugin string) (backends.Backend, error) {
	xla.EnableAutoInstall(false)
	// go-xla's check of the driver would set XLA_FLAGS to a folder on its author's machine.
	if err := os.Setenv("GOPJRT_CUDA_CHECKS", "0"); err != nil {
		return nil, err
	}
	if kind == CUDA {
		if err := prepareCard(cudaData(plugin)); err != nil {
			return nil, err
		}
	}
	config := plugin
	if kind == XLACPU {
		config += ",shared_buffers" // the memory of the device is the memory of the host
	}
	backend, err := xla.NewWithOptions(config, nil)
	if err != nil {
		return nil, err
	}
	if backend.NumDevices() == 0 {
		backend.Finalize()
		return nil, errors.New("the plugin loaded but reports no devices")
	}
	if unit := backend.DeviceDescription(0); strings.HasPrefix(unit, CUDA.platform()) != (kind == CUDA) {
		backend.Finalize()
		return nil, fmt.Errorf("the plugin is for another kind of device: it offers %s", unit)
	}
	return backend, nil
}

// prepareCard sets the environment variables for a card, except variables that the user has set.
// The argument data is the folder with CUDA's assembler and device library, or "".
func prepareCard(data string) error {
	if _, set := os.LookupEnv(tf32Variable); !set {
		if err := os.Setenv(tf32Variable, "0"); err != nil {
			return err
		}
	}
	flags := os.Getenv(flagsVariable)
	for _, option := range [][2]string{{ownProducts, "false"}, {dataFolder, data}} {
		if option[1] != "" && !strings.Contains(flags, option[0]) {
			flags = strings.TrimSpace(flags + " " + option[0] + "=" + option[1])
		}
	}
	return os.Setenv(flagsVariable, flags)
}
