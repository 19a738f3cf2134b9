package dag

import (
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/atomicfile"
)

// Look of the picture.
const (
	columnWidth = 3.2 * vg.Centimeter
	rowHeight   = 2.6 * vg.Centimeter
	nodeWidth   = 2.2 * vg.Centimeter
	nodeHeight  = 0.8 * vg.Centimeter
	pictureDPI  = 200
)

// writePicture draws the graph of all edges with a probability of at least one half, as SVG and
// PNG, widths by probability.
func writePicture(path string, names []string, probabilities [][]float64) error {
	places, width, height := layOut(dgraph.MedianGraph(probabilities))
	for _, format := range []string{".svg", ".png"} {
		var canvas vg.CanvasWriterTo = vgsvg.New(width, height)
		if format == ".png" {
			canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pictureDPI), vgimg.UseBackgroundColor(color.White))}
		}
		drawGraph(draw.New(canvas), names, probabilities, places)
		if err := atomicfile.Write(path+format, func(w io.Writer) error {
			_, err := canvas.WriteTo(w)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// layOut puts every node a layer below the lowest of its parents, and the nodes of a layer beneath
// the middle of theirs. Edges that close a cycle, which a graph of separately probable edges can
// have, are left out of account.
func layOut(g *dgraph.Graph) (places []vg.Point, width, height vg.Length) {
	tree := g.Clone()
	for cycle := tree.Cycle(); cycle != nil; cycle = tree.Cycle() {
		tree.Set(cycle[len(cycle)-1], cycle[0], false)
	}
	order, _ := tree.Order()
	depth := make([]int, g.Nodes())
	layers := [][]int{}
	for _, j := range order {
		for _, i := range tree.Parents(j) {
			depth[j] = max(depth[j], depth[i]+1)
		}
		for len(layers) <= depth[j] {
			layers = append(layers, nil)
		}
		layers[depth[j]] = append(layers[depth[j]], j)
	}
	widest := 0
	for _, layer := range layers {
		widest = max(widest, len(layer))
	}
	width, height = columnWidth*vg.Length(widest), rowHeight*vg.Length(len(layers))
	places = make([]vg.Point, g.Nodes())
	middle := make([]float64, g.Nodes())
	for k, layer := range layers {
		for _, j := range layer {
			parents := tree.Parents(j)
			for _, i := range parents {
				middle[j] += float64(places[i].X) / float64(len(parents))
			}
		}
		sortBy(layer, func(j int) float64 { return middle[j] })
		for slot, j := range layer {
			places[j] = vg.Point{
				X: width * vg.Length((float64(slot)+0.5)/float64(len(layer))),
				Y: height - rowHeight*vg.Length(float64(k)+0.5),
			}
		}
	}
	return places, width, height
}

func drawGraph(c draw.Canvas, names []string, probabilities [][]float64, places []vg.Point) {
	for _, e := range dgraph.OrderedPairs(len(names)) {
		if probability := probabilities[e.From][e.To]; probability >= 0.5 {
			drawArrow(c, places[e.From], places[e.To], probability)
		}
	}
	label := text.Style{
		Color: color.Black, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Points(10)),
		XAlign: text.XCenter, YAlign: text.YCenter, Handler: text.Plain{Fonts: font.DefaultCache},
	}
	for j, name := range names {
		box := []vg.Point{
			{X: places[j].X - nodeWidth/2, Y: places[j].Y - nodeHeight/2}, {X: places[j].X + nodeWidth/2, Y: places[j].Y - nodeHeight/2},
			{X: places[j].X + nodeWidth/2, Y: places[j].Y + nodeHeight/2}, {X: places[j].X - nodeWidth/2, Y: places[j].Y + nodeHeight/2},
		}
		c.FillPolygon(color.NRGBA{R: 0xe8, G: 0xef, B: 0xf7, A: 0xff}, box)
		c.StrokeLines(draw.LineStyle{Color: color.Gray{Y: 0x60}, Width: vg.Points(0.7)}, append(box, box[0]))
		c.FillText(label, places[j], name)
	}
}

// drawArrow draws an edge from the rim of one node to that of another.
func drawArrow(c draw.Canvas, from, to vg.Point, probability float64) {
	shade := color.NRGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: uint8(255 * (0.3 + 0.7*probability))}
	angle := math.Atan2(float64(to.Y-from.Y), float64(to.X-from.X))
	cos, sin := vg.Length(math.Cos(angle)), vg.Length(math.Sin(angle))
	// The rim of the box in this direction.
	reach := min(nodeWidth/2/max(abs(cos), 1e-9), nodeHeight/2/max(abs(sin), 1e-9))
	start := vg.Point{X: from.X + reach*cos, Y: from.Y + reach*sin}
	tip := vg.Point{X: to.X - reach*cos, Y: to.Y - reach*sin}
	const head = 8
	neck := vg.Point{X: tip.X - head*cos, Y: tip.Y - head*sin}
	c.StrokeLine2(draw.LineStyle{Color: shade, Width: vg.Points(3 * probability)}, start.X, start.Y, neck.X, neck.Y)
	c.FillPolygon(shade, []vg.Point{
		tip, {X: neck.X - head/2*sin, Y: neck.Y + head/2*cos}, {X: neck.X + head/2*sin, Y: neck.Y - head/2*cos},
	})
}

func abs(x vg.Length) vg.Length { return max(x, -x) }
