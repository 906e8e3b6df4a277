package conv

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Filters are those of a convolution as its kernels read them: packed and, where the
// convolution is computed by Winograd's transforms, transformed. They are made in each
// pass, unless Constant says that the weights do not change. The zero value is ready for
// use.
type Filters struct {
	// Constant has the filters kept from the first pass on.
	Constant bool
	// Precise leaves out transforms to 6 x 6 values, which are fast and off by a few times as
	// much as plain sums.
	Precise bool

	cached map[filtersKey][]float32
}

// filtersKey tells apart what kernels read.
type filtersKey struct {
	level       simd.Level
	bfloat16    bool
	wino, wino4 bool
	from, to    int // the first channels of the group
}

// loadFilters returns the filters of a layout, from what is kept if they are there.
func (ws *Workspace) loadFilters(l *layout, kept *Filters, p packer) []float32 {
	if kept == nil || !kept.Constant {
		return ws.prepare(l, p)
	}
	key := filtersKey{simd.Active(), l.half != nil, l.wino, l.wino4, l.chan0, l.geometry.dst}
	panels := kept.cached[key]
	if panels == nil {
		if kept.cached == nil {
			kept.cached = map[filtersKey][]float32{}
		}
		panels = slices.Clone(ws.prepare(l, p))
		kept.cached[key] = panels
	}
	return panels
}

// prepare packs filters, and transforms them where the layout says so.
func (ws *Workspace) prepare(l *layout, p packer) []float32 {
	panels := ws.pack(l, p)
	values := 16
	switch {
	case l.wino4:
		values = wino4Values
	case !l.wino:
		return panels
	}
	n := (l.cols + l.tc - 1) / l.tc
	ws.filters = par.Grow(ws.filters, values*n*l.chans*l.tc)
	ws.wino = winoFilters{panels, ws.filters, l.chans * l.tc, values}
	par.Do(n, &ws.wino)
	ws.wino = winoFilters{}
	return ws.filters
}

// winoFilters is the par.Task that transforms packed filters, panel by panel, to
// [panel][values][chans][tc].
type winoFilters struct {
	from, to []float32
	size     int // values of a panel's tap
	values   int // of a filter
}

func (f *winoFilters) Run(i int) {
	to, from := f.to[f.values*f.size*i:f.values*f.size*(i+1)], f.from[9*f.size*i:9*f.size*(i+1)]
	if f.values == wino4Values {
		var tmp [simd.Winograd4Room]float32
		simd.Winograd4Filters(to, from, tmp[:])
		return
	}
	simd.WinogradFilters(to, from)
}
