package mixture

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/rundir"
)

// The files of a run beside those of every run.
const (
	CountsFile     = "counts.csv"
	DensityFile    = "density.csv"
	ComponentsFile = "components.csv"
	RowsFile       = "rows.csv"
	DrawsParquet   = "draws.parquet"
	DrawsCSV       = "draws.csv"
)

// Files are the names of the files that a run writes beside those of every run.
func Files() []string {
	return []string{CountsFile, DensityFile, ComponentsFile, RowsFile, DrawsParquet, DrawsCSV}
}

// write writes result.json and the tables to a run directory, if there is one.
func (r *Result) write(dir string) error {
	if dir == "" {
		return nil
	}
	if err := rundir.WriteJSON(filepath.Join(dir, rundir.ResultFile), r); err != nil {
		return err
	}
	counts := [][]string{{"components", "probability", "se", "jumps", "partitions", "occupied"}}
	for _, c := range r.Counts {
		counts = append(counts, []string{strconv.Itoa(c.Components), c.Probability.Text(), c.SE.Text(), c.Jumps.Text(), c.Partitions.Text(), c.Occupied.Text()})
	}
	density := [][]string{{"at", "mean", "q025", "q975"}}
	for _, d := range r.Density {
		density = append(density, []string{d.At.Text(), d.Mean.Text(), d.Q025.Text(), d.Q975.Text()})
	}
	components := [][]string{{"component", "quantity", "median", "q025", "q975"}}
	for j, c := range r.Given.List {
		for _, q := range []struct {
			name string
			of   Summary
		}{{"weight", c.Weight}, {"mean", c.Mean}, {"sd", c.SD}} {
			components = append(components, []string{strconv.Itoa(j + 1), q.name, q.of.Median.Text(), q.of.Q025.Text(), q.of.Q975.Text()})
		}
	}
	head := []string{"place", "value", "component"}
	for j := range r.Given.List {
		head = append(head, fmt.Sprintf("p%d", j+1))
	}
	rows := [][]string{head}
	for _, row := range r.Rows {
		cells := []string{strconv.Itoa(row.Place), row.Value.Text(), strconv.Itoa(row.Component)}
		for _, p := range row.Probability {
			cells = append(cells, p.Text())
		}
		rows = append(rows, cells)
	}
	for name, lines := range map[string][][]string{CountsFile: counts, DensityFile: density, ComponentsFile: components, RowsFile: rows} {
		if err := atomicfile.Write(filepath.Join(dir, name), func(w io.Writer) error { return csv.NewWriter(w).WriteAll(lines) }); err != nil {
			return err
		}
	}
	return nil
}

// storedDraws is how many draws the files hold.
const storedDraws = 10_000

// writeDraws writes draws of the chains in both formats, if there is a run directory. A model with
// k components uses the first k of them.
func (s *Sample) writeDraws(dir string, seed uint64) error {
	if dir == "" {
		return nil
	}
	p, list := s.problem, thinned(s.draws, storedDraws)
	most := 0
	for _, d := range list {
		most = max(most, d.state.size())
	}
	header := draws.Header{Kind: draws.Chains, Cards: []int{p.Options.MaxComponents + 1}, Sites: []string{"components"}, DensityScale: "working", Seed: seed}
	for _, name := range []string{"weight", "mean", "sd"} {
		for j := range most {
			header.Coordinates = append(header.Coordinates, fmt.Sprintf("%s %d", name, j+1))
			header.Variables = append(header.Variables, fmt.Sprintf("%s[%d]", name, j+1))
		}
	}
	out := &draws.Draws{Header: header}
	for _, d := range list {
		out.LogP, out.Chain, out.Codes = append(out.LogP, d.logP), append(out.Chain, int32(d.chain+1)), append(out.Codes, int32(d.state.size()))
		row := make([]float64, 3*most)
		for j := range d.state.weight {
			row[j], row[most+j], row[2*most+j] = d.state.weight[j], p.centre+p.scale*d.state.mean[j], p.scale*math.Sqrt(d.state.variance[j])
		}
		out.Theta = append(out.Theta, row...)
	}
	return errors.Join(
		draws.Write(filepath.Join(dir, DrawsParquet), draws.Parquet, out),
		draws.Write(filepath.Join(dir, DrawsCSV), draws.CmdStanCSV, out),
	)
}
