package projection

import (
	"context"

	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// neighbours holds the k nearest other rows of each row, unordered, with their
// squared Euclidean distances in float64: entry e of row i is at i*k+e.
type neighbours struct {
	k     int
	index []int32
	dist  []float64
}

// nearest finds them exactly: products in blocks choose the candidates, their
// distances are then computed from differences, so that near duplicates lose
// no digits. Ties in the choice go to the lowest index.
func nearest(ctx context.Context, x *mat.Dense, k int) (*neighbours, error) {
	n := x.Rows
	c, scale := centred(x)
	nb := &neighbours{k: k, index: make([]int32, n*k), dist: make([]float64, n*k)}
	sq := make([]float32, n)
	for i := range n {
		var s float32
		for _, v := range c.Row(i) {
			s += v * v
		}
		sq[i] = s
	}
	const block = 128
	products := mat.New(min(block, n), n)
	heaps := make([]topHeap, min(block, n))
	for lo := 0; lo < n; lo += block {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := c.RowRange(lo, min(lo+block, n))
		s := products.RowRange(0, rows.Rows)
		mat.Gemm(false, true, -2, rows, c, 0, s)
		par.For(rows.Rows, 8, func(a, b int) {
			for r := a; r < b; r++ {
				i := lo + r
				h := &heaps[r]
				h.choose(s.Row(r), sq, i, k)
				for e, j := range h.index {
					d := 0.0
					for t, v := range c.Row(int(j)) {
						diff := float64(rows.Row(r)[t]) - float64(v)
						d += diff * diff
					}
					nb.index[i*k+e] = j
					nb.dist[i*k+e] = d * scale * scale
				}
			}
		})
	}
	return nb, nil
}

// topHeap is a max-heap of the k smallest values seen, by (value, index).
type topHeap struct {
	value []float32
	index []int32
}

// choose fills the heap with the k smallest products[j] + sq[j], j != self.
func (h *topHeap) choose(products, sq []float32, self, k int) {
	h.value, h.index = h.value[:0], h.index[:0]
	if k == 0 {
		return
	}
	for j, p := range products {
		v := p + sq[j]
		if len(h.value) == k && v >= h.value[0] || j == self {
			continue
		}
		if len(h.value) < k {
			h.value, h.index = append(h.value, v), append(h.index, int32(j))
			for c := len(h.value) - 1; c > 0 && h.less((c-1)/2, c); c = (c - 1) / 2 {
				h.swap(c, (c-1)/2)
			}
			continue
		}
		h.value[0], h.index[0] = v, int32(j)
		for c := 0; ; {
			big := c
			for _, s := range [2]int{2*c + 1, 2*c + 2} {
				if s < k && h.less(big, s) {
					big = s
				}
			}
			if big == c {
				break
			}
			h.swap(c, big)
			c = big
		}
	}
}

func (h *topHeap) less(a, b int) bool {
	return h.value[a] < h.value[b] || h.value[a] == h.value[b] && h.index[a] < h.index[b]
}

func (h *topHeap) swap(a, b int) {
	h.value[a], h.value[b] = h.value[b], h.value[a]
	h.index[a], h.index[b] = h.index[b], h.index[a]
}
