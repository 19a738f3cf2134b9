package predict

import (
	"cmp"
	"fmt"
	"slices"
)

// Ranked is a run in a comparison of runs on the same rows.
type Ranked struct {
	// RunDir is the directory of the run, and LOO its leave-one-out predictions.
	RunDir string `json:"run_dir"`
	LOO    *LOO   `json:"loo"`
	// ByGroup holds predictions of whole groups of rows, if requested.
	ByGroup *ByGroup `json:"by_group,omitempty"`
	// Difference is the ELPD of the run minus the largest ELPD, and DifferenceSE its standard error
	// over rows.
	Difference   Number `json:"difference"`
	DifferenceSE Number `json:"difference_se"`
}

// Compare orders runs by their ELPD, the best first. It fails if the runs have different rows.
func Compare(runs []Ranked) ([]Ranked, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("predict: got no runs to compare, want at least one")
	}
	ranked := slices.SortedStableFunc(slices.Values(runs), func(a, b Ranked) int { return cmp.Compare(b.LOO.ELPD, a.LOO.ELPD) })
	best := ranked[0]
	for k := range ranked {
		other := &ranked[k]
		if len(other.LOO.Rows) != len(best.LOO.Rows) {
			return nil, fmt.Errorf("%s has %d rows and %s has %d", best.RunDir, len(best.LOO.Rows), other.RunDir, len(other.LOO.Rows))
		}
		differences := make([]float64, len(best.LOO.Rows))
		for i, row := range best.LOO.Rows {
			if other.LOO.Rows[i].Row != row.Row {
				return nil, fmt.Errorf("%s and %s use different rows of the table: row %d of the first is %d, of the second %d",
					best.RunDir, other.RunDir, i+1, row.Row, other.LOO.Rows[i].Row)
			}
			differences[i] = float64(other.LOO.Rows[i].ELPD - row.ELPD)
		}
		other.Difference, other.DifferenceSE = sum(differences)
	}
	return ranked, nil
}
