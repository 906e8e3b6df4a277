package tiff

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// grid is how a picture is cut into strips or tiles, and where these are.
type grid struct {
	blockW, blockH int // of a block; the last strip may have fewer rows
	cols, rows     int // of blocks
	numPlanes      int // of blocks that are read
	tiles          bool
	offsets        field
	lengths        field  // missing if alone is set
	alone          uint64 // the length of the only block, if the file does not state it
	longest        int64  // the length of the longest block
}

// readGrid reads how the picture is cut, and refuses blocks that are more than the picture and the
// file explain. Many blocks may be the same bytes of the file, and a block may hold more pixels than
// the picture has.
func (f *File) readGrid() error {
	f.blockW, f.numPlanes = f.w, 1
	if f.planes {
		f.numPlanes = f.samples
	}
	f.offsets, f.lengths = f.list(tagStripOffsets), f.list(tagStripBytes)
	if f.list(tagTileWidth).count > 0 {
		f.tiles = true
		f.blockW, f.blockH = f.side(tagTileWidth), f.side(tagTileHeight)
		if tiles := f.list(tagTileOffsets); tiles.count > 0 { // some programs write them as strips
			f.offsets, f.lengths = tiles, f.list(tagTileBytes)
		}
	} else {
		f.blockH = min(f.number(tagRowsPerStrip, f.h), f.h)
	}
	if f.blockW <= 0 || f.blockH <= 0 || f.blockW > 1<<24 || f.blockH > 1<<24 {
		return fmt.Errorf("blocks of %d x %d pixels", f.blockW, f.blockH)
	}
	f.cols, f.rows = ceil(f.w, f.blockW), ceil(f.h, f.blockH)
	if n := budget.Product(int64(f.cols), int64(f.rows), int64(f.numPlanes)); int64(f.offsets.count) < n {
		return fmt.Errorf("%d blocks of %d", f.offsets.count, n)
	}
	if f.lengths.count < f.offsets.count {
		if f.offsets.count > 1 {
			return errors.New("the sizes of the blocks are missing")
		}
		f.alone = uint64(len(f.b)) - min(f.value(f.offsets, 0), uint64(len(f.b)))
	}
	if f.planes { // other planes have no meaning, and are not read
		f.numPlanes = min(f.samples, len(f.channels()))
	}
	return f.checkWork()
}

const (
	// slack is what small pictures may have beyond the bounds below.
	slack = 1 << 24
	// leastTile is the least area of a tile, on average; a multiple of 16 pixels is the rule for sides.
	leastTile = 64
	// slackArea and maxArea bound the pixels of all tiles together: a tile reaches beyond the picture on two sides.
	slackArea, maxArea = 1 << 26, 4
	// maxUnpacked is the largest number of bytes in all blocks together for each pixel, and maxRatio
	// for each byte of the file: pictures may have many samples, and tiles may reach beyond a picture.
	maxUnpacked, maxRatio = 32, 16
)

// checkWork bounds the number of tiles, their pixels, and the bytes that all blocks are read from and unpacked
// to.
func (f *File) checkWork() error {
	pixels := int64(f.w) * int64(f.h)
	blocks := int64(f.cols) * int64(f.rows) * int64(f.numPlanes)
	if most := slack/leastTile + pixels/leastTile*int64(f.numPlanes); f.tiles && blocks > most {
		return fmt.Errorf("%d tiles of %d x %d pixels: more than the %d allowed", blocks, f.blockW, f.blockH, most)
	}
	area := budget.Product(blocks, int64(f.blockW), int64(f.blockH))
	if most := (slackArea + maxArea*pixels) * int64(f.numPlanes); f.tiles && area > most {
		return fmt.Errorf("%d tiles of %d x %d pixels: %d pixels in all, more than the %d allowed for %d x %d pixels",
			blocks, f.blockW, f.blockH, area, most, f.w, f.h)
	}
	unpacked := budget.Product(blocks, int64(f.blockSize(0)))
	if most := slack + maxUnpacked*pixels + maxRatio*int64(len(f.b)); unpacked > most {
		return fmt.Errorf("%d blocks of %d x %d pixels hold %d bytes: more than the %d allowed for %d x %d pixels",
			blocks, f.blockW, f.blockH, unpacked, most, f.w, f.h)
	}
	var read int64
	for i := range int(blocks) {
		n := int64(min(f.length(i), uint64(len(f.b))))
		f.longest = max(f.longest, n)
		read += n
	}
	if most := int64(len(f.b)) + 2*unpacked; read > most {
		return fmt.Errorf("%d blocks are read from %d bytes in all: more than the %d allowed for a file of %d bytes",
			blocks, read, most, len(f.b))
	}
	return nil
}

// length is the number of bytes of block i in the file. What is not compressed may be followed by
// more than the block.
func (f *File) length(i int) uint64 {
	n := f.alone
	if f.lengths.count >= f.offsets.count {
		n = f.value(f.lengths, i)
	}
	if f.compression == compressNone {
		n = min(n, uint64(f.blockSize(0)))
	}
	return n
}

// blockRows returns the number of rows of the block whose first row is y. Tiles are always full.
func (f *File) blockRows(y int) int {
	if f.tiles {
		return f.blockH
	}
	return min(f.blockH, f.h-y)
}

// blockSamples is the number of samples of a pixel in a block.
func (f *File) blockSamples() int {
	if f.planes {
		return 1
	}
	return f.samples
}

// blockSize is how many bytes a block has when it is unpacked, whose first row is y.
func (f *File) blockSize(y int) int {
	rows := f.blockRows(y)
	if f.photometric == ycbcr && f.compression != compressJPEG {
		return ceil(f.blockW, f.across) * ceil(rows, f.down) * (f.across*f.down + 2)
	}
	return ceil(f.blockW*f.blockSamples()*f.bits, 8) * rows
}

func ceil(n, by int) int { return (n + by - 1) / by }

// data is the content of a block in the file.
func (f *File) data(i int) ([]byte, error) {
	b, ok := f.part(f.value(f.offsets, i), f.length(i))
	if !ok {
		return nil, errCut
	}
	return b, nil
}

// blockMemory is the memory for the largest block and for the decoder of blocks.
func (f *File) blockMemory() int64 {
	size := int64(f.blockSize(0))
	var need int64 = 256 << 10 // tables
	switch f.compression {
	case compressJPEG:
		return budget.Sum(need, f.longest, f.jpegMemory())
	case compressDeflate, compressOldDeflate:
		need += 128 << 10
	case compressZstd:
		need += f.longest + 2*window(size) + 1<<20
	case compressRLE, compressRLEW, compressG3, compressG4:
		need += 32 * int64(f.blockW) // where colours change in two rows
	}
	if f.reversed {
		need += f.longest
	}
	return budget.Sum(need, size)
}
