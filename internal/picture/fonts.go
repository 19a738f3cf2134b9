package picture

import (
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// fonts are the fonts that measure and write pictures, regular and bold: their metrics are the
// metrics of Arial and Helvetica.
var fonts = sync.OnceValue(func() (list [2]*opentype.Font) {
	for k, content := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		var err error
		if list[k], err = opentype.Parse(content); err != nil {
			panic(err) // part of the program
		}
	}
	return list
})

const fontFamily = "Liberation Sans, Arial, Helvetica, sans-serif"

func fontOf(bold bool) *opentype.Font {
	if bold {
		return fonts()[1]
	}
	return fonts()[0]
}

// TextWidth is the width of a text in points.
func TextWidth(s string, size float64) float64 { return textWidth(s, size, false) }

func textWidth(s string, size float64, bold bool) float64 {
	font := fontOf(bold)
	unit := fixed.Int26_6(font.UnitsPerEm()) // at this size lengths are in units of the font
	var buffer sfnt.Buffer
	var before sfnt.GlyphIndex
	width := fixed.Int26_6(0)
	for k, letter := range []rune(s) {
		glyph, _ := font.GlyphIndex(&buffer, letter) // a letter that the font lacks is glyph 0
		if k > 0 {
			if kern, err := font.Kern(&buffer, before, glyph, unit, xfont.HintingNone); err == nil {
				width += kern
			}
		}
		if advance, err := font.GlyphAdvance(&buffer, glyph, unit, xfont.HintingNone); err == nil {
			width += advance
		}
		before = glyph
	}
	return float64(width) * size / float64(unit)
}

// Fit shortens a text to a width in points, with … for the part left out.
func Fit(s string, size, width float64) string {
	if TextWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 1 && TextWidth(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
