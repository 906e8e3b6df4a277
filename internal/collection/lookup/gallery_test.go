package lookup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/store"
)

// newGalleries fills every kind of gallery with items of two classes.
func newGalleries(t *testing.T) map[string]Gallery {
	t.Helper()
	const n = 12
	table := &embedding.Table{X: matrix.New(n, 2)}
	var labels []string
	var list []store.Item
	for i := range n {
		table.X.Row(i)[0], table.X.Row(i)[1] = float32(i), float32(i*i)/16
		labels = append(labels, fmt.Sprintf("c%d", i/6))
		table.Files = append(table.Files, fmt.Sprintf("%02d.jpg", i))
		list = append(list, store.Item{ID: table.Files[i], Path: table.Files[i], Vector: table.X.Row(i),
			Columns: map[string]any{"label": labels[i]}})
	}
	return fillGalleries(t, table, labels, list)
}

// fillGalleries returns every kind of gallery with the same items.
func fillGalleries(t *testing.T, table *embedding.Table, labels []string, list []store.Item) map[string]Gallery {
	t.Helper()
	table.Columns = []embedding.Column{embedding.NewColumn("label", labels)}
	all := map[string]Gallery{"table": &Table{Set: &Set{Table: table}, Name: "E.csv"}}
	for name, g := range emptyItems(t) {
		if err := g.Store.Put(t.Context(), list, store.Replace); err != nil {
			t.Fatal(err)
		}
		all[name] = g
	}
	return all
}

// TestGalleries: whoever asks a gallery is told the same by each kind of it.
func TestGalleries(t *testing.T) {
	queries := []Query{{Name: "v", Vector: []float32{2.4, 0.5}},
		{Name: "q", Path: "03.jpg", Vector: []float32{3, 9. / 16}}}
	for name, g := range newGalleries(t) {
		in, err := g.Info(t.Context())
		if err != nil || in.Items != 12 || in.Dim != 2 || in.Name == "" || len(in.Columns) != 1 ||
			in.Columns[0] != (store.Column{Name: "label", Kind: store.Text}) {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
		got, err := Nearest(t.Context(), g, queries, Options{K: 3})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, a := range got {
			text += fmt.Sprint(a.Query, a.QueryIDs)
			for _, n := range a.Neighbours {
				text += fmt.Sprintf(" %s %s %.4f", n.Path, n.Label, n.Distance)
			}
			text += "; "
		}
		if want := "v[] 02.jpg c0 0.4717 03.jpg c0 0.6032 01.jpg c0 1.4668; " +
			"q[03.jpg] 02.jpg c0 1.0477 04.jpg c0 1.0915 01.jpg c0 2.0616; "; text != want {
			t.Errorf("%s: %s", name, text)
		}
		labels, err := g.Labels(t.Context())
		classes := map[string]int{"table": 2, "index": 2}[name]
		if err != nil || labels.Items != 12 || labels.Classes != classes || classes > 0 && labels.Photos("c1") != 6 {
			t.Errorf("%s: %+v, %v", name, labels, err)
		}
		for range 2 { // of an index from its folder
			m, err := g.Measures(t.Context(), &decide.Calibration{}, 0.8)
			if err != nil || !slices.Equal(slices.Sorted(maps.Keys(m.Spread)), []string{"c0", "c1"}) || m.Means == nil {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
		}
		if p := g.Picture(&got[0].Neighbours[0]); p != (Picture{Name: "02.jpg", Label: "c0"}) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestForeign: the same embedding but for rounding is no other network's.
func TestForeign(t *testing.T) {
	queries := []Query{{Path: "a", Vector: []float32{3, 4}}, {Path: "b", Vector: []float32{3, 4}}}
	for _, c := range []struct {
		gallery []float32
		query   int
		foreign bool
	}{
		{[]float32{3, 4, 3, 4}, 0, false}, {[]float32{3, 4, 3.2, 4}, 0, false}, {[]float32{3, 4, 3.3, 4}, 1, true},
		{[]float32{4, 3, 3, 4}, 0, true},
	} {
		g := &Table{Set: &Set{Table: &embedding.Table{X: matrix.FromSlice(2, 2, c.gallery), Files: []string{"a", "b"}}}}
		answers, err := Nearest(t.Context(), g, queries, Options{K: 1})
		if err != nil {
			t.Fatal(err)
		}
		if query, foreign := g.FindForeignQuery(queries, answers); query != c.query || foreign != c.foreign {
			t.Errorf("%v: query %d, %v", c.gallery, query, foreign)
		}
	}
}

// TestByVector: rows are named, and embeddings of another length are refused.
func TestByVector(t *testing.T) {
	list, err := QueriesByVector(&embedding.Table{X: matrix.FromSlice(2, 2, []float32{0, 0, 1, 0})}, "E.npy", 2)
	if err != nil || len(list) != 2 || list[1].Name != "table#row=2" || list[1].Vector[0] != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, tab := range []*embedding.Table{{}, {X: matrix.New(1, 2)}} {
		if _, err := QueriesByVector(tab, "E.npy", 3); err == nil ||
			!strings.Contains(err.Error(), "E.npy has no embeddings of 3") {
			t.Error(err)
		}
	}
}
