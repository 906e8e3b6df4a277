package maps

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/compute/projection"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/matrix"
)

// TestPlace: each method places every row, and says of itself what it knows.
func TestPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := matrix.New(30, 4)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	set := &embedding.Table{X: x, Columns: []embedding.Column{{Name: "n", IDs: make([]int64, 30)}}}
	for _, method := range Methods {
		p, err := Project(context.Background(), x, method,
			projection.SampledTSNE{TSNE: projection.TSNE{Seed: 3, Iterations: 20}})
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if len(p.X) != 30 || len(p.Y) != 30 || p.Rows != 30 || p.Dimensions != 4 || p.Method != method || p.Seed != 3 {
			t.Errorf("%s: %+v", method, p)
		}
		var names []string
		for _, it := range p.Settings() {
			names = append(names, it.Name)
		}
		want, lead := "method rows dimensions perplexity iterations KL seed time", "t-SNE keeps"
		if method == "pca" {
			want, lead = "method rows dimensions component 1 component 2 time", "two directions"
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s", method, got)
		}
		m := NewMap(set, p.X, p.Y)
		if page := p.Page(m); page.Title != "Map of 30 embeddings" || !strings.Contains(page.Lead, lead) {
			t.Errorf("%s: %+v", method, page)
		}
		if panels, ok := Figure(m).(figure.Panels); !ok || len(panels.Figures) != 1 {
			t.Errorf("%s: %T", method, Figure(m))
		}
		m.Columns = nil
		if _, ok := Figure(m).(figure.Panels); ok {
			t.Errorf("%s: panels without a column", method)
		}
	}
	if _, err := Project(context.Background(), x, "umap", projection.SampledTSNE{}); err == nil {
		t.Error("umap is a method")
	}
}

// TestPlaceSample: a map says that t-SNE has placed a sample alone, unless it was to place all pairs.
func TestPlaceSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := matrix.New(30, 4)
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64())
	}
	for method, want := range map[string]int{"tsne": 12, "tsne-exact": 0, "pca": 0} {
		p, err := Project(context.Background(), x, method,
			projection.SampledTSNE{TSNE: projection.TSNE{Iterations: 20}, Rows: 12})
		if err != nil || p.Sample != want || len(p.X) != 30 {
			t.Errorf("%s: a sample of %d, %d rows, %v", method, p.Sample, len(p.X), err)
		}
		said := false
		for _, it := range p.Settings() {
			said = said || it.Name == "by t-SNE" && strings.Contains(it.Value, "12 rows")
		}
		if said != (want > 0) {
			t.Errorf("%s: %+v", method, p.Settings())
		}
	}
}

func TestWriteCSV(t *testing.T) {
	ids := embedding.NewColumn("id", []string{"b", "a"})
	set := &embedding.Table{ID: &ids, Columns: []embedding.Column{embedding.NewColumn("kind, of",
		[]string{"tern", `a "gull"`})}}
	var b strings.Builder
	if err := WriteCSV(&b, set, []float64{0.5, -1}, []float64{2, 1e-10}); err != nil {
		t.Fatal(err)
	}
	if want := "x,y,\"kind, of\",id\n0.5,2,tern,b\n-1,1e-10,\"a \"\"gull\"\"\",a\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
