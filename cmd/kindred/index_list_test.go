package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/parquet"
	"github.com/kindred-ml/kindred/store"
)

// writePriceIndex makes an index of five items, some without a value.
func writePriceIndex(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop.index")
	x, err := index.Create(dir, index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Add(t.Context(), []store.Item{
		{ID: "e", Vector: []float32{5, 0}, Columns: map[string]any{"label": "=1+1", "price": 7, "file.size": 12}},
		{ID: "a", Path: "/p/a,1.jpg", Vector: []float32{1, 0},
			Columns: map[string]any{"label": "shoe \"x\"", "price": 2.5}},
		{ID: "b", Vector: []float32{2, 0}, Columns: map[string]any{"label": "hat\nbig", "sold": true}},
		{ID: "c", Vector: []float32{3, 0}},
		{ID: "d", Vector: []float32{4, 0}, Columns: map[string]any{"label": "shoe", "price": 1e-5, "sold": false}},
	}, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestIndexExport: a table has all items and values of an index, CSV and Parquet alike, and gives them back to another
// index.
func TestIndexExport(t *testing.T) {
	dir := writePriceIndex(t)
	tmp := t.TempDir()
	table, pq := filepath.Join(tmp, "a.csv"), filepath.Join(tmp, "a.parquet")
	if out := mustRun(t, "index", "export", dir, table); !strings.Contains(out, "5 items, 3 columns") {
		t.Error(out)
	}
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 6 || !slices.Equal(rows[0], []string{"id", "path", "label", "price", "sold"}) {
		t.Fatalf("%v, %v", rows, err)
	}
	slices.SortFunc(rows[1:], slices.Compare)
	if !slices.Equal(rows[1], []string{"a", "/p/a,1.jpg", "shoe \"x\"", "2.5", ""}) ||
		!slices.Equal(rows[4], []string{"d", "", "shoe", "1e-05", "false"}) {
		t.Errorf("%q", rows)
	}
	if out := mustRun(t, "index", "export", dir, "-"); out != string(text) {
		t.Errorf("standard output has %q", out)
	}
	mustRun(t, "index", "export", dir, pq, "--vectors", "--filter", "price > 0", "--columns", "price,label")
	f, err := cli.EmbeddingFormats().Read(pq)
	if err != nil || f.X.Rows != 3 || f.X.Cols != 2 || f.Column("label") == nil {
		t.Fatalf("%+v, %v", f, err)
	}
	numbers, err := embedding.Formats{parquet.Format{Fractions: true}}.ReadLabels(pq)
	if err != nil || numbers.Column("price") == nil || numbers.Column("sold") != nil {
		t.Fatalf("%+v, %v", numbers, err)
	}
	for i := range 3 {
		at := map[string]string{"a": "2.5", "d": "1e-05", "e": "7"}
		if id := f.ID.At(i); f.X.Row(i)[0] != float32(id[0]-'a'+1) || numbers.Column("price").At(i) != at[id] {
			t.Errorf("item %s is %v at %s", id, f.X.Row(i), numbers.Column("price").At(i))
		}
	}
	// Missing values stay missing on the way back.
	mustRun(t, "index", "export", dir, pq)
	vectors := filepath.Join(tmp, "v.parquet")
	mustRun(t, "index", "export", dir, vectors, "--vectors", "--columns", "price")
	for k, file := range []string{table, pq} {
		again := filepath.Join(tmp, string(rune('a'+k))+".index")
		mustRun(t, "index", "create", "--embeddings", vectors, "--columns", file, "--out", again)
		if got, want := itemsText(t, again), itemsText(t, dir); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	for want, args := range map[string][]string{"ends in .csv or .parquet": {dir, "x.json"},
		"applies to a .parquet file": {dir, table, "--vectors"},
		`no column "prize"`:          {dir, table, "--columns", "prize"},
		"given twice":                {dir, table, "--columns", "price,price"},
		"prize":                      {dir, table, "--filter", "prize > 1"}} {
		if code, _, stderr := runArgs(t, append([]string{"index", "export"}, args...)...); code != exitUsage ||
			!strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
	}
}

// TestIndexList: pages of a list have each item once, in the order of the ids.
func TestIndexList(t *testing.T) {
	dir := writePriceIndex(t)
	var ids []string
	for after := ""; ; {
		var page itemPage
		if err := json.Unmarshal([]byte(mustRun(t, "index", "list", dir, "--json", "--limit", "2", "--after", after)),
			&page); err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			if ids = append(ids, it.ID); it.Vector != nil || it.Columns["file.size"] != nil {
				t.Errorf("%+v", it)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if strings.Join(ids, "") != "abcde" {
		t.Error(ids)
	}
	if out := mustRun(t, "index", "list", dir, "--filter", "price = 7"); !strings.HasPrefix(out,
		"id  label  price  sold\ne   =1+1   7") {
		t.Error(out)
	}
	if out := mustRun(t, "index", "list", dir, "--filter", "price = 8"); out != "no items\n" {
		t.Error(out)
	}
	if code, _, stderr := runArgs(t, "index", "list", dir, "--limit", "0"); code != exitUsage ||
		!strings.Contains(stderr, "--limit 0") {
		t.Errorf("status %d, %s", code, stderr)
	}
}

// itemsText returns the items of an index with their columns and without their paths, as text.
func itemsText(t *testing.T, dir string) string {
	t.Helper()
	return regexp.MustCompile(`"(index|path)": .*\n *`).ReplaceAllString(mustRun(t, "index", "list", dir, "--json"), "")
}
