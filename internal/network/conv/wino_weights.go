package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// winoSums is the par.Task that computes the gradient of filters by Winograd's
// transforms: of each patch of the input and of the output's gradient 16 values,
// whose products, summed over patches, become the filters' nine taps. It goes over
// the chunks of the way forward, dealt to parts that are added in order.
type winoSums struct {
	*layout
	src, dy, dw []float32
	parts       int
	partial     []float32 // [part][16][chans][cols]
	adding      bool
	scratch     *par.Scratch
}

// winoWeights adds the gradient of the filters to dw if the way forward is
// computed by Winograd's transforms.
func (ws *Workspace) winoWeights(s *Shape, x, dy, dw []float32) bool {
	if s.Groups > 1 {
		return false
	}
	l := ws.layout(s.forward(0))
	if !l.wino {
		return false
	}
	t := &ws.winoSums
	*t = winoSums{layout: l, src: x, dy: dy, dw: dw, parts: min(wantChunks, l.chunks), scratch: &ws.scratch}
	ws.partial = par.Grow(ws.partial, t.parts*t.partLen())
	t.partial = ws.partial
	par.Do(t.parts, t)
	t.adding = true
	par.Do((l.cols+addCols-1)/addCols, t)
	*t = winoSums{}
	return true
}

// partLen is the number of values of a part.
func (t *winoSums) partLen() int { return 16 * t.chans * t.cols }

// Run sums a part of the positions, or adds up the parts of some filters.
func (t *winoSums) Run(i int) {
	if t.adding {
		t.collect(i*addCols, min((i+1)*addCols, t.cols))
		return
	}
	first, end := i*t.chunks/t.parts, (i+1)*t.chunks/t.parts
	for chunk := first; chunk < end; chunk++ {
		t.sum(chunk, t.partial[i*t.partLen():(i+1)*t.partLen()], chunk > first)
	}
}

// sum sets the products of a chunk, or adds them to what is there.
func (t *winoSums) sum(chunk int, to []float32, add bool) {
	n0, images, p0, rows := t.extent(chunk)
	across, down := t.outW/2, (rows+1)/2
	patches := images * down * across
	lda, ldb := t.chans+winoPad, t.cols+winoPad
	line := t.slabW * t.chans
	image := t.slabH * line
	slab := t.scratch.Get(images*image + 2*t.outW*t.cols)
	defer t.scratch.Put(slab)
	pair := slab[images*image:]
	v := t.scratch.Get(16 * patches * (lda + ldb))
	defer t.scratch.Put(v)
	u := v[16*patches*lda:]
	for i := range images {
		t.fill(slab[i*image:(i+1)*image], source{v: t.src}, n0+i, p0, t.slabRows(rows))
		for row := range down {
			at := (i*down + row) * across
			in, out := slab[i*image+2*row*line:], t.lines(pair, n0+i, p0+2*row)
			simd.WinogradInput(v[at*lda:], in, across, t.chans, line, winoPad, patches*lda)
			simd.WinogradGradient(u[at*ldb:], out, across, t.cols, t.outW*t.cols, winoPad, patches*ldb)
		}
	}

	var aoff, coff [simd.MaxTileRows]int64
	for i := range t.tr { // the last tile reads some of the padding
		aoff[i], coff[i] = int64(4*i), int64(4*i*t.cols)
	}
	tile := simd.Tile{
		AOff: &aoff[0], COff: &coff[0], AStep: 4 * lda, BStep: 4 * ldb, Inner: patches, Outer: 1, Blocks: 1,
		ATile: 4 * t.tr, CTile: 4 * t.tr * t.cols, Rows: t.chans,
	}
	for k := range 16 {
		tile.A = unsafe.Pointer(&v[k*patches*lda])
		for j := 0; j < t.cols; j += t.tc {
			tile.Cols = min(t.tc, t.cols-j)
			tile.B = unsafe.Pointer(&u[k*patches*ldb+j])
			tile.C = unsafe.Pointer(&to[k*t.chans*t.cols+j])
			if add {
				tile.Add = tile.C
			}
			tile.Run()
		}
	}
}

// lines returns two lines of the output's gradient from row p of an image on: in
// place, or copied to pair with zeros where the image ends.
func (t *winoSums) lines(pair []float32, n, p int) []float32 {
	line := t.width * t.cols
	from := t.dy[(n*t.outH+p)*line:]
	if t.width == t.outW && p+1 < t.outH {
		return from[:2*line]
	}
	clear(pair)
	for i := range min(2, t.outH-p) {
		copy(pair[i*t.outW*t.cols:], from[i*line:(i+1)*line])
	}
	return pair
}

// collect adds the parts of filters k0..k1-1 to their gradient.
func (t *winoSums) collect(k0, k1 int) {
	plane := (k1 - k0) * t.chans // of one of the 16 values
	m := t.scratch.Get(17 * plane)
	defer t.scratch.Put(m)
	part := m[16*plane:]
	for p := range t.parts {
		for k := range 16 {
			from := t.partial[p*t.partLen()+k*t.chans*t.cols+k0:]
			if p == 0 {
				simd.Transpose(m[k*plane:(k+1)*plane], t.chans, from, t.cols, t.chans, k1-k0)
				continue
			}
			simd.Transpose(part, t.chans, from, t.cols, t.chans, k1-k0)
			simd.Axpy(1, part, m[k*plane:(k+1)*plane])
		}
	}
	for tap, k := range simd.WinogradTaps(m[:16*plane]) {
		for i := range k1 - k0 {
			simd.Axpy(1, m[k*plane+i*t.chans:][:t.chans], t.dw[((k0+i)*9+tap)*t.chans:][:t.chans])
		}
	}
}
