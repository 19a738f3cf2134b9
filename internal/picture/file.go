package picture

import (
	"image"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"sync"

	"git.sr.ht/~sbinet/gg"
	imagedraw "golang.org/x/image/draw"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/transdim/vti/internal/atomicfile"
)

// resolution of PNG files, in dots an inch: what journals ask of drawings with text.
const resolution = 300

// printed are the inks on white paper.
var printed = [...]color.NRGBA{
	Strong:  {0x1b, 0x1f, 0x24, 0xff},
	Muted:   {0x57, 0x60, 0x6a, 0xff},
	Grid:    {0xdd, 0xe2, 0xe7, 0xff},
	First:   {0x00, 0x5f, 0x9e, 0xff},
	Soft:    {0xcc, 0xe1, 0xf2, 0xff},
	Second:  {0xb8, 0x4e, 0x00, 0xff},
	Faint:   {0xf7, 0xdd, 0xc6, 0xff},
	Third:   {0x00, 0x7a, 0x5c, 0xff},
	Surface: {0xff, 0xff, 0xff, 0xff},
}

// Write writes the picture to a directory, as NAME.svg and NAME.png.
func (p *Picture) Write(dir string) error {
	width, height := vg.Points(p.Width), vg.Points(p.Height)
	drawing := vgsvg.New(width, height)
	c := draw.New(drawing)
	mark{shape: area, points: []Point{{}, {p.Width, 0}, {p.Width, p.Height}, {0, p.Height}}, ink: Surface}.draw(c, p.Height)
	p.draw(c)
	err := atomicfile.Write(filepath.Join(dir, p.Name+".svg"), func(w io.Writer) error {
		_, err := drawing.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	pixels := newPixels(width, height)
	defer used.Put(pixels)
	context := gg.NewContextForRGBA(pixels)
	context.SetLineCapButt()
	context.SetInterpolator(imagedraw.ApproxBiLinear) // letters keep their size
	context.InvertY()
	p.draw(draw.New(vgimg.NewWith(vgimg.UseImageWithContext(pixels, context), vgimg.UseDPI(resolution))))
	return atomicfile.Write(filepath.Join(dir, p.Name+".png"), func(w io.Writer) error { return encode(w, pixels) })
}

// used are images that have been written: new memory of some megabytes each costs more than drawing
// in it.
var used = sync.Pool{New: func() any { return new(image.RGBA) }}

// newPixels is an image of a size, whatever is in it.
func newPixels(width, height vg.Length) *image.RGBA {
	pixels := used.Get().(*image.RGBA)
	columns, rows := int(width.Dots(resolution)+0.5), int(height.Dots(resolution)+0.5)
	if numbers := 4 * columns * rows; cap(pixels.Pix) < numbers {
		pixels.Pix = make([]uint8, numbers)
	} else {
		pixels.Pix = pixels.Pix[:numbers]
	}
	pixels.Stride, pixels.Rect = 4*columns, image.Rect(0, 0, columns, rows)
	return pixels
}

// draw draws what is seen at first.
func (p *Picture) draw(c draw.Canvas) {
	for _, m := range p.marks {
		if !p.hidden(m) {
			m.draw(c, p.Height)
		}
	}
}

func (m mark) draw(c draw.Canvas, height float64) {
	points := make([]vg.Point, len(m.points))
	for k, at := range m.points {
		points[k] = vg.Point{X: vg.Points(at.X), Y: vg.Points(height - at.Y)}
	}
	ink := printed[m.ink]
	if m.style.Opacity > 0 && m.style.Opacity < 1 {
		ink.A = uint8(math.Round(255 * m.style.Opacity))
	}
	switch m.shape {
	case line:
		style := draw.LineStyle{Color: ink, Width: vg.Points(m.width)}
		if m.style.Dashed {
			style.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		c.StrokeLines(style, points)
	case area:
		c.FillPolygon(ink, points)
	case dots:
		for _, at := range points {
			c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: vg.Points(m.width / 2), Shape: draw.CircleGlyph{}}, at)
		}
	case label:
		style := text.Style{
			Color: ink, Font: sans(m.size, m.style.Bold), YAlign: 0, Handler: text.Plain{Fonts: fonts},
			XAlign: [...]text.XAlignment{text.XLeft, text.XCenter, text.XRight}[m.anchor],
		}
		at := points[0]
		down := vg.Points(baseline * m.size)
		if m.style.Upright {
			style.Rotation = quarterTurn
			at.X += down
		} else {
			at.Y -= down
		}
		c.FillText(style, at, m.text)
	}
}

const quarterTurn = 1.5707963267948966
