package dag

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/atomicfile"
)

// BenchmarkRow are the means over data sets of the paper's four scores, each with its standard
// error, of one method at one size.
type BenchmarkRow struct {
	Rows     int    `json:"rows"`
	Method   string `json:"method"` // vti, vti made, greedy BIC or empty
	DataSets int    `json:"data_sets"`
	F1       Number `json:"f1"`
	F1SE     Number `json:"f1_se"`
	SHD      Number `json:"shd"` // a reversed edge counts twice
	SHDSE    Number `json:"shd_se"`
	Brier    Number `json:"brier"`
	BrierSE  Number `json:"brier_se"`
	AUROC    Number `json:"auroc"`
	AUROCSE  Number `json:"auroc_se"`
	Seconds  Number `json:"seconds"` // of a run
	// Trusted and Failed count the runs with these verdicts, of those of vti.
	Trusted int `json:"trusted"`
	Failed  int `json:"failed"`
}

// table has the rows of every size: of each structure, of greedy BIC and of the empty graph.
func (b Benchmark) table(found map[benchmarkPoint][]*Result) (table []BenchmarkRow) {
	for _, rows := range b.Sizes {
		for _, structure := range b.structures() {
			table = append(table, summariseBenchmark(vtiMethod(structure), rows, found[benchmarkPoint{rows, structure}], func(m *Metrics) dgraph.PaperMetrics { return m.Answer.Paper }))
		}
		first := found[benchmarkPoint{rows, b.structures()[0]}]
		table = append(table,
			summariseBenchmark("greedy BIC", rows, first, func(m *Metrics) dgraph.PaperMetrics { return m.GreedyBIC.Paper }),
			summariseBenchmark("empty", rows, first, func(m *Metrics) dgraph.PaperMetrics { return m.Empty.Paper }))
	}
	return table
}

// summariseBenchmark averages over data sets.
func summariseBenchmark(method string, rows int, results []*Result, of func(*Metrics) dgraph.PaperMetrics) BenchmarkRow {
	row := BenchmarkRow{Rows: rows, Method: method, DataSets: len(results)}
	average := func(value func(*Result) Number) (mean, se Number) {
		var values []float64
		for _, r := range results {
			if x := float64(value(r)); !math.IsNaN(x) { // the AUROC of a truth without edges
				values = append(values, x)
			}
		}
		m, sd := stat.MeanStdDev(values, nil)
		return Number(m), Number(sd / math.Sqrt(float64(len(values))))
	}
	row.F1, row.F1SE = average(func(r *Result) Number { return of(r.Metrics).F1 })
	row.SHD, row.SHDSE = average(func(r *Result) Number { return of(r.Metrics).SHD })
	row.Brier, row.BrierSE = average(func(r *Result) Number { return of(r.Metrics).Brier })
	row.AUROC, row.AUROCSE = average(func(r *Result) Number { return of(r.Metrics).AUROC })
	row.Seconds, _ = average(func(r *Result) Number { return Number(r.Seconds.Total) })
	if method != vtiMethod(Exact) && method != vtiMethod(Made) {
		row.Seconds = Number(math.NaN())
		return row
	}
	for _, r := range results {
		switch r.Certificate.Verdict {
		case vti.Trusted:
			row.Trusted++
		case vti.Failed:
			row.Failed++
		}
	}
	return row
}

// writeBenchmarkTable writes the rows as CSV.
func writeBenchmarkTable(path string, table []BenchmarkRow) error {
	rows := [][]string{{"rows", "method", "data_sets", "f1", "f1_se", "shd", "shd_se", "brier", "brier_se", "auroc", "auroc_se", "seconds", "trusted", "failed"}}
	for _, r := range table {
		row := []string{strconv.Itoa(r.Rows), r.Method, strconv.Itoa(r.DataSets)}
		for _, n := range []Number{r.F1, r.F1SE, r.SHD, r.SHDSE, r.Brier, r.BrierSE, r.AUROC, r.AUROCSE, r.Seconds} {
			row = append(row, n.Text())
		}
		rows = append(rows, append(row, strconv.Itoa(r.Trusted), strconv.Itoa(r.Failed)))
	}
	return atomicfile.Write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}
