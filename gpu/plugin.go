package gpu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/transdim/vti/internal/apply"
)

// foldersVariable is the environment variable with a list of folders, like PATH, that are searched
// in place of the usual ones. Package go-xla uses the same name.
const foldersVariable = "PJRT_PLUGIN_LIBRARY_PATH"

// cardPattern matches the device files of NVIDIA cards.
const cardPattern = "/dev/nvidia[0-9]*"

// pluginFiles returns the patterns of file names of plugins, as XLA's own builds, go-xla's
// installer and Python wheels name them.
func pluginFiles(platform string) []string {
	return []string{
		"pjrt_c_api_" + platform + "*_plugin.so", "pjrt_plugin_" + platform + "*.so", "pjrt-plugin-" + platform + "*.so",
		"xla_" + platform + "*_plugin.so", "xla_" + platform + "*_pjrt.so",
	}
}

// pluginFolders returns the folders that are searched for plugins, in this order.
func pluginFolders() []string {
	if list, found := os.LookupEnv(foldersVariable); found {
		return absolute(filepath.SplitList(list))
	}
	var folders []string
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, ".local", "lib", "go-xla"), filepath.Join(home, ".local", "lib", "go-xla", "nvidia"))
	}
	folders = append(folders, "/usr/local/lib/go-xla", "/usr/local/lib/go-xla/nvidia")
	return append(folders, absolute(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")))...)
}

func absolute(paths []string) []string { return apply.Keep(paths, filepath.IsAbs) }

func pluginsIn(folders []string, platform string) (found []string) {
	for _, folder := range folders {
		for _, pattern := range pluginFiles(platform) {
			// The only possible error is a malformed pattern.
			matches, _ := filepath.Glob(filepath.Join(folder, pattern))
			found = append(found, matches...)
		}
	}
	return found
}

// findPlugin returns the absolute path of the given file, or else of the file in VTI_PJRT_PLUGIN,
// or else of the first plugin found.
func findPlugin(kind Kind, file string) (string, error) {
	origin := "--pjrt-plugin"
	if file == "" {
		file, origin = strings.TrimSpace(os.Getenv(PluginVariable)), "environment variable "+PluginVariable
	}
	if file != "" {
		info, err := os.Stat(file)
		if err != nil {
			return "", fmt.Errorf("device %v: plugin of %s: %w", kind, origin, err)
		}
		if !info.Mode().IsRegular() {
			return "", fmt.Errorf("device %v: plugin of %s: %s is not a file", kind, origin, file)
		}
		return filepath.Abs(file)
	}
	folders := pluginFolders()
	if found := pluginsIn(folders, kind.platform()); len(found) > 0 {
		return found[0], nil
	}
	return "", fmt.Errorf(`device %v: no PJRT plugin found
  looked for  %s
  in          %s
Point to one with --pjrt-plugin FILE or %s, or put it into one of these folders (%s replaces the list). The Python wheels
jax-cuda13-pjrt and jax-cuda12-pjrt hold one for NVIDIA cards (xla_cuda_plugin.so), xla-cpu-pjrt one for CPUs (xla_cpu_pjrt.so);
vti downloads nothing by itself`,
		kind, strings.Join(pluginFiles(kind.platform()), ", "), strings.Join(folders, ", "), PluginVariable, foldersVariable)
}

// cudaData returns the folder with CUDA's assembler and device library that Python wheels install
// near a plugin, where the plugin itself searches for them. It returns "" if there is none.
func cudaData(plugin string) string {
	for _, up := range []string{"..", filepath.Join("..", "..")} {
		for _, name := range []string{"cu13", "cuda_nvcc"} { // folders of the wheels for CUDA 13 and 12
			folder := filepath.Join(filepath.Dir(plugin), up, "nvidia", name)
			if info, err := os.Stat(folder); err == nil && info.IsDir() {
				return folder
			}
		}
	}
	return ""
}

func cardPresent() bool {
	cards, _ := filepath.Glob(cardPattern) // the only error is a bad pattern
	return len(cards) > 0
}
