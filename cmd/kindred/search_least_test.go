package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
)

// TestSearchLeast: neighbours come with the probability that they are the same, falling
// with the distance and by the size of the gallery, and --least cuts where it says.
func TestSearchLeast(t *testing.T) {
	dir := t.TempDir()
	catalogue, photos, ix := filepath.Join(dir, "C.csv"), filepath.Join(dir, "Q.csv"), filepath.Join(dir, "ix")
	writeThings(t, catalogue, 0, 40)
	writeThings(t, photos, 38, 39)
	if code, _, stderr := runArgs(t, "index", "create", "--embeddings", catalogue, "--out", ix); code != exitOK {
		t.Fatal(stderr)
	}
	ask := func(args ...string) (got lookup.Results) {
		t.Helper()
		args = append([]string{"index", "search", ix, "--vector", photos, "--neighbours", "20", "--json"}, args...)
		code, out, stderr := runArgs(t, args...)
		if code != exitOK {
			t.Fatal(stderr)
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if n := ask().Queries[0].Neighbours[0]; n.MatchProbability != nil {
		t.Errorf("a probability without a calibration: %v", *n.MatchProbability)
	}
	code, _, stderr := runArgs(t, "index", "search", ix, "--vector", photos, "--least", "0.9")
	if code == exitOK || !strings.Contains(stderr, "kindred calibrate "+ix) {
		t.Errorf("--least without a calibration: %s", stderr)
	}
	if code, _, stderr := runArgs(t, "calibrate", ix); code != exitOK {
		t.Fatal(stderr)
	}
	c, err := decide.Load(filepath.Join(ix, decide.FileName))
	if err != nil {
		t.Fatal(err)
	}
	all, cut := ask(), ask("--least", "0.9")
	if all.Calibration == "" || cut.MinProbability != 0.9 || len(all.Queries) != 8 {
		t.Fatalf("%+v", all)
	}
	total := 0
	for i, q := range all.Queries {
		kept := 0
		for _, n := range q.Neighbours {
			if want := c.MatchProbability(n.Distance, 0.5/40); math.Abs(*n.MatchProbability-want) > 1e-12 {
				t.Fatalf("at %g the probability is %g, want %g", n.Distance, *n.MatchProbability, want)
			}
			if *n.MatchProbability >= 0.9 {
				kept++
			}
		}
		total += kept
		if len(q.Neighbours) != 20 || len(cut.Queries[i].Neighbours) != kept {
			t.Errorf("query %d: %d of %d are kept, want %d", i, len(cut.Queries[i].Neighbours), len(q.Neighbours), kept)
		}
	}
	if total == 0 || total > 8*12 {
		t.Errorf("%d of 160 neighbours are kept", total)
	}
	if p := *ask("--strangers",
		"0.99").Queries[0].Neighbours[0].MatchProbability; p >= *all.Queries[0].Neighbours[0].MatchProbability {
		t.Errorf("among strangers the nearest is as likely: %g", p)
	}
	code, out, stderr := runArgs(t, "index", "search", ix, "--vector", photos, "--least", "1")
	if code != exitOK || !strings.Contains(out, "no neighbour is the same thing with a probability of 1 or more") {
		t.Errorf("%s %s", out, stderr)
	}
	code, out, stderr = runArgs(t, "search", "--index", ix, photos, "--least", "2")
	if code != exitUsage || !strings.Contains(stderr, "--least 2") {
		t.Errorf("%s %s", out, stderr)
	}
}

// TestSearchOtherCalibration: a calibration of another distance is refused where it is
// asked for, and left out with a word where it is only there.
func TestSearchOtherCalibration(t *testing.T) {
	dir := t.TempDir()
	items, cosine := filepath.Join(dir, "C.csv"), filepath.Join(dir, "cosine")
	writeThings(t, items, 0, 40)
	for _, args := range [][]string{{"calibrate", items, "--out", filepath.Join(dir, "c.json")},
		{"index", "create", "--embeddings", items, "--out", cosine, "--distance", "cosine"},
		{"calibrate", items, "--out", filepath.Join(cosine, decide.FileName)}} {
		if code, _, stderr := runArgs(t, args...); code != exitOK {
			t.Fatalf("%v: %s", args, stderr)
		}
	}
	for _, flag := range []string{"--least=0.5", "--calibration=" + filepath.Join(dir, "c.json")} {
		code, _, stderr := runArgs(t, "index", "search", cosine, "--vector", items, flag)
		if code == exitOK || !strings.Contains(stderr, "is for the euclidean distance, but here it is cosine") {
			t.Errorf("%s: status %d, %s", flag, code, stderr)
		}
	}
	code, out, stderr := runArgs(t, "index", "search", cosine, "--vector", items)
	if code != exitOK || strings.Contains(out, "the same") ||
		!strings.Contains(stderr, "does not apply to these distances") {
		t.Errorf("%.300s %s", out, stderr)
	}
}
