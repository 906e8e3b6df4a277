package tiff

import (
	"errors"
	"fmt"
)

// grid is how a picture is cut into strips or tiles, and where these are.
type grid struct {
	w, h         int // of a block; the last strip may have fewer rows
	across, down int
	planes       int
	tiles        bool
	offsets      []uint64
	bytes        []uint64
}

func (p *picture) layout() (*grid, error) {
	if err := p.checkBlocks(); err != nil {
		return nil, err
	}
	g := &grid{w: p.w, planes: 1}
	if p.planes {
		g.planes = p.samples
	}
	if len(p.numbers(tagTileWidth)) > 0 {
		g.tiles = true
		g.w, g.h = p.side(tagTileWidth), p.side(tagTileHeight)
		g.offsets, g.bytes = p.numbers(tagTileOffsets), p.numbers(tagTileBytes)
		if len(g.offsets) == 0 { // as some programs write them
			g.offsets, g.bytes = p.numbers(tagStripOffsets), p.numbers(tagStripBytes)
		}
	} else {
		g.h = min(p.number(tagRowsPerStrip, p.h), p.h)
		g.offsets, g.bytes = p.numbers(tagStripOffsets), p.numbers(tagStripBytes)
	}
	if g.w <= 0 || g.h <= 0 || g.w > 1<<24 || g.h > 1<<24 {
		return nil, fmt.Errorf("blocks of %d x %d pixels", g.w, g.h)
	}
	g.across, g.down = (p.w+g.w-1)/g.w, (p.h+g.h-1)/g.h
	// A tile may be larger than the picture, but not many of them much larger than it.
	const most = 1 << 24
	if all := g.across * g.down; float64(all)*float64(g.w)*float64(g.h) > most+4*float64(p.w)*float64(p.h) {
		return nil, fmt.Errorf("%d blocks of %d x %d pixels", all, g.w, g.h)
	}
	if n := g.across * g.down * g.planes; len(g.offsets) < n {
		return nil, fmt.Errorf("%d blocks of %d", len(g.offsets), n)
	}
	if len(g.bytes) < len(g.offsets) {
		if len(g.offsets) > 1 {
			return nil, errors.New("the sizes of the blocks are missing")
		}
		g.bytes = []uint64{uint64(len(p.b)) - min(g.offsets[0], uint64(len(p.b)))}
	}
	return g, nil
}

// rows returns the number of rows of the block whose first row is y. Tiles are always full.
func (g *grid) rows(y, all int) int {
	if g.tiles {
		return g.h
	}
	return min(g.h, all-y)
}

// blockSamples is the number of samples of a pixel in a block.
func (g *grid) blockSamples(p *picture) int {
	if p.planes {
		return 1
	}
	return p.samples
}

// size is how many bytes a block has when it is unpacked, whose first row is y.
func (g *grid) size(p *picture, y int) int {
	rows := g.rows(y, p.h)
	if p.photometric == ycbcr && p.compression != compressJPEG {
		return ceil(g.w, p.across) * ceil(rows, p.down) * (p.across*p.down + 2)
	}
	return ceil(g.w*g.blockSamples(p)*p.bits, 8) * rows
}

func ceil(n, by int) int { return (n + by - 1) / by }

// data is the content of a block in the file.
func (g *grid) data(p *picture, i int) ([]byte, error) {
	b, ok := p.part(g.offsets[i], g.bytes[i])
	if !ok {
		return nil, errCut
	}
	return b, nil
}
