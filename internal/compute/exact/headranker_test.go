package exact

import (
	"context"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// Where the first items of the order are nearer than its others, the guess of a floor is
// wrong, which is noticed.
func TestHeadsMendGuesses(t *testing.T) {
	const n = 5 * block
	x := matrix.New(n, 1)
	for j := range n {
		x.Row(j)[0] = float32(j * j)
	}
	const depth = 400
	r := NewHeadRanker(NewSpace(x.RowRange(0, 1), x, Euclidean), Self{}, depth, 1<<20, KindAuto)
	for j := range r.order {
		r.order[j] = int32(j)
	}
	r.Progress = func(float64) {}
	h := headFiller{nearScorer: newNearScorer(r.sp)}
	list := head{depth: depth, near: make([]float32, 0, listLen(depth)), row: make([]int32, 0, listLen(depth))}
	list.reset()
	for from := 0; from < n; from += block {
		h.offerAll(&list, 0, r.order[from:from+block])
		h.guessFloor(&list, float64(from+block)/n)
	}
	if h.dropExcess(&list) {
		t.Fatalf("%d items are taken for the first %d", len(list.near), depth)
	}
	err := r.Run(context.Background(), 0, 1, func(h *Head) {
		for k, it := range h.Ordered(func([]Item) bool { return true }) {
			if int(it.Row) != k {
				t.Fatalf("place %d has row %d", k, it.Row)
			}
		}
		for k, j := range h.Rows() {
			if ahead := h.Ahead(k); ahead != int(j) {
				t.Fatalf("%d items are ahead of row %d", ahead, j)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
