package compare

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"

	"github.com/transdim/vti/internal/report"
)

func TestFigurePoints(t *testing.T) {
	points, low := figurePoints([]Pair{
		NewPair(0.5, 0, 0.6, 0), NewPair(0.01, 0, 0.002, 0), NewPair(1e-9, 0, 1e-8, 0),
	})
	assert.Equal(t, plotter.XYs{{X: 0.5, Y: 0.6}, {X: 0.01, Y: 0.002}}, points)
	assert.InDelta(t, 1e-3, low, 1e-15)

	points, low = figurePoints([]Pair{NewPair(0.5, 0, 0, 0), NewPair(report.Number(math.NaN()), 0, 0.25, 0)})
	assert.Equal(t, plotter.XYs{{X: 0.5, Y: figureFloor}, {X: figureFloor, Y: 0.25}}, points)
	assert.InDelta(t, figureFloor, low, 1e-15)

	_, low = figurePoints(nil)
	assert.InDelta(t, 0.1, low, 1e-15)
	assert.Len(t, powersOfTen(1e-3), 4)
}

// TestFigureFilesAreTheSameEachTime draws twice: a figure is a function of the comparison.
func TestFigureFilesAreTheSameEachTime(t *testing.T) {
	c := &Comparison{Models: []Pair{NewPair(0.9, 0, 0.8, 0), NewPair(0.1, 0, 0.2, 0)}}
	dir := t.TempDir()
	for _, format := range []string{"svg", "png"} {
		var first []byte
		for range 2 {
			path := filepath.Join(dir, "figure."+format)
			require.NoError(t, c.writeFigure(path, format))
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			if first == nil {
				first = content
			}
			assert.Equal(t, first, content)
		}
	}
}
