package gpu

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFindPluginPrefersWhatIsGiven(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(foldersVariable, folder)
	touch := func(name string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		return path
	}
	wheel, build, other := touch("xla_cuda_plugin.so"), touch("pjrt_c_api_cuda_plugin.so"), touch("mine.so")
	cpu := touch("pjrt_plugin_cpu.so")

	find := func(kind Kind, file string) string {
		path, err := findPlugin(kind, file)
		require.NoError(t, err)
		return path
	}
	require.Equal(t, build, find(CUDA, ""))
	require.Equal(t, cpu, find(XLACPU, ""))
	require.NoError(t, os.Remove(build))
	require.Equal(t, wheel, find(CUDA, ""))
	t.Setenv(PluginVariable, other)
	require.Equal(t, other, find(CUDA, ""))
	require.Equal(t, wheel, find(CUDA, wheel))
}

func TestFindPluginSaysWhereItLooked(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(foldersVariable, folder+string(filepath.ListSeparator)+"relative")
	_, err := findPlugin(CUDA, "")
	for _, part := range []string{"device cuda", "pjrt_c_api_cuda*_plugin.so", "xla_cuda*_plugin.so", folder, "--pjrt-plugin FILE", PluginVariable, foldersVariable} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "relative")

	_, err = findPlugin(CUDA, filepath.Join(folder, "absent.so"))
	require.ErrorContains(t, err, "absent.so")
	require.ErrorContains(t, err, "--pjrt-plugin")
	t.Setenv(PluginVariable, folder)
	_, err = findPlugin(CUDA, "")
	require.ErrorContains(t, err, PluginVariable+": "+folder+" is not a file")
}

// TestMissingPluginFailsAtOnce checks that the error for a missing plugin comes within a second,
// since a user waits for it. The search for a plugin must not use the network.
func TestMissingPluginFailsAtOnce(t *testing.T) {
	t.Setenv(foldersVariable, t.TempDir())
	for _, kind := range []Kind{CUDA, XLACPU} {
		started := time.Now()
		_, err := Open(kind)
		require.ErrorContains(t, err, "device "+kind.String())
		require.Less(t, time.Since(started), time.Second)
	}
	device, err := Open(Auto)
	require.NoError(t, err)
	defer device.Close()
	require.Equal(t, CPU, device.Kind())
}

func TestListDescribesEveryKind(t *testing.T) {
	t.Setenv(foldersVariable, t.TempDir())
	available := map[Kind]bool{}
	for _, listing := range List("") {
		require.NotEmpty(t, listing.Description)
		available[listing.Kind] = listing.Available
	}
	require.Equal(t, map[Kind]bool{CPU: true, CUDA: false, XLACPU: false, Reference: true}, available)
}

func TestCUDADataIsWhereWheelsPutIt(t *testing.T) {
	site := t.TempDir()
	plugin := filepath.Join(site, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")
	require.Empty(t, cudaData(plugin))
	for _, folder := range []string{"nvidia/cuda_nvcc", "nvidia/cu13"} {
		require.NoError(t, os.MkdirAll(filepath.Join(site, folder), 0o755))
		require.Equal(t, filepath.Join(site, folder), cudaData(plugin))
	}
	require.Equal(t, filepath.Join(site, "nvidia", "cu13"), cudaData(filepath.Join(site, "nvidia", "pjrt_c_api_cuda_plugin.so")))
}
