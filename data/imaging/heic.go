package imaging

import (
	"context"
	"image"
	"image/color"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/heic"
	"github.com/kindred-ml/kindred/internal/format/isobmff"
)

var heicFormat = format{name: "HEIC", extensions: []string{".heic", ".heif", ".hif"}, mediaType: "image/heic",
	matches: isHEIF, open: openHEIC, exif: boxExif, colours: boxColours, sandboxed: true,
	structure: isobmff.StructureBytes,
	missing: func() error {
		if heic.Present() {
			return nil
		}
		return heic.ErrMissing
	}}

// isHEIF reports whether a file is a picture of boxes: HEIC, or AVIF under a general brand.
func isHEIF(b []byte) bool {
	switch brand(b) {
	case "heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs", "mif1", "mif2", "msf1":
		return true
	}
	return false
}

// openHEIC reads the structure of a HEIC file. Its size is that before it is turned.
func openHEIC(_ context.Context, b []byte, size int64) (*source, error) {
	if !heic.Present() {
		return nil, heic.ErrMissing
	}
	f, err := isobmff.Parse(b)
	if err != nil {
		return nil, err
	}
	cfg := image.Config{Width: f.Primary.W, Height: f.Primary.H, ColorModel: color.YCbCrModel}
	x := &boxed{cfg: cfg, bytes: size, grid: partPixels(f)}
	x.pixel.usual, x.pixel.most = 12, 16 // measured were 9
	if g, ok := heic.Tiles(f); ok {
		x.tiles = &tiles{f, g}
	}
	x.run = func(ctx context.Context, o boxedOptions) (im Image, over Background, err error) {
		c := &canvas{colour: f.Primary.Colour, smooth: o.smooth, shrink: 1}
		if t := x.tiles; t != nil {
			if !c.colour.Known {
				c.colour = t.first().Colour
			}
			c.shrink, c.whole = t.shrink(o.shrink), image.Pt(t.grid.W, t.grid.H)
		}
		if err := heic.Decode(ctx, f, o.limits, c.put); err != nil {
			return Image{}, Opaque, err
		}
		if x.tiles != nil {
			err = c.im.turn(f.Primary.Turns, c.shrink)
		}
		o.colours.apply(&c.im)
		return c.im, c.over, err
	}
	return &source{cfg: cfg, inBox: x}, nil
}

// tiles is a HEIC file in tiles, which are decoded and reduced one by one.
type tiles struct {
	file *isobmff.File
	grid isobmff.Grid
}

func (t *tiles) first() *isobmff.Item { return t.file.Item(t.file.Primary.Parts[0]) }

// pixels returns the size of a tile.
func (t *tiles) pixels() int64 { return budget.Product(int64(t.first().W), int64(t.first().H)) }

// shrink returns by what the sides of the picture are divided: the largest divisor up to that of by, which gets the
// sides of the upright picture, that divides the sides of the tiles. by may be nil.
func (t *tiles) shrink(by func(w, h int) int) int {
	if by == nil {
		return 1
	}
	w, h := t.grid.W, t.grid.H
	for _, turn := range t.file.Primary.Turns {
		if turn.Orientation >= 5 {
			w, h = h, w
		} else if r, ok := turn.Crop.Rect(w, h); turn.Orientation == 0 && ok {
			w, h = r.Dx(), r.Dy()
		}
	}
	n, tile := by(w, h), t.first()
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
