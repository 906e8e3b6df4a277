package exact

import (
	"math"
	"math/bits"

	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

// Counter is a sink that needs only one thing of an item: which of a query's marks it is
// ahead of. While most pairs are of interest, as at first, counting them a
// register at a time is many times faster than showing them one by one.
type Counter interface {
	Sink
	// Marks returns the exact scores of the marks that query i has left, nearest
	// first. It may lose marks at the end, but not change any.
	Marks(i int) []float64
	// Nearer reports whether gallery row j is ahead of mark m of query i.
	Nearer(i, j, m int) bool
	// Add takes the numbers of further items that are ahead of each of the first
	// marks of query i.
	Add(i int, ahead []int32)
}

// maxBulkMarks is the number of marks of a query up to which they are counted in bulk.
const maxBulkMarks = 64

// isBulkWorthwhile reports whether a tile whose queries have up to the given number of marks is
// better counted in bulk, if that share of pairs is of interest: a mark takes as long
// as showing one pair in 128.
func isBulkWorthwhile(marks int, interest float64) bool {
	return marks <= maxBulkMarks && float64(marks) <= 128*interest
}

// bulkCounts is what counting a tile in bulk needs: of each row and each column, bounds of
// the scores that tell which side of a mark an item is on, and the counts.
type bulkCounts struct {
	rowMarks, colMarks [block]int // how many
	most               int        // of any column
	rowLo, rowHi       [block][maxBulkMarks]float32
	rowAhead           [block][maxBulkMarks]int32
	colLo, colHi       [maxBulkMarks][block]float32
	colAhead           [maxBulkMarks][block]int32
	open               [block / 16]uint32
}

// bulk returns the tile's bounds and zero counts, nil if it is not to be counted in
// bulk. It follows thresholds.
func (k *tileTask) bulk(b *buffer, tl tile, mirror bool) *bulkCounts {
	c := k.r.counter
	i0, i1 := k.rows.blockRange(tl.i)
	j0, j1 := k.cols.blockRange(tl.j)
	if c == nil || k.r.self.overlaps(k.rows.lo+i0, k.rows.lo+i1, k.cols.lo+j0, k.cols.lo+j1) {
		return nil
	}
	if b.bulk == nil {
		b.bulk = new(bulkCounts)
	}
	u := b.bulk
	lock := k.lock(tl.i, k.rows)
	lock.Lock()
	defer lock.Unlock()
	for i := i0; i < i1; i++ {
		marks := c.Marks(k.rows.lo + i - k.r.lo)
		if !isBulkWorthwhile(len(marks), k.r.interest) {
			return nil
		}
		at := i - i0
		u.rowMarks[at] = len(marks)
		band, half := b.bandRow[at], float64(k.rows.half[i])
		for m, s := range marks {
			u.rowLo[at][m], u.rowHi[at][m], u.rowAhead[at][m] = quantized.RoundDown(s-band+half),
				quantized.RoundUp(s+band+half), 0
		}
	}
	u.most = 0
	if !mirror {
		return u
	}
	lock = k.lock(tl.j, k.cols)
	lock.Lock()
	defer lock.Unlock()
	for j := j0; j < j1; j++ {
		u.colMarks[j-j0] = len(c.Marks(k.cols.lo + j - k.r.lo))
		u.most = max(u.most, u.colMarks[j-j0])
	}
	if !isBulkWorthwhile(u.most, k.r.interest) {
		return nil
	}
	inf := float32(math.Inf(1))
	for m := range u.most {
		for j := range block {
			u.colLo[m][j], u.colHi[m][j], u.colAhead[m][j] = inf, inf, 0
		}
	}
	for j := j0; j < j1; j++ {
		for m, s := range c.Marks(k.cols.lo + j - k.r.lo) {
			u.colLo[m][j-j0], u.colHi[m][j-j0] = quantized.RoundDown(s-b.bandCol[j-j0]),
				quantized.RoundUp(s+b.bandCol[j-j0])
		}
	}
	return u
}

// countRow counts the scores of row i of the side, which is row i-i0 of the block.
// Pairs that these scores leave open are settled exactly.
func (k *tileTask) countRow(u *bulkCounts, scores []float32, i, i0, j0 int) {
	c, width := k.r.counter, len(scores)
	open := u.open[:width/16]
	at, row, col := i-i0, k.rows.lo+i, k.cols.lo+j0
	for m := range u.rowMarks[at] {
		ahead, left := dot16.CountRow(scores, u.rowLo[at][m], u.rowHi[at][m], open)
		u.rowAhead[at][m] += int32(ahead)
		if left {
			forEachBit(open, func(j int) {
				if c.Nearer(row-k.r.lo, col+j, m) {
					u.rowAhead[at][m]++
				}
			})
		}
	}
	for m := range u.most {
		ahead := &u.colAhead[m]
		if dot16.CountColumns(ahead[:width], scores, k.rows.half[i], u.colLo[m][:width], u.colHi[m][:width], open) {
			forEachBit(open, func(j int) {
				if c.Nearer(col+j-k.r.lo, row, m) {
					ahead[j]++
				}
			})
		}
	}
}

// forEachBit calls f for all bits that are set, 16 a word.
func forEachBit(mask []uint32, f func(j int)) {
	for w, m := range mask {
		for ; m != 0; m &= m - 1 {
			f(16*w + bits.TrailingZeros32(m))
		}
	}
}

// addCounts gives the sink the counts of a tile.
func (k *tileTask) addCounts(u *bulkCounts, tl tile, mirror bool) {
	c := k.r.counter
	i0, i1 := k.rows.blockRange(tl.i)
	j0, j1 := k.cols.blockRange(tl.j)
	shown := 0
	lock := k.lock(tl.i, k.rows)
	lock.Lock()
	for i := i0; i < i1; i++ {
		if n := u.rowMarks[i-i0]; n > 0 {
			shown += int(u.rowAhead[i-i0][n-1])
			c.Add(k.rows.lo+i-k.r.lo, u.rowAhead[i-i0][:n])
		}
	}
	lock.Unlock()
	if mirror {
		lock = k.lock(tl.j, k.cols)
		lock.Lock()
		for j := j0; j < j1; j++ {
			n := u.colMarks[j-j0]
			if n == 0 {
				continue
			}
			var ahead [maxBulkMarks]int32
			for m := range n {
				ahead[m] = u.colAhead[m][j-j0]
			}
			shown += int(ahead[n-1])
			c.Add(k.cols.lo+j-k.r.lo, ahead[:n])
		}
		lock.Unlock()
	}
	k.shown.Add(int64(shown))
}
