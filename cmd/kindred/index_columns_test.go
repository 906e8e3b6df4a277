package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/collection/lookup"
)

// TestIndexColumnsByTheirTypes: decimals, dates and times of a database's Parquet file are filtered by
// what they mean, and what no column can hold is named.
func TestIndexColumnsByTheirTypes(t *testing.T) {
	dir := t.TempDir()
	vectors, ix := filepath.Join(dir, "E.csv"), filepath.Join(dir, "E.index")
	if err := os.WriteFile(vectors, []byte("id,embedding_0\np0,0\np1,1\np2,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	columns := filepath.FromSlash("../../internal/parquet/testdata/duckdb.parquet")
	code, _, stderr := runArgs(t, "index", "create", "--embeddings", vectors, "--columns", columns, "--out", ix)
	if code != exitOK || !strings.Contains(stderr, "the column tags is left out: it is a list of INT(64,true)") ||
		!strings.Contains(stderr, "the column blob is left out: it is of bytes that are not UTF-8 text") {
		t.Fatalf("status %d: %s", code, stderr)
	}
	for filter, want := range map[string]string{
		"dec4 < 1.99":                                 "p1",
		"dec4 <= 1.99":                                "p1 p2",
		"dec18 < -12345678901":                        "p1 p2",
		"u32 = 4294967292":                            "p2",
		"day = 2024-02-29":                            "p1",
		"us >= 2024-01-02T10:00:00":                   "p1 p2",
		"utc > 2024-01-01T10:00:00.000100Z":           "p2",
		`u != "00000000-0000-4000-8000-000000000002"`: "p1",
		`t < "10:00:02"`:                              "p1",
		`u64 = "18446744073709551612"`:                "p2",
	} {
		var got lookup.Results
		kindredJSON(t, &got, "index", "search", ix, "--id", "p0", "--filter", filter)
		var ids []string
		for _, n := range got.Queries[0].Neighbours {
			ids = append(ids, n.ID)
		}
		if strings.Join(ids, " ") != want {
			t.Errorf("%s finds %v, want %s", filter, ids, want)
		}
	}
}
