package mixture

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// Names of the files that a run writes in addition to the files of every run.
const (
	CountsFile     = "counts.csv"
	DensityFile    = "density.csv"
	ComponentsFile = "components.csv"
	RowsFile       = "rows.csv"
)

// Files returns the names of the files that a run writes in addition to the files of every run.
func Files() []string {
	return []string{CountsFile, DensityFile, ComponentsFile, RowsFile, draws.ParquetFile, draws.CSVFile}
}

func (r *Result) write(dir string) error {
	components := [][]string{{"component", "column", "quantity", "median", "q025", "q975"}}
	for j, c := range r.Given.List {
		add := func(column, quantity string, summary Summary) {
			components = append(components, []string{strconv.Itoa(j + 1), column, quantity, summary.Median.Text(), summary.Q025.Text(), summary.Q975.Text()})
		}
		add("", "weight", c.Weight)
		for _, column := range c.Columns {
			add(column.Column, "mean", column.Mean)
			if column.SD != nil {
				add(column.Column, "sd", *column.SD)
			}
		}
		for _, pair := range c.Correlations {
			add(pair.A+" "+pair.B, "correlation", pair.Value)
		}
	}
	shares := apply.UpTo(len(r.Given.List), func(j int) string { return fmt.Sprintf("p%d", j+1) })
	rows := [][]string{slices.Concat([]string{"place"}, r.Data.Columns, []string{"component"}, shares)}
	for _, row := range r.Rows {
		values, shares := apply.To(row.Values, Number.Text), apply.To(row.Probability, Number.Text)
		rows = append(rows, slices.Concat([]string{strconv.Itoa(row.Place)}, values, []string{strconv.Itoa(row.Component)}, shares))
	}
	return run.WriteAnswer(dir, r, map[string][][]string{
		CountsFile:     report.Rows(r.Counts, "components", "probability", "se", "jumps", "partitions", "occupied"),
		DensityFile:    report.Rows(r.Density, "column", "at", "mean", "q025", "q975"),
		ComponentsFile: components, RowsFile: rows,
	})
}

// storedDraws is the largest number of draws in the files of draws.
const storedDraws = 10_000

// writeDraws writes draws of the chains as Parquet and CSV, if there is a run directory. Columns
// are numbered by component, in the order of the means of the first column. A draw with k
// components uses the columns of components 1 to k.
func (s *Sample) writeDraws(dir string, seed uint64) error {
	p, list := s.problem, thinned(s.draws, storedDraws)
	most := slices.Max(apply.To(list, func(d kept) int { return d.state.size() }))
	out := &draws.Draws{Header: draws.Header{Kind: draws.Chains, Cards: []int{p.Options.MaxComponents + 1}, Sites: []string{"components"}, DensityScale: "working", Seed: seed}}
	for _, d := range list {
		out.LogP, out.Chain, out.Codes = append(out.LogP, d.logP), append(out.Chain, int32(d.chain+1)), append(out.Codes, int32(d.state.size()))
	}
	var parts []draws.Part[kept]
	add := func(name string, value func(c component) float64) {
		parts = append(parts, draws.Part[kept]{Name: name, Count: most, Of: draws.Each(func(d kept) []component { return d.state.components }, value)})
	}
	add("weight", func(c component) float64 { return c.weight })
	for at, column := range p.columns {
		suffix := ""
		if len(p.columns) > 1 {
			suffix = " " + column.name
		}
		add("mean"+suffix, func(c component) float64 {
			location, _ := p.family.summary(at, c)
			return column.value(location)
		})
		if p.Options.Family != Poisson {
			add("sd"+suffix, func(c component) float64 {
				_, scale := p.family.summary(at, c)
				return column.scale * scale
			})
		}
		if f, several := p.family.(vectors); several {
			for before := range at {
				add("correlation "+p.columns[before].name+" "+column.name, func(c component) float64 { return f.correlation(before, at, c) })
			}
		}
	}
	draws.Fill(out, list, parts)
	return draws.WriteBoth(dir, out)
}
