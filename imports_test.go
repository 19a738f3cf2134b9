package vti_test

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/transdim/vti"

// layers gives the layer of each package of the module. A package imports only packages of lower
// layers.
var layers = map[string]float64{
	"cmd/vti": 6, "cmd/vtilab": 6,
	"cmd/internal/answers": 5.9, "cmd/internal/serve": 5.9,
	"cmd/internal/selection": 5.8, "cmd/internal/graphs": 5.8, "cmd/internal/hierarchies": 5.8, "cmd/internal/numbers": 5.8, "cmd/internal/studies": 5.8,
	"cmd/internal/application": 5.7, "cmd/internal/calibration": 5.7, "cmd/internal/shell": 5.6, "cmd/internal/cli": 5.4, "cmd/internal/console": 5.2,
	"lab/dagtest": 3.3, "lab/testkit": 0, "lab/papers": 5.1, "lab/hard": 5.1, "lab/networks": 5, "lab/published": 4.9, "lab/devices": 5, "lab/graphs": 5, "lab/regress": 5, "lab/timing": 5,
	"calibrate": 5, "report": 5, "varsel/colocate": 5,
	"study":       5,
	"run":         3.5,
	"amortize":    3.5,
	"changepoint": 4,
	"mixture":     4,
	"order":       4,
	"varsel":      4, "dag": 4, "hbm": 4, "hbm/regression": 4,
	"dag/walk": 3.3, "dag/networks": 3.3, "dag/flows": 3.3, "dag/effects": 3.3, "dag/query": 3.3,
	"dag/score": 3.2, "dag/sem": 3.1, "dag/tables": 3.1,
	"": 3, "dag/graph": 3,
	"internal/laplace": 2.7,
	"models":           2.5, "internal/evaluate": 2.5,
	"cosmic": 2, "encode": 2, "modeldist": 2, "rjmcmc": 2,
	"internal/document": 1,
	"varsel/design":     1.5, "hbm/frame": 1.5,
	"compare": 1, "hbm/formula": 1, "likelihood": 1, "modelcheck": 1.1, "predict": 1, "shard": 1, "space": 1, "surrogate": 1, "gradest": 1, "gpu": 1,
	"varsel/exact": 1.6, "varsel/regression": 1.7, "varsel/wide": 2.2,
	"simd": 0, "table": 0,
	"internal/apply": -1, // every package may use it
}

// allowed lists the exceptions: imports within a layer.
var allowed = map[string][]string{
	"hbm/regression":      {"hbm"},
	"simd":                {"internal/kernel"},
	"table":               {"internal/atomicfile", "internal/columnar", "internal/english", "internal/enum", "internal/rank"},
	"internal/made":       {"internal/memory", "internal/stream"},
	"internal/checkpoint": {"internal/atomicfile"},
	"internal/integrate":  {"internal/logsum", "internal/parallel", "internal/rank"},
	"internal/sparse":     {"internal/kernel", "internal/parallel", "internal/rank"},
	"internal/dagre":      {"internal/rank"},
	"internal/enum":       {"internal/english"},
	"internal/draws":      {"internal/atomicfile", "internal/columnar", "internal/enum"},
	"internal/rundir":     {"internal/atomicfile"},
	"internal/picture":    {"internal/atomicfile"},
	"internal/psis":       {"internal/rank"},
	"internal/verdict":    {"internal/enum", "internal/psis"},
	"internal/weighted":   {"internal/logsum", "internal/psis"},
	"internal/line":       {"internal/logsum", "internal/parallel", "internal/rank"},
	"internal/mode":       {"internal/dense"},
	"internal/proposal":   {"internal/dense"},
}

// layerOf returns the layer of a package. Internal packages that the table does not list have layer
// 0.
func layerOf(path string) (layer float64, known bool) {
	layer, known = layers[path]
	return layer, known || strings.HasPrefix(path, "internal/")
}

// violation describes why the package from must not import the package to. It returns "" if it may.
func violation(from, to string) string {
	fromLayer, known := layerOf(from)
	if !known {
		return from + " is not in the import table: add it"
	}
	toLayer, known := layerOf(to)
	if !known {
		return to + " is not in the import table: add it"
	}
	if fromLayer > toLayer || slices.Contains(allowed[from], to) {
		return ""
	}
	return from + " must not import " + to
}

func TestImportsPointDownward(t *testing.T) {
	output, err := exec.Command("go", "list", "-f", `{{.ImportPath}}:{{join .Imports " "}}`, "./...").Output()
	require.NoError(t, err)
	checked := 0
	for _, line := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		path, imports, _ := strings.Cut(line, ":")
		from := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		for _, imported := range strings.Fields(imports) {
			if imported == "math/rand" {
				t.Errorf("%s imports math/rand: use math/rand/v2", path)
			}
			if strings.HasPrefix(imported, "github.com/gomlx/gomlx/backends/") && from != "gpu" && from != "lab/testkit" && from != "simd" {
				t.Errorf("%s imports %s: only gpu names a backend", path, imported)
			}
			if strings.HasPrefix(imported, "github.com/parquet-go/") && from != "internal/columnar" {
				t.Errorf("%s imports %s: only internal/columnar names the library of Parquet files", path, imported)
			}
			if !strings.HasPrefix(imported, module) {
				continue
			}
			checked++
			if wrong := violation(from, strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")); wrong != "" {
				t.Error(wrong)
			}
		}
	}
	require.Greater(t, checked, 20, "the list of imports is too short to be right")
}

// CONTRIBUTING.md has the same table of packages and layers, for readers.
func TestContributingListsThePackages(t *testing.T) {
	page, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	listed := map[string]float64{}
	layer := 0.0
	for _, row := range regexp.MustCompile("(?m)^\\| ?([0-9.½]*) \\| `([a-z/]+)`").FindAllStringSubmatch(string(page), -1) {
		if text := strings.Replace(row[1], "½", ".5", 1); text != "" {
			layer, err = strconv.ParseFloat(text, 64)
			require.NoError(t, err)
		}
		if row[2] == "vti" {
			row[2] = ""
		}
		listed[row[2]] = layer
	}
	want := maps.Clone(layers)
	maps.DeleteFunc(want, func(path string, _ float64) bool { return strings.Contains("/"+path, "/internal/") })
	require.Equal(t, want, listed)
}

func TestViolationIsFound(t *testing.T) {
	require.Empty(t, violation("varsel", "cosmic"))
	require.NotEmpty(t, violation("cosmic", "varsel"), "upwards")
	require.NotEmpty(t, violation("cosmic", "modeldist"), "sideways")
	require.NotEmpty(t, violation("space", "unknown"))
}
