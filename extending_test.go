package vti_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

var patchedFile = regexp.MustCompile(`(?m)^diff --git a/(\S+) b/`)

// TestDiffsOfExtending checks that the diffs of docs/extending.md apply, and that their tests pass.
func TestDiffsOfExtending(t *testing.T) {
	root, err := os.Getwd()
	require.NoError(t, err)
	for name, packages := range map[string][]string{
		"likelihood": {"./likelihood", "./cmd/internal/selection", "./cmd/internal/hierarchies"},
		"prior":      {"./space", "./cmd/internal/selection"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patch := filepath.Join(root, "docs", "extending", name+".diff")
			content, err := os.ReadFile(patch)
			require.NoError(t, err)
			changed, replace := t.TempDir(), map[string]string{}
			for _, match := range patchedFile.FindAllStringSubmatch(string(content), -1) {
				from, to := filepath.Join(root, match[1]), filepath.Join(changed, match[1])
				replace[from] = to
				require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
				if text, err := os.ReadFile(from); err == nil {
					require.NoError(t, os.WriteFile(to, text, 0o600))
				}
			}
			require.NotEmpty(t, replace)
			run := func(dir, program string, args ...string) {
				cmd := exec.Command(program, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(changed))
				printed, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s %s: %s", program, strings.Join(args, " "), printed)
			}
			run(changed, "git", "apply", patch)
			testkit.Long(t) // builds most packages again
			overlay, err := json.Marshal(map[string]any{"Replace": replace})
			require.NoError(t, err)
			list := filepath.Join(changed, "overlay.json")
			require.NoError(t, os.WriteFile(list, overlay, 0o600))
			run(root, "go", append([]string{"test", "-short", "-overlay", list}, packages...)...)
		})
	}
}
