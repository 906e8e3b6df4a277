package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/store"
)

// swapped is an embedder that stands for the network of another run.
type swapped struct{ serve.Embedder }

// The network and the items of a running server are replaced together. Requests under way finish with the old ones.
func ExampleServer_Replace() {
	ctx := context.Background()
	before, after := &storetest.Memory{Dim: 2}, &storetest.Memory{Dim: 3} // the new network has longer embeddings
	s, err := serve.New(serve.Options{Collections: []serve.Collection{{Name: "shoes", Store: before}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := after.Put(ctx, []store.Item{{ID: "boot", Vector: []float32{1, 0, 0}}}, store.Insert); err != nil {
		log.Fatal(err)
	}
	m := swapped{} // serve.NetworkEmbedder(m) of a run.Model
	if err := s.Replace(serve.Collection{Name: "shoes", Store: after, Embedder: m}); err != nil {
		log.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/v1/items/boot", nil))
	fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	// Output: 200 {"id":"boot","vector":[1,0,0]}
}

// A server is an http.Handler.
func Example() {
	shoes := &storetest.Memory{Dim: 2} // or x.Store(false) of an index
	s, err := serve.New(serve.Options{Collections: []serve.Collection{{Name: "shoes", Store: shoes}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	items := []store.Item{{ID: "boot", Vector: []float32{1, 0}}, {ID: "sandal", Vector: []float32{0, 1}}}
	if err := shoes.Put(context.Background(), items, store.Insert); err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/v1/search", strings.NewReader(`{"vector": [0.9, 0.1], "k": 1}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer bytes.Buffer
	if err := json.Indent(&answer, bytes.TrimSpace(w.Body.Bytes()), "", "  "); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Code, answer.String())
	// Output:
	// 200 {
	//   "schema": 2,
	//   "gallery": "shoes",
	//   "items": 2,
	//   "distance": "euclidean",
	//   "neighbours": [
	//     {
	//       "id": "boot",
	//       "distance": 0.141421374149721,
	//       "label": ""
	//     }
	//   ]
	// }
}
