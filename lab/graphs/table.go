package graphs

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/atomicfile"
)

// Row holds the four scores of Davies et al. (2025) for one method and one number of rows: means
// over data sets, with standard errors.
type Row struct {
	Rows     int        `json:"rows"`
	Method   string     `json:"method"` // vti, vti flow, greedy BIC or empty
	DataSets int        `json:"data_sets"`
	F1       dag.Number `json:"f1"`
	F1SE     dag.Number `json:"f1_se"`
	SHD      dag.Number `json:"shd"` // a reversed edge counts twice
	SHDSE    dag.Number `json:"shd_se"`
	Brier    dag.Number `json:"brier"`
	BrierSE  dag.Number `json:"brier_se"`
	AUROC    dag.Number `json:"auroc"`
	AUROCSE  dag.Number `json:"auroc_se"`
	Seconds  dag.Number `json:"seconds"` // mean time of a run
	// Trusted and Failed count the runs of vti with these verdicts.
	Trusted int `json:"trusted"`
	Failed  int `json:"failed"`
}

// table returns the rows of the table: for each number of rows, one row for each method in
// Structures, one for greedy BIC and one for the empty graph.
func (b Study) table(found map[point][]*dag.Result) (table []Row) {
	for _, rows := range b.Sizes {
		for _, structure := range b.structures() {
			table = append(table, summarise(vtiMethod(structure), rows, found[point{rows, structure}], func(m *dag.Metrics) dgraph.PaperMetrics { return m.Answer.Paper }))
		}
		first := found[point{rows, b.structures()[0]}]
		table = append(table,
			summarise("greedy BIC", rows, first, func(m *dag.Metrics) dgraph.PaperMetrics { return m.GreedyBIC.Paper }),
			summarise("empty", rows, first, func(m *dag.Metrics) dgraph.PaperMetrics { return m.Empty.Paper }))
	}
	return table
}

// summarise returns the row of a method, with averages over data sets.
func summarise(method string, rows int, results []*dag.Result, metrics func(*dag.Metrics) dgraph.PaperMetrics) Row {
	row := Row{Rows: rows, Method: method, DataSets: len(results)}
	average := func(value func(*dag.Result) dag.Number) (mean, se dag.Number) {
		var values []float64
		for _, r := range results {
			if x := float64(value(r)); !math.IsNaN(x) { // the AUROC is NaN if the true graph has no edges
				values = append(values, x)
			}
		}
		m, sd := stat.MeanStdDev(values, nil)
		return dag.Number(m), dag.Number(sd / math.Sqrt(float64(len(values))))
	}
	row.F1, row.F1SE = average(func(r *dag.Result) dag.Number { return metrics(r.Metrics).F1 })
	row.SHD, row.SHDSE = average(func(r *dag.Result) dag.Number { return metrics(r.Metrics).SHD })
	row.Brier, row.BrierSE = average(func(r *dag.Result) dag.Number { return metrics(r.Metrics).Brier })
	row.AUROC, row.AUROCSE = average(func(r *dag.Result) dag.Number { return metrics(r.Metrics).AUROC })
	row.Seconds, _ = average(func(r *dag.Result) dag.Number { return dag.Number(r.Seconds.Total) })
	if method != vtiMethod(dag.Exact) && method != vtiMethod(dag.GraphFlow) {
		row.Seconds = dag.Number(math.NaN())
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

// writeTable writes the rows as CSV.
func writeTable(path string, table []Row) error {
	rows := [][]string{{"rows", "method", "data_sets", "f1", "f1_se", "shd", "shd_se", "brier", "brier_se", "auroc", "auroc_se", "seconds", "trusted", "failed"}}
	for _, r := range table {
		row := []string{strconv.Itoa(r.Rows), r.Method, strconv.Itoa(r.DataSets)}
		for _, n := range []dag.Number{r.F1, r.F1SE, r.SHD, r.SHDSE, r.Brier, r.BrierSE, r.AUROC, r.AUROCSE, r.Seconds} {
			row = append(row, n.Text())
		}
		rows = append(rows, append(row, strconv.Itoa(r.Trusted), strconv.Itoa(r.Failed)))
	}
	return atomicfile.Write(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}
