package imaging

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"testing"
)

// drawn is a picture that is transparent but for a bar of a colour.
func drawn(c color.NRGBA) *image.NRGBA {
	im := image.NewNRGBA(image.Rect(0, 0, 20, 10))
	draw.Draw(im, im.Bounds(), image.NewUniform(color.NRGBA{c.R, c.G, c.B, 0}), image.Point{}, draw.Src)
	draw.Draw(im, image.Rect(4, 3, 15, 5), image.NewUniform(c), image.Point{}, draw.Src)
	return im
}

// TestBackground: transparency is white, and black under what would vanish on white.
func TestBackground(t *testing.T) {
	white := color.NRGBA{255, 255, 255, 255}
	mixed := drawn(white)
	draw.Draw(mixed, image.Rect(4, 7, 5, 8), image.NewUniform(color.NRGBA{0, 0, 0, 255}), image.Point{}, draw.Src)
	for name, c := range map[string]struct {
		im   image.Image
		want Background
	}{
		"white ink":            {drawn(white), OnBlack},
		"thin white ink":       {drawn(color.NRGBA{255, 255, 255, 90}), OnBlack},
		"cream":                {drawn(color.NRGBA{250, 245, 230, 255}), OnBlack},
		"yellow":               {drawn(color.NRGBA{255, 255, 0, 255}), OnWhite},
		"grey":                 {drawn(color.NRGBA{200, 200, 200, 255}), OnWhite},
		"black ink":            {drawn(color.NRGBA{0, 0, 0, 255}), OnWhite},
		"white with some ink":  {mixed, OnWhite},
		"nothing to be seen":   {drawn(color.NRGBA{}), OnWhite},
		"white paper":          {image.NewUniform(white), Opaque},
		"sixteen bits":         {wide(drawn(white)), OnBlack},
		"multiplied by alpha":  {premultipliedOf(drawn(color.NRGBA{255, 255, 255, 128})), OnBlack},
		"palette of white ink": {paletted(drawn(white)), OnBlack},
		"palette of black ink": {paletted(drawn(color.NRGBA{0, 0, 0, 255})), OnWhite},
	} {
		if u, ok := c.im.(*image.Uniform); ok {
			im := image.NewNRGBA(image.Rect(0, 0, 20, 10))
			draw.Draw(im, im.Bounds(), u, image.Point{}, draw.Src)
			c.im = im
		}
		var dst Image
		if got := fromImage(&dst, c.im); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if corner := dst.Pix[0]; c.want == OnBlack && corner != 0 || c.want != OnBlack && corner != 255 {
			t.Errorf("%s: the corner is %d", name, corner)
		}
	}
}

func wide(im image.Image) image.Image {
	out := image.NewNRGBA64(im.Bounds())
	draw.Draw(out, out.Bounds(), im, image.Point{}, draw.Src)
	return out
}

func premultipliedOf(im image.Image) image.Image {
	out := image.NewRGBA(im.Bounds())
	draw.Draw(out, out.Bounds(), im, image.Point{}, draw.Src)
	return out
}

func paletted(im image.Image) image.Image {
	out := image.NewPaletted(im.Bounds(), color.Palette{color.NRGBA{}, color.NRGBA{255, 255, 255, 255},
		color.NRGBA{0, 0, 0, 255}})
	draw.Draw(out, out.Bounds(), im, image.Point{}, draw.Src)
	return out
}

// TestBackgroundOfFiles: a decoder says what it put a picture on.
func TestBackgroundOfFiles(t *testing.T) {
	var a, b, c bytes.Buffer
	art := drawn(color.NRGBA{255, 255, 255, 255})
	if png.Encode(&a, art) != nil || gif.Encode(&b, paletted(art), nil) != nil ||
		png.Encode(&c, image.NewGray(art.Bounds())) != nil {
		t.Fatal("no files")
	}
	var d Decoder
	var im Image
	for _, f := range []struct {
		file []byte
		want Background
	}{{a.Bytes(), OnBlack}, {b.Bytes(), OnBlack}, {c.Bytes(), Opaque}} {
		if err := d.Decode(context.Background(), &im, f.file); err != nil || d.Background != f.want {
			t.Errorf("%d, want %d, %v", d.Background, f.want, err)
		}
	}
}
