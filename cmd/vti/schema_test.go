package main

import (
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/answers"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/graphs"
	"github.com/transdim/vti/cmd/internal/numbers"
	"github.com/transdim/vti/cmd/internal/selection"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/cmd/internal/studies"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/order"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/study"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/colocate"
)

var updateSchemas = flag.Bool("update-schemas", false, "write docs/schema from the Go types")

// schemaTypes are the types printed with --json, by the name of their schema.
var schemaTypes = map[string]reflect.Type{
	"selection":           reflect.TypeFor[varsel.Result](),
	"graphs":              reflect.TypeFor[dag.Result](),
	"regression":          reflect.TypeFor[regression.Result](),
	"changepoints":        reflect.TypeFor[changepoint.Result](),
	"compare-selections":  reflect.TypeFor[varsel.Comparison](),
	"compare-graphs":      reflect.TypeFor[dag.Comparison](),
	"compare-numbers":     reflect.TypeFor[numbers.Comparison](),
	"compare-regressions": reflect.TypeFor[regression.Comparison](),
	"predict":             reflect.TypeFor[predict.Result](),
	"effects":             reflect.TypeFor[predict.Effects](),
	"coloc":               reflect.TypeFor[colocate.Result](),
	"check":               reflect.TypeFor[answers.Checked](),
	"loo":                 reflect.TypeFor[answers.Ranking](),
	"export":              reflect.TypeFor[answers.Exported](),
	"query":               reflect.TypeFor[dag.Answer](),
	"runs":                reflect.TypeFor[answers.Listing](),
	"order":               reflect.TypeFor[order.Result](),
	"mixture":             reflect.TypeFor[mixture.Result](),
	"simulate-selection":  reflect.TypeFor[selection.Simulated](),
	"simulate-graphs":     reflect.TypeFor[graphs.Simulated](),
	"describe":            reflect.TypeFor[cli.Description](),
	"devices":             reflect.TypeFor[devicesAnswer](),
	"version":             reflect.TypeFor[versionAnswer](),
	"study-plan":          reflect.TypeFor[studies.Plan](),
	"study-status":        reflect.TypeFor[study.Status](),
	"study-collect":       reflect.TypeFor[study.Summary](),
	"calibrate":           reflect.TypeFor[calibrate.Summary](),
	"amortize":            reflect.TypeFor[selection.Amortized](),
	"calibrate-one":       reflect.TypeFor[calibrate.Replicate](),
}

func schemaPath(name string) string {
	return filepath.Join(sourceDir, "..", "..", "docs", "schema", name+".v1.json")
}

// schemaDocument returns the JSON Schema (2020-12) of a type.
func schemaDocument(name string, goType reflect.Type) []byte {
	document := typeSchema(goType)
	document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	document["$id"] = "https://github.com/transdim/vti/docs/schema/" + name + ".v1.json"
	document["title"] = shell.SchemaOf(name)
	properties, required := document["properties"].(map[string]any), document["required"].([]string)
	if _, declared := properties["schema"]; !declared {
		document["required"] = append([]string{"schema"}, required...)
	}
	properties["schema"] = map[string]any{"const": shell.SchemaOf(name)}
	content, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(content, '\n')
}

// typeSchema returns the schema of a Go type, as encoding/json writes its values.
func typeSchema(goType reflect.Type) map[string]any {
	nullable := func(kind string) map[string]any { return map[string]any{"type": []string{kind, "null"}} }
	switch {
	case goType == reflect.TypeFor[report.Number]():
		return nullable("number")
	case goType == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case goType == reflect.TypeFor[modelcheck.Finding]():
		text, number := map[string]any{"type": "string"}, nullable("number")
		return objectSchema(map[string]any{"what": text, "where": text, "statistic": number, "p": number, "advice": text, "verdict": text},
			[]string{"what", "where", "statistic", "p", "advice", "verdict"})
	case goType.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	}
	switch goType.Kind() {
	case reflect.Pointer:
		inner := typeSchema(goType.Elem())
		if _, isList := inner["type"].([]string); isList {
			return inner
		}
		return map[string]any{"anyOf": []any{inner, map[string]any{"type": "null"}}}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		list := nullable("array")
		list["items"] = typeSchema(goType.Elem())
		return list
	case reflect.Array:
		return map[string]any{"type": "array", "items": typeSchema(goType.Elem()), "minItems": goType.Len(), "maxItems": goType.Len()}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(goType.Elem())}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		addFields(goType, properties, &required)
		return objectSchema(properties, required)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}
	}
	panic("no schema for " + goType.String())
}

func objectSchema(properties map[string]any, required []string) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// addFields adds the fields of a struct, including embedded ones.
func addFields(goType reflect.Type, properties map[string]any, required *[]string) {
	for _, f := range reflect.VisibleFields(goType) {
		tag, tagged := f.Tag.Lookup("json")
		if f.Anonymous && !tagged || len(f.Index) > 1 || !f.IsExported() || tag == "-" {
			if f.Anonymous && !tagged && len(f.Index) == 1 {
				addFields(f.Type, properties, required)
			}
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		properties[name] = typeSchema(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

// TestSchemasAreThoseOfTheTypes compares docs/schema with the printed types; -update-schemas writes
// changes. A field that is removed or changes its type needs a new version of the schema.
func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	for name, goType := range schemaTypes {
		want := schemaDocument(name, goType)
		if *updateSchemas {
			require.NoError(t, os.MkdirAll(filepath.Dir(schemaPath(name)), 0o755))
			require.NoError(t, os.WriteFile(schemaPath(name), want, 0o644))
		}
		content, err := os.ReadFile(schemaPath(name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(content), "%s: go test ./cmd/vti -run Schemas -update-schemas writes it", name)
	}
	files, err := filepath.Glob(schemaPath("*"))
	require.NoError(t, err)
	assert.Len(t, files, len(schemaTypes))
}

// validate checks one JSON object against the schema that it names.
func validate(t *testing.T, object string) string {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(object))
	require.NoError(t, err, object)
	named, _ := value.(map[string]any)["schema"].(string)
	name := strings.TrimSuffix(strings.TrimPrefix(named, "vti/"), "/1")
	require.Contains(t, slices.Collect(maps.Keys(schemaTypes)), name)
	schema, err := jsonschema.NewCompiler().Compile(schemaPath(name))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value))
	return name
}

// schemaCommands returns command lines with --json, at least one for each schema. They need the
// tables that TestOutputsMatchTheirSchemas writes.
func schemaCommands(t *testing.T) [][]string {
	hald := testdata(t, "hald.csv")
	return [][]string{
		{"varsel", hald, "--target", "y", "--json", "--quiet", "--out", "varsel"},
		{"varsel", testdata(t, "pima.csv"), "--target", "type", "--exclude", "train", "--likelihood", "logistic", "--json", "--quiet", "--out", "logistic"},
		{"exact", hald, "--target", "y", "--models", "all", "--json", "--quiet", "--out", "exact"},
		{"rjmcmc", "varsel", hald, "--target", "y", "--json", "--quiet", "--chains", "16", "--iterations", "100", "--burn-in", "50", "--out", "chains"},
		{"rjmcmc", "dag", hald, "--continuous", "x1,x2,x3,x4,y", "--json", "--quiet", "--sigma", "1", "--chains", "8", "--iterations", "100", "--burn-in", "50", "--out", "graph-3"},
		{"hbm", "grouped.csv", "--formula", "y ~ x + (1 | g)", "--family", "pavi-e", "--amortize", "--steps", "20", "--batch", "4", "--certify-draws", "200", "--json", "--quiet", "--out", "model"},
		{"hbm", "infer", "model", "grouped.csv", "--certify-draws", "200", "--json", "--quiet", "--out", "inferred"},
		{"exact", "dag", hald, "--continuous", "x1,x2,x3,x4,y", "--json", "--quiet", "--out", "graph"},
		{"dag", hald, "--json", "--quiet", "--out", "graph-2"},
		{"hbm", testdata(t, "sleepstudy.csv"), "--formula", "Reaction ~ Days + (1 | Subject)", "--json", "--quiet", "--out", "hbm"},
		{"hbm", testdata(t, "sleepstudy.csv"), "--formula", "Reaction ~ Days + (1 | Subject)", "--select", "--json", "--quiet", "--out", "hbm-2"},
		{"changepoints", "coal.csv", "--time", "date", "--json", "--quiet", "--out", "changes"},
		{"certify", "varsel", "--json", "--quiet", "--no-report"},
		{"compare", "exact", "varsel", "--json", "--out", "compare-1"},
		{"compare", "graph", "graph-2", "--json", "--out", "compare-2"},
		{"compare", "hbm", "hbm-2", "--json", "--out", "compare-3"},
		{"compare", "changes", "changes", "--json", "--out", "compare-4"},
		{"predict", "exact", hald, "--json"},
		{"predict", "logistic", "--json"},
		{"coloc", "exact", "varsel", "--json"},
		{"effects", "logistic", "--of", "glu", "--contrast", "pairwise", "--json"},
		{"check", "exact", "--json"},
		{"check", "graph", "--json"},
		{"loo", "exact", "varsel", "--json"},
		{"export", "exact", "--draws", "400", "--json"},
		{"dag", "query", "graph", "E(y | do(x1=5))", "--json"},
		{"show", "exact", "--json"},
		{"show", "graph", "--json"},
		{"show", "hbm-2", "--json"},
		{"runs", ".", "--json"},
		{"order", "coal.csv", "--value", "date", "--max-order", "1", "--json", "--quiet", "--out", "order"},
		{"mixture", "coal.csv", "--column", "date", "--max-components", "3", "--sweeps", "400", "--json", "--quiet", "--out", "mixture"},
		{"simulate", "varsel", "--rows", "20", "--predictors", "3", "--out", "simulated.csv", "--json"},
		{"simulate", "dag", "--rows", "20", "--nodes", "3", "--out", "graph.csv", "--truth", "truth.csv", "--json"},
		{"devices", "--json"},
		{"version", "--json"},
		{"describe"},
		{"study", "plan", "plan.toml", "--json"},
		{"study", "status", "plan.toml", "--json"},
		{"study", "collect", "plan.toml", "--out", "results.parquet", "--json", "--quiet"},
		{"amortize", "varsel", "--steps", "2", "--batch", "2", "--held-out", "2", "--predictors", "2:3", "--rows", "20:30", "--json", "--quiet", "--out", "network.vti"},
		{"calibrate", "changepoints", "--replicates", "1", "--json", "--quiet", "--out", "calibration-5"},
		{"calibrate", "mixture", "--replicates", "1", "--rows", "20", "--max-components", "2", "--sweeps", "500", "--json", "--quiet", "--out", "calibration-6"},
		{"calibrate", "order", "--replicates", "1", "--json", "--quiet", "--out", "calibration-7"},
		{"calibrate", "varsel", "--predictors", "2", "--rows", "20", "--replicates", "2", "--json", "--quiet", "--out", "calibration"},
		{"calibrate", "varsel", "--predictors", "2", "--rows", "20", "--only", "1", "--json", "--quiet", "--out", "calibration-2"},
		{"calibrate", "dag", "--replicates", "1", "--rows", "20", "--predictors", "2", "--json", "--quiet", "--out", "calibration-3"},
		{"calibrate", "hbm", "--replicates", "1", "--rows", "20", "--groups", "3", "--json", "--quiet", "--out", "calibration-4"},
	}
}

// TestEveryCommandWithJSONIsValidated fails if a command with the flag --json is missing from
// schemaCommands.
func TestEveryCommandWithJSONIsValidated(t *testing.T) {
	tested := map[string]bool{}
	root := rootCommand(&shell.App{})
	for _, args := range schemaCommands(t) {
		command, _, err := root.Find(args)
		require.NoError(t, err)
		tested[command.CommandPath()] = true
	}
	for _, command := range commandsWithJSON(root) {
		assert.True(t, tested[command], "%s --json is validated", command)
	}
}

// runCommands are the commands that leave a run directory.
var runCommands = []string{"varsel", "exact", "rjmcmc", "dag", "hbm", "changepoints", "mixture", "order"}

// TestOutputsMatchTheirSchemas runs every command that has a schema, and validates its output and
// its stored result. Then it checks the text that the same commands print without --json.
func TestOutputsMatchTheirSchemas(t *testing.T) {
	testkit.Long(t)
	emptyDir(t, "coal.csv", "date\n1851.2\n1853.1\n1860\n1871.5\n1880.1\n1890.3\n1899\n1920\n")
	grouped := "y,x,g\n"
	for i := range 24 {
		grouped += fmt.Sprintf("%d,%d,%c\n", i*i%7, i%5, 'a'+i%6)
	}
	require.NoError(t, os.WriteFile("grouped.csv", []byte(grouped), 0o644))
	require.NoError(t, os.WriteFile("plan.toml", []byte(studyOfTables), 0o644))
	t.Setenv(mainVariable, "1") // studies and measurements of times start processes
	commands := schemaCommands(t)
	seen := map[string]bool{}
	for _, args := range commands {
		got := mustRun(t, args...)
		seen[validate(t, got.stdout)] = true
		at := slices.Index(args, "--out")
		if at < 0 || !slices.Contains(runCommands, args[0]) {
			continue
		}
		stored, err := os.ReadFile(filepath.Join(args[at+1], "result.json"))
		require.NoError(t, err)
		validate(t, string(stored))
	}
	assert.Len(t, seen, len(schemaTypes), "every schema has a command")
	for _, args := range commands {
		if at := slices.Index(args, "--out"); at >= 0 && slices.Contains(runCommands, args[0]) {
			args = []string{"show", args[at+1]}
		}
		if args[0] == "describe" || args[0] == "simulate" || args[0] == "amortize" || args[1] == "plan" || args[0] == "calibrate" && args[1] != "varsel" {
			continue // these commands print little text, or take long
		}
		if args[0] == "compare" {
			args = append(slices.Clone(args), "--out", args[len(args)-1]+"-text")
		}
		args = slices.DeleteFunc(slices.Clone(args), func(word string) bool { return word == "--json" })
		checkScreen(t, strings.Join(args, " "), mustRun(t, args...).stdout)
	}
	// An object that does not match the schema is rejected.
	schema, err := jsonschema.NewCompiler().Compile(schemaPath("runs"))
	require.NoError(t, err)
	require.Error(t, schema.Validate(map[string]any{"schema": "vti/runs/1", "runs": []any{}, "more": 1}))
	require.Error(t, schema.Validate(map[string]any{"schema": "vti/runs/2", "runs": []any{}}))
}

// commandsWithJSON returns the paths of the commands below command with a --json flag.
func commandsWithJSON(command *cobra.Command) (paths []string) {
	if command.Flags().Lookup("json") != nil {
		paths = append(paths, command.CommandPath())
	}
	for _, sub := range command.Commands() {
		paths = append(paths, commandsWithJSON(sub)...)
	}
	return paths
}
