package study

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/table"
)

func TestDiscoveries(t *testing.T) {
	dir := t.TempDir()
	path, truth := filepath.Join(dir, "results.inclusion.parquet"), filepath.Join(dir, "truth.csv")
	require.NoError(t, writeRows(path, func(w *spool) error {
		for _, row := range []struct {
			response, name string
			p              float64
		}{{"g1", "a", 0.5}, {"g1", "b", 0.99}, {"g2", "a", 0.9}, {"g2", "b", 0.1}} {
			if err := w.add([]cell{{"task", int64(0)}, {"response", row.response}, {"name", row.name}, {"certified", row.p}}); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, os.WriteFile(truth, []byte("response,predictor,effect\ng1,b,1\ng2,b,2\n"), 0o644))
	d, err := ReadDiscoveries(context.Background(), path, truth)
	require.NoError(t, err)
	require.Len(t, d.List, 4)
	assert.Equal(t, 2, d.Effects)
	assert.Equal(t, "g1 b, g2 a, g1 a, g2 b", func() string {
		var names []string
		for _, found := range d.List {
			names = append(names, found.Response+" "+found.Predictor)
		}
		return strings.Join(names, ", ")
	}())
	assert.InDelta(t, 0.01, d.List[0].FDR, 1e-12)
	assert.InDelta(t, (0.01+0.1)/2, d.List[1].FDR, 1e-12)
	assert.InDelta(t, (0.01+0.1+0.5+0.9)/4, d.List[3].FDR, 1e-12)
	assert.Equal(t, 1, d.At(0.05))
	assert.Equal(t, 2, d.At(0.06))
	assert.Equal(t, 1, d.False(2))
	require.NoError(t, d.Write(filepath.Join(dir, "found.csv"), 2))
	written, err := os.ReadFile(filepath.Join(dir, "found.csv"))
	require.NoError(t, err)
	assert.Equal(t, "response,predictor,probability,fdr,true\ng1,b,0.99,0.01,true\ng2,a,0.9,0.055,false\n", string(written))
	require.NoError(t, d.WritePictures(dir))
	require.FileExists(t, filepath.Join(dir, "strongest.png"))
	require.FileExists(t, filepath.Join(dir, "fdr.svg"))

	_, err = ReadDiscoveries(context.Background(), path, path)
	require.Error(t, err)
	require.NoError(t, writeRows(path, func(w *spool) error { return w.add([]cell{{"name", "a"}}) }))
	_, err = ReadDiscoveries(context.Background(), path, "")
	require.ErrorContains(t, err, `no column "response"`)
	require.ErrorContains(t, err, "want the inclusion probabilities")
}

// The simulated files agree with each other. Alleles of markers have the stated frequencies and
// correlate with neighbouring markers. The expression of a gene changes with the number of alleles
// of a marker by about the effect of the marker.
func TestExpression(t *testing.T) {
	dir := t.TempDir()
	e := Expression{People: 2000, Genes: 20, Nearby: 4, Seed: 3}
	require.NoError(t, e.Write(dir))
	plan := filepath.Join(dir, "plan.toml")
	require.NoError(t, os.WriteFile(plan, []byte("command = \"fake\"\ntables = {files = [\"expression.csv\"], responses = [\"gene*\"], pairs = \"nearby.csv\"}"), 0o644))
	p, err := Read(plan)
	require.NoError(t, err)
	require.Equal(t, 20, p.Tasks())
	assert.Equal(t, []string{"snp000003", "snp000004", "snp000005", "snp000006"}, p.source.content(1))
	read, err := table.ReadFile(filepath.Join(dir, "expression.csv"))
	require.NoError(t, err)
	values := func(name string) []float64 {
		c, err := read.Lookup(name)
		require.NoError(t, err)
		return c.Values
	}
	for _, name := range []string{"snp000001", "snp000020"} {
		mean := 0.0
		for _, v := range values(name) {
			require.Contains(t, []float64{0, 1, 2}, v)
			mean += v / 2000
		}
		assert.InDelta(t, 0.6, mean, 0.45, "twice a frequency between 0.1 and 0.5, with an error of 0.02")
	}
	matter := 0
	require.NoError(t, eachPair(filepath.Join(dir, "truth.csv"), func(string, string) error {
		matter++
		return nil
	}))
	require.NotZero(t, matter)
	again := t.TempDir()
	require.NoError(t, e.Write(again))
	for _, name := range []string{"expression.csv", "nearby.csv", "truth.csv"} {
		a, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(again, name))
		require.NoError(t, err)
		assert.Equal(t, a, b)
	}
	require.ErrorContains(t, Expression{Nearby: 3}.Write(dir), "an even number from 2")

	// For genes with one marker, the regression on it finds the effect to within 5 standard errors.
	content, err := os.ReadFile(filepath.Join(dir, "truth.csv"))
	require.NoError(t, err)
	effects := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n")[1:] {
		cells := strings.Split(line, ",")
		effects[cells[0]] = append(effects[cells[0]], cells[1], cells[2])
	}
	checked := 0
	for gene, effect := range effects {
		if len(effect) != 2 {
			continue
		}
		x, y := values(effect[0]), values(gene)
		var mx, my, sxx, sxy float64
		for i := range x {
			mx, my = mx+x[i]/2000, my+y[i]/2000
		}
		for i := range x {
			sxx, sxy = sxx+(x[i]-mx)*(x[i]-mx), sxy+(x[i]-mx)*(y[i]-my)
		}
		size, err := strconv.ParseFloat(effect[1], 64)
		require.NoError(t, err)
		assert.InDelta(t, size, sxy/sxx, 5/math.Sqrt(sxx), gene)
		checked++
	}
	require.Positive(t, checked)
}
