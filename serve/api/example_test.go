package api_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

func Example() {
	// Instead of this, `kindred serve shoes.index`.
	s, err := serve.New(serve.Options{Collections: []serve.Collection{{Name: "shoes",
		Store: &storetest.Memory{Dim: 2}}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	server := httptest.NewServer(s)
	defer server.Close()

	ctx := context.Background()
	c, err := api.NewClient(server.URL, api.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	err = c.Add(ctx, []store.Item{
		{ID: "boot", Vector: []float32{1, 0}, Columns: map[string]any{"price": 120}},
		{ID: "sandal", Vector: []float32{0, 1}, Columns: map[string]any{"price": 35}},
		{ID: "slipper", Vector: []float32{0.2, 0.9}, Columns: map[string]any{"price": 15}},
	})
	if err != nil {
		log.Fatal(err)
	}
	found, err := c.Search(ctx, api.Search{ID: "boot", Filter: "price < 100"})
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range found.Neighbours {
		fmt.Printf("%s, %v: %.2f\n", n.ID, n.Columns["price"], n.Distance)
	}
	// Output:
	// slipper, 15: 1.20
	// sandal, 35: 1.41
}
