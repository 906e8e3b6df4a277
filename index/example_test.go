package index_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/store"
)

// An index of three items, and the nearest of those that are cheap.
func Example() {
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	x, err := index.Create(filepath.Join(dir, "things"), index.Config{Dim: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Close()
	ctx := context.Background()
	price := func(v float64) map[string]any { return map[string]any{"price": v} }
	_, err = x.Add(ctx, []store.Item{
		{ID: "boot", Columns: price(80), Vector: []float32{1, 0}},
		{ID: "clog", Columns: price(15), Vector: []float32{0.8, 0.6}},
		{ID: "hat", Columns: price(10), Vector: []float32{0, 1}},
	}, index.AddOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cheap, err := store.ParseFilter("price < 20")
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := x.Search(ctx, index.Query{Vector: []float32{1, 0}, Filter: cheap})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range res.Hits {
		fmt.Printf("%s %.2f\n", h.ID, h.Distance)
	}
	// Output:
	// clog 0.63
	// hat 1.41
}
