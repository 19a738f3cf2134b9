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
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/xla"
)

// The least version of the PJRT C interface that has all that go-xla calls: it is written against
// 0.83, whose two functions since 0.81 it does not use. Later minor versions add to it.
const (
	pjrtMajor = 0
	pjrtMinor = 81
)

// Environment variables that are set for a card unless the user has set them: no TF32 in NVIDIA's
// libraries, and options of XLA.
const (
	tf32Variable  = "NVIDIA_TF32_OVERRIDE"
	flagsVariable = "XLA_FLAGS"
)

func xlaBuiltIn() error { return nil }

// checkPlugin loads a plugin and fails if it is not one, or if its interface is too old.
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

// newXLA starts the backend of a plugin that checkPlugin accepts.
func newXLA(kind Kind, plugin string) (backends.Backend, error) {
	xla.EnableAutoInstall(false)
	// go-xla's check of the driver overwrites XLA_FLAGS with a folder of its author's.
	if err := os.Setenv("GOPJRT_CUDA_CHECKS", "0"); err != nil {
		return nil, err
	}
	// Left to itself XLA rounds the factors of Float32 products to 10 bits on a GPU (TF32). That is
	// an error of 1e-3 in log densities, too large for importance weights. NVIDIA's libraries read
	// this variable.
	if _, set := os.LookupEnv(tf32Variable); !set && kind == CUDA {
		if err := os.Setenv(tf32Variable, "0"); err != nil {
			return nil, err
		}
	}
	if data := cudaData(plugin); kind == CUDA && data != "" && os.Getenv(flagsVariable) == "" {
		if err := os.Setenv(flagsVariable, "--xla_gpu_cuda_data_dir="+data); err != nil {
			return nil, err
		}
	}
	config := plugin
	if kind == XLACPU {
		config += ",shared_buffers" // device memory is host memory
	}
	backend, err := xla.NewWithOptions(config, nil)
	if err != nil {
		return nil, err
	}
	if backend.NumDevices() == 0 {
		backend.Finalize()
		return nil, errors.New("the plugin loaded but reports no devices")
	}
	return backend, nil
}
