package pgvector

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/test/storetest"
	"github.com/kindred-ml/kindred/store"
)

// TestStore holds the driver to the contract, and its answers to those of an index
// folder with the same items.
func TestStore(t *testing.T) {
	url, alone := storetest.StartDatabase(t)
	ctx := t.Context()
	s, err := Create(ctx, url, "contract", store.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Check(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	alone()
	_, err = Create(ctx, url, "contract", store.Config{Dim: 2})
	if err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("made twice: %v", err)
	}
	alone()
	if _, err := Open(ctx, url, "nothing"); err == nil {
		t.Error("a store that is not there was opened")
	}
	alone()
	again, err := Open(ctx, url, "contract")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := again.Info(ctx); err != nil || info.Items != 2 || info.Dim != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	again.Close()
	alone()
	checkFloat16Loss(t, url)
	for _, cfg := range []index.Config{{}, {Distance: eval.Cosine}, {Distance: eval.Dot}} {
		alone()
		compareWithIndex(t, url, cfg)
	}
}

// checkFloat16Loss holds a table of float16 with a graph to what it says it loses.
func checkFloat16Loss(t *testing.T, url string) {
	t.Helper()
	ctx := t.Context()
	s, err := Create(ctx, url, "half", store.Config{Dim: 3, Float16: true, HNSW: true, MaxNeighbours: 8,
		BuildCandidates: 40})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	vectors := [][]float32{{0.1, -65504, 1e-9}, {1, 2, 3}}
	for i, v := range vectors {
		if err := s.Put(ctx, []store.Item{{ID: fmt.Sprint(i), Vector: v}}, store.Insert); err != nil {
			t.Fatal(err)
		}
	}
	it, err := s.Get(ctx, "0")
	if err != nil || math.Abs(float64(it.Vector[0])-0.1) > 0.1*0.0005 || it.Vector[0] == 0.1 ||
		it.Vector[1] != -65504 || it.Vector[2] != 0 {
		t.Errorf("%v came back as %v, %v", vectors[0], it.Vector, err)
	}
	hits, err := s.Search(ctx, store.Query{Vector: []float32{1, 2, 3}, K: 2})
	if err != nil || len(hits) != 2 || hits[0].ID != "1" || hits[0].Distance != 0 {
		t.Errorf("%+v, %v", hits, err)
	}
	var wrong *store.ItemError
	err = s.Put(ctx, []store.Item{{ID: "far", Vector: []float32{1, 1e5, 0}}}, store.Replace)
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "65504") {
		t.Errorf("a number beyond float16: %v", err)
	}
	if info, err := s.Info(ctx); err != nil || info.Loss == "" {
		t.Errorf("nothing is lost: %+v, %v", info, err)
	}
}

// compareWithIndex compares a table with a folder.
func compareWithIndex(t *testing.T, url string, cfg index.Config) {
	t.Helper()
	cfg.Dim = 16
	x, err := index.Create(filepath.Join(t.TempDir(), "index"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	table, err := Create(t.Context(), url, "same_"+cfg.Distance.String(), store.Config{Dim: cfg.Dim,
		Distance: cfg.Distance.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	storetest.CheckSame(t, x.Store(false), table, true)
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "A", "a b", `a"; drop table x`, strings.Repeat("a", 60)} {
		if _, err := Create(t.Context(), "postgres://127.0.0.1:1/x", name, store.Config{Dim: 2}); err == nil ||
			!strings.Contains(err.Error(), "store name ") || !strings.Contains(err.Error(), "must be small letters") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, c := range []store.Config{{}, {Dim: 5000, HNSW: true}, {Dim: 2, Distance: "taxi"}} {
		if _, err := Create(t.Context(), "postgres://127.0.0.1:1/x", "a", c); err == nil ||
			!strings.Contains(err.Error(), ", and euclidean, cosine or dot") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestFilterText: values and names from outside are arguments, never text.
func TestFilterText(t *testing.T) {
	w := &sqlBuilder{}
	text, err := w.condition("`x'; drop table y --` = \"'; drop table z\" and id != \"'\"")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "drop") || len(w.args) != 3 {
		t.Errorf("%s with %q", text, w.args)
	}
}

func TestLiterals(t *testing.T) {
	v := []float32{0, -1.5, 1e-30, 3.4028235e38, 0.1}
	back, err := parseVector(formatVector(v))
	if err != nil || !slices.Equal(back, v) {
		t.Errorf("%v came back as %v, %v", v, back, err)
	}
	if _, err := parseVector("[x]"); err == nil {
		t.Error("a vector of letters")
	}
}
