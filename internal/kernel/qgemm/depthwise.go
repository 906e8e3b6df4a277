package qgemm

import (
	"fmt"
	"math"
	"unsafe"
)

// depthBlock is the number of channels that a depthwise kernel computes at a time, and
// groupTaps that of the taps.
const (
	depthBlock = 64
	groupTaps  = 4
)

// Depthwise describes a row of positions of a convolution in which each channel c has a
// filter of its own:
//
//	Y[q][c] = clamp(scale[c] * sum over t of X[q*XStep + tap t + c] w[t][c] + shift[c])
//
// rounded as Tile has it. The filters and what follows are a DepthFilters.
type Depthwise struct {
	X, Y         *uint8
	w            *int8
	off          *int64
	scale, shift *float32
	N            int // positions
	XStep, YStep int // bytes from one position to the next
	groups       int
	blocks       int
	mask         uint64
	Lo, Hi       float32 // within 0 and 255
	lift         *int32
}

// DepthFilters are the filters of a depthwise convolution with the scale and the shift
// of each channel, in the order of the kernel: by 64 channels and four taps.
type DepthFilters struct {
	channels, taps, groups int
	w                      []int8
	off                    []int64
	scale, shift           []float32
	lift                   []int32 // 128 times the sum of a filter, which a kernel of signed bytes adds
}

// NewDepthFilters packs filters w, of channel after channel with its taps.
func NewDepthFilters(w []int8, channels, taps int) *DepthFilters {
	if len(w) != channels*taps || channels < 1 || taps < 1 || taps > MaxDepth {
		panic(fmt.Sprintf("qgemm: %d weights of %d channels with %d taps", len(w), channels, taps))
	}
	blocks, groups := (channels+depthBlock-1)/depthBlock, (taps+groupTaps-1)/groupTaps
	f := &DepthFilters{channels: channels, taps: taps, groups: groups,
		w:     make([]int8, blocks*groups*groupTaps*depthBlock),
		off:   make([]int64, groups*groupTaps),
		scale: make([]float32, blocks*depthBlock), shift: make([]float32, blocks*depthBlock),
		lift: make([]int32, blocks*depthBlock)}
	for c := range channels {
		for t := range taps {
			at := ((c/depthBlock*groups+t/groupTaps)*depthBlock + blockPosition(c%depthBlock)) * groupTaps
			f.w[at+t%groupTaps] = w[c*taps+t]
			f.lift[c/depthBlock*depthBlock+blockPosition(c%depthBlock)] += 128 * int32(w[c*taps+t])
		}
	}
	return f
}

// blockPosition is where the kernel has channel c of a block: what interleaving the bytes of
// vectors within their quarters makes of it.
func blockPosition(c int) int { return c/4%4*16 + c/16*4 + c%4 }

// SetTaps says how far from a position's first byte its taps lie, in bytes.
func (f *DepthFilters) SetTaps(off []int64) {
	if len(off) != f.taps {
		panic(fmt.Sprintf("qgemm: %d places of %d taps", len(off), f.taps))
	}
	for i := range f.off { // those without weights read the first
		f.off[i] = off[0]
	}
	copy(f.off, off)
}

// SetAffine sets the scale and shift of each channel.
func (f *DepthFilters) SetAffine(scale, shift []float32) {
	for c := range f.channels {
		at := c/depthBlock*depthBlock + blockPosition(c%depthBlock)
		f.scale[at], f.shift[at] = scale[c], shift[c]
	}
}

// Run computes the row with f.
func (d *Depthwise) Run(f *DepthFilters) {
	if d.N <= 0 {
		return
	}
	if !(d.Lo >= 0 && d.Hi <= 255) {
		panic(fmt.Sprintf("qgemm: bytes from %g to %g", d.Lo, d.Hi))
	}
	d.off, d.groups = &f.off[0], f.groups
	switch level := Active(); level {
	case Generic:
		d.generic(f, 0)
	case VNNI:
		d.begin(f, 0)
		d.blocks = len(f.scale) / depthBlock
		d.mask = math.MaxUint64 >> ((depthBlock - f.channels%depthBlock) % depthBlock)
		d.whole()
	default:
		d.runUnits(f, level)
	}
}

// begin has a kernel begin with channel c, a multiple of 8, of those that d begins with.
func (d *Depthwise) begin(f *DepthFilters, c int) {
	first := c/depthBlock*depthBlock + blockPosition(c%depthBlock)
	d.X, d.Y = addOffset(d.X, c), addOffset(d.Y, c)
	d.w = &f.w[(c/depthBlock*(f.groups-1)*depthBlock+first)*groupTaps]
	d.scale, d.shift, d.lift = &f.scale[first], &f.shift[first], &f.lift[first]
}

// runUnits computes whole units of channels, then eights, then what is left.
func (d *Depthwise) runUnits(f *DepthFilters, level Level) {
	c := 0
	for ; c+depthUnit <= f.channels; c += depthUnit {
		part := *d
		part.begin(f, c)
		part.unit(level)
	}
	for ; c+8 <= f.channels; c += 8 {
		part := *d
		part.begin(f, c)
		part.eight(level)
	}
	if c < f.channels {
		d.generic(f, c)
	}
}

// generic computes the channels from the first on.
func (d *Depthwise) generic(f *DepthFilters, first int) {
	sums := make([]int32, f.channels)
	for q := range d.N {
		clear(sums)
		x, y := addOffset(d.X, q*d.XStep), unsafe.Slice(addOffset(d.Y, q*d.YStep), f.channels)
		for t := range f.taps {
			row := unsafe.Slice(addOffset(x, int(f.off[t])), f.channels)
			for c := first; c < f.channels; c++ {
				w := ((c/depthBlock*f.groups+t/groupTaps)*depthBlock+blockPosition(c%depthBlock))*groupTaps +
					t%groupTaps
				sums[c] += int32(row[c]) * int32(f.w[w])
			}
		}
		for c := first; c < f.channels; c++ {
			at := c/depthBlock*depthBlock + blockPosition(c%depthBlock)
			v := float32(float32(sums[c])*f.scale[at]) + f.shift[at]
			y[c] = toByte(clamp(v, d.Lo, d.Hi))
		}
	}
}
