package modelcheck

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The findings about levels with one row each become one finding for each factor. A numeric column
// keeps its own finding.
func TestRareLevelsAreOneFinding(t *testing.T) {
	const rows = 40
	one := func(name string, indicator bool, row int) Column {
		c := Column{Name: name, Values: make([]float64, rows), Indicator: indicator}
		c.Values[row] = 1
		return c
	}
	found := columnFindings([]Column{one("day=2024-01-02", true, 1), one("x", false, 2), one("day=2024-01-03", true, 5), one("day=2024-02-01", true, 7), one("sex=f", true, 9)}, RowNames{Unit: "line"})
	require.Len(t, found, 3)
	require.Contains(t, found[0].What, "nearly constant: x")
	require.Equal(t, "rare levels: 3 levels of day have at most 1 row each, so that their effects rest on these", found[1].What)
	require.Equal(t, "columns day=2024-01-02, line 2; day=2024-01-03, line 6; and 1 more", found[1].Where)
	require.Equal(t, Questionable, found[1].Verdict)
	require.Contains(t, found[2].What, "nearly constant: sex=f")
}
