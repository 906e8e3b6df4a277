package items

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/testing/storetest"
	"github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// galleries are an empty index and an empty store of a database, of vectors of 2 numbers.
func galleries(t *testing.T) map[string]*Gallery {
	t.Helper()
	x, err := index.Create(filepath.Join(t.TempDir(), "ix"), index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	none := func() (*run.Model, error) { return nil, nil }
	return map[string]*Gallery{"index": OfIndex(x),
		"database": {Store: &storetest.Memory{Dim: 2}, Name: "db", Model: none}}
}

// table is n embeddings (i, 0) with labels.
func table(n int) *embedding.Table {
	x := mat.New(n, 2)
	ids := make([]string, n)
	labels := make([]string, n)
	for i := range n {
		x.Row(i)[0] = float32(i)
		ids[i], labels[i] = fmt.Sprintf("p%d", i), fmt.Sprintf("c%d", i%2)
	}
	id := embedding.NewColumn("id", ids)
	return &embedding.Table{X: x, ID: &id, Columns: []embedding.Column{embedding.NewColumn("label", labels)}}
}

// TestAdd: an index and a database count alike what is new, what is replaced, and what is left as it
// is, also where an id comes twice; and both have the labels and the further columns.
func TestAdd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.csv")
	if err := os.WriteFile(file, []byte("id,price,sold\nx/p1,2.5,true\nx/p3,1,false\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, g := range galleries(t) {
		columns, err := ReadColumns(file)
		if err != nil {
			t.Fatal(err)
		}
		add := func(tab *embedding.Table, update bool) index.Added {
			d := &Adder{To: g, Update: update, Prefix: "x/", Columns: columns}
			if err := d.Table(t.Context(), tab, ""); err != nil {
				t.Fatal(name, err)
			}
			if said := d.Unmatched(); said != "" {
				t.Errorf("%s: %s", name, said)
			}
			return d.Done
		}
		if got := add(table(4), false); got != (index.Added{Added: 4}) {
			t.Errorf("%s: %+v", name, got)
		}
		if got := add(table(6), false); got != (index.Added{Added: 2, Skipped: 4}) {
			t.Errorf("%s: %+v", name, got)
		}
		twice := table(7)
		ids := embedding.NewColumn("id", []string{"p0", "p1", "p2", "p3", "new", "p5", "new"})
		twice.ID = &ids
		twice.X.Row(6)[0] = 100
		if got := add(twice, true); got != (index.Added{Added: 1, Replaced: 6}) {
			t.Errorf("%s: %+v", name, got)
		}
		it, ok, err := g.Find(t.Context(), "x/new")
		if err != nil || !ok || it.Vector[0] != 100 {
			t.Errorf("%s: %+v, %v, %v: the last of an id counts", name, it, ok, err)
		}
		it, _, err = g.Find(t.Context(), "x/p1")
		if err != nil || it.Columns["price"] != 2.5 || it.Columns["sold"] != true || it.Columns["label"] != "c1" {
			t.Errorf("%s: %+v, %v", name, it.Columns, err)
		}
		if _, ok, err := g.Find(t.Context(), "x/none"); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

// TestUnmatched: columns of other ids are told, and only then.
func TestUnmatched(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.csv")
	if err := os.WriteFile(file, []byte("id,price\nother,2.5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	g := galleries(t)["index"]
	for path, want := range map[string]bool{file: true, "": false} {
		c, err := ReadColumns(path)
		if err != nil {
			t.Fatal(err)
		}
		d := &Adder{To: g, Update: true, Columns: c}
		if d.Unmatched() != "" {
			t.Error("told before anything was added")
		}
		if err := d.Table(t.Context(), table(2), ""); err != nil {
			t.Fatal(err)
		}
		if said := d.Unmatched(); (said != "") != want || want && !strings.Contains(said, file) {
			t.Errorf("%q: %q", path, said)
		}
	}
}

// TestColumns: a column is of numbers or truth values only if all its values are, takes the kind that
// the gallery has there, and is refused if its values are not of that.
func TestColumns(t *testing.T) {
	for want, values := range map[store.Kind][]string{
		store.Number: {"1", "", "2.5"}, store.Bool: {"true", "false"}, store.Text: {"1", "two"},
	} {
		if c := newColumn("c", len(values), func(i int) string { return values[i] }); c.kind != want {
			t.Errorf("%q are %v, want %v", values, c.kind, want)
		}
	}
	if c := newColumn("c", 2, func(int) string { return "" }); c.kind != store.Text {
		t.Errorf("no values are %v", c.kind)
	}
	c := []column{newColumn("c", 1, func(int) string { return "7" })}
	adapt(c, []store.Column{{Name: "c", Kind: store.Text}, {Name: "d", Kind: store.Bool}})
	var it store.Item
	if err := set(&it, c, 0); err != nil || it.Columns["c"] != "7" {
		t.Errorf("%+v, %v", it, err)
	}
	adapt(c, []store.Column{{Name: "c", Kind: store.Bool}})
	if err := set(&it, c, 0); err == nil || !strings.Contains(err.Error(), "column c") {
		t.Error(err)
	}
	dir := t.TempDir()
	for text, want := range map[string]string{
		"path,a\nx,1\nx,2\n":  "rows 1 and 2 are both of x",
		"a,b\n1,2\n":          "neither a column id nor",
		"path,id\nx,1\ny,1\n": `rows 1 and 2 both have the id "1"`,
	} {
		path := filepath.Join(dir, "c.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadColumns(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestLookUp: the photo itself is left out, however many copies of it there are, and so is the item
// that was asked for by its id.
func TestLookUp(t *testing.T) {
	for name, g := range galleries(t) {
		const copies = 30 // more than are asked for beside those wanted, twice
		var list []store.Item
		for i := range copies + 20 {
			at := float32(max(0, i-copies+1))
			list = append(list, store.Item{ID: fmt.Sprintf("i%02d", i), Vector: []float32{at, 0}})
		}
		if _, err := g.Add(t.Context(), list, index.AddOptions{}); err != nil {
			t.Fatal(name, err)
		}
		opt := Options{K: 5, Distance: rank.Euclidean}
		photo := Query{Name: "q.jpg", Path: "q.jpg", Vector: []float32{0, 0}}
		plain := Query{Name: "row", Vector: []float32{0, 0}}
		byID, err := g.ByID(t.Context(), []string{"i49"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.LookUpAll(t.Context(), []Query{photo, plain, byID[0]}, opt)
		if err != nil {
			t.Fatal(name, err)
		}
		if a := got[0]; len(a.Itself) != copies || len(a.Neighbours) != 5 || a.Neighbours[0].ID != "i30" ||
			a.Neighbours[0].Distance != 1 {
			t.Errorf("%s: of a photo %d are itself, and %+v", name, len(a.Itself), a.Neighbours)
		}
		if a := got[1]; len(a.Itself) != 0 || len(a.Neighbours) != 5 || a.Neighbours[0].Distance != 0 {
			t.Errorf("%s: %+v", name, a)
		}
		if a := got[2]; !slices.Equal(a.Itself, []string{"i49"}) || a.Neighbours[0].ID != "i48" {
			t.Errorf("%s: %+v", name, a)
		}
		if counted := got[1].Passed; counted != map[string]int{"index": copies + 20, "database": -1}[name] {
			t.Errorf("%s: %d passed", name, counted)
		}
		if _, err := g.ByID(t.Context(), []string{"none"}); err == nil || !strings.Contains(err.Error(), `"none"`) {
			t.Error(name, err)
		}
		if _, err := g.Network(": ask otherwise"); err == nil ||
			!strings.HasSuffix(err.Error(), "embedded: ask otherwise") {
			t.Error(name, err)
		}
	}
}

// TestByVector: rows are named, and embeddings of another length are refused.
func TestByVector(t *testing.T) {
	list, err := ByVector(table(2), "E.npy", 2)
	if err != nil || len(list) != 2 || list[1].Name != "E.npy, row 2" || list[1].Vector[0] != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, tab := range []*embedding.Table{{}, table(1)} {
		if _, err := ByVector(tab, "E.npy", 3); err == nil ||
			!strings.Contains(err.Error(), "E.npy holds no embeddings of 3") {
			t.Error(err)
		}
	}
}

// TestWrite: fields come in the order of the columns, quoted where they would be read otherwise.
func TestWrite(t *testing.T) {
	p := 0.97
	a := Answers{Least: 0.5, Queries: []Answer{
		{Query: "q.jpg", Itself: []string{"a", "b"}, Neighbours: []Item{
			{ID: "c", Path: "p/c.jpg", Distance: 0.5, Same: &p, Fields: map[string]any{"z": "two words", "n": 2.5}},
			{ID: "d", Distance: 1},
		}},
		{Query: "r.jpg"},
	}}
	var b strings.Builder
	if err := a.Write(&b, []store.Column{{Name: "n", Kind: store.Number}, {Name: "z", Kind: store.Text}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"q.jpg\nitself in the index, and left out: a, b\n", "p/c.jpg  n=2.5 z=\"two words\"",
		"97 %", "\n\nr.jpg\nnothing is the same with a probability of 0.5 or more\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q lacks %q", b.String(), want)
		}
	}
}

// An id that is not there is an error, with the one that is most like it.
func TestByID(t *testing.T) {
	for name, g := range galleries(t) {
		some := []store.Item{{ID: "p3", Vector: []float32{3, 0}}, {ID: "p11", Vector: []float32{11, 0}}}
		if _, err := g.Add(t.Context(), some, index.AddOptions{}); err != nil {
			t.Fatal(name, err)
		}
		list, err := g.ByID(t.Context(), []string{"p3"})
		if err != nil || len(list) != 1 || list[0].Vector[0] != 3 {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
		if _, err := g.ByID(t.Context(), []string{"P11"}); name == "index" && (err == nil ||
			!strings.HasSuffix(err.Error(), `has no item "P11" (did you mean "p11"?)`)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
