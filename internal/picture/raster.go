package picture

import (
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math"
	"slices"
)

// encode writes an opaque image as a PNG with a palette. The palette saves two thirds of the time
// and half of the bytes.
func encode(w io.Writer, from *image.RGBA) error {
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	return encoder.Encode(w, indexed(from))
}

const mostColours = 256

// shade is a colour of an image: its bytes as a number, the count of its pixels, and its index in
// the palette.
type shade struct {
	bytes            uint32
	red, green, blue uint8
	count            int
	index            uint8
}

// run is a run of equal pixels; end is the index after the last of them.
type run struct {
	shade *shade
	end   int
}

// indexed gives an opaque image a palette of its most frequent colours, which include the colours
// of areas and texts. Edges of marks have many more shades, with a few pixels each. The rarest of
// them are replaced by the nearest colour of the palette.
func indexed(from *image.RGBA) *image.Paletted {
	// Pictures have large areas of one colour, so runs of equal pixels are counted and written at
	// once.
	shades := map[uint32]*shade{}
	var recent [1 << 8]*shade // latest shade for each hash: most runs have one of few colours
	var runs []run
	pixel := func(k int) uint32 { return binary.LittleEndian.Uint32(from.Pix[4*k:]) }
	for k, pixels := 0, len(from.Pix)/4; k < pixels; {
		bytes, end := pixel(k), k+1
		for twice := uint64(bytes) | uint64(bytes)<<32; end+1 < pixels && binary.LittleEndian.Uint64(from.Pix[4*end:]) == twice; end += 2 {
		}
		for end < pixels && pixel(end) == bytes {
			end++
		}
		last := &recent[bytes*2654435761>>24]
		s := *last
		if s == nil || s.bytes != bytes {
			if s = shades[bytes]; s == nil {
				s = &shade{bytes: bytes, red: from.Pix[4*k], green: from.Pix[4*k+1], blue: from.Pix[4*k+2]}
				shades[bytes] = s
			}
			*last = s
		}
		s.count += end - k
		runs = append(runs, run{s, end})
		k = end
	}
	all := slices.SortedFunc(maps.Values(shades), func(a, b *shade) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.bytes, b.bytes))
	})
	frequent := all[:min(len(all), mostColours)]
	to := image.NewPaletted(from.Rect, make(color.Palette, len(frequent)))
	for k, s := range frequent {
		s.index = uint8(k)
		to.Palette[k] = color.RGBA{s.red, s.green, s.blue, 0xff}
	}
	for _, s := range all[len(frequent):] {
		least := math.MaxInt
		for _, f := range frequent {
			red, green, blue := int(s.red)-int(f.red), int(s.green)-int(f.green), int(s.blue)-int(f.blue)
			if distance := red*red + green*green + blue*blue; distance < least {
				least, s.index = distance, f.index
			}
		}
	}
	k := 0
	for _, r := range runs {
		pixels := to.Pix[k:r.end]
		for i := range pixels {
			pixels[i] = r.shade.index
		}
		k = r.end
	}
	return to
}
