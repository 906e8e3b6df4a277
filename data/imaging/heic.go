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
	matches: isHEIF, open: openHEIC, exif: boxExif, sandboxed: true,
	structureBytes: isobmff.StructureBytes,
	missing: func() error {
		if heic.IsInstalled() {
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

// openHEIC reads the structure of a HEIC file. Its size is that before it is turned. Values of chroma are repeated, as
// libheif does, and the programs that use it.
func openHEIC(_ context.Context, b []byte, size int64) (*source, error) {
	if !heic.IsInstalled() {
		return nil, heic.ErrMissing
	}
	f, err := isobmff.Parse(b)
	if err != nil {
		return nil, err
	}
	x := &sandboxedFile{cfg: image.Config{Width: f.Primary.W, Height: f.Primary.H, ColorModel: color.YCbCrModel},
		bytes: size, grid: partPixels(f)}
	// Measured were 14 bytes, and 4 to put the opacity to the colours.
	x.pixel.usual, x.pixel.most = 18, 22
	opacity, multiplied := f.Opacity(f.Primary)
	if opacity != nil {
		x.pixel.usual, x.pixel.most = 24, 28
	}
	grid, bad := heic.Tiles(f, f.Primary)
	if bad == nil {
		x.tiles = &tiles{grid, f.Primary.Turns, opacity != nil}
	}
	x.run = func(ctx context.Context, o sandboxOptions) (im Image, over Background, err error) {
		if bad != nil {
			return im, over, bad
		}
		c := &canvas{colour: f.Primary.Colour, isLuma: grid.Tiles[0].IsGrey, shrink: x.tiles.tileShrink(o.shrink),
			whole: image.Pt(grid.W, grid.H)}
		if !c.colour.Known {
			c.colour = grid.Tiles[0].Colour
		}
		if err := heic.Decode(ctx, f, f.Primary, o.limits, c.addPart); err != nil {
			return im, over, err
		}
		if opacity != nil {
			a := &canvas{shrink: c.shrink, whole: c.whole, isLuma: true}
			if err := heic.Decode(ctx, f, opacity, o.limits, a.addPart); err != nil {
				return im, over, err
			}
			over = c.compositeOver(&a.im, multiplied, o.colours)
		} else {
			o.colours.apply(&c.im)
		}
		err = c.im.turn(f.Primary.Turns, c.shrink)
		return c.im, over, err
	}
	return &source{cfg: x.cfg, sandbox: x, colours: func() colourSpace { return boxColours(f) }}, nil
}

// tiles is a HEIC picture, whose tiles are decoded and reduced one by one.
type tiles struct {
	heic.Grid
	turns  []isobmff.Turn
	masked bool // it has an opacity
}

// pixels returns the pixels of a tile, or of the whole of a picture whose colours and opacity are put together.
func (t *tiles) pixels() int64 {
	if t.masked {
		return budget.Product(int64(t.W), int64(t.H))
	}
	return budget.Product(int64(t.Tiles[0].W), int64(t.Tiles[0].H))
}

// tileShrink returns by what the sides of the picture are divided: the largest divisor up to that of by, which gets the
// sides of the upright picture, that divides the sides of the tiles. by may be nil.
func (t *tiles) tileShrink(by func(w, h int) int) int {
	if by == nil {
		return 1
	}
	w, h := t.W, t.H
	for _, turn := range t.turns {
		if turn.Orientation >= 5 {
			w, h = h, w
		} else if r, ok := turn.Crop.Rect(w, h); turn.Orientation == 0 && ok {
			w, h = r.Dx(), r.Dy()
		}
	}
	n, tile := by(w, h), t.Tiles[0]
	for n > 1 && len(t.Tiles) > 1 && (tile.W%n != 0 || tile.H%n != 0) {
		n /= 2
	}
	return max(n, 1)
}

// canvas is a picture that is put together.
type canvas struct {
	im     Image
	colour isobmff.Colour
	isLuma bool // only that is kept
	shrink int
	whole  image.Point // the size before it is reduced
	part   Image
}

// addPart takes a part of the picture, at a place in the whole before it is reduced.
func (c *canvas) addPart(part image.Image, at image.Point) error {
	to := &c.part
	if c.shrink == 1 && part.Bounds().Size() == c.whole {
		to = &c.im
	}
	p, ok := part.(*image.NRGBA)
	switch {
	case !ok:
		fromImage(to, part)
	case c.isLuma:
		to.Reset(p.Rect.Dx(), p.Rect.Dy(), 1)
		for i := range to.Pix {
			to.Pix[i] = p.Pix[i/to.W*p.Stride+4*(i%to.W)+1]
		}
	default:
		fromPlanes(to, p, c.colour)
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

// compositeOver puts the picture over a background by its opacity.
func (c *canvas) compositeOver(opacity *Image, multiplied bool, colours conversion) Background {
	c.im.SetChannels(3)
	pix := make([]uint8, 4*len(opacity.Pix))
	for i, a := range opacity.Pix {
		copy(pix[4*i:], c.im.Pix[3*i:3*i+3])
		pix[4*i+3] = a
	}
	colours.applyToRGBA(pix, 1, multiplied)
	return fromRGBA(&c.im, pix, 4*c.im.W, c.im.W, c.im.H, 4, multiplied)
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
