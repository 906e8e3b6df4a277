package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// BenchmarkIdentify asks for 32 neighbours among 30,000 items of 64 numbers in 1,500
// classes, and decides by as many: the difference is what a decision costs. A set of classes
// takes all that may be in it.
func BenchmarkIdentify(b *testing.B) {
	const items, classes, dim = 30_000, 1500, 64
	rng := rand.New(rand.NewPCG(1, 1))
	centres := make([][dim]float32, classes)
	for c := range centres {
		for k := range dim {
			centres[c][k] = float32(rng.NormFloat64())
		}
	}
	x := matrix.New(items, dim)
	labels := make([]int64, items)
	list := make([]store.Item, items)
	for i := range items {
		labels[i] = int64(i % classes)
		for k, v := range centres[i%classes] {
			x.Row(i)[k] = v + 0.5*float32(rng.NormFloat64())
		}
		list[i] = store.Item{ID: fmt.Sprint(i), Vector: x.Row(i),
			Columns: map[string]any{"label": fmt.Sprint(i % classes)}}
	}
	says, err := decide.Calibrate(b.Context(), x.RowRange(0, 6000), labels[:6000], decide.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ix, err := index.Create(b.TempDir()+"/i", index.Config{Dim: dim})
	if err != nil {
		b.Fatal(err)
	}
	defer ix.Close()
	if _, err := ix.Add(b.Context(), list, index.AddOptions{}); err != nil {
		b.Fatal(err)
	}
	do := &caller{t: b, s: newServer(b, Options{Collections: []Collection{{Name: "things", Store: ix.Store(true),
		Calibration: says}}})}
	search, err := json.Marshal(api.Search{Vector: x.Row(0), K: 32})
	if err != nil {
		b.Fatal(err)
	}
	identify, err := json.Marshal(api.Identify{Vectors: [][]float32{x.Row(0)}})
	if err != nil {
		b.Fatal(err)
	}
	set, err := json.Marshal(api.Identify{Vectors: [][]float32{x.Row(0)}, Coverage: 0.95})
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range []struct {
		name, path string
		body       []byte
	}{{"search", "search", search}, {"identify", "identify", identify}, {"set", "identify", set}} {
		b.Run(e.name, func(b *testing.B) {
			for b.Loop() {
				if a := do.do("POST", "/v1/"+e.path, "application/json", e.body); a.StatusCode != http.StatusOK {
					b.Fatalf("%s", a.body)
				}
			}
		})
	}
}
