package conv

import (
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/par"
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
	s.mustFit(x, dw, dy)
	if !accumulate {
		clear(dw)
	}
	if len(dy) == 0 {
		return
	}
	groups, kg := s.Groups, s.K/s.Groups
	if s.depthwise() {
		groups, kg = 1, s.K
	}
	for g := range groups {
		geo := s.forward(g)
		if s.depthwise() {
			geo = s.allChannels(geo)
		}
		l := ws.weightLayout(geo)
		t := &ws.weights
		ws.partial = par.Grow(ws.partial, l.parts*l.depth*kg)
		*t = weightTask{weightLayout: l, src: x, dy: dy, partial: ws.partial, scratch: &ws.scratch}
		t.dw = dw[g*kg*l.depth : (g+1)*kg*l.depth]
		if l.whole {
			ws.source = par.Grow(ws.source, s.N*l.imageLen())
			t.padded = ws.source
			t.do(phasePad, s.N, len(ws.source))
		}
		t.do(phaseSum, l.parts*l.groups, s.N*l.outH*l.outW*l.depth*kg)
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
}

func (ws *Workspace) weightLayout(g geometry) *weightLayout {
	key := layoutKey{g, simd.Active()}
	l := ws.summers[key]
	if l == nil {
		if ws.summers == nil {
			ws.summers = make(map[layoutKey]*weightLayout)
		}
		l = newWeightLayout(g)
		ws.summers[key] = l
	}
	return l
}

func newWeightLayout(g geometry) *weightLayout {
	l := &weightLayout{window: newWindow(g), tr: simd.TileRows(), tc: simd.TileCols(), depth: g.depth()}
	if !g.depthwise {
		l.spread(256)
	}
	size := band
	if l.depth*g.cols > partialMax && !g.depthwise {
		l.whole = l.copied
		l.parts, size = 1, 8*band
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
	phasePad phase = iota // copy an image of the input with its padding
	phaseSum              // sum a part of the positions for a group of rows
	phaseAdd              // add the parts, transposed, to some filters
)

// addCols is the number of filters that a chunk of phaseAdd takes.
const addCols = 8

// weightTask is the par.Task behind BackwardWeights.
type weightTask struct {
	*weightLayout
	phase       phase
	src, dy, dw []float32
	padded      []float32 // the whole input with padding, if whole
	partial     []float32 // [part][depth][cols]
	scratch     *par.Scratch
}

func (t *weightTask) do(p phase, n, work int) {
	t.phase = p
	if work < 2*minChunk {
		for i := range n {
			t.Run(i)
		}
		return
	}
	par.Do(n, t)
}

// Run computes one chunk of the current phase.
func (t *weightTask) Run(chunk int) {
	switch t.phase {
	case phasePad:
		t.fill(t.padded[chunk*t.imageLen():(chunk+1)*t.imageLen()], t.src, chunk, 0, t.outH)
	case phaseSum:
		t.sum(chunk/t.groups, chunk%t.groups)
	case phaseAdd:
		t.collect(chunk*addCols, min((chunk+1)*addCols, t.cols))
	}
}

// sum adds up the products of a part of the bands.
func (t *weightTask) sum(part, group int) {
	first, end := part*t.count/t.parts, (part+1)*t.count/t.parts
	row0 := group * t.groupRows
	rows := min(t.groupRows, t.depth-row0)
	var slab, narrow []float32
	if t.copied && !t.whole {
		slab = t.scratch.Get(t.images * t.imageLen())
		defer t.scratch.Put(slab)
	}
	// Tiles read whole registers of dy.
	padCols := t.cols%(t.tc/2) != 0 && !t.geometry.depthwise
	wide := (t.cols + t.tc - 1) / t.tc * t.tc
	if padCols {
		narrow = t.scratch.Get(t.images * t.rows * t.outW * wide)
		defer t.scratch.Put(narrow)
	}
	to := t.partial[part*t.depth*t.cols:]
	if t.geometry.depthwise {
		clear(to[:t.depth*t.cols])
	}
	for b := first; b < end; b++ {
		n0, p0 := b/t.bands*t.images, b%t.bands*t.rows
		images, bandRows := min(t.images, t.n-n0), min(t.rows, t.outH-p0)
		var a []float32
		switch {
		case t.whole:
			a = t.padded[n0*t.imageLen()+p0*t.strideH*t.slabW*t.pixel:]
		case t.copied:
			for i := range images {
				t.fill(slab[i*t.imageLen():(i+1)*t.imageLen()], t.src, n0+i, p0, bandRows)
			}
			a = slab
		default:
			a = t.src[((n0*t.srcH+p0*t.strideH+t.offH)*t.srcW+t.offW)*t.srcC:]
		}
		g := t.dy[(n0*t.outH+p0)*t.outW*t.dstCol+t.dst:]
		if t.geometry.depthwise {
			t.sumDepthwise(a, g, to, images, bandRows)
			continue
		}
		step := t.dstCol
		if padCols {
			for i := range images * bandRows * t.outW {
				copy(narrow[i*wide:i*wide+t.cols], g[i*t.dstCol:])
				clear(narrow[i*wide+t.cols : (i+1)*wide])
			}
			g, step = narrow, wide
		}
		line := t.strideH * t.slabW * t.pixel
		tile := simd.Tile{
			A: unsafe.Pointer(&a[0]), AOff: &t.rowOff[row0], COff: &t.toOff[row0],
			AStep: 4 * t.strideW * t.pixel, BStep: 4 * step,
			ARun:   4 * (line - t.outW*t.strideW*t.pixel),
			ABlock: 4 * (t.imageLen() - bandRows*line),
			Inner:  t.outW, Outer: bandRows, Blocks: images,
			AOffTile: 8 * t.tr, COffTile: 8 * t.tr, Rows: rows,
		}
		for j := 0; j < t.cols; j += t.tc {
			tile.Cols = min(t.tc, t.cols-j)
			tile.B, tile.C = unsafe.Pointer(&g[j]), unsafe.Pointer(&to[j])
			if b > first {
				tile.Add = tile.C
			}
			tile.Run()
		}
	}
}

// collect adds the parts of filters k0..k1-1 to their gradient.
func (t *weightTask) collect(k0, k1 int) {
	size := t.depth * t.cols
	for k := k0; k < k1; k++ {
		out := t.dw[k*t.depth : (k+1)*t.depth]
		for i := range out {
			v := t.partial[i*t.cols+k]
			for part := 1; part < t.parts; part++ {
				v += t.partial[part*size+i*t.cols+k]
			}
			out[i] += v
		}
	}
}
