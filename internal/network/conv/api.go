package conv

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Workspace holds the buffers that a convolution needs between its inputs and
// its output. The zero value is ready for use; it grows on the first call of
// each shape and is then reused, so that later calls do not allocate. One
// workspace serves any number of layers in turn, but not two calls at once.
type Workspace struct {
	// BFloat16 has products computed as package bf16 does: operands rounded to
	// bfloat16, sums in float32. Depthwise convolutions and those whose outputs sum
	// fewer than 32 products (of pictures with few channels) stay in float32.
	BFloat16 bool

	layouts    map[layoutKey]*layout
	summers    map[layoutKey]*weightLayout
	scratch    par.Scratch // of chunks at work
	panels     []float32   // packed filters
	filters    []float32   // the same, transformed
	wino       winoFilters
	wino4      wino4Task
	values     []float32 // of a group that all cores transform
	vectors    [4][]float32
	moments    []chunkMoments
	partial    []float32 // gradients of the filters, by part
	source     []float32 // padded input
	zeros      []float32 // a row of an image
	packed     []float32 // panels of a band of the gradient
	product    product
	feeder     product // of a pair, and how it lies
	between    layout
	packer     packer
	halfPacker halfPacker
	weights    weightTask
	winoSums   winoSums
	plain      Epilogue
}

type layoutKey struct {
	geometry
	level simd.Level
}

func (ws *Workspace) layout(g geometry) *layout { return cachedLayout(ws, &ws.layouts, g, newLayout) }

func (ws *Workspace) weightLayout(g geometry) *weightLayout {
	return cachedLayout(ws, &ws.summers, g, newWeightLayout)
}

// cachedLayout returns the layout for a geometry out of those that ws holds, where it is put when it
// is first needed.
func cachedLayout[T any](ws *Workspace, layouts *map[layoutKey]*T, g geometry, build func(geometry) *T) *T {
	g.bfloat16 = ws.BFloat16 && g.bfloat16
	key := layoutKey{g, simd.Active()}
	l := (*layouts)[key]
	if l == nil {
		if *layouts == nil {
			*layouts = make(map[layoutKey]*T)
		}
		l = build(g)
		(*layouts)[key] = l
	}
	return l
}

// padded copies n values from v's at into a vector that tiles may read past
// its end; nil stays nil.
func (ws *Workspace) padded(i int, v []float32, at, n int) []float32 {
	if v == nil {
		return nil
	}
	ws.vectors[i] = par.Grow(ws.vectors[i], n+simd.MaxTileCols)
	copy(ws.vectors[i], v[at:at+n])
	clear(ws.vectors[i][n:])
	return ws.vectors[i]
}

// chunkMoments returns room for the moments of l's chunks. Their counts are set
// here, before the parts of a chunk run at the same time.
func (ws *Workspace) chunkMoments(l *layout) []chunkMoments {
	if cap(ws.moments) < l.chunks {
		ws.moments = append(ws.moments[:cap(ws.moments)], make([]chunkMoments, l.chunks-cap(ws.moments))...)
	}
	ws.moments = ws.moments[:l.chunks]
	for i := range ws.moments {
		m := &ws.moments[i]
		m.mean, m.m2 = par.Grow(m.mean, l.cols), par.Grow(m.m2, l.cols)
		_, images, _, rows := l.extent(i)
		m.count = images * rows * l.width
	}
	return ws.moments
}

// Epilogue says what happens to a convolution's result z (before bias) while it
// is still in registers or cache:
//
//	y = Act(act(Scale[k]*z + Shift[k] + Residual))
//
// A nil *Epilogue, like the zero value, stores z as it is.
type Epilogue struct {
	Scale, Shift []float32 // per output channel; nil means 1 and 0
	Residual     []float32 // as large as the output; nil means none
	HalfResidual bool      // Residual is bfloat16, as Halves has it
	ReLU         bool      // act(v) = max(v, 0), else v
	ReLU6        bool      // act(v) = min(max(v, 0), 6)
	Moments      *Moments  // if set, receives the moments of what is stored in y
	// Filters, if set, say that the pass is one of evaluation.
	Filters *Filters
	// Pool has y hold, of each channel, the maxima of 3 x 3 windows two positions apart,
	// with one position of padding that is never the maximum. Shape.CanPool says where that
	// can be; there is neither Residual nor Moments.
	Pool bool
	// Act, if not nil, changes values of y in place, any number at a time, while
	// they are in cache. It is called from several goroutines.
	Act func(y []float32)
}

// relu is the rectifier as simd.Tile has it.
func (e *Epilogue) relu() int {
	switch {
	case e.ReLU6:
		return 6
	case e.ReLU:
		return 1
	}
	return 0
}

// Moments holds, per output channel, the mean and the population variance
// (divided by the count) over all images and positions.
type Moments struct {
	Mean, Var []float32
}

// Len returns how many values the input, the filters and the output hold.
func (s *Shape) Len() (x, w, y int) {
	return s.N * s.H * s.W * s.C, s.K * s.R * s.S * (s.C / s.Groups), s.N * s.OutH() * s.OutW() * s.K
}

func (s *Shape) mustFit(x []float32, halfX bool, w, y []float32, halfY, pooled bool) {
	if err := s.Check(); err != nil {
		panic(err.Error())
	}
	nx, nw, ny := s.Len()
	if pooled {
		ny = s.pooledLen()
	}
	if len(x) != floatsFor(nx, halfX) || len(w) != nw || len(y) != floatsFor(ny, halfY) {
		panic(fmt.Sprintf("conv: input, filters, output of %d, %d, %d values; the shape %+v has %d, %d, %d",
			len(x), len(w), len(y), *s, nx, nw, ny))
	}
	if (halfX || halfY) && !s.UsesBFloat16() {
		panic(fmt.Sprintf("conv: bfloat16 activations of %+v, which is computed in float32", *s))
	}
}

// floatsFor is the number of float32 that hold n values.
func floatsFor(n int, half bool) int {
	if half {
		return (n + 1) / 2
	}
	return n
}

func (e *Epilogue) mustFit(s *Shape) {
	k := s.K
	for _, v := range [][]float32{e.Scale, e.Shift} {
		if v != nil && len(v) != k {
			panic(fmt.Sprintf("conv: epilogue of %d values for %d channels", len(v), k))
		}
	}
	if _, _, ny := s.Len(); e.Residual != nil && len(e.Residual) != floatsFor(ny, e.HalfResidual) {
		panic(fmt.Sprintf("conv: residual of %d values for an output of %d", len(e.Residual), ny))
	}
	if m := e.Moments; m != nil && (len(m.Mean) != k || len(m.Var) != k) {
		panic(fmt.Sprintf("conv: moments of %d and %d values for %d channels", len(m.Mean), len(m.Var), k))
	}
}
