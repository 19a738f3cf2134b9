package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEncode checks that an image with few colours is written exactly. In an image with more
// colours than a palette holds, pixels of frequent colours must be exact and all other pixels must
// be near.
func TestEncode(t *testing.T) {
	shade := func(k int) color.RGBA { return color.RGBA{uint8(k), uint8(k / 2), uint8(255 - k%7), 0xff} }
	for _, colours := range []int{1, 3, 256, 400} {
		from := image.NewRGBA(image.Rect(0, 0, 100, 70))
		for k := range 7000 {
			c := shade(7 * k % 256)
			if k < colours {
				c = color.RGBA{uint8(k), uint8(k / 16), 1, 0xff}
			}
			if colours < 5 {
				c = shade(k % colours)
			}
			from.SetRGBA(k%100, k/100, c)
		}
		var out bytes.Buffer
		require.NoError(t, encode(&out, from))
		to, err := png.Decode(&out)
		require.NoError(t, err)
		palette := indexed(from).Palette
		require.LessOrEqual(t, len(palette), mostColours)
		for k := range 7000 {
			want, got := from.RGBAAt(k%100, k/100), color.RGBAModel.Convert(to.At(k%100, k/100)).(color.RGBA)
			if k >= colours || colours < 5 {
				require.Equal(t, want, got)
			}
			require.Equal(t, palette.Convert(want), got, "the nearest one")
		}
	}
}
