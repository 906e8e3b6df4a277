package objective

import (
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/pair"
)

// trimmer holds the terms of a batch to choose those with the lowest loss.
type trimmer struct {
	chunk  []trimChunk
	values []float32
}

// trimChunk holds the terms of a chunk of anchors: triplets (pos, neg), or
// pairs, whose other side is -1.
type trimChunk struct {
	end      []int32 // per anchor of the chunk: where its terms end
	pos, neg []int32
	val      []float32
}

func (t *trimmer) reset(chunks int) {
	for len(t.chunk) < chunks {
		t.chunk = append(t.chunk, trimChunk{})
	}
	t.chunk = t.chunk[:chunks]
	for k := range t.chunk {
		c := &t.chunk[k]
		c.end, c.pos, c.neg, c.val = c.end[:0], c.pos[:0], c.neg[:0], c.val[:0]
	}
}

func (t *trimmer) addTuples(i int, pos, neg []int32, val []float32) {
	c := &t.chunk[i/pair.Grain]
	c.pos, c.neg, c.val = append(c.pos, pos...), append(c.neg, neg...), append(c.val, val...)
}

func (t *trimmer) addCrossPairs(i int, pos int32, neg []int32, val []float32) {
	c := &t.chunk[i/pair.Grain]
	for range neg {
		c.pos = append(c.pos, pos)
	}
	c.neg, c.val = append(c.neg, neg...), append(c.val, val...)
}

func (t *trimmer) addPairs(i int, idx []int32, positive bool, val []float32) {
	c := &t.chunk[i/pair.Grain]
	for _, j := range idx {
		if positive {
			c.pos, c.neg = append(c.pos, j), append(c.neg, -1)
		} else {
			c.pos, c.neg = append(c.pos, -1), append(c.neg, j)
		}
	}
	c.val = append(c.val, val...)
}

func (t *trimmer) endAnchor(i int) {
	c := &t.chunk[i/pair.Grain]
	c.end = append(c.end, int32(len(c.val)))
}

// dropHighest drops the fraction of terms with the highest loss, rounded down; of
// equal ones the last.
func (t *trimmer) dropHighest(fraction float64) {
	t.values = t.values[:0]
	for k := range t.chunk {
		t.values = append(t.values, t.chunk[k].val...)
	}
	keep := len(t.values) - int(fraction*float64(len(t.values)))
	if keep == len(t.values) {
		return
	}
	slices.Sort(t.values)
	limit := t.values[keep] // the lowest that is dropped
	equal := 0              // how many of that value stay
	for k := keep - 1; k >= 0 && t.values[k] == limit; k-- {
		equal++
	}
	for k := range t.chunk {
		c := &t.chunk[k]
		n, from := 0, int32(0)
		for a, end := range c.end {
			for p := from; p < end; p++ {
				v := c.val[p]
				if v == limit && equal > 0 {
					equal--
				} else if v >= limit {
					continue
				}
				c.pos[n], c.neg[n], c.val[n] = c.pos[p], c.neg[p], v
				n++
			}
			from = end
			c.end[a] = int32(n)
		}
		c.pos, c.neg, c.val = c.pos[:n], c.neg[:n], c.val[:n]
	}
}

// selection returns the terms of anchor i that stay.
func (t *trimmer) selection(i int, sel *Selection) *Selection {
	c := &t.chunk[i/pair.Grain]
	from, end := int32(0), c.end[i%pair.Grain]
	if i%pair.Grain > 0 {
		from = c.end[i%pair.Grain-1]
	}
	sel.Pos, sel.Neg = sel.Pos[:0], sel.Neg[:0]
	sel.Paired, sel.All = true, false
	for k := from; k < end; k++ {
		if c.pos[k] >= 0 {
			sel.Pos = append(sel.Pos, c.pos[k])
		}
		if c.neg[k] >= 0 {
			sel.Neg = append(sel.Neg, c.neg[k])
		}
	}
	return sel
}
