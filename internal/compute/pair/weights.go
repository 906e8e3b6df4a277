package pair

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/scan"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/matrix"
)

// Weights collects dL/dx for pairs of a Table, x being one measure, and turns
// them into gradients. Rows are handled in chunks of Grain anchors: chunks may
// be filled at the same time, each by one goroutine, its anchors ascending.
//
// For measure S a weight w on (a, r) adds w r to the gradient of a and w a to
// that of r. For D² and D it adds c (a - r) and its opposite, c = 2w for D² and
// w/D for D (0 where D is below 1e-30).
type Weights struct {
	// Keep leaves the Table's similarities unchanged, for a loss that reads those
	// of other anchors, at the cost of twice the memory.
	Keep bool

	t       *Table
	measure Measure
	kept    matrix.Dense // the dense weights, if Keep
	chunk   []entries

	// Entries by reference, for the gradient of the references.
	colStart []int32
	colRow   []int32 // anchor, complemented for near pairs
	colC     []float32

	dense  []bool    // per loaded anchor: its weights stand in the Table's row
	sumA   []float64 // minus the coefficient of each anchor itself
	sumR   []float64
	dA, dR *matrix.Dense
	fresh  bool // dA and dR hold nothing yet

	bands int // of columns, in Gradient

	// The loaded anchors: their rows of dA and of E, and their dense weights.
	blockA, blockE, block matrix.Dense

	rowTask   applyRows
	colTask   applyCols
	columnSum columnSum
	scatter   scatter
	both      symmetrize
}

// Grain is the number of anchors in a chunk.
const Grain = grain

// entries are the sparse weights of one chunk. The pair is near, and its
// gradient taken from the difference of its vectors, where the reference is
// complemented.
type entries struct {
	end []int32 // per anchor of the chunk: where its entries end
	ref []int32
	c   []float32 // coefficient of the other vector in the gradient

	power int // of negligible, for the last anchor
}

// Chunks returns the number of chunks of n anchors.
func Chunks(n int) int { return numChunks(n) }

// Reset starts collecting weights on measure m of t, with none so far. The
// gradients will be written to dA, of the anchors' shape, and dR, of the
// references'. Where the references are the anchors, or begin with them, pass
// nil for dR: their share goes to dA, and the other references are constants.
func (w *Weights) Reset(t *Table, m Measure, dA, dR *matrix.Dense) {
	w.t, w.measure, w.dA, w.dR = t, m, dA, dR
	n := t.A.E.Rows
	for len(w.chunk) < numChunks(n) {
		w.chunk = append(w.chunk, entries{})
	}
	for c := range numChunks(n) {
		e := &w.chunk[c]
		e.end, e.ref, e.c = e.end[:0], e.ref[:0], e.c[:0]
	}
	w.dense = resize(w.dense, n)
	clear(w.dense)
	w.sumA = resize(w.sumA, n)
	clear(w.sumA)
	w.sumR = resize(w.sumR, t.NumRefs())
	clear(w.sumR)
	w.fresh = true
}

// Add takes the weights dx[k] of anchor i, the next of its chunk or the current
// one, on references ref[k], whose measures are x[k]. Weights of the same pair
// add up. A call of End must follow.
func (w *Weights) Add(i int, ref []int32, x, dx []float32) {
	e := &w.chunk[i/grain]
	for k, j := range ref {
		if dx[k] != 0 {
			e.add(w.coefficient(i, int(j), x[k], dx[k]))
		}
	}
}

// add appends an entry.
func (e *entries) add(ref int32, c float32) {
	e.ref, e.c = append(e.ref, ref), append(e.c, c)
}

// End completes the weights of anchor i.
func (w *Weights) End(i int) {
	e := &w.chunk[i/grain]
	e.end = append(e.end, int32(len(e.ref)))
}

// coefficient returns reference j, complemented if the pair is near, and what
// it is multiplied by in the gradient of anchor i.
func (w *Weights) coefficient(i, j int, x, dx float32) (ref int32, c float32) {
	ref, c = int32(j), dx
	switch w.measure {
	case Squared:
		c = -2 * dx
		if x < near*(w.t.A.Sq[i]+w.t.R.Sq[j]) {
			ref = ^ref
		}
	case Euclidean:
		c = -dx / x
		if x*x < near*(w.t.A.Sq[i]+w.t.R.Sq[j]) || x < 1e-30 {
			ref = ^ref
			if x < 1e-30 {
				c = 0
			}
		}
	}
	return ref, c
}

// AddMany is Add for weights on many distinct references: where most are worth
// keeping they replace the anchor's similarities in the Table, which must not
// be read afterwards unless Keep is set. A nil ref stands for all negatives of
// the anchor. Weights that all together are below a millionth of the anchor's
// largest weight are dropped; the argument largest is the largest of its other
// weights. buf is working memory. Many is called at most once per anchor.
func (w *Weights) AddMany(i int, ref []int32, x, dx []float32, largest float32, buf *[]int32) {
	largest = max(largest, scan.AbsMax(dx))
	if largest == 0 {
		return
	}
	if cap(*buf) < scan.ListCap(len(dx)) {
		*buf = make([]int32, 0, scan.ListCap(w.t.NumRefs()))
	}
	e := &w.chunk[i/grain]
	kept := scan.AbsAbove(dx, e.negligible(dx, largest), *buf)
	*buf = kept
	// Flush decides for all anchors loaded. Of a large batch these are a block,
	// and lists of up to half of its pairs would outgrow it.
	share := 2
	if !w.t.isSquare() {
		share = sparseShare
	}
	if share*len(kept) > w.t.NumRefs() {
		w.spreadDense(i, ref, x, dx)
		return
	}
	if ref != nil {
		e.ref, e.c = slices.Grow(e.ref, len(kept)), slices.Grow(e.c, len(kept))
		for _, k := range kept {
			if w.measure == Similarity {
				e.add(ref[k], dx[k])
			} else {
				e.add(w.coefficient(i, int(ref[k]), x[k], dx[k]))
			}
		}
		return
	}
	// The k-th negative is reference k plus the own ones before it.
	own, o := w.t.Groups.NonNegatives(i), 0
	for _, k := range kept {
		for o < len(own) && own[o]-int32(o) <= k {
			o++
		}
		e.add(w.coefficient(i, int(k)+o, x[k], dx[k]))
	}
}

// negligible returns a bound, high within a factor of two, up to which all
// weights together are below a millionth of the largest.
//
// The bound is 2^k times one that holds whatever the weights are, k from 0 to 10. The search
// begins at the k of the chunk's last anchor, which is mostly right; what it finds does not
// depend on where it begins.
func (e *entries) negligible(dx []float32, largest float32) float32 {
	total := largest * 1e-6
	sure := total / float32(len(dx))
	lo, hi := 0, 11 // lo holds, hi does not or is not tried
	for mid := max(e.power, 1); hi-lo > 1; mid = min(max(mid, lo+1), hi-1) {
		if scan.AbsBelowSum(dx, sure*float32(int(1)<<mid)) <= total {
			lo, mid = mid, mid+1
		} else {
			hi, mid = mid, mid-1
		}
	}
	e.power = lo
	return sure * float32(int(1)<<lo)
}

// spreadDense puts weights into the anchor's dense row.
func (w *Weights) spreadDense(i int, ref []int32, x, dx []float32) {
	w.dense[i] = true
	row := w.denseRow(i)
	var sum float64
	put := func(j, k int) {
		r, c := w.coefficient(i, j, x[k], dx[k])
		if r < 0 {
			if c != 0 {
				w.chunk[i/grain].add(r, c)
			}
			c = 0
		}
		row[j] = c
		sum += float64(c)
	}
	if ref != nil {
		clear(row)
		for k, j := range ref {
			put(int(j), k)
		}
	} else {
		for _, j := range w.t.Groups.NonNegatives(i) {
			row[j] = 0
		}
		k := 0
		w.t.forEachNegativeRun(i, func(lo, hi int) {
			if w.measure == Similarity {
				k += copy(row[lo:hi], dx[k:])
				return
			}
			for j := lo; j < hi; j++ {
				put(j, k)
				k++
			}
		})
	}
	w.sumA[i] += sum
}

// sparseShare is the inverse share of pairs with a weight up to which they are
// added one by one; more of them are cheaper as a matrix product. (Measured
// where the two meet: a tenth of the pairs at 128 dimensions, a sixth at 512.)
const sparseShare = 10

// denseRow returns the place of the dense weights of anchor i.
func (w *Weights) denseRow(i int) []float32 {
	if !w.Keep {
		return w.t.Row(i)
	}
	return w.kept.Row(i - w.t.lo)
}

// Reserve allocates room for the dense weights of the Table's loaded anchors,
// unless they are to take the place of the similarities. It follows Table.Load.
func (w *Weights) Reserve() {
	if w.Keep {
		data := resize(w.kept.Data, len(w.t.s.Data))
		w.kept = w.t.s
		w.kept.Data = data
	}
}

// Anchor adds w to the derivative with respect to half the squared norm of
// anchor i.
func (w *Weights) Anchor(i int, dx float64) { w.sumA[i] -= dx }

// Flush adds the dense weights of the Table's loaded anchors to the gradients.
// It must be called before the Table loads others, and after the last.
func (w *Weights) Flush() {
	t := w.t
	lo, hi := t.lo, t.hi
	if !slices.Contains(w.dense[lo:hi], true) && w.entries(lo, hi)*sparseShare <= (hi-lo)*t.NumRefs() {
		return
	}
	if w.fresh {
		zero(w.dA)
		if w.dR != nil {
			zero(w.dR)
		}
		w.fresh = false
	}
	w.scatter.w = w
	par.Do(numChunks(hi-lo), &w.scatter)
	w.blockA, w.blockE, w.block = rows(w.dA, lo, hi), rows(t.A.E, lo, hi), t.s
	if w.Keep {
		w.block = w.kept
	}
	if t.isSquare() && w.dR == nil {
		w.columnSums()
		w.both.run(&w.block)
		matrix.Gemm(false, false, 1, &w.block, t.R.E, 1, &w.blockA)
		return
	}
	matrix.Gemm(false, false, 1, &w.block, t.R.E, 1, &w.blockA)
	dR := w.dR
	if dR == nil {
		dR = w.dA
		w.block.Cols = w.dA.Rows
	}
	matrix.Gemm(true, false, 1, &w.block, &w.blockE, 1, dR)
	w.columnSums()
}

// columnSums adds the sums of the dense weights of each reference to sumR,
// where the measure needs them.
func (w *Weights) columnSums() {
	if w.measure != Similarity {
		w.columnSum.w = w
		par.Do((w.block.Cols+columnGrain-1)/columnGrain, &w.columnSum)
	}
}

// entries returns the number of sparse weights of anchors lo..hi-1.
func (w *Weights) entries(lo, hi int) int {
	n := 0
	for c := lo / grain; c*grain < hi; c++ {
		n += len(w.chunk[c].ref)
	}
	return n
}

// scatter moves the sparse weights of the loaded anchors to dense rows, but for
// those of near pairs.
type scatter struct{ w *Weights }

func (t *scatter) Run(chunk int) {
	w := t.w
	at := w.t.lo/grain + chunk
	e := &w.chunk[at]
	kept, from := int32(0), int32(0)
	for k, end := range e.end {
		i := at*grain + k
		row := w.denseRow(i)
		if !w.dense[i] {
			clear(row)
		}
		if w.measure == Similarity { // no pair is near, and sums are not used
			for p := from; p < end; p++ {
				row[e.ref[p]] += e.c[p]
			}
			from, e.end[k] = end, 0
			continue
		}
		var sum float64
		for p := from; p < end; p++ {
			if j := e.ref[p]; j >= 0 {
				row[j] += e.c[p]
				sum += float64(e.c[p])
			} else {
				e.ref[kept], e.c[kept] = j, e.c[p]
				kept++
			}
		}
		w.sumA[i] += sum
		from, e.end[k] = end, kept
	}
	e.ref, e.c = e.ref[:kept], e.c[:kept]
}

func zero(m *matrix.Dense) {
	for i := range m.Rows {
		clear(m.Row(i))
	}
}

const columnGrain = 256

// columnSum adds up the dense weights per reference.
type columnSum struct{ w *Weights }

func (c *columnSum) Run(chunk int) {
	s := &c.w.block
	lo, hi := chunk*columnGrain, min((chunk+1)*columnGrain, s.Cols)
	sum := c.w.sumR[lo:hi]
	for i := range s.Rows {
		for k, x := range s.Row(i)[lo:hi] {
			sum[k] += float64(x)
		}
	}
}

// Gradient writes the gradients of all weights to dA and dR.
func (w *Weights) Gradient() {
	n, m := w.t.A.E.Rows, w.t.NumRefs()
	w.sortByColumn(n, m)
	w.bands = 1
	if m*w.t.R.E.Cols > nearValues {
		w.bands = (w.t.R.E.Cols + bandCols - 1) / bandCols
	}
	w.rowTask.w = w
	par.Do(numChunks(n)*w.bands, &w.rowTask)
	if w.dR != nil {
		w.colTask.w = w
		par.Do(numChunks(m)*w.bands, &w.colTask)
	}
}

const (
	// nearValues is the number of values of the references up to which all of them
	// stay in the second-level cache while entries pick rows.
	nearValues = 256 << 10
	// bandCols is the width of the bands of columns that larger ones are done in, one
	// after another.
	bandCols = 128
)

// band returns the chunk of rows that a task of Gradient is for, of n chunks, and the
// columns lo..hi-1.
func (w *Weights) band(task, n int) (chunk, lo, hi int) {
	cols := w.t.R.E.Cols
	if w.bands == 1 {
		return task, 0, cols
	}
	lo = task / n * bandCols
	return task % n, lo, min(lo+bandCols, cols)
}

// sortByColumn lists the entries of each reference, anchors ascending.
func (w *Weights) sortByColumn(n, m int) {
	w.colStart = resize(w.colStart, m+1)
	clear(w.colStart)
	total := 0
	for c := range numChunks(n) {
		total += len(w.chunk[c].ref)
		for _, j := range w.chunk[c].ref {
			w.colStart[max(j, ^j)+1]++
		}
	}
	for j := range m {
		w.colStart[j+1] += w.colStart[j]
	}
	w.colRow, w.colC = resize(w.colRow, total), resize(w.colC, total)
	for c := range numChunks(n) {
		e := &w.chunk[c]
		from := int32(0)
		for k, end := range e.end {
			i := int32(c*grain + k)
			for p := from; p < end; p++ {
				j, r := e.ref[p], i
				if j < 0 {
					j, r = ^j, ^i
				}
				at := w.colStart[j]
				w.colStart[j]++
				w.colRow[at], w.colC[at] = r, e.c[p]
			}
			from = end
		}
	}
	copy(w.colStart[1:], w.colStart)
	w.colStart[0] = 0
}

// applyRows finishes the gradient of the anchors: the entries of each as an
// anchor, and, where the references are the anchors, as a reference.
type applyRows struct{ w *Weights }

func (t *applyRows) Run(task int) {
	w := t.w
	n := w.t.A.E.Rows
	chunk, lo, hi := w.band(task, numChunks(n))
	e := &w.chunk[chunk]
	from := int32(0)
	for i := chunk * grain; i < min((chunk+1)*grain, n); i++ {
		out, self := w.dA.Row(i)[lo:hi], w.t.A.E.Row(i)[lo:hi]
		if w.fresh {
			clear(out)
		}
		sum := w.sumA[i]
		end := e.end[i-chunk*grain]
		sum += addWeightedRows(out, self, w.t.R.E, lo, e.ref[from:end], e.c[from:end])
		from = end
		if w.dR == nil {
			first, last := w.colStart[i], w.colStart[i+1]
			sum += w.sumR[i] + addWeightedRows(out, self, w.t.A.E, lo, w.colRow[first:last], w.colC[first:last])
		}
		if w.measure != Similarity {
			simd.Axpy(float32(-sum), self, out)
		}
	}
}

// applyCols finishes the gradient of references that are not anchors.
type applyCols struct{ w *Weights }

func (t *applyCols) Run(task int) {
	w := t.w
	m := w.t.NumRefs()
	chunk, lo, hi := w.band(task, numChunks(m))
	for j := chunk * grain; j < min((chunk+1)*grain, m); j++ {
		out, self := w.dR.Row(j)[lo:hi], w.t.R.E.Row(j)[lo:hi]
		if w.fresh {
			clear(out)
		}
		first, last := w.colStart[j], w.colStart[j+1]
		sum := w.sumR[j] + addWeightedRows(out, self, w.t.A.E, lo, w.colRow[first:last], w.colC[first:last])
		if w.measure != Similarity {
			simd.Axpy(float32(-sum), self, out)
		}
	}
}

// addWeightedRows adds c[k] times row idx[k] of others, from column lo on, to out and returns
// the sum of c. A near pair, its index complemented, adds c[k] (other - self) and is
// not part of the sum.
func addWeightedRows(out, self []float32, others *matrix.Dense, lo int, idx []int32, c []float32) (sum float64) {
	for len(idx) > 0 {
		far := 0
		for far < len(idx) && idx[far] >= 0 {
			sum += float64(c[far])
			far++
		}
		simd.AddRows(out, c[:far], idx[:far], others.Data[lo:], others.Stride)
		if idx, c = idx[far:], c[far:]; len(idx) > 0 {
			other := others.Row(int(^idx[0]))[lo:]
			for d, x := range self {
				out[d] += c[0] * (other[d] - x)
			}
			idx, c = idx[1:], c[1:]
		}
	}
	return sum
}
