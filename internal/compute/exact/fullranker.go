package exact

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
)

// FullRanker orders rankings of which a large share counts, such as those of two classes. Most neighbours of
// such a ranking are so close to each other that only float64 tells their order. It computes all products in
// float64, as integers of 31 bits, and sorts these in buckets. Only items whose integers leave the order
// open are scored one by one.
type FullRanker struct {
	// Progress is called with the share of the range that is done.
	Progress func(done float64)

	sp    *Space
	self  Self
	depth int
	// perPass is the number of queries that share a pass over the gallery.
	perPass int
	order   []int32   // of the gallery, random
	place   []int32   // of each gallery row
	cols    []float32 // the gallery's rows in this order, in panels; nil if they need too much memory
	space   dot16.KeySpace
	length  float64 // of the longest row
	less    float64 // the largest
	tools   sync.Pool
	report  sync.Mutex
	done    int
}

const (
	maxPerPass  = 32   // at most that many share a pass over the gallery
	fullSpan    = 512  // columns in the second-level cache
	floorSample = 4096 // columns from which the floor is guessed
	placeBytes  = 20   // of a place, besides the keys of the queries
)

// queriesPerPass is the number of queries that share a pass over a gallery of n rows in the given bytes, 0
// if there is no room for a panel on each core.
func queriesPerPass(n int, memory int64) int {
	each := memory/int64(runtime.GOMAXPROCS(0))/int64(n) - placeBytes
	return int(min(max(each, 0)/4, maxPerPass)) / dot16.KeyRows * dot16.KeyRows
}

// FullRankerFits reports whether a Deep for n rows has room in the given bytes.
func FullRankerFits(n int, memory int64) bool { return queriesPerPass(n, memory/2) > 0 }

// NewFullRanker is for the first depth items of each ranking, 0 for all. It needs about the given bytes, as
// long as FullRankerFits.
func NewFullRanker(sp *Space, self Self, depth int, memory int64) *FullRanker {
	n, d := sp.g.Rows, sp.g.Cols
	others := self.MaxOthers(n)
	depth = cmp.Or(depth, others)
	padded := (n + dot16.KeyColumns - 1) / dot16.KeyColumns * dot16.KeyColumns
	r := &FullRanker{sp: sp, self: self, depth: min(depth, others),
		perPass: max(queriesPerPass(n, memory/2), dot16.KeyRows),
		order:   shuffled(n), place: make([]int32, n), Progress: func(float64) {}}
	r.space.Factor, r.space.Less = make([]float64, padded), make([]float64, padded)
	for at, j := range r.order {
		r.place[j] = int32(at)
		row := sp.g.Row(int(j))
		square := dot16.Dot(row, row)
		r.length = max(r.length, math.Sqrt(square))
		r.space.Factor[at] = 1
		switch sp.dist {
		case Euclidean:
			r.space.Less[at] = square / 2
		case Cosine:
			r.space.Factor[at] = sp.gInv[j]
		}
		r.less = max(r.less, r.space.Less[at])
	}
	for at := n; at < padded; at++ {
		r.space.Less[at] = math.MaxFloat64 / 4 // key 0
	}
	span := min(fullSpan, padded) * d
	if int64(padded)*int64(4*d) <= memory/2 {
		r.cols = r.pack(make([]float32, padded*d), 0, padded)
		span = 0
	}
	r.tools.New = func() any {
		return &fullTools{rows: make([]float64, r.perPass*d), keys: make([]float32, r.perPass*padded),
			found: make([]int32, scan.ListCap(padded)), sorted: make([]uint64, n), places: make([]int32, n),
			cols: make([]float32, span), bounds: make([]keyBounds, r.perPass)}
	}
	return r
}

// pack lays the rows at places from..to-1 out in panels.
func (r *FullRanker) pack(dst []float32, from, to int) []float32 {
	d := r.sp.g.Cols
	for at := from; at < min(to, len(r.order)); at++ {
		k := at - from
		panel := dst[k/dot16.KeyColumns*dot16.KeyColumns*d+k%dot16.KeyColumns:]
		for e, v := range r.sp.g.Row(int(r.order[at])) {
			panel[e*dot16.KeyColumns] = v
		}
	}
	return dst[:(to-from)*d]
}

// Rows returns the gallery row at each place.
func (r *FullRanker) Rows() []int32 { return r.order }

// fullTools are what a goroutine works with.
type fullTools struct {
	headFiller
	rows   []float64 // a panel of queries
	keys   []float32 // of the queries that share a pass
	cols   []float32 // of a span, unless all are packed
	found  []int32
	ends   []uint32
	sorted []uint64 // MostKey less the key, then the place
	places []int32
	items  []Item
	bounds []keyBounds
}

// keyBounds say how the scores of a query become keys.
type keyBounds struct {
	lo, scale float64
	// close is the largest difference of keys that leaves an order open.
	close uint32
}

// Run orders the rankings of queries lo..hi-1, several at a time and in any order. show gets the places of the
// first items of a ranking, the nearest first. matters reports whether the order among some places decides something.
func (r *FullRanker) Run(ctx context.Context, lo, hi int, matters func(query int, places []int32) bool,
	show func(query int, places []int32)) error {
	r.done = 0
	return par.ForContext(ctx, hi-lo, r.perPass, func(a, b int) {
		t := r.tools.Get().(*fullTools)
		defer r.tools.Put(t)
		if !r.keysOf(ctx, t, lo+a, lo+b) {
			return
		}
		for i := lo + a; i < lo+b; i++ {
			if ctx.Err() != nil {
				return
			}
			n := r.depth
			if !r.sort(t, i, i-lo-a) {
				n = r.orderAll(t, i)
			} else {
				r.orderPlaces(t, i, t.bounds[i-lo-a].close, matters)
			}
			show(i, t.places[:n])
		}
		r.report.Lock()
		defer r.report.Unlock()
		r.done += b - a
		r.Progress(float64(r.done) / float64(hi-lo))
	})
}

// keysOf computes the keys of queries lo..hi-1 and all places, and reports whether ctx let it finish.
func (r *FullRanker) keysOf(ctx context.Context, t *fullTools, lo, hi int) bool {
	d, padded := r.sp.q.Cols, len(r.space.Less)
	clear(t.rows)
	for i := lo; i < hi; i++ {
		panel := t.rows[(i-lo)/dot16.KeyRows*dot16.KeyRows*d+(i-lo)%dot16.KeyRows:]
		for k, v := range r.sp.q.Row(i) {
			panel[k*dot16.KeyRows] = float64(v)
		}
	}
	for i := lo; i < hi; i++ {
		t.bounds[i-lo] = r.bounds(i, math.Inf(-1))
	}
	sample := min(floorSample, padded)
	r.multiply(t, hi-lo, 0, sample)
	for i := lo; i < hi; i++ {
		b := t.bounds[i-lo]
		n := rankBound(r.depth, float64(sample)/float64(padded))
		if n < sample && b.scale > 0 {
			key := t.nthLargest(t.keys[(i-lo)*padded:][:sample:sample], n, -1)
			b = r.bounds(i, b.lo+float64(math.Float32bits(max(key, 0)))/b.scale)
		}
		t.bounds[i-lo] = b
	}
	for from := 0; from < padded; from += floorSample {
		if ctx.Err() != nil {
			return false
		}
		r.multiply(t, hi-lo, from, min(from+floorSample, padded))
	}
	return true
}

// multiply computes the keys of places from..to-1 for the first queries of the tools.
func (r *FullRanker) multiply(t *fullTools, queries, from, to int) {
	d, padded := r.sp.q.Cols, len(r.space.Less)
	for lo := from; lo < to; lo += fullSpan {
		hi := min(lo+fullSpan, to)
		var cols []float32
		if r.cols != nil {
			cols = r.cols[lo*d : hi*d]
		} else {
			cols = r.pack(t.cols, lo, hi)
		}
		space := dot16.KeySpace{Factor: r.space.Factor[lo:hi], Less: r.space.Less[lo:hi]}
		for p := 0; p < queries; p += dot16.KeyRows {
			for i, b := range t.bounds[p : p+dot16.KeyRows] {
				space.Lo[i], space.Scale[i] = b.lo, b.scale
			}
			dot16.Keys(t.keys[p*padded+lo:(p+dot16.KeyRows)*padded], padded, t.rows[p*d:(p+dot16.KeyRows)*d], cols, d,
				&space)
		}
	}
}

// bounds returns the keys' bounds of query i for scores from floor on.
func (r *FullRanker) bounds(i int, floor float64) keyBounds {
	row := r.sp.q.Row(i)
	square := dot16.Dot(row, row)
	own := math.Sqrt(square)
	reach, high := own*r.length, own*r.length
	open := float64(len(row)+32) * 0x1p-50
	switch r.sp.dist {
	case Euclidean:
		reach, high = reach+r.less, square/2
		open *= (own + r.length) * (own + r.length)
	case Cosine:
		reach, high = own, own
		open = (open + 4*r.sp.slack) * own
	default:
		open *= reach
	}
	b := keyBounds{lo: max(floor, -reach-open)}
	if width := high + open - b.lo; width > 0 {
		b.scale = dot16.MostKey / width
	}
	if c := 2 + open*b.scale; c < dot16.MostKey {
		b.close = uint32(c)
	} else {
		b.close = dot16.MostKey
	}
	return b
}

// sort puts the places whose keys are not too close to 0 in the order of their keys. It reports whether the first depth
// are certainly among them.
func (r *FullRanker) sort(t *fullTools, i, at int) bool {
	padded, open := len(r.space.Less), t.bounds[at].close
	keys := t.keys[at*padded : (at+1)*padded]
	if j := r.self.ItemOf(i); j >= 0 {
		keys[r.place[j]] = 0
	}
	inf := float32(math.Inf(1))
	found := scan.Between(keys, math.Float32frombits(open), inf, t.found)
	t.sorted = t.sorted[:len(found)]
	if len(found) < r.depth {
		return false
	}
	t.sortBuckets(keys, found, math.Float32bits(scan.Largest(keys)))
	last := dot16.MostKey - uint32(t.sorted[r.depth-1]>>32)
	return uint64(last) > 2*uint64(open)
}

// maxInsertion is the size of a bucket up to which insertion is the fastest sort.
const maxInsertion = 64

// sortBuckets sorts the keys of the places that were found, the largest first, with ties by place.
func (t *fullTools) sortBuckets(keys []float32, found []int32, most uint32) {
	size := min(bits.Len(uint(len(found))), 20)
	unit := float32(1) / float32(most)
	wide := float32(int(1)<<size - 1)
	// Most items are far from the query. The cube gives these more buckets: of a normal distribution each gets about as
	// many items.
	bucket := func(key uint32) int32 {
		u := float32(most-key) * unit
		return int32(u * u * u * wide)
	}
	t.ends = slices.Grow(t.ends[:0], 1<<size)[:1<<size]
	ends, sorted := t.ends, t.sorted
	clear(ends)
	for _, p := range found {
		ends[bucket(math.Float32bits(keys[p]))]++
	}
	sum, largest := uint32(0), uint32(0)
	for b, n := range ends {
		ends[b] = sum
		sum += n
		largest = max(largest, n)
	}
	for _, p := range found {
		key := math.Float32bits(keys[p])
		end := &ends[bucket(key)]
		sorted[*end] = uint64(dot16.MostKey-key)<<32 | uint64(p)
		*end++
	}
	if largest > maxInsertion {
		from := uint32(0)
		for _, end := range ends {
			if end-from > 1 {
				slices.Sort(sorted[from:end])
			}
			from = end
		}
		return
	}
	for k := 1; k < len(sorted); k++ {
		v, e := sorted[k], k
		for ; e > 0 && sorted[e-1] > v; e-- {
			sorted[e] = sorted[e-1]
		}
		sorted[e] = v
	}
}

// orderPlaces writes the places in order. Places whose keys leave their order open are put in the order of their exact
// scores where that matters.
func (r *FullRanker) orderPlaces(t *fullTools, i int, open uint32, matters func(query int, places []int32) bool) {
	sorted, places := t.sorted, t.places[:len(t.sorted)]
	from, last := 0, uint32(0)
	for k, v := range sorted {
		key := uint32(v >> 32)
		places[k] = int32(uint32(v))
		if key-last > open {
			if k-from > 1 {
				r.orderRun(t, i, places[from:k], matters)
			}
			if from = k; k >= r.depth {
				break
			}
		}
		last = key
	}
	if from < r.depth && len(places)-from > 1 {
		r.orderRun(t, i, places[from:], matters)
	}
}

func (r *FullRanker) orderRun(t *fullTools, i int, places []int32, matters func(query int, places []int32) bool) {
	if !matters(i, places) {
		return
	}
	t.items = t.items[:0]
	for _, p := range places {
		t.items = append(t.items, r.sp.Item(i, r.order[p]))
	}
	r.sp.Sort(i, t.items)
	for k, it := range t.items {
		places[k] = r.place[it.Row]
	}
}

// orderAll orders all places by exact scores: where the guess of the floor was wrong, or most scores are alike.
// It returns the number of places that count.
func (r *FullRanker) orderAll(t *fullTools, i int) int {
	t.items = t.items[:0]
	self := r.self.ItemOf(i)
	for j := range r.order {
		if j != self {
			t.items = append(t.items, r.sp.Item(i, int32(j)))
		}
	}
	r.sp.Sort(i, t.items)
	n := min(r.depth, len(t.items))
	for k, it := range t.items[:n] {
		t.places[k] = r.place[it.Row]
	}
	return n
}
