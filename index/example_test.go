package index_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/index"
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
	price := func(v float64) map[string]index.Value { return map[string]index.Value{"price": index.Number(v)} }
	_, err = x.Add(ctx, []index.Entry{
		{Item: index.Item{ID: "boot", Fields: price(80)}, Vector: []float32{1, 0}},
		{Item: index.Item{ID: "clog", Fields: price(15)}, Vector: []float32{0.8, 0.6}},
		{Item: index.Item{ID: "hat", Fields: price(10)}, Vector: []float32{0, 1}},
	}, index.AddOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cheap, err := index.ParseFilter("price < 20")
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

// A filter that is wrong says where.
func ExampleParseFilter() {
	_, err := index.ParseFilter(`price < 20 and category = shoe`)
	fmt.Println(err)
	// Output: filter, column 27: want a number, a text in quotes, true or false ("shoe" would be a text), not shoe
}
