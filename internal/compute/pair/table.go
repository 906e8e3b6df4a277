package pair

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/matrix"
)

// Table compares anchors with references: all of them at once for a small
// batch, a block of anchors at a time for a large one.
type Table struct {
	A, R   *Rows // the same for a plain batch
	Groups Groups

	lo, hi int
	loaded bool
	s      matrix.Dense
	gram   gram
	split  split
	block  matrix.Dense // the loaded anchors
}

// Load computes the similarities of anchors lo..hi-1. Rows loaded before are
// discarded, and so is what Weights wrote in their place.
func (t *Table) Load(lo, hi int) {
	if lo < 0 || hi < lo || hi > t.A.E.Rows || t.A.E.Cols != t.R.E.Cols {
		panic(fmt.Sprintf("pair: anchors %d..%d of %d x %d against %d x %d", lo, hi, t.A.E.Rows, t.A.E.Cols, t.R.E.Rows,
			t.R.E.Cols))
	}
	t.lo, t.hi, t.loaded = lo, hi, true
	m := t.R.E.Rows
	t.s.Rows, t.s.Cols, t.s.Stride = hi-lo, m, rowStride(m)
	t.s.Data = resize(t.s.Data, (hi-lo)*t.s.Stride)
	if hi == lo {
		return
	}
	if t.isSquare() {
		if usesSplit(t.A) {
			t.split.run(t.A.E, &t.s)
		} else {
			t.gram.run(t.A.E, &t.s)
		}
		return
	}
	t.block = rows(t.A.E, lo, hi)
	matrix.Gemm(false, true, 1, &t.block, t.R.E, 0, &t.s)
}

// rowStride returns how far apart rows of n similarities lie. The lines of a column
// kilobytes apart would fight for a few sets of the first-level cache, so long rows
// are an odd number of lines apart.
func rowStride(n int) int {
	if n < 256 {
		return n
	}
	return (n+15)/16*16 | 16
}

// isSquare reports whether all anchors are loaded and are all references.
func (t *Table) isSquare() bool { return t.A == t.R && t.hi-t.lo == t.A.E.Rows }

// Loaded reports whether anchors lo..hi-1 are loaded and Unload was not called
// since.
func (t *Table) Loaded(lo, hi int) bool { return t.loaded && t.lo == lo && t.hi == hi }

// Unload discards what is loaded; call it before the embeddings change or after
// weights have taken the place of similarities.
func (t *Table) Unload() { t.loaded = false }

// rows is matrix.Dense.RowRange by value.
func rows(m *matrix.Dense, lo, hi int) matrix.Dense {
	v := matrix.Dense{Rows: hi - lo, Cols: m.Cols, Stride: m.Stride}
	if hi > lo {
		v.Data = m.Data[lo*m.Stride : (hi-1)*m.Stride+m.Cols]
	}
	return v
}

// Row returns the similarities of anchor i, which must be loaded, to all
// references.
func (t *Table) Row(i int) []float32 { return t.s.Row(i - t.lo) }

// NumRefs returns the number of references.
func (t *Table) NumRefs() int { return t.R.E.Rows }

// isUnit reports whether D² = 2 - 2S holds for all pairs.
func (t *Table) isUnit() bool { return t.A.Unit && t.R.Unit }

// Value returns measure m between anchor i and reference j, whose similarity is
// s.
func (t *Table) Value(m Measure, i, j int, s float32) float32 {
	if m == Similarity {
		return s
	}
	size := t.A.Sq[i] + t.R.Sq[j]
	d2 := size - 2*s
	if d2 <= near*size {
		return m.fromSquared(SquaredDistance(t.A.E.Row(i), t.R.E.Row(j)))
	}
	return m.fromSquared(float64(d2))
}

// Values writes measure m between anchor i and each reference in idx to dst.
func (t *Table) Values(m Measure, i int, idx []int32, dst []float32) {
	s := t.Row(i)
	if m == Similarity {
		for k, j := range idx {
			dst[k] = s[j]
		}
		return
	}
	for k, j := range idx {
		dst[k] = t.Value(m, i, int(j), s[j])
	}
}

// Negatives writes measure m between anchor i and each of its negatives,
// ascending, to dst[:0] and returns it. dst must have room for all references.
func (t *Table) Negatives(m Measure, i int, dst []float32) []float32 {
	dst = t.CrossSimilarities(i, i, dst)
	if m == Similarity {
		return dst
	}
	k := 0
	t.forEachNegativeRun(i, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			dst[k] = t.Value(m, i, j, dst[k])
			k++
		}
	})
	return dst
}

// CrossSimilarities writes to dst[:0] the similarities between anchor row, which must be
// loaded, and each negative of anchor i, ascending, and returns it. dst must
// have room for all references.
func (t *Table) CrossSimilarities(row, i int, dst []float32) []float32 {
	s := t.Row(row)
	dst = dst[:0]
	from := 0
	for _, j := range t.Groups.NonNegatives(i) {
		dst = append(dst, s[from:j]...)
		from = int(j) + 1
	}
	return append(dst, s[from:]...)
}

// forEachNegativeRun calls f for each maximal range of negatives of anchor i, ascending.
func (t *Table) forEachNegativeRun(i int, f func(lo, hi int)) {
	from := 0
	for _, j := range t.Groups.NonNegatives(i) {
		if int(j) > from {
			f(from, int(j))
		}
		from = int(j) + 1
	}
	if m := t.NumRefs(); m > from {
		f(from, m)
	}
}

// NegativeCount returns the number of negatives of anchor i.
func (t *Table) NegativeCount(i int) int { return t.NumRefs() - len(t.Groups.NonNegatives(i)) }

// NegativeIndices writes the negatives of anchor i, ascending, to dst[:0].
func (t *Table) NegativeIndices(i int, dst []int32) []int32 {
	dst = dst[:0]
	t.forEachNegativeRun(i, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			dst = append(dst, int32(j))
		}
	})
	return dst
}

// Nearness writes to dst, which has one entry per reference, a number that
// grows as a negative comes nearer to anchor i, v = S on the unit sphere and S
// - |r|²/2 elsewhere, and -Inf for references that are not negatives. It
// returns the c for which D² = c - 2v.
func (t *Table) Nearness(i int, dst []float32) (c float32) {
	s := t.Row(i)
	c = 2
	if t.isUnit() {
		copy(dst, s)
	} else {
		c = t.A.Sq[i]
		for j, x := range s {
			dst[j] = x - t.R.Sq[j]/2
		}
	}
	t.maskNonNegatives(i, dst)
	return c
}

// Similarities writes to dst, which has one entry per reference, the
// similarities of anchor i and its negatives, and -Inf for the other
// references.
func (t *Table) Similarities(i int, dst []float32) {
	copy(dst, t.Row(i))
	t.maskNonNegatives(i, dst)
}

func (t *Table) maskNonNegatives(i int, dst []float32) {
	for _, j := range t.Groups.NonNegatives(i) {
		dst[j] = float32(math.Inf(-1))
	}
}

// NearnessOf returns for one reference what Nearness writes for negatives.
func (t *Table) NearnessOf(i, j int) float32 {
	s := t.Row(i)[j]
	if t.isUnit() {
		return s
	}
	return s - t.R.Sq[j]/2
}

// AreNear reports whether anchor i and reference j are so close that only the
// difference of their vectors tells their distance.
func (t *Table) AreNear(i, j int) bool {
	size := t.A.Sq[i] + t.R.Sq[j]
	return size-2*t.Row(i)[j] <= near*size
}
