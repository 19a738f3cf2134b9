package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
)

// good is a small valid table.
const good = "a,b,c,y\n1,2,u,3\n2,5,v,4.5\n4,3,u,1\n5,1,v,7\n7,2,u,6\n"

// wide returns a table with too many predictors for a q(m) that lists the probability of every
// model.
func wide(predictors int) string {
	var table strings.Builder
	for j := range predictors {
		fmt.Fprintf(&table, "x%d,", j)
	}
	table.WriteString("y\n")
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		for range predictors {
			fmt.Fprintf(&table, "%.3f,", random.NormFloat64())
		}
		fmt.Fprintf(&table, "%.3f\n", random.NormFloat64())
	}
	return table.String()
}

// TestBadInput: bad input gets a clear error and status 2, and writes nothing.
func TestBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		content, args string
		want          []string // texts in the message
	}{
		"no such file":        {good, "nosuch.csv --target y", []string{"nosuch.csv: no such file"}},
		"not a table":         {"\x7fELF\x02\x01\x00", "data.csv --target y", []string{"data.csv: not a table"}},
		"empty":               {"", "data.csv --target y", []string{"the file is empty"}},
		"no header":           {"1,2\n3,4\n5,7\n", "data.csv --target y", []string{"no header: line 1 holds only numbers"}},
		"ragged row":          {"a,y\n1,2\n3\n4,5\n", "data.csv --target y", []string{"line 3: got 1 cell, want 2 as in the header"}},
		"no target":           {good, "data.csv", []string{"no target column was given; the columns are a, b, c, y"}},
		"missing target":      {"age,weight,height\n1,2,3\n2,3,5\n", "data.csv --target wieght", []string{`no column "wieght"`, `the nearest are "weight", "height"`}},
		"non-numeric cell":    {"a,y\n1,2\nx,3\n5,7\n", "data.csv --target y", []string{`line 3, column "a": got "x"`}},
		"constant predictor":  {"a,b,y\n1,2,3\n1,3,4\n1,5,9\n", "data.csv --target y", []string{`"a" is constant`, "--drop-degenerate leaves them out"}},
		"duplicate predictor": {"a,b,y\n1,2,3\n2,4,4\n4,8,9\n", "data.csv --target y", []string{`"b" is "a" up to shift and scale`}},
		"missing values":      {"a,b,y\nNA,2,3\n2,NA,4\nNA,8,9\n3,4,5\n4,9,8\n", "data.csv --target y", []string{"missing values in 2 of 3 used columns (of 5 rows)", `"a" 2`, `"b" 1`, "--na drop leaves these rows out and keeps 2 of 5, --exclude leaves columns out"}},
		"no whole row":        {"a,b,y\nNA,2,3\n2,NA,4\nNA,8,9\n", "data.csv --target y --na drop", []string{"\"b\" 1; no row has all values\n--exclude leaves columns out\n"}},
		"holes, no --na":      {"a,b,y\nNA,2,3\nNA,NA,4\nNA,8,9\n", "data.csv --target y", []string{"(it has no value at all: exclude it), \"b\" 1\n"}},
		"a column of holes":   {"a,b,y\nNA,2,3\nNA,NA,4\nNA,8,9\n", "data.csv --target y --na drop", []string{`"a" 3 (it has no value at all: exclude it), "b" 1`}},
		"numbers and text":    {"a,y\n1,3\n3+,4\n2,9\n", "data.csv --target y", []string{`column "a": got "3+"`, "--factor takes the cells of a predictor as labels"}},
		"infinite":            {"a,y\n1,3\nInf,4\n2,9\n", "data.csv --target y", []string{"line 3, column \"a\": got \"Inf\", want a finite number or NA, as in the rest of the column (\"1\" in line 2)\n"}},
		"huge":                {"a,y\n1,3e300\n3,-4e300\n2,9\n", "data.csv --target y", []string{"target \"y\": its spread is too large or too small to standardise (values from -4e+300 to 3e+300): rescale it"}},
		"one row":             {"a,y\n1,2\n", "data.csv --target y", []string{"got 1 row, want at least two"}},
		"one row left":        {"a,y\n1,2\nNA,3\n", "data.csv --target y --na drop", []string{"got 1 row after dropping 1"}},
		"no predictors":       {"a,y\n1,2\n2,5\n", "data.csv --target y --exclude a", []string{"no predictor is left to select from"}},
		"not a count":         {good, "data.csv --target y --likelihood poisson", []string{"line 3", "got 4.5, want a count (0, 1, 2, …)"}},
		"not 0 or 1":          {good, "data.csv --target y --likelihood logistic", []string{"got 3, want 0 or 1"}},
		"too many models":     {wide(40), "data.csv --target y --sampler categorical --max-size none", []string{"40 predictors make 2^40 models", "8 TiB", "at most 2^20", "--sampler autoregressive"}},
		"bad sampler":         {good, "data.csv --target y --sampler table", []string{`unknown sampler "table"`, "want auto, categorical"}},
		"unstated LD rows":    {good, "data.csv --ld data.csv --samples 50", []string{"--ld needs --ld-samples, the number of rows of the correlations"}},
		"LD without rows":     {good, "data.csv --ld data.csv --ld-samples 0", []string{"--ld needs --samples, the number of rows behind the statistics"}},
		"rows and LD":         {good, "data.csv --ld data.csv --samples 50 --ld-samples 0 --always a", []string{"--always needs rows: summary statistics (--ld) have none"}},
		"no size":             {good, "data.csv --target y --max-size 0", []string{"--max-size", `found "0"`}},
		"too large a mean":    {good, "data.csv --target y --model-prior expected:2 --max-size 2", []string{"want a size below 2, the largest that a model can have"}},
		"always and exclude":  {good, "data.csv --target y --always a --exclude a", []string{`column "a" is named as always and as exclude`}},
		"all always":          {good, "data.csv --target y --always a,b,c", []string{"no predictor is left to select from"}},
		"always in a group":   {good, "data.csv --target y --always a --group ab=a,b", []string{`"a"`}},
		"unknown interaction": {good, "data.csv --target y --interactions=a:d", []string{`interaction "a:d": data.csv: no column "d"`}},
		"no equals sign":      {good, "data.csv --target y --interactions a:b", []string{"expected one table", "--interactions=a:b"}},
		"no pair":             {good, "data.csv --target y --interactions=a", []string{`interaction: got "a", want two columns as a:b`}},
		"factor interaction":  {good, "data.csv --target y --interactions=a:c", []string{`"c" is a factor or a group, want numeric columns`}},
		"excluded parent":     {good, "data.csv --target y --interactions=a:b --exclude b", []string{`interaction "a:b": "b" is not a predictor here`}},
		"twice interacting":   {good, "data.csv --target y --interactions=a:b,a:b", []string{`interaction "a:b" is named twice`}},
		"idle heredity":       {good, "data.csv --target y --heredity weak", []string{"--heredity is for --interactions; there are none"}},
		"lists with heredity": {good, "data.csv --target y --interactions=a:b --codes lists --max-size 1", []string{"cannot be written as lists", "--codes bits", "--heredity none"}},
		"no certify draws":    {good, "data.csv --target y --certify-draws 0", []string{"--certify-draws", `expected a whole number from 1, found "0"`}},
		"unknown always":      {good, "data.csv --target y --always aa", []string{`always: data.csv: no column "aa"`}},
		"bad group":           {good, "data.csv --target y --group ab", []string{`--group "ab": expected NAME=COLUMN,COLUMN`}},
		"bad likelihood":      {good, "data.csv --target y --likelihood normal", []string{`unknown likelihood "normal"`, "want gaussian, robust"}},
		"bad prior":           {good, "data.csv --target y --model-prior bernoulli:2", []string{"strictly between 0 and 1"}},
		"bad flow":            {good, "data.csv --target y --flow realnvp", []string{`found "realnvp"`}},
		"bad na":              {good, "data.csv --target y --na maybe", []string{"want refuse, drop or mean"}},
		"bad device":          {good, "data.csv --target y --device abacus", []string{`unknown device "abacus"`}},
		"bad steps":           {good, "data.csv --target y --steps 0", []string{`--steps`, `expected a whole number from 1, found "0"`}},
		"bad scale":           {good, "data.csv --target y --sigma -1", []string{"--sigma", `expected a positive number or unknown, found "-1"`}},
		"bad slab":            {good, "data.csv --target y --prior-sd 0", []string{"--prior-sd", `expected a positive number, found "0"`}},
		"bad outlier":         {good, "data.csv --target y --likelihood robust --outlier 1.5", []string{"outlier: got 1.5, want a share strictly between 0 and 1"}},
		"foreign flag":        {good, "data.csv --target y --sigma1 2", []string{"--sigma1 is for --likelihood robust"}},
		"foreign sigma":       {good, "data.csv --target y --likelihood robust --sigma 2", []string{"--sigma is for --likelihood gaussian and student"}},
		"foreign size":        {good, "data.csv --target y --flow-bins 4", []string{"--flow-bins is no size of --flow affine"}},
		"unknown flag":        {good, "data.csv --tarrget y", []string{"unknown flag: --tarrget", "vti varsel --help"}},
		"no table":            {good, "--target y", []string{"no table was given"}},
		"two tables":          {good, "data.csv data.csv --target y", []string{"expected one table"}},
		"out is taken":        {good, "data.csv --target y --out taken", []string{"taken already holds a run", "--resume taken"}},
		"out is a file":       {good, "data.csv --target y --out data.csv", []string{"data.csv cannot be the directory of the run", "choose another --out"}},
		"resume nothing":      {good, "--resume nowhere", []string{"nowhere is not a run directory: it holds no run.json"}},
		"resume and out":      {good, "--resume taken --out other", []string{"taken"}},
	} {
		t.Run(name, func(t *testing.T) {
			emptyDir(t, "data.csv", test.content)
			require.NoError(t, os.Mkdir("taken", 0o755))
			require.NoError(t, os.WriteFile("taken/run.json", []byte("{}"), 0o644))
			before := entries(t)
			got := vtiCommand(t, append([]string{"varsel"}, strings.Fields(test.args)...)...)
			assert.Equal(t, shell.StatusUsage, got.status, got.stderr)
			assert.Empty(t, got.stdout)
			for _, want := range test.want {
				assert.Contains(t, got.stderr, want)
			}
			assert.Equal(t, before, entries(t), "something was written")
		})
	}
}

func TestBadUsageOfOtherCommands(t *testing.T) {
	for args, want := range map[string]string{
		"exact data.csv --target c --likelihood logistic": "exact answers exist for the gaussian and lognormal likelihoods only, not for logistic",
		"exact wide.csv --target y":                       "30 selectable predictors make 2^30 models; at most 2^25",
		"exact data.csv --target y --steps 5":             "unknown flag: --steps",
		"exact":                                           "no table was given",
		"rjmcmc":                                          "expected vti rjmcmc varsel or dag (see vti rjmcmc --help)",
		"amortize":                                        "expected vti amortize varsel (see vti amortize --help)",
		"calibrate":                                       "expected vti calibrate varsel, dag, hbm, mixture, changepoints or order (see vti calibrate --help)",
		"simulate foo":                                    "unknown command \"foo\" (see vti simulate --help)",
		"rjmcmc vasel":                                    "unknown command \"vasel\"; did you mean varsel? (see vti rjmcmc --help)",
		"report":                                          "expected run directories, or the plan of a study, found none (see vti report --help)",
		"study run no.toml":                               "no.toml: no such file",
		"runs nothing":                                    "there are no runs in nothing: no such directory",
		"rjmcmc hbm data.csv":                             "unknown command",
		"rjmcmc varsel nosuch.csv --target y":             "no such file",
		"rjmcmc varsel data.csv --target y --chains 1":  "expected a whole number from 2",
		"rjmcmc varsel data.csv --target y --thin 9999": "keep no draw",
		"compare":                                 "expected two run directories, found 0",
		"compare nowhere nowhere":                 "nowhere is not a run directory",
		"varsle data.csv":                         `unknown command "varsle"`,
		"simulate varsl --out x.csv":              `unknown command "varsl"; did you mean varsel? (see vti simulate --help)`,
		"varsel data.csv --target y --seed one":   `--seed: expected a whole number, found "one"`,
		"varsel data.csv --target y --max-time 5": `--max-time: expected a time such as 90s or 10m, found "5"`,
		"predict data.csv nowhere":                "data.csv is a file, no run directory: the directory of the run comes before the table",
		"version now":                             "unknown command",
	} {
		t.Run(args, func(t *testing.T) {
			emptyDir(t, "data.csv", good)
			require.NoError(t, os.WriteFile("wide.csv", []byte(wide(30)), 0o644))
			before := entries(t)
			got := vtiCommand(t, strings.Fields(args)...)
			assert.Equal(t, shell.StatusUsage, got.status)
			assert.Contains(t, got.stderr, want)
			assert.Empty(t, got.stdout)
			assert.Equal(t, before, entries(t), "something was written")
		})
	}
}

// TestDegenerateAndMissingDropped checks the two options that drop degenerate columns (constant, or
// a shifted and scaled copy) and rows with missing cells. The answer must note the dropped columns
// and rows.
func TestDegenerateAndMissingDropped(t *testing.T) {
	emptyDir(t, "data.csv", "a,b,k,y\n1,2,1,3\n2,4,1,4\n4,8,1,9\n5,NA,1,2\n6,12,1,7\n")
	got := mustRun(t, "exact", "data.csv", "--target", "y", "--na", "drop", "--drop-degenerate", "--quiet")
	assert.Contains(t, got.stdout, "data.csv: 4 rows, target y, 1 predictor to select from")
	assert.Contains(t, got.stdout, "1 row with missing values dropped")
	assert.Contains(t, got.stdout, "k left out: it is constant")
	assert.Contains(t, got.stdout, `b left out: it is "a" up to shift and scale`)
	json := mustRun(t, "exact", "data.csv", "--target", "y", "--na", "drop", "--drop-degenerate", "--json")
	assert.Contains(t, json.stderr, "k left out: it is constant")
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range []string{"--help", "varsel --help", "exact --help", "rjmcmc varsel --help", "compare --help", ""} {
		got := vtiCommand(t, strings.Fields(args)...)
		assert.Equal(t, shell.StatusOK, got.status)
		assert.Contains(t, got.stdout, "Examples:", args)
		assert.Empty(t, got.stderr)
	}
	for _, args := range []string{"version", "--version"} {
		got := vtiCommand(t, args)
		assert.Equal(t, shell.StatusOK, got.status)
		assert.Regexp(t, `^vti \d+\.\d+\.\d+ \(go`, got.stdout)
	}
	assert.Contains(t, vtiCommand(t, "completion", "bash").stdout, "bash completion")
	assert.Contains(t, vtiCommand(t, "__complete", "varsel", "--flow", "").stdout, "affine-paper")
}
