package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/app/cli/indexing"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
)

// Prices as Python writes them are numbers; one that is none makes texts of all, and
// the error of a filter names it.
func TestIndexOfPythonsNumbers(t *testing.T) {
	dir := t.TempDir()
	e := filepath.Join(dir, "e.csv")
	text := "id,embedding_0,embedding_1\na,1,0\nb,0,1\nc,1,1\nd,2,1\n"
	columns := "id,price,size\na,0.30000000000000004,3\nb,1e-05,1e-05\nc,1E+20,n/a\nd,,-0.0\n"
	for path, s := range map[string]string{e: text, filepath.Join(dir, "columns.csv"): columns} {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ix := filepath.Join(dir, "x.index")
	var added indexing.Added
	kindredJSON(t, &added, "index", "create", "--embeddings", e, "--columns", filepath.Join(dir, "columns.csv"),
		"--out", ix)
	var got lookup.Results
	kindredJSON(t, &got, "index", "search", ix, "--id", "c", "--filter", "price < 20")
	if q := got.Queries[0]; *q.Passed != 2 || len(q.Neighbours) != 2 {
		t.Errorf("%+v", q)
	}
	kindredJSON(t, &got, "index", "search", ix, "--id", "a", "--filter", "price = 1e20")
	if q := got.Queries[0]; *q.Passed != 1 || q.Neighbours[0].ID != "c" {
		t.Errorf("%+v", q)
	}
	code, _, stderr := runArgs(t, "index", "search", ix, "--id", "a", "--filter", "size < 20")
	if code != exitUsage || !strings.Contains(stderr, `"n/a" of item "c" is not a number`) {
		t.Errorf("status %d: %s", code, stderr)
	}
}
