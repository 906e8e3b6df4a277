package items

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// emptyGalleries are an empty index and an empty store of a database, of vectors of 2 numbers.
func emptyGalleries(t *testing.T) map[string]*lookup.Items {
	t.Helper()
	x, err := index.Create(filepath.Join(t.TempDir(), "ix"), index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	none := func() (*run.Model, error) { return nil, nil }
	return map[string]*lookup.Items{"index": lookup.ItemsOfIndex(x),
		"database": {Store: &storetest.Memory{Dim: 2}, Name: "db", Model: none}}
}

// newTable is n embeddings (i, 0) with labels.
func newTable(n int) *embedding.Table {
	x := matrix.New(n, 2)
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
// is, and both have the labels and the further columns. An id that comes twice, and one of another embedding, are
// errors.
func TestAdd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.csv")
	if err := os.WriteFile(file, []byte("id,price,sold\nx/p1,2.5,true\nx/p3,1,false\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, g := range emptyGalleries(t) {
		columns, err := ReadColumns(file)
		if err != nil {
			t.Fatal(err)
		}
		add := func(tab *embedding.Table, update bool) index.Added {
			d := &Adder{Gallery: g, Update: update, Prefix: "x/", Columns: columns}
			if err := d.AddTable(t.Context(), tab, ""); err != nil {
				t.Fatal(name, err)
			}
			if said := d.UnmatchedWarning(); said != "" {
				t.Errorf("%s: %s", name, said)
			}
			return d.Result
		}
		if got := add(newTable(4), false); got != (index.Added{Added: 4}) {
			t.Errorf("%s: %+v", name, got)
		}
		if got := add(newTable(6), false); got != (index.Added{Added: 2, Skipped: 4}) {
			t.Errorf("%s: %+v", name, got)
		}
		twice := newTable(3)
		ids := embedding.NewColumn("id", []string{"p0", "new", "new"})
		twice.ID = &ids
		d := &Adder{Gallery: g, Update: true, Prefix: "x/", Columns: columns}
		if err := d.AddTable(t.Context(), twice, ""); err == nil || !strings.Contains(err.Error(),
			"rows 2 and 3 are both new") {
			t.Errorf("%s: %v", name, err)
		}
		other := newTable(2)
		other.X.Row(1)[1] = 3
		if err := d.AddTable(t.Context(), other, ""); err != nil || d.Result != (index.Added{Replaced: 2}) {
			t.Errorf("%s: %+v, %v", name, d.Result, err)
		}
		other.X.Row(0)[1] = 5
		d = &Adder{Gallery: g, Prefix: "x/", Columns: columns}
		if err := d.AddTable(t.Context(), other, ""); err == nil || !strings.Contains(err.Error(),
			`x/p0 is in `) {
			t.Errorf("%s: an item with another embedding is skipped: %v", name, err)
		}
		it, _, err := g.Find(t.Context(), "x/p1")
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
	g := emptyGalleries(t)["index"]
	for path, want := range map[string]bool{file: true, "": false} {
		c, err := ReadColumns(path)
		if err != nil {
			t.Fatal(err)
		}
		d := &Adder{Gallery: g, Update: true, Columns: c}
		if d.UnmatchedWarning() != "" {
			t.Error("told before anything was added")
		}
		if err := d.AddTable(t.Context(), newTable(2), ""); err != nil {
			t.Fatal(err)
		}
		if said := d.UnmatchedWarning(); (said != "") != want || want && !strings.Contains(said, file) {
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
	for _, class := range []string{"label", "coarse", "fine", "labels"} { // classes are texts, exact to the byte
		if c := newColumn(class, 2, func(i int) string { return []string{"2.1", "2.10"}[i] }); c.kind != store.Text {
			t.Errorf("%s is of kind %v", class, c.kind)
		}
	}
	c := []column{newColumn("c", 1, func(int) string { return "7" })}
	adaptTypes(c, []store.Column{{Name: "c", Kind: store.Text}, {Name: "d", Kind: store.Bool}})
	var it store.Item
	if err := setColumns(&it, c, 0); err != nil || it.Columns["c"] != "7" {
		t.Errorf("%+v, %v", it, err)
	}
	adaptTypes(c, []store.Column{{Name: "c", Kind: store.Bool}})
	if err := setColumns(&it, c, 0); err == nil || !strings.Contains(err.Error(), "column c") {
		t.Error(err)
	}
	c[0].name = "label"
	adaptTypes(c, []store.Column{{Name: "label", Kind: store.Bool}}) // of an older index
	if err := setColumns(&it, c, 0); err == nil || !strings.Contains(err.Error(),
		"made anew with kindred index create") {
		t.Error(err)
	}
	dir := t.TempDir()
	for text, want := range map[string]string{
		"path,a\nx,1\nx,2\n":  "rows 1 and 2 are both x",
		"a,b\n1,2\n":          "no column id and no column path",
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
