package imaging

import (
	"context"
	"errors"
	"fmt"
	"image"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/isobmff"
	"github.com/kindred-ml/kindred/internal/format/wasm"
)

// sandboxedFile is a file whose decoder runs in a sandbox.
type sandboxedFile struct {
	cfg   image.Config
	bytes int64 // what the decoder gets
	// pixel is the memory of a decoder for a pixel: what most files need, and what none exceeds.
	pixel struct{ usual, most int64 }
	grid  int64 // the pixels of all tiles together, some of which may lie outside of the picture; 0 without tiles
	// tiles is set for a HEIC file in tiles, which is reduced while it is decoded.
	tiles *tiles
	// run decodes the file, and turns the picture upright.
	run func(ctx context.Context, o sandboxOptions) (Image, Background, error)
}

// sandboxOptions are the settings of a Decoder that concern a sandbox.
type sandboxOptions struct {
	limits wasm.Limits
	shrink func(w, h int) int
	smooth bool
	// colours are what the picture's are converted by.
	colours conversion
}

// memory returns the memory for a picture: that of the decoder, and the three channels of the result. shrink is
// Decoder.Shrink, or nil.
func (x *sandboxedFile) memory(shrink func(w, h int) int) (usual, most int64) {
	pixels, by := budget.Product(int64(x.cfg.Width), int64(x.cfg.Height)), 1
	if x.tiles != nil {
		by = x.tiles.tileShrink(shrink)
		pixels = min(pixels, x.tiles.pixels())
	}
	result := reduced(x.cfg.Width, x.cfg.Height, by)
	return budget.Sum(wasm.Memory(x.pixel.usual, pixels, x.bytes), result),
		budget.Sum(wasm.Memory(x.pixel.most, pixels, x.bytes), result)
}

// sandboxShare returns the part of the limit of the process that a decoder may take.
func sandboxShare() int64 { return budget.Limit() / 4 * 3 }

// decode decodes the picture within what no picture of its size exceeds, and within the limit of the process.
func (x *sandboxedFile) decode(ctx context.Context, o sandboxOptions) (Image, Background, error) {
	_, most := x.memory(o.shrink)
	pixels := int64(x.cfg.Width) * int64(x.cfg.Height)
	// Tiles end beyond the picture on two sides.
	o.limits = wasm.Limits{Memory: min(most, sandboxShare()),
		Loops: wasm.LoopLimit(max(pixels, min(x.grid, 4*pixels)), x.bytes)}
	im, over, err := x.run(ctx, o)
	if errors.Is(err, wasm.ErrMemory) && most > sandboxShare() { // name the limit of the process
		what := fmt.Sprintf("a decoder for %d x %d pixels", x.cfg.Width, x.cfg.Height)
		err = &budget.Error{What: what, Need: most, Limit: sandboxShare()}
	}
	return im, over, err
}

// boxColours returns what the lists of a file of boxes say about its colours.
func boxColours(f *isobmff.File) (c colourSpace) {
	colour := f.Primary.Colour
	if len(f.Primary.Parts) > 0 && !colour.Known && colour.ICC == nil {
		if it := f.Item(f.Primary.Parts[0]); it != nil {
			colour = it.Colour
		}
	}
	if c.icc = smallProfile(colour.ICC); c.icc == nil { // a profile counts before numbers here (ISO/IEC 23000-22)
		c.cicp.primaries, c.cicp.transfer = colour.Primaries, colour.Transfer
	}
	return c
}

// boxExif returns the EXIF block that the lists of a file of boxes name.
func boxExif(b []byte) []byte {
	if f, err := isobmff.Parse(b); err == nil {
		return f.Exif()
	}
	return nil
}

var errTurn = errors.New("it crops the picture to no part of it")

// turn applies the crops and turns of a file to the picture, whose sides were divided by shrink.
func (im *Image) turn(turns []isobmff.Turn, shrink int) error {
	for _, t := range turns {
		if t.Orientation > 0 {
			im.orient(t.Orientation)
			continue
		}
		r, ok := t.Crop.Rect(im.W*shrink, im.H*shrink)
		r = image.Rect(r.Min.X/shrink, r.Min.Y/shrink, (r.Max.X+shrink-1)/shrink, (r.Max.Y+shrink-1)/shrink)
		if r = r.Intersect(im.Bounds()); !ok || r.Empty() {
			return errTurn
		}
		im.Crop(r)
	}
	return nil
}
