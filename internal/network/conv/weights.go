package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

const (
	// band is about how many positions a tile of filter gradients sums at a
	// time: both operands then stay in the first-level cache for all tiles.
	band = 144
	// partialMax bounds the values of a gradient that several parts of the
	// positions sum apart; a larger one is dealt to the cores by its rows.
	partialMax = 160 << 10
)

// BackwardWeights computes dw, the gradient of the filters, from the input x
// and dy, the gradient of Forward's z:
//
//	dw[k,r,t,c] = sum over n,p,q of dy[n,p,q,k] * x[n, p*StrideH+r-PadH, q*StrideW+t-PadW, c]
//
// With accumulate it is added to what dw holds. dw must not overlap x or dy.
//
// The sum is a matrix product of depth N*OutH*OutW whose operands are read where
// they lie; it is cut into a number of parts that depends on the shape alone,
// added in order.
func BackwardWeights(ws *Workspace, s *Shape, x, dy, dw []float32, accumulate bool) {
	s.mustFit(x, s.Half.X, dw, dy, s.Half.DY, false)
	if !accumulate {
		clear(dw)
	}
	if len(dy) == 0 {
		return
	}
	if !ws.BFloat16 && ws.winoWeights(s, x, dy, dw) {
		return
	}
	groups, kg := s.Groups, s.K/s.Groups
	if s.isDepthwise() {
		groups, kg = 1, s.K
	}
	for g := range groups {
		geo := s.forward(g)
		if s.isDepthwise() {
			geo = s.allChannels(geo)
		}
		l := ws.weightLayout(geo)
		t := &ws.weights
		ws.partial = par.Grow(ws.partial, l.parts*l.depth*kg)
		*t = weightTask{weightLayout: l, src: x, dy: dy, partial: ws.partial, scratch: &ws.scratch,
			srcHalf: s.Half.X, dyHalf: s.Half.DY}
		t.dw = dw[g*kg*l.depth : (g+1)*kg*l.depth]
		work := s.N * l.outH * l.outW * l.depth * kg
		if l.whole {
			ws.source = par.Grow(ws.source, s.N*l.imageLen())
			t.padded = ws.source
			t.do(phasePad, s.N, len(ws.source))
		}
		switch {
		case l.half != nil:
			ws.halfWeights(t, work)
		case l.isShared():
			ws.packed = par.Grow(ws.packed, l.panelsLen())
			t.panels = ws.packed
			for t.band = range l.count {
				t.do(phasePack, l.packs(), work/l.count)
				t.do(phaseSum, l.groups, work/l.count)
			}
		default:
			t.do(phaseSum, l.parts*l.groups, work)
		}
		t.do(phaseAdd, (kg+addCols-1)/addCols, kg*l.depth*l.parts)
	}
	ws.weights = weightTask{}
}

// weightLayout is how the gradient of the filters of one group is computed: a
// product with a row for every (tap, channel) and a column for every filter.
type weightLayout struct {
	window
	tr, tc        int
	depth         int  // rows
	whole         bool // the source is padded once for all, not band by band
	parts         int  // that the positions are dealt to
	groups        int  // that the rows are dealt to
	groupRows     int
	images, rows  int // of a band
	bands         int // of an image
	count         int // bands in all
	rowOff, toOff []int64
	packRows      bool                    // the rows of a tile are copied to lie side by side
	packTaps      bool                    // so are they, one tile at a time, each for all panels
	packCols      bool                    // so are the columns of a panel
	tileOff       [simd.MaxTileRows]int64 // of the rows of a packed tile
	half          *halfSums               // of bfloat16, or nil
}

func newWeightLayout(g geometry) *weightLayout {
	l := &weightLayout{window: newWindow(g), tr: simd.TileRows(), tc: simd.TileCols(), depth: g.depth()}
	if g.bfloat16 {
		l.halfSums()
		return l
	}
	l.packRows = g.taps == 1 && g.tapsW == 1 && !g.depthwise && hasCacheConflicts(l.strideW*l.pixel, band)
	l.packTaps = g.taps*g.tapsW > 1 && !g.depthwise && g.cols >= packPanels*l.tc
	for i := range l.tileOff {
		l.tileOff[i] = 4 * int64(min(i, l.tr-1))
	}
	l.packCols = !g.depthwise && (g.dstCol > l.tc || g.cols%(l.tc/2) != 0)
	if !g.depthwise && !l.packRows && !l.packTaps {
		l.spread(256)
	}
	size := band
	if l.depth*g.cols > partialMax && !g.depthwise {
		l.whole = l.copied
		l.parts, size = 1, 8*band
		if g.n == 1 && g.srcW == 1 {
			// Rows of a plain product: its panels stay in the second-level cache.
			size = 2 * band
		}
		l.groupRows = max(1, (l.depth/wantChunks+l.tr-1)/l.tr) * l.tr
	} else {
		l.groupRows = l.depth
	}
	l.groups = (l.depth + l.groupRows - 1) / l.groupRows
	l.images, l.rows, l.bands = 1, min(g.outH, max(1, size/g.outW)), 1
	if l.rows < g.outH {
		l.bands = (g.outH + l.rows - 1) / l.rows
		l.rows = (g.outH + l.bands - 1) / l.bands
		l.bands = (g.outH + l.rows - 1) / l.rows
	} else {
		l.images = min(g.n, max(1, size/(g.outH*g.outW)))
	}
	l.count = (g.n + l.images - 1) / l.images * l.bands
	if l.parts == 0 {
		l.parts = max(1, min(wantChunks, l.count, g.n*g.outH*g.outW*l.depth*g.cols/minChunk))
	}
	tiles := (l.depth + l.tr - 1) / l.tr
	l.rowOff, l.toOff = make([]int64, tiles*l.tr), make([]int64, tiles*l.tr)
	for i := range l.rowOff {
		j := min(i, l.depth-1)
		tap, c := j/g.chans, j%g.chans
		l.rowOff[i] = 4 * int64((tap/g.tapsW*l.slabW+tap%g.tapsW)*l.pixel+c)
		l.toOff[i] = 4 * int64(j*g.cols)
	}
	return l
}

// hasCacheConflicts reports whether a line from each of n rows, step values apart, is more
// than half of what a first-level cache of 64 sets of 8 lines holds of them.
func hasCacheConflicts(step, n int) bool {
	const line, sets, ways = 16, 64, 8
	used := sets
	for s := step; s%line == 0 && used > 1 && s/line%2 == 0; s /= 2 {
		used /= 2
	}
	return 2*n > used*ways
}

// isShared reports whether the groups of rows read panels that are packed once for
// all of them, band by band.
func (l *weightLayout) isShared() bool { return l.groups > 1 && l.packCols }

// positions is the number of a whole band's.
func (l *weightLayout) positions() int { return l.images * l.rows * l.outW }

// panelsLen is the room for a band's panels: [panel][positions][tc].
func (l *weightLayout) panelsLen() int { return (l.cols + l.tc - 1) / l.tc * l.tc * l.positions() }

// packPanels is how many panels a tile's rows of several taps must meet to be worth
// copying: where they lie, each position is on another page.
const packPanels = 8

// packPositions is about how many positions a chunk of phasePack takes.
const packPositions = 128

func (l *weightLayout) packs() int { return (l.positions() + packPositions - 1) / packPositions }

// tileWide is the room for a row of a packed tile.
func (l *weightLayout) tileWide() int { return (l.tr + 7) / 8 * 8 }

// extent returns the images and the rows of positions of a band.
func (l *weightLayout) extent(b int) (n0, images, p0, rows int) {
	n0, p0 = b/l.bands*l.images, b%l.bands*l.rows
	return n0, min(l.images, l.n-n0), p0, min(l.rows, l.outH-p0)
}

func (l *weightLayout) slabH() int {
	if l.whole {
		return (l.outH-1)*l.strideH + l.taps
	}
	return (l.rows-1)*l.strideH + l.taps
}

// imageLen is the number of values between images in what tiles read.
func (l *weightLayout) imageLen() int {
	if !l.copied {
		return l.srcH * l.srcW * l.srcC
	}
	return l.slabH() * l.slabW * l.pixel
}

type phase int

const (
	phasePad  phase = iota // copy an image of the input with its padding
	phasePack              // copy some positions of a band into panels
	phaseSum               // sum a part of the positions for a group of rows
	phaseAdd               // add the parts, transposed, to some filters
)

// addCols is the number of filters that a chunk of phaseAdd takes.
const addCols = 16

// weightTask is the par.Task behind BackwardWeights.
type weightTask struct {
	*weightLayout
	phase       phase
	srcHalf     bool // src is bfloat16
	dyHalf      bool
	src, dy, dw []float32
	padded      []float32 // the whole input with padding, if whole
	partial     []float32 // [part][depth][cols]
	scratch     *par.Scratch
	band        int       // at work, where panels are shared
	panels      []float32 // of that band
}

func (t *weightTask) do(p phase, n, work int) {
	t.phase = p
	par.DoIf(work >= 2*minChunk, n, t)
}

// Run computes one chunk of the current phase.
func (t *weightTask) Run(chunk int) {
	switch t.phase {
	case phasePad:
		t.fill(t.padded[chunk*t.imageLen():(chunk+1)*t.imageLen()], source{v: t.src}, chunk, 0, t.outH)
	case phasePack:
		if t.half != nil {
			t.halfPack(chunk)
			return
		}
		_, images, _, rows := t.extent(t.band)
		from := chunk * packPositions
		t.pack(t.panels, t.band, from, min(from+packPositions, images*rows*t.outW))
	case phaseSum:
		if t.half != nil {
			t.halfSum(chunk)
			return
		}
		if t.isShared() {
			t.sum(t.band, t.band+1, t.band > 0, t.partial, chunk)
			return
		}
		part := chunk / t.groups
		first, end := part*t.count/t.parts, (part+1)*t.count/t.parts
		t.sum(first, end, false, t.partial[part*t.depth*t.cols:], chunk%t.groups)
	case phaseAdd:
		t.collect(chunk*addCols, min((chunk+1)*addCols, t.cols))
	}
}

// gradient returns dy from a band's first position on.
func (t *weightTask) gradient(b int) []float32 {
	n0, _, p0, _ := t.extent(b)
	return t.dy[(n0*t.outH+p0)*t.outW*t.dstCol+t.dst:]
}

// pack copies positions from..to-1 of a band into panels.
func (t *weightTask) pack(panels []float32, b, from, to int) {
	g, size := t.gradient(b), t.positions()*t.tc
	for i := from; i < to; i++ {
		row := g[i*t.dstCol:][:t.cols]
		for j := 0; j < t.cols; j += t.tc {
			line := panels[j/t.tc*size+i*t.tc:][:t.tc]
			clear(line[copy(line, row[j:]):])
		}
	}
}

// sum adds up the products of some bands for a group of rows; with add to what to
// holds.
func (t *weightTask) sum(first, end int, add bool, to []float32, group int) {
	row0 := group * t.groupRows
	var slab, panels, tiles []float32
	if t.copied && !t.whole {
		slab = t.scratch.Get(t.images * t.imageLen())
		defer t.scratch.Put(slab)
	}
	if panels = t.panels; t.packCols && !t.isShared() {
		panels = t.scratch.Get(t.panelsLen())
		defer t.scratch.Put(panels)
	}
	if t.packRows || t.packTaps {
		n := t.groupRows
		if t.packTaps {
			n = t.tr
		}
		tiles = t.scratch.Get((n + t.tr - 1) / t.tr * t.tileWide() * t.positions())
		defer t.scratch.Put(tiles)
	}
	if t.geometry.depthwise {
		clear(to[:t.depth*t.cols])
	}
	for b := first; b < end; b++ {
		n0, images, p0, bandRows := t.extent(b)
		var a []float32
		switch {
		case t.whole:
			a = t.padded[n0*t.imageLen()+p0*t.strideH*t.slabW*t.pixel:]
		case t.copied:
			for i := range images {
				t.fill(slab[i*t.imageLen():(i+1)*t.imageLen()], source{v: t.src}, n0+i, p0, bandRows)
			}
			a = slab
		default:
			a = t.src[((n0*t.srcH+p0*t.strideH+t.offH)*t.srcW+t.offW)*t.srcC:]
		}
		g := t.gradient(b)
		if t.geometry.depthwise {
			t.sumDepthwise(a, g, to, images, bandRows)
			continue
		}
		panel, step := t.tc, t.dstCol
		if t.packCols {
			if !t.isShared() {
				t.pack(panels, b, 0, images*bandRows*t.outW)
			}
			g, panel, step = panels, t.positions()*t.tc, t.tc
		}
		if t.packTaps {
			for r := row0; r < min(row0+t.groupRows, t.depth); r += t.tr {
				tile := t.tapTile(a, tiles, images, bandRows, r)
				t.panelSums(&tile, g, to, panel, step, add || b > first)
			}
			continue
		}
		tile := t.tile(a, tiles, images, bandRows, row0)
		t.panelSums(&tile, g, to, panel, step, add || b > first)
	}
}

// panelSums runs a tile over all panels of the gradient, which lie panel values apart
// and have rows of step values.
func (t *weightTask) panelSums(tile *simd.Tile, g, to []float32, panel, step int, add bool) {
	tile.BStep = 4 * step
	for j := 0; j < t.cols; j += t.tc {
		tile.Cols = min(t.tc, t.cols-j)
		tile.B, tile.C = unsafe.Pointer(&g[j/t.tc*panel]), unsafe.Pointer(&to[j])
		if add {
			tile.Add = tile.C
		}
		tile.Run()
	}
}

// tile describes the rows of a group over a band: as they lie in a, or copied to
// tiles, position by position.
func (t *weightTask) tile(a, tiles []float32, images, bandRows, row0 int) simd.Tile {
	line := t.strideH * t.slabW * t.pixel
	tile := simd.Tile{
		A: unsafe.Pointer(&a[0]), AOff: &t.rowOff[row0], COff: &t.toOff[row0],
		AStep:  4 * t.strideW * t.pixel,
		ARun:   4 * (line - t.outW*t.strideW*t.pixel),
		ABlock: 4 * (t.imageLen() - bandRows*line),
		Inner:  t.outW, Outer: bandRows, Blocks: images,
		AOffTile: 8 * t.tr, COffTile: 8 * t.tr, Rows: min(t.groupRows, t.depth-row0),
	}
	if !t.packRows {
		return tile
	}
	wide, positions := t.tileWide(), images*bandRows*t.outW
	i := 0
	for n := range images {
		for p := range bandRows {
			for q := range t.outW {
				x := a[n*t.imageLen()+p*line+q*t.strideW*t.pixel+row0:][:tile.Rows]
				for r := 0; r < len(x); r += t.tr {
					copy(tiles[r/t.tr*wide*positions+i*wide:][:t.tr], x[r:])
				}
				i++
			}
		}
	}
	tile.A, tile.AOff, tile.AOffTile = unsafe.Pointer(&tiles[0]), &t.tileOff[0], 0
	tile.AStep, tile.ARun, tile.ABlock, tile.ATile = 4*wide, 0, 0, 4*wide*positions
	tile.Inner, tile.Outer, tile.Blocks = positions, 1, 1
	return tile
}

// tapTile describes one tile of rows, from r on, over a band, copied to tiles position
// by position. Its rows may be of several taps.
func (t *weightTask) tapTile(a, tiles []float32, images, bandRows, r int) simd.Tile {
	line, wide, rows := t.strideH*t.slabW*t.pixel, t.tileWide(), min(t.tr, t.depth-r)
	type run struct{ to, n, from int }
	var runs [simd.MaxTileRows]run
	count := 0
	for i := 0; i < rows; count++ {
		n := min(rows-i, t.chans-(r+i)%t.chans)
		runs[count] = run{i, n, int(t.rowOff[r+i] / 4)}
		i += n
	}
	positions := 0
	for n := range images {
		for p := range bandRows {
			for q := range t.outW {
				x := a[n*t.imageLen()+p*line+q*t.strideW*t.pixel:]
				dst := tiles[positions*wide:][:wide]
				positions++
				if x := x[runs[0].from:]; wide == 16 && runs[0].n == t.tr && len(x) >= 16 {
					*(*[16]float32)(dst) = *(*[16]float32)(x) // without a call
					continue
				}
				for _, c := range runs[:count] {
					copy(dst[c.to:c.to+c.n], x[c.from:])
				}
			}
		}
	}
	return simd.Tile{
		A: unsafe.Pointer(&tiles[0]), AOff: &t.tileOff[0], COff: &t.toOff[r], AStep: 4 * wide,
		Inner: positions, Outer: 1, Blocks: 1, Rows: rows,
	}
}

// collect adds the parts of filters k0..k1-1 to their gradient.
func (t *weightTask) collect(k0, k1 int) {
	size, n := t.depth*t.cols, (k1-k0)*t.depth
	rows := t.scratch.Get(2 * n)
	defer t.scratch.Put(rows)
	sum, part := rows[:n], rows[n:]
	simd.Transpose(sum, t.depth, t.partial[k0:], t.cols, t.depth, k1-k0)
	for p := 1; p < t.parts; p++ {
		simd.Transpose(part, t.depth, t.partial[p*size+k0:], t.cols, t.depth, k1-k0)
		simd.Axpy(1, part, sum)
	}
	simd.Axpy(1, sum, t.dw[k0*t.depth:k1*t.depth])
}
