package picture

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync"

	"git.sr.ht/~sbinet/gg"
	imagedraw "golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"

	"github.com/transdim/vti/internal/atomicfile"
)

// resolution is the resolution of PNG files in dots per inch. Journals require it for text.
const resolution = 300

// printed holds the colours of the inks on white paper.
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

// Write writes the picture to the files NAME.svg and NAME.png in a directory.
func (p *Picture) Write(dir string) error {
	err := atomicfile.Write(filepath.Join(dir, p.Name+".svg"), func(w io.Writer) error {
		_, err := io.WriteString(w, p.svg())
		return err
	})
	if err != nil {
		return err
	}
	pixels := p.newPixels()
	defer used.Put(pixels)
	c := canvas{gg.NewContextForRGBA(pixels), map[float64]font.Face{}}
	c.SetLineCapButt()
	c.SetInterpolator(imagedraw.ApproxBiLinear) // keeps the size of letters
	c.SetColor(printed[Surface])
	c.Clear()
	for _, m := range p.marks {
		c.draw(m)
	}
	return atomicfile.Write(filepath.Join(dir, p.Name+".png"), func(w io.Writer) error { return encode(w, pixels) })
}

// svg returns the picture as an SVG file.
func (p *Picture) svg() string {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]s %[2]s" width="%[1]spt" height="%[2]spt" font-family="%[3]s">`+"\n",
		short(p.Width), short(p.Height), fontFamily)
	fmt.Fprintf(&out, `<title>%s</title><rect width="100%%" height="100%%" fill="%s"/>`+"\n", html.EscapeString(p.Title), code(Surface))
	for _, m := range p.marks {
		m.write(&out, m.printedAttributes())
		out.WriteByte('\n')
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func (m mark) printedAttributes() string {
	attributes := fmt.Sprintf(`fill="%s"`, code(m.ink))
	if m.shape == line || m.shape == dots {
		attributes = fmt.Sprintf(`fill="none" stroke="%s"`, code(m.ink))
	}
	if m.shape == dots {
		attributes += ` stroke-linecap="round"`
	}
	return attributes
}

func code(ink Ink) string {
	c := printed[ink]
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// used holds images that have been written and can be used again, because allocating the megabytes
// of an image takes more time than drawing.
var used = sync.Pool{New: func() any { return new(image.RGBA) }}

func pixel(points float64) float64 { return points * resolution / 72 }

// newPixels returns an image of the size of the picture. Its initial content is arbitrary.
func (p *Picture) newPixels() *image.RGBA {
	pixels := used.Get().(*image.RGBA)
	columns, rows := int(pixel(p.Width)+0.5), int(pixel(p.Height)+0.5)
	if numbers := 4 * columns * rows; cap(pixels.Pix) < numbers {
		pixels.Pix = make([]uint8, numbers)
	} else {
		pixels.Pix = pixels.Pix[:numbers]
	}
	pixels.Stride, pixels.Rect = 4*columns, image.Rect(0, 0, columns, rows)
	return pixels
}

// canvas draws on the pixels of an image.
type canvas struct {
	*gg.Context
	faces map[float64]font.Face // key: size in points
}

func (c canvas) draw(m mark) {
	ink := printed[m.ink]
	if m.style.Opacity > 0 && m.style.Opacity < 1 {
		ink.A = uint8(math.Round(255 * m.style.Opacity))
	}
	c.SetColor(ink)
	switch m.shape {
	case line, area:
		for _, point := range m.points {
			c.LineTo(pixel(point.X), pixel(point.Y))
		}
		if m.shape == area {
			c.ClosePath()
			c.Fill()
			return
		}
		c.SetLineWidth(pixel(m.width))
		c.SetDash()
		if m.style.Dashed {
			c.SetDash(pixel(4), pixel(3))
		}
		c.Stroke()
	case dots:
		for _, point := range m.points {
			c.DrawCircle(pixel(point.X), pixel(point.Y), pixel(m.width/2))
			c.Fill()
		}
	case label:
		c.write(m)
	}
}

func (c canvas) write(m mark) {
	face, made := c.faces[m.size]
	if !made {
		var err error
		if face, err = opentype.NewFace(sans(), &opentype.FaceOptions{Size: m.size, DPI: resolution}); err != nil {
			panic(err) // happens only if the options are not finite
		}
		c.faces[m.size] = face
	}
	c.SetFontFace(face)
	x, y := pixel(m.points[0].X), pixel(m.points[0].Y)
	c.Push()
	defer c.Pop()
	if m.style.Upright {
		c.RotateAbout(-math.Pi/2, x, y)
	}
	c.DrawString(m.text, x-pixel(TextWidth(m.text, m.size))*float64(m.anchor)/2, y+pixel(baseline*m.size))
}
