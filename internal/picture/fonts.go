package picture

import (
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// sans is the font that measures and writes pictures: its metrics are the metrics of Arial and
// Helvetica.
var sans = sync.OnceValue(func() *opentype.Font {
	font, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(err) // cannot happen: the font is part of the program
	}
	return font
})

const fontFamily = "Liberation Sans, Arial, Helvetica, sans-serif"

// TextWidth is the width of a text in points.
func TextWidth(s string, size float64) float64 {
	font := sans()
	unit := fixed.Int26_6(font.UnitsPerEm()) // size at which lengths are in units of the font
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

// Fit shortens a text to a width in points. It ends a shortened text with ….
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
