package qconv

import (
	"fmt"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/qgemm"
)

// Workspace holds the buffers that layers need between their inputs and outputs. The
// zero value is ready for use. One workspace serves any number of layers in turn, but not
// two calls at once.
type Workspace struct {
	scratch par.Scratch
	task    task
}

// minChunk is the least number of multiply-adds worth another core.
const minChunk = 1 << 18

// Forward computes the layer for n images: x is n x H x W x C, y n x OutH x OutW x K, and
// residual, where the epilogue has one, as large as y. An operand of float32 has its
// scale too, which is used for x alone, and for y by a depthwise layer. y must not overlap x, but may be
// the residual. It panics if an operand does not have the size that the shape says.
func (l *Layer) Forward(ws *Workspace, n int, x, y, residual Operand) {
	s := l.shape
	s.N = n
	nx, _, ny := s.Len()
	l.mustFit("input", x, nx)
	l.mustFit("output", y, ny)
	if l.epilogue.Residual {
		l.mustFit("residual", residual, ny)
	}
	if ny == 0 {
		return
	}
	splits := l.epilogue.Act == nil && l.depth == nil
	if t := asColumn(s); l.table.shape != t || (l.table.floats != (x.Bytes == nil)) {
		l.table = newTable(s, x.Bytes == nil, splits, l.depth != nil)
		if l.depth != nil {
			l.depth.SetTaps(l.table.taps())
		}
	}
	l.prepare(affine{in: x.Scale, out: y.Scale, res: residual.resScale(), bytes: l.depth != nil ||
		y.Bytes != nil && l.epilogue.Act == nil})
	t := &ws.task
	*t = task{Layer: l, table: &l.table, x: x, y: y, res: residual, scratch: &ws.scratch}
	t.lo, t.hi = l.bounds()
	par.DoIf(ny*(len(l.q)/s.K) >= 2*minChunk, t.chunks*t.split, t)
	*t = task{}
}

func (l *Layer) mustFit(what string, o Operand, n int) {
	if have := len(o.Bytes) + len(o.Floats); have != n || o.Bytes != nil && o.Floats != nil {
		panic(fmt.Sprintf("qconv: %s of %d values; the shape %+v has %d", what, have, l.shape, n))
	}
	if !(o.Unit > 0) && (o.Bytes != nil || what == "input") {
		panic(fmt.Sprintf("qconv: %s in units of %g", what, o.Unit))
	}
}

// resScale is the scale of a residual, which float32 has none.
func (o Operand) resScale() Scale {
	if o.Bytes == nil {
		return Scale{Unit: 1}
	}
	return o.Scale
}

// task computes a layer. It is a par.Task over chunks times parts of the panels.
type task struct {
	*Layer
	*table
	x, y, res Operand
	lo, hi    float32
	scratch   *par.Scratch
}

// bytesOf is the memory of v.
func bytesOf(v []float32) []uint8 { return unsafe.Slice((*uint8)(unsafe.Pointer(&v[0])), 4*len(v)) }

// Run computes one chunk.
func (t *task) Run(i int) {
	part := i % t.split
	n0, images, p0, rows := t.extent(i / t.split)
	s := &t.table.shape
	oh, ow := s.OutH(), s.OutW()
	var slab []uint8
	if t.copied {
		room := t.scratch.Get((t.images*t.slabH*t.slabW*t.pixel+4)/4 + 1)
		defer t.scratch.Put(room)
		slab = bytesOf(room)
	} else {
		slab = t.x.Bytes[(n0*s.H+p0*s.StrideH)*s.W*s.C:]
	}
	base := (n0*oh + p0) * ow * s.K
	if t.depth != nil {
		t.fill(slab, n0, images, p0, rows, 0)
		t.depthRows(slab, base, images, rows)
		return
	}
	to := t.y
	length := images * rows * ow * s.K
	if t.epilogue.Act != nil && t.y.Bytes != nil {
		room := t.scratch.Get(length)
		defer t.scratch.Put(room)
		to = Operand{Floats: room}
	} else {
		to.cut(base, length)
	}
	for g := range s.Groups {
		if t.copied {
			t.fill(slab, n0, images, p0, rows, g)
		}
		t.tiles(slab, to, base, images*rows*ow, g, part)
	}
	if t.epilogue.Act == nil {
		return
	}
	t.epilogue.Act(to.Floats)
	if t.y.Bytes != nil {
		qgemm.Quantize(t.y.Bytes[base:base+length], to.Floats, t.y.factor(), float32(t.y.Zero))
	}
}

// cut leaves n values from the first on.
func (o *Operand) cut(first, n int) {
	if o.Bytes != nil {
		o.Bytes = o.Bytes[first : first+n]
		return
	}
	o.Floats = o.Floats[first : first+n]
}

// from points to the i-th value.
func (o *Operand) from(i int) unsafe.Pointer {
	if o.Bytes != nil {
		return unsafe.Pointer(&o.Bytes[i])
	}
	return unsafe.Pointer(&o.Floats[i])
}

// tiles multiplies positions by a part of group g's panels. The chunk's residual begins
// at base.
func (t *task) tiles(slab []uint8, to Operand, base, positions, g, part int) {
	s := &t.table.shape
	kg, wide := s.K/s.Groups, t.groupCols()
	panels := (kg + qgemm.BlockCols - 1) / qgemm.BlockCols
	full := positions / qgemm.BlockRows * qgemm.BlockRows
	var aTail, cTail [qgemm.BlockRows]int64
	for i := range aTail {
		at := min(full+i, positions-1)
		aTail[i], cTail[i] = t.aoff[at], t.coff[at]
		if full+i >= positions {
			cTail[i] = -1
		}
	}
	tile := qgemm.Tile{A: unsafe.Pointer(&slab[0]), KOff: &t.koff[0], Runs: s.R, Quads: t.quads,
		FloatC: to.Bytes == nil, Lo: t.lo, Hi: t.hi}
	if t.epilogue.Residual {
		tile.AddKind, tile.AddScale = qgemm.AddFloats, float32(t.packed.res.Unit/t.packed.out.Unit)
		if t.res.Bytes != nil {
			tile.AddKind = qgemm.AddBytes
		}
	}
	for panel := part * panels / t.split; panel < (part+1)*panels/t.split; panel++ {
		col := panel * qgemm.BlockCols
		tile.Cols = min(qgemm.BlockCols, kg-col)
		tile.B = unsafe.Pointer(&t.panels[(g*wide+col)*s.R*t.quads*4])
		tile.Scale, tile.Shift = &t.scale[g*wide+col], &t.shift[g*wide+col]
		tile.C = to.from(g*kg + col)
		if t.epilogue.Residual {
			tile.Add = t.res.from(base + g*kg + col)
		}
		if full > 0 {
			tile.Rows, tile.AOff, tile.COff = full, &t.aoff[0], &t.coff[0]
			tile.Run()
		}
		if full < positions {
			tile.Rows, tile.AOff, tile.COff = positions-full, &aTail[0], &cTail[0]
			tile.Run()
		}
	}
}

// depthRows computes a chunk row by row.
func (t *task) depthRows(slab []uint8, base, images, rows int) {
	s := &t.table.shape
	oh, ow := s.OutH(), s.OutW()
	image := t.slabH * t.slabW * t.pixel
	if !t.copied {
		image = s.H * s.W * s.C
	}
	d := qgemm.Depthwise{N: ow, XStep: s.StrideW * t.pixel, YStep: s.K, Lo: t.lo, Hi: t.hi}
	var line []uint8
	if t.y.Bytes == nil {
		room := t.scratch.Get((ow*s.K + 3) / 4)
		defer t.scratch.Put(room)
		line = bytesOf(room)[:ow*s.K]
		d.Y = &line[0]
	}
	for i := range images {
		for p := range rows {
			d.X = &slab[i*image+p*s.StrideH*t.slabW*t.pixel]
			at := base + (i*oh+p)*ow*s.K
			if line == nil {
				d.Y = &t.y.Bytes[at]
			}
			d.Run(t.depth)
			if line != nil {
				qgemm.Dequantize(t.y.Floats[at:at+len(line)], line, int32(t.y.Zero), float32(t.y.Unit))
			}
		}
	}
}
