package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/kindred-ml/kindred/serve"
	"github.com/kindred-ml/kindred/store"
	"github.com/kindred-ml/kindred/test/storetest"
)

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
