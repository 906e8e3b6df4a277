package imaging

import (
	"image"
	"image/color"

	"github.com/kindred-ml/kindred/internal/format/heic"
	"github.com/kindred-ml/kindred/internal/format/isobmff"
)

// heicConfig reads the size of a HEIC file as it is stored, before it is turned.
func heicConfig(b []byte) (image.Config, error) {
	if !heic.Present() {
		return image.Config{}, heic.ErrMissing
	}
	f, err := isobmff.Parse(b)
	if err != nil {
		return image.Config{}, err
	}
	return image.Config{Width: f.Primary.W, Height: f.Primary.H, ColorModel: color.YCbCrModel}, nil
}

// heicTiles returns the structure of a HEIC file in tiles, which is reduced while it is decoded, or false for another.
func heicTiles(b []byte) (f *isobmff.File, g isobmff.Grid, ok bool) {
	f, err := isobmff.Parse(b)
	if err == nil {
		g, ok = heic.Tiles(f)
	}
	return f, g, ok
}

// decodeHEIC decodes a HEIC file. A picture in tiles is put together from tiles that are reduced one by one.
func decodeHEIC(b []byte, cfg image.Config, shrink func(w, h int) int, smooth bool) (im Image, over Background,
	err error) {
	f, err := isobmff.Parse(b)
	if err != nil {
		return Image{}, Opaque, err
	}
	c := &canvas{colour: f.Primary.Colour, smooth: smooth, shrink: 1}
	limits := pictureLimits(formatHEIC, b, cfg, shrink)
	grid, tiled := heic.Tiles(f)
	if tiled {
		if tile := f.Item(f.Primary.Parts[0]); !c.colour.Known {
			c.colour = tile.Colour
		}
		c.shrink, c.whole = tileShrink(f, grid, shrink), image.Pt(grid.W, grid.H)
	}
	if err := heic.Decode(b, f, limits, c.put); err != nil {
		return Image{}, Opaque, err
	}
	if tiled {
		err = c.im.turn(f.Primary.Turns, c.shrink)
	}
	return c.im, c.over, err
}

// tileShrink returns by what the sides of a picture in tiles are divided: the largest divisor up to that of shrink,
// which gets the sides of the upright picture, that divides the sides of the tiles. shrink may be nil.
func tileShrink(f *isobmff.File, g isobmff.Grid, shrink func(w, h int) int) int {
	if shrink == nil {
		return 1
	}
	w, h := g.W, g.H
	for _, t := range f.Primary.Turns {
		if t.Orientation >= 5 {
			w, h = h, w
		} else if r, ok := t.Crop.Rect(w, h); t.Orientation == 0 && ok {
			w, h = r.Dx(), r.Dy()
		}
	}
	n, tile := shrink(w, h), f.Item(f.Primary.Parts[0])
	for n > 1 && (tile.W%n != 0 || tile.H%n != 0) {
		n /= 2
	}
	return max(n, 1)
}

// canvas is a picture that is put together.
type canvas struct {
	im     Image
	over   Background
	colour isobmff.Colour
	smooth bool
	shrink int
	whole  image.Point // the size of the whole of a grid; zero for a picture in one piece
	part   Image
	fast   chroma
}

// put takes a part of the picture, at a place in the whole before it is reduced.
func (c *canvas) put(part image.Image, at image.Point) error {
	to := &c.part
	if c.whole == (image.Point{}) {
		to = &c.im
	}
	if p, ok := part.(*image.YCbCr); ok {
		c.fast.convert(to, p, c.colour, c.smooth)
	} else {
		c.over = fromImage(to, part)
	}
	if to == &c.im {
		return nil
	}
	if at == (image.Point{}) {
		c.im.Reset((c.whole.X+c.shrink-1)/c.shrink, (c.whole.Y+c.shrink-1)/c.shrink, to.C)
	}
	to.SetChannels(c.im.C)
	c.im.average(to, at, c.whole, c.shrink)
	return nil
}

// average sets the pixels of im that lie in part, at a place of the whole: each is the mean of shrink x shrink
// pixels, or of those inside the whole.
func (im *Image) average(part *Image, at, whole image.Point, shrink int) {
	n := im.C
	for y := at.Y; y < min(at.Y+part.H, whole.Y); y += shrink {
		out := im.Row(y / shrink)
		if shrink == 1 {
			copy(out[at.X*n:], part.Row(y-at.Y))
			continue
		}
		rows := min(shrink, whole.Y-y, at.Y+part.H-y)
		for x := at.X; x < min(at.X+part.W, whole.X); x += shrink {
			columns := min(shrink, whole.X-x, at.X+part.W-x)
			for ch := range n {
				sum := 0
				for dy := range rows {
					row := part.Row(y - at.Y + dy)[(x-at.X)*n+ch:]
					for dx := range columns {
						sum += int(row[dx*n])
					}
				}
				out[x/shrink*n+ch] = uint8((sum + rows*columns/2) / (rows * columns))
			}
		}
	}
}
