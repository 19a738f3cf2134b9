//go:build cgo && linux

package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakePlugin compiles a shared library whose PJRT_Api begins with the given version. Its functions
// are never called, because the version is checked first.
func fakePlugin(t *testing.T, source string) string {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build a plugin with")
	}
	folder := t.TempDir()
	code, library := filepath.Join(folder, "plugin.c"), filepath.Join(folder, "pjrt_c_api_cpu_plugin.so")
	require.NoError(t, os.WriteFile(code, []byte(source), 0o644))
	output, err := exec.Command(compiler, "-shared", "-fPIC", "-o", library, code).CombinedOutput()
	require.NoError(t, err, string(output))
	return library
}

func versioned(major, minor int) string {
	return fmt.Sprintf(`#include <stddef.h>
static struct { size_t size; void *next; struct { size_t size; void *next; int major, minor; } version; } api = {0, NULL, {0, NULL, %d, %d}};
const void *GetPjrtApi(void) { return &api; }`, major, minor)
}

func TestPluginVersionIsChecked(t *testing.T) {
	for _, old := range [][2]int{{0, 54}, {1, 90}} {
		_, err := OpenWith(Options{Kind: XLACPU, Plugin: fakePlugin(t, versioned(old[0], old[1]))})
		require.ErrorContains(t, err, fmt.Sprintf("got version %d.%d of the PJRT C interface, want 0.81 or a later minor version", old[0], old[1]))
	}
	for _, new := range []int{81, 99} {
		require.NoError(t, checkPlugin(fakePlugin(t, versioned(0, new))))
	}
}

func TestOtherFilesAreNoPlugins(t *testing.T) {
	text := filepath.Join(t.TempDir(), "plugin.so")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o644))
	require.ErrorContains(t, checkPlugin(text), "cannot be used")
	require.ErrorContains(t, checkPlugin(fakePlugin(t, "int x;")), "no function GetPjrtApi")
}

func TestCardsRoundNoFactors(t *testing.T) {
	for _, test := range []struct{ flags, want string }{
		{"", "--xla_gpu_enable_triton_gemm=false --xla_gpu_cuda_data_dir=/cuda"},
		{"--xla_dump_to=/dump", "--xla_dump_to=/dump --xla_gpu_enable_triton_gemm=false --xla_gpu_cuda_data_dir=/cuda"},
		{"--xla_gpu_enable_triton_gemm=true --xla_gpu_cuda_data_dir=/mine", "--xla_gpu_enable_triton_gemm=true --xla_gpu_cuda_data_dir=/mine"},
	} {
		t.Setenv(flagsVariable, test.flags)
		t.Setenv(tf32Variable, "")
		require.NoError(t, os.Unsetenv(tf32Variable))
		require.NoError(t, prepareCard("/cuda"))
		require.Equal(t, test.want, os.Getenv(flagsVariable))
		require.Equal(t, "0", os.Getenv(tf32Variable))
	}
	t.Setenv(tf32Variable, "1")
	require.NoError(t, prepareCard(""))
	require.Equal(t, "1", os.Getenv(tf32Variable), "the user decides")
}
