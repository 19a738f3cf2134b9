package picture

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// examples returns pictures of every kind, with awkward content: long names, numbers that are
// unknown or equal, and no content.
func examples() []*Picture {
	long := "a name that is much too long to be written beside a picture <&> \"quoted\""
	var many []Row
	for k := range 200 {
		x := math.Sin(float64(k))
		many = append(many, Row{Label: fmt.Sprintf("level %d", k), From: 2 * x, Intervals: []Interval{{Mid: x, Low: x - 1, High: x + 1, Ink: First}}})
	}
	one := []Row{{Label: long, From: math.NaN(), Note: "0.5", Intervals: []Interval{{Mid: math.NaN(), Low: math.NaN(), High: math.NaN()}, {Mid: 3, Low: 3, High: 3}}}}
	return []*Picture{
		Rows("rows", "Rows", Page, many, RowsOptions{Axis: long, Reference: 0, Panels: 3, Legend: []Entry{{Text: "one", Ink: First}}}),
		Rows("one", "One", Column, one, RowsOptions{Bars: true, Min: 0, Max: 1, Reference: math.NaN()}),
		Curves("curves", "Curves", Column, 130, []Curve{{X: []float64{-1, 0, 1}, Y: []float64{0, 0.4, 0}, Filled: true}, {X: []float64{-1, 1}, Y: []float64{0.1, 0.1}, Dashed: true}}, 0.6, "x"),
		Bars("bars", "Bars", Column, 150, []Bar{{From: -0.5, To: 0.5, Value: 0.2, Compared: math.NaN()}, {From: 0.5, To: 1.5, Value: 0.8, Compared: 0.5, Low: 0.4, High: 0.6}}, "n", "probability"),
		Scatter("scatter", "Scatter", Column, 150, []Point{{1, 1}, {2, 2}, {math.NaN(), 1}}, []Reference{{0, 0, 3, 3}, {-1e30, 1.5, 1e30, 1.5}, {0, 99, 3, 99}}, "x", long),
		Lines("lines", "Lines", Column, 150, []Curve{{X: []float64{1, 2, 3}, Y: []float64{5, math.NaN(), 6}}}, "step", "loss"),
		Cells("cells", "Cells", Column, []string{"a", long}, []string{"b", "c"}, nil, func(row, column int) Cell { return Cell{Value: float64(row - column), Text: "1"} }),
		Cells("image", "Image", Page, []string{"a"}, []string{"1", "2"}, []float64{0.9, 0.001}, func(int, int) Cell { return Cell{Value: 1} }),
	}
}

// TestInline checks that every picture is well-formed, is not empty, has a description, and keeps
// its texts inside its borders.
func TestInline(t *testing.T) {
	for _, p := range examples() {
		p.Text = "What is to be seen."
		require.NotEmpty(t, p.marks, p.Name)
		svg := p.Inline()
		require.NotContains(t, svg, "NaN", p.Name)
		decoder := xml.NewDecoder(strings.NewReader(svg))
		elements := 0
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, p.Name)
			if start, ok := token.(xml.StartElement); ok {
				elements++
				if elements == 1 {
					require.Contains(t, fmt.Sprint(start.Attr), p.Title+". What is to be seen.")
				}
			}
		}
		require.Greater(t, elements, 3, p.Name)
		for _, m := range p.marks {
			if m.shape != label {
				continue
			}
			width, x := TextWidth(m.text, m.size), m.points[0].X
			if m.style.Upright {
				continue
			}
			left := x - width*[...]float64{0, 0.5, 1}[m.anchor]
			require.GreaterOrEqual(t, left, -1.0, "%s: %q", p.Name, m.text)
			require.LessOrEqual(t, left+width, p.Width+1, "%s: %q", p.Name, m.text)
			require.LessOrEqual(t, m.points[0].Y, p.Height, "%s: %q", p.Name, m.text)
		}
	}
}

// TestWrite checks that files are not empty and are the same each time.
func TestWrite(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, p := range examples()[1:4] {
		var contents [][]byte
		for _, dir := range dirs {
			require.NoError(t, p.Write(dir))
			for _, format := range []string{".svg", ".png"} {
				content, err := os.ReadFile(filepath.Join(dir, p.Name+format))
				require.NoError(t, err)
				require.Greater(t, len(content), 500)
				contents = append(contents, content)
			}
		}
		require.Equal(t, contents[:2], contents[2:], p.Name)
	}
}

func TestTicks(t *testing.T) {
	labels := func(s Scale, most int) (list []string) {
		for _, tick := range s.ticks(most) {
			list = append(list, tick.Label)
		}
		return list
	}
	require.Equal(t, []string{"0", "0.5", "1.0"}, labels(Scale{Min: 0, Max: 1}, 3))
	require.Equal(t, []string{"−200", "−100", "0", "100"}, labels(Scale{Min: -250, Max: 180}, 5))
	require.Equal(t, []string{"1", "2", "3"}, labels(Scale{Min: 0.5, Max: 3.5, Whole: true}, 8))
	require.Equal(t, []string{"0", "5e−07", "1e−06"}, labels(Scale{Min: 0, Max: 1e-6}, 3))
	require.Empty(t, labels(Scale{Min: 1, Max: 1}, 3))
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1234.5: "1234", -0.012345: "−0.0123", 1e-9: "1.00e−9", 12345678: "1.23e7", math.Inf(-1): "−Inf"} {
		require.Equal(t, want, Number(x))
	}
	require.Equal(t, "unknown", Number(math.NaN()))
	for p, want := range map[float64]string{0: "0", 1: "1", 1e-9: "<0.0001", 0.00042: "0.0004", 0.5: "0.500", 0.99959: "0.9996", 0.999999: ">0.9999"} {
		require.Equal(t, want, Probability(p))
	}
}
