package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// TestPush copies an index into a database twice, which changes nothing the second
// time, and serves it from there.
func TestPush(t *testing.T) {
	url, alone := storetest.StartDatabase(t)
	url += "#things"
	dir := filepath.Join(t.TempDir(), "i")
	x, err := index.Create(dir, index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	var entries []store.Item
	for i := range 25 {
		entries = append(entries, store.Item{ID: fmt.Sprint(i), Columns: map[string]any{"price": float64(i),
			"label": float64(i)}, // as an older index keeps classes that are numbers
			Vector: []float32{float32(i), 0.1}})
	}
	if _, err := x.Add(t.Context(), entries, index.AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		code, out, errOut := runArgs(t, "index", "push", dir, "--to", url, "--batch", "10")
		if code != exitOK || !strings.Contains(out, "25 items are in things") {
			t.Fatal(code, out, errOut)
		}
		alone()
	}
	s, stop := startServe(t, "--store", url)
	c, err := api.NewClient(s.URL, api.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Search(t.Context(), api.Search{ID: "7", K: 2, Filter: "price > 7"})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Neighbours) != 2 || found.Neighbours[0].ID != "8" || found.Neighbours[0].Distance != 1 {
		t.Errorf("%+v", found)
	}
	if len(found.Neighbours) > 0 && found.Neighbours[0].Columns["label"] != "8" {
		t.Errorf("the class is %v, want the text 8", found.Neighbours[0].Columns["label"])
	}
	info, err := c.Info(t.Context())
	if err != nil || info.Collections[0].Items != 25 {
		t.Errorf("%+v, %v", info, err)
	}
	stop()
	alone()
	other := filepath.Join(t.TempDir(), "o")
	if x, err = index.Create(other, index.Config{Dim: 3}); err != nil {
		t.Fatal(err)
	}
	x.Close()
	if code, _, errOut := runArgs(t, "index", "push", other, "--to", url); code != exitFailure ||
		!strings.Contains(errOut, "has vectors of 2 numbers") {
		t.Errorf("another length: status %d, %s", code, errOut)
	}
}

func TestStoreAddresses(t *testing.T) {
	for _, url := range []string{"", "x", "postgres://host/db", "http://host#a", "#a"} {
		if _, _, err := inputs.SplitStore(url); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
	code, _, errOut := runArgs(t, "serve", "--listen", "127.0.0.1:0", "--store", "postgres://me:secret@host/db")
	if code != exitUsage || strings.Contains(errOut, "secret") {
		t.Errorf("status %d: %s", code, errOut)
	}
}
