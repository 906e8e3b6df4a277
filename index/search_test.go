package index

import (
	"fmt"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/store"
)

// A query that is parallel to all items finds them in the order of their ids, at distance 0.
func TestParallelItems(t *testing.T) {
	x := create(t, Config{Dim: 3, Distance: eval.Cosine})
	base := []float32{1, -3.125, -1.125}
	times := func(f float32) []float32 { return []float32{f * base[0], f * base[1], f * base[2]} }
	var items []store.Item
	for i := range 8 {
		items = append(items, store.Item{ID: fmt.Sprint(i), Vector: times(float32(2*i + 1))})
	}
	add(t, x, items, AddOptions{})
	res, err := x.Search(t.Context(), Query{Vector: times(17), K: 5})
	if err != nil {
		t.Fatal(err)
	}
	for i, hit := range res.Hits {
		if hit.ID != fmt.Sprint(i) || hit.Distance != 0 {
			t.Errorf("place %d: %+v", i, hit)
		}
	}
	if len(res.Hits) != 5 {
		t.Errorf("%d items", len(res.Hits))
	}
}
