package modelcheck

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/rundir"
)

// FittedRow is the response of one row, with a summary of its posterior predictive distribution.
type FittedRow struct {
	// Row is the number of the row in the file (see [RowNames]).
	Row int
	// Observed is the response, and Mean its posterior expectation. Of the replicated responses of
	// this row, 95% lie between Q025 and Q975.
	Observed, Mean, Q025, Q975 float64
}

// PredictiveBin is one bin of a histogram of the response. Observed is the number of rows in the
// bin. Q025, Median and Q975 are quantiles of this number over replicated tables.
type PredictiveBin struct {
	// Category is the category that the bin stands for. It is set only for a response with
	// categories without an order.
	Category string `json:"category,omitempty"`
	// From and To are the ends of the bin.
	From     float64 `json:"from"`
	To       float64 `json:"to"`
	Observed float64 `json:"observed"`
	Q025     float64 `json:"q025"`
	Median   float64 `json:"median"`
	Q975     float64 `json:"q975"`
}

// Limits on the numbers of rows and bins that a picture can show.
const (
	mostFitted = 1000
	mostBins   = 24
	mostCounts = 40 // largest number of bins of whole numbers, one for each number
)

// fitting collects the fitted rows and the histograms, one draw at a time.
type fitting struct {
	y          []float64
	kept       []int       // indices in y of the fitted rows
	mean       []float64   // sums over draws of the means of the kept rows
	replicates [][]float64 // replicates of each kept row
	edges      []float64
	counts     [][]float64 // number of rows in each bin, for every replicated table
}

func newFitting(kind Kind, y []float64) *fitting {
	f := &fitting{y: y}
	step := max(1, (len(y)+mostFitted-1)/mostFitted)
	for i := 0; i < len(y); i += step {
		f.kept = append(f.kept, i)
	}
	f.mean = make([]float64, len(f.kept))
	f.replicates = apply.UpTo(len(f.kept), func(int) []float64 { return make([]float64, 0, MinDraws) })
	f.edges = binEdges(kind, y)
	f.counts = make([][]float64, max(0, len(f.edges)-1))
	return f
}

// binEdges divides the range of a response into bins, with a margin of a tenth of the range on both
// sides. For counts and categories it returns bins of whole numbers. For a response with two values
// it returns nil.
func binEdges(kind Kind, y []float64) (edges []float64) {
	if kind == Binary || len(y) == 0 {
		return nil
	}
	low, high := slices.Min(y), slices.Max(y)
	if kind == Category {
		return wholeNumbers(low, high)
	}
	if kind == Count && high-low < mostCounts {
		return wholeNumbers(math.Max(0, low-2), high+2)
	}
	if low == high {
		return nil
	}
	margin := (high - low) / 10
	if kind == Count {
		low = math.Max(margin, low)
	}
	bins := min(mostBins, max(5, int(2*math.Sqrt(float64(len(y))))))
	return apply.UpTo(bins+1, func(k int) float64 { return low - margin + (high-low+2*margin)*float64(k)/float64(bins) })
}

// wholeNumbers returns the edges of bins that hold one whole number each, from low to high.
func wholeNumbers(low, high float64) (edges []float64) {
	for value := low; value <= high+1; value++ {
		edges = append(edges, value-0.5)
	}
	return edges
}

func (f *fitting) add(mean, replicate []float64) {
	for k, i := range f.kept {
		f.mean[k] += mean[i]
		f.replicates[k] = append(f.replicates[k], replicate[i])
	}
	for b, count := range f.histogram(replicate) {
		f.counts[b] = append(f.counts[b], count)
	}
}

func (f *fitting) histogram(y []float64) []float64 {
	if len(f.edges) == 0 {
		return nil
	}
	counts := make([]float64, len(f.edges)-1)
	low, width := f.edges[0], f.edges[1]-f.edges[0]
	for _, v := range y {
		if bin := math.Floor((v - low) / width); bin >= 0 && bin < float64(len(counts)) {
			counts[int(bin)]++
		}
	}
	return counts
}

// rows returns the fitted rows. The function number maps an index in y to the number of the row.
func (f *fitting) rows(number func(i int) int) (list []FittedRow) {
	for k, i := range f.kept {
		values := f.replicates[k]
		q := quantiles(values, 0.025, 0.975)
		list = append(list, FittedRow{
			Row: number(i), Observed: f.y[i], Mean: f.mean[k] / float64(len(values)),
			Q025: q[0], Q975: q[1],
		})
	}
	return list
}

func (f *fitting) predictive() (list []PredictiveBin) {
	for b, observed := range f.histogram(f.y) {
		q := quantiles(f.counts[b], 0.025, 0.5, 0.975)
		list = append(list, PredictiveBin{From: f.edges[b], To: f.edges[b+1], Observed: observed, Q025: q[0], Median: q[1], Q975: q[2]})
	}
	return list
}

// quantiles returns, for each of the ascending shares, the smallest value v such that at least this
// share of the values is at most v. It reorders values.
func quantiles(values []float64, shares ...float64) (list []float64) {
	from := 0
	for _, share := range shares {
		at := max(int(math.Ceil(share*float64(len(values))))-1, 0)
		rank.Place(values[from:], at-from)
		list, from = append(list, values[at]), at
	}
	return list
}

// FittedFile is the name of the file of fitted rows in a run directory.
const FittedFile = "fitted.csv"

var fittedColumns = []string{"row", "observed", "mean", "q025", "q975"}

// WriteFitted writes the fitted rows as CSV to a run directory, if there are a directory and a
// report.
func (r *Report) WriteFitted(dir string) error {
	if dir == "" || r == nil {
		return nil
	}
	records := [][]string{fittedColumns}
	for _, row := range r.Fitted {
		record := []string{strconv.Itoa(row.Row)}
		for _, x := range []float64{row.Observed, row.Mean, row.Q025, row.Q975} {
			record = append(record, strconv.FormatFloat(x, 'g', 8, 64))
		}
		records = append(records, record)
	}
	return rundir.WriteTables(dir, map[string][][]string{FittedFile: records})
}

// ReadFitted reads the output of WriteFitted.
func ReadFitted(path string) ([]FittedRow, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var rows []FittedRow
	for line, record := range records {
		if line == 0 {
			if !slices.Equal(record, fittedColumns) {
				return nil, fmt.Errorf("%s: got the columns %v, want %v", path, record, fittedColumns)
			}
			continue
		}
		var x [5]float64
		for k, cell := range record {
			if x[k], err = strconv.ParseFloat(cell, 64); err != nil {
				return nil, fmt.Errorf("%s, line %d: got %q, want a number", path, line+1, cell)
			}
		}
		rows = append(rows, FittedRow{int(x[0]), x[1], x[2], x[3], x[4]})
	}
	return rows, nil
}
