package nn

import (
	"cmp"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/qconv"
)

// buf is a buffer of size values per image that is in use from time from to
// time to. Buffers whose times do not overlap share memory.
type buf struct {
	size     int
	from, to int
	off      int  // per image, in the arena
	full     bool // something that touches it takes only float32
	half     bool // the values are bfloat16, two to a float32 of data
	wide     bool // something that touches it takes no bytes
	bytes    bool // the values are bytes, four to a float32 of data
	data     []float32
}

// perFloat is how many values a float32 of data holds.
func (b *buf) perFloat() int {
	switch {
	case b.bytes:
		return 4
	case b.half:
		return 2
	}
	return 1
}

// floats is the room for n images, and used what is used of it.
func (b *buf) floats(n int) int { return (b.size + b.perFloat() - 1) / b.perFloat() * n }

func (b *buf) used(n int) int { return (b.size*n + b.perFloat() - 1) / b.perFloat() }

// tensorRef is an activation as the engine sees it: its values x and their
// gradient g. g may be another tensor's buffer, or x itself, where the algebra
// allows it; it is nil where no gradient is needed.
type tensorRef struct {
	shape     Shape
	x, g      *buf
	needsGrad bool // something below wants its gradient

	scale    qconv.Scale // what its bytes mean, in a plan of bytes
	hasScale bool        // scale is known
}

// planner assigns times to buffers. Time counts the forward steps, then the
// backward steps.
type planner struct {
	now   int
	half  bool // the step that is planned takes bfloat16
	bytes bool // it takes bytes
	bufs  []*buf
}

func (p *planner) newBuf(size int) *buf {
	b := &buf{size: size, from: math.MaxInt, to: -1}
	p.bufs = append(p.bufs, b)
	return b
}

// touch records that the buffers are read or written now.
func (p *planner) touch(bufs ...*buf) {
	for _, b := range bufs {
		if b != nil {
			b.from, b.to = min(b.from, p.now), max(b.to, p.now)
			b.full, b.wide = b.full || !p.half, b.wide || !p.bytes
		}
	}
}

// result makes room for out, which is computed now of the values of in. A nil one is passed
// over.
func (p *planner) result(out *tensorRef, in ...*tensorRef) {
	out.x = p.newBuf(out.shape.Len())
	p.touch(out.x)
	for _, t := range in {
		if t != nil {
			p.touch(t.x)
		}
	}
}

// gradient prepares t's gradient to be written now and tells whether it holds
// something already, to which must be added.
func (p *planner) gradient(t *tensorRef) (accumulate bool) {
	accumulate = t.g != nil
	if !accumulate {
		t.g = p.newBuf(t.x.size)
	}
	p.touch(t.g)
	return accumulate
}

// inPlace is gradient for a value whose gradient equals that of out: if it holds nothing yet, it
// shares the memory of out's gradient.
func (p *planner) inPlace(t, out *tensorRef) (accumulate bool) {
	accumulate = t.g != nil
	if !accumulate {
		t.g = out.g
	}
	p.touch(t.g)
	return accumulate
}

// align is the granularity of offsets, in values: a cache line.
const align = 16

// place gives every buffer its offset, the largest buffers first, each at the
// lowest offset that is free during its life, and returns the arena's size per
// image.
func (p *planner) place() int {
	for _, b := range p.bufs {
		b.half = b.to >= 0 && !b.full
	}
	order := slices.Clone(p.bufs)
	slices.SortStableFunc(order, func(a, b *buf) int { return cmp.Compare(b.floats(1), a.floats(1)) })
	var placed []*buf
	total := 0
	for _, b := range order {
		if b.to < 0 {
			continue
		}
		size := roundUp(b.floats(1))
		off := 0
		for _, q := range placed { // sorted by offset
			if q.from > b.to || q.to < b.from {
				continue
			}
			if off+size <= q.off {
				break
			}
			off = max(off, q.off+roundUp(q.floats(1)))
		}
		b.off = off
		total = max(total, off+size)
		at, _ := slices.BinarySearchFunc(placed, b, func(x, y *buf) int { return cmp.Compare(x.off, y.off) })
		placed = slices.Insert(placed, at, b)
	}
	return total
}

func roundUp(n int) int { return (n + align - 1) / align * align }

// bind points the buffers into an arena that holds capacity images, for n of
// them.
func (p *planner) bind(arena []float32, capacity, n int) {
	for _, b := range p.bufs {
		if b.to >= 0 {
			b.data = arena[b.off*capacity:][:b.used(n)]
		}
	}
}
