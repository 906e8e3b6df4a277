package imaging

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"slices"

	"golang.org/x/image/tiff"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

var tiffFormat = format{name: "TIFF", extensions: []string{".tif", ".tiff"}, mediaType: "image/tiff",
	matches: hasPrefix("II*\x00", "MM\x00*", "II+\x00", "MM\x00+"), open: openTIFF,
	exif: func(b []byte) []byte { return b }, colours: func(b []byte) colourSpace {
		const profile = 34675
		t, first := readTags(b)
		_, _, icc := t.value(first, profile)
		return colourSpace{icc: smallProfile(icc)}
	}}

// Tags of TIFF 6.0, and values of them.
const (
	tiffWidth, tiffHeight, tiffBits, tiffCompression, tiffPhotometric         = 256, 257, 258, 259, 262
	tiffFillOrder, tiffOffsets, tiffSamples, tiffRows, tiffLengths            = 266, 273, 277, 278, 279
	tiffPlanar, tiffG3Options, tiffPredictor, tiffColours                     = 284, 292, 317, 320
	tiffTileWidth, tiffTileHeight, tiffTileOffsets, tiffTileLengths, tiffMore = 322, 323, 324, 325, 338
	tiffSampleFormat, tiffRaw                                                 = 339, 50706

	tiffRGB, tiffPalette                = 2, 3
	tiffG3, tiffG4, tiffLZW             = 3, 4, 5
	tiffDeflate, tiffOldDeflate, tiffPB = 8, 32946, 32773
)

// tiffFile is the first picture of a TIFF file, which golang.org/x/image/tiff decodes. That reads a part of what is
// valid, and of the rest some wrongly: refused says what it must not get.
type tiffFile struct {
	tags
	first       uint64 // the place of the directory
	w, h        int
	compression int
	photometric int
	bits        []uint32
	samples     int
	blockW      int // of a strip or tile
	blockH      int
	tiles       bool
	longest     int64 // bytes of a block in the file
}

func openTIFF(_ context.Context, b []byte, _ int64) (*source, error) {
	t, first := readTags(b)
	switch {
	case len(b) > 2 && (b[2] == '+' || b[3] == '+'):
		return nil, unsupported("a BigTIFF file")
	case len(t.directory(first)) == 0:
		return nil, errors.New("its directory is missing or cut off")
	}
	f := &tiffFile{tags: t, first: first}
	f.w, f.h = f.get(tiffWidth, 0), f.get(tiffHeight, 0)
	f.compression, f.photometric = f.get(tiffCompression, 1), f.get(tiffPhotometric, -1)
	f.samples, f.bits = f.get(tiffSamples, 1), t.numbers(first, tiffBits, 5)
	if f.w <= 0 || f.h <= 0 || f.w > math.MaxInt32/4 || f.h > math.MaxInt32/4 {
		return nil, fmt.Errorf("%d x %d pixels", f.w, f.h)
	}
	if what := f.unsupportedReason(); what != "" {
		return nil, unsupported(what)
	}
	cfg, err := tiff.DecodeConfig(newReader(context.Background(), b))
	if err != nil {
		return nil, err
	}
	if err := f.checkBlocks(); err != nil {
		return nil, err
	}
	pixels := budget.Product(int64(f.w), int64(f.h), bytesPerPixel(cfg.ColorModel)+3)
	return &source{cfg: cfg, bytes: budget.Sum(pixels, f.blockMemory()),
		decode: func(ctx context.Context) (image.Image, error) {
			im, err := tiff.Decode(newReader(ctx, b))
			if grey, ok := im.(*image.Gray); ok && f.isFax() && f.photometric != 0 {
				for i, v := range grey.Pix { // the library takes the runs of zeros for white, whatever zero is
					grey.Pix[i] = ^v
				}
			}
			return im, err
		}}, nil
}

func (f *tiffFile) get(tag uint16, missing int) int { return f.number(f.first, tag, missing) }

func (f *tiffFile) isFax() bool { return f.compression == tiffG3 || f.compression == tiffG4 }

// unsupportedReason names what is valid and not read, or returns "".
func (f *tiffFile) unsupportedReason() string {
	predictor, extra := f.get(tiffPredictor, 1), f.get(tiffMore, 0)
	bits := 1
	if len(f.bits) > 0 {
		bits = int(f.bits[0])
	}
	if name := f.unsupportedKind(); name != "" {
		return name
	}
	switch {
	case f.get(tiffPlanar, 1) == 2 && f.samples > 1:
		return "TIFF with its samples in planes of their own"
	case len(f.bits) != f.samples && f.samples > 1,
		slices.ContainsFunc(f.bits, func(b uint32) bool { return int(b) != bits }):
		return fmt.Sprintf("TIFF of %d samples of %v bits", f.samples, f.bits)
	case bits != 1 && bits != 8 && bits != 16, bits == 1 && f.photometric == tiffRGB,
		bits == 16 && f.photometric == tiffPalette:
		return fmt.Sprintf("TIFF with samples of %d bits", bits)
	case f.photometric == tiffRGB && f.samples == 4 && extra != 1 && extra != 2:
		return "TIFF with a fourth sample that is not alpha"
	case f.photometric == tiffRGB && f.samples != 3 && f.samples != 4, f.photometric != tiffRGB && f.samples != 1:
		return fmt.Sprintf("TIFF with %d samples a pixel", f.samples)
	case f.isFax() && bits != 1:
		return "CCITT compression of grey"
	case f.compression == tiffG3 && f.get(tiffG3Options, 0) != 0:
		return "CCITT compression of group 3 in two dimensions, or with fill bits,"
	case !f.isFax() && f.get(tiffFillOrder, 1) == 2:
		return "TIFF with its bits in reverse order"
	case predictor != 1 && (predictor != 2 || bits == 1 || f.isFax() || f.compression < tiffLZW ||
		f.compression == tiffPB):
		return "TIFF with this predictor"
	case f.photometric == tiffPalette && !slices.ContainsFunc(f.numbers(f.first, tiffColours, 3<<8),
		func(v uint32) bool { return v > 0xff }):
		return "a TIFF palette of 8 bits"
	}
	return ""
}

// unsupportedKind names a compression, a meaning of samples, or a structure that is not read.
func (f *tiffFile) unsupportedKind() string {
	switch f.compression {
	case 0, 1, tiffG3, tiffG4, tiffLZW, tiffDeflate, tiffOldDeflate, tiffPB:
	case 6, 7:
		return "JPEG in TIFF"
	case 50000:
		return "Zstandard in TIFF"
	default:
		return fmt.Sprintf("TIFF with compression %d", f.compression)
	}
	switch f.photometric {
	case 0, 1, tiffRGB, tiffPalette:
	case -1:
		return "TIFF without the meaning of its samples (PhotometricInterpretation)"
	case 5:
		return "CMYK in TIFF"
	case 6:
		return "YCbCr in TIFF"
	default:
		return fmt.Sprintf("TIFF with photometric interpretation %d", f.photometric)
	}
	switch format := f.get(tiffSampleFormat, 1); {
	case f.entry(f.first, tiffRaw) != nil:
		return "a camera's raw picture (DNG)"
	case format == 3:
		return "TIFF of floating-point numbers"
	case format != 1:
		return "TIFF of signed or complex numbers"
	case !f.hasSortedTags():
		return "TIFF with unsorted tags"
	}
	return ""
}

// hasSortedTags reports whether the tags are in the order that TIFF requires. libtiff takes them in any order.
func (f *tiffFile) hasSortedTags() bool {
	last := -1
	for d := f.directory(f.first); len(d) >= 12; d = d[12:] {
		tag := int(f.order.Uint16(d))
		if tag <= last {
			return false
		}
		last = tag
	}
	return true
}

const (
	// tiffSlack is what small pictures may have beyond the bounds below, in bytes or pixels.
	tiffSlack = 1 << 24
	// maxBlocks is the number of strips or tiles of a small picture, and smallestBlock the pixels of further ones on
	// average. Each makes the decoder allocate up to 50 KB.
	maxBlocks, smallestBlock = 1 << 14, 512
	// maxArea bounds the pixels of all tiles together, which reach beyond the picture on two sides, and maxRead the
	// bytes of the file that are read for a pixel.
	maxArea, maxRead = 4, 16
	// maxUnpacked is the most bytes that the decoder unpacks for a pixel of a block.
	maxUnpacked = 8
)

// checkBlocks refuses strips and tiles that are more than the picture explains: many may be the same bytes of the file,
// and a tile may hold more pixels than the picture has.
func (f *tiffFile) checkBlocks() error {
	offsets, lengths := uint16(tiffOffsets), uint16(tiffLengths)
	f.blockW, f.blockH = f.w, f.get(tiffRows, 0)
	if f.blockH <= 0 || f.blockH > f.h {
		f.blockH = f.h
	}
	if f.tiles = f.get(tiffTileWidth, 0) != 0; f.tiles {
		offsets, lengths = tiffTileOffsets, tiffTileLengths
		f.blockW, f.blockH = f.get(tiffTileWidth, 0), f.get(tiffTileHeight, 0)
		const least, border, usual = 8, 16, 1024
		switch w, h := f.blockW, f.blockH; {
		case w <= 0 || h <= 0 || w > 1<<24 || h > 1<<24:
			return fmt.Errorf("tiles of %d x %d pixels", w, h)
		case w < least, h < least, (w > usual || h > usual) && (w > f.w+border || h > f.h+border),
			f.entry(f.first, tiffTileOffsets) == nil:
			return unsupported(fmt.Sprintf("TIFF with tiles of %d x %d pixels for a picture of %d x %d", w, h, f.w,
				f.h))
		}
	}
	across, down := int64((f.w+f.blockW-1)/f.blockW), int64((f.h+f.blockH-1)/f.blockH)
	pixels, blocks := int64(f.w)*int64(f.h), across*down
	if most := maxBlocks + pixels/smallestBlock; blocks > most {
		return fmt.Errorf("%d strips or tiles: more than the %d allowed for %d x %d pixels", blocks, most, f.w, f.h)
	}
	if area := budget.Product(blocks, int64(f.blockW), int64(f.blockH)); f.tiles && area > tiffSlack+maxArea*pixels {
		return fmt.Errorf("%d tiles of %d x %d pixels: more than is allowed for %d x %d", blocks, f.blockW, f.blockH,
			f.w, f.h)
	}
	at := f.numbers(f.first, offsets, 1)
	sizes := f.numbers(f.first, lengths, int(blocks))
	if int64(len(sizes)) < blocks && len(at) > 0 {
		return unsupported("TIFF without the sizes of its strips")
	}
	read := int64(0)
	for _, n := range sizes {
		f.longest = max(f.longest, int64(n))
		read += int64(n)
	}
	if most := tiffSlack + maxRead*pixels; read > most {
		return fmt.Errorf("its strips or tiles are %d bytes: more than the %d allowed for %d x %d pixels", read, most,
			f.w, f.h)
	}
	if len(at) > 0 && f.compression == tiffLZW && int64(at[0])+2 <= int64(len(f.b)) {
		if code := f.b[at[0]:][:2]; code[0] == 0 && code[1]&1 == 1 {
			return unsupported("LZW in TIFF as before 1988")
		}
	}
	return nil
}

// blockMemory is the memory for a block: its bytes, in a buffer that doubles as it grows.
func (f *tiffFile) blockMemory() int64 {
	const buffers, tables = 3, 128 << 10
	w, h := int64(f.blockW), int64(f.blockH)
	n := budget.Product(w, h, maxUnpacked)
	switch {
	case f.isFax():
		n = budget.Product((w+7)/8, h)
	case f.compression <= 1:
		n = min(n, f.longest)
	}
	return budget.Sum(budget.Product(buffers, n), tables)
}
