package compare

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/internal/report"
)

func TestFigurePoints(t *testing.T) {
	points, low := figurePoints([]Pair{
		NewPair(0.5, 0, 0.6, 0), NewPair(0.01, 0, 0.002, 0), NewPair(1e-9, 0, 1e-8, 0),
	})
	assert.Equal(t, []picture.Point{{X: math.Log10(0.5), Y: math.Log10(0.6)}, {X: -2, Y: math.Log10(0.002)}}, points)
	assert.InDelta(t, -3, low, 0)

	points, low = figurePoints([]Pair{NewPair(0.5, 0, 0, 0), NewPair(report.Number(math.NaN()), 0, 0.25, 0)})
	assert.Equal(t, []picture.Point{{X: math.Log10(0.5), Y: -6}, {X: -6, Y: math.Log10(0.25)}}, points)
	assert.InDelta(t, -6, low, 0)

	_, low = figurePoints(nil)
	assert.InDelta(t, -1, low, 0)
}

// TestFigureFilesAreTheSameEachTime draws a figure twice and compares the bytes of the files.
func TestFigureFilesAreTheSameEachTime(t *testing.T) {
	c := &Comparison{Models: []Pair{NewPair(0.9, 0, 0.8, 0), NewPair(0.1, 0, 0.2, 0)}}
	dir := t.TempDir()
	for _, format := range []string{"svg", "png"} {
		var first []byte
		for range 2 {
			require.NoError(t, c.figure().Write(dir))
			content, err := os.ReadFile(filepath.Join(dir, figureName+"."+format))
			require.NoError(t, err)
			if first == nil {
				first = content
			}
			assert.Equal(t, first, content)
		}
	}
}
