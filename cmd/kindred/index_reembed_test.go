package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/reembed"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/compute/selfmatch"
	"github.com/kindred-ml/kindred/store"
)

// trainWider is a run on the photos of a folder, whose embeddings have dim numbers.
func trainWider(t *testing.T, dir string, dim string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "wider")
	mustRun(t, "train", "--data", dir, "--out", out, "--set", "data.split=images:0.3", "--set", "train.epochs=1",
		"--set", "network.name=mlp", "--set", "network.width=8", "--set", "network.dim="+dim)
	return out
}

// reembedded requires the items and columns of before with the vectors of a run, bit for bit.
func checkReembedded(t *testing.T, ix, dir, runDir string, before map[string]store.Item) {
	t.Helper()
	again := filepath.Join(t.TempDir(), "again.index")
	mustRun(t, "index", "create", "--run", runDir, "--data", dir, "--out", again)
	got, want := readItems(t, ix), readItems(t, again)
	for id, was := range before {
		g := got[id]
		if g.Path != was.Path || !maps.Equal(g.Columns, was.Columns) || !selfmatch.IsSame(g.Vector, want[id].Vector) {
			t.Errorf("%s is %v, want %v", id, g, was)
		}
	}
	if len(got) != len(before) {
		t.Errorf("%d items, want %d", len(got), len(before))
	}
	var now, other indexInfo
	kindredJSON(t, &now, "index", "info", ix)
	kindredJSON(t, &other, "index", "info", again)
	if !now.Network.IsSame(other.Network.Network) || now.Dim != other.Dim || now.Distance != other.Distance ||
		now.Network.Name != runDir {
		t.Errorf("%+v, want %+v", now.Info, other.Info)
	}
	if _, err := os.Stat(reembed.Folder(ix)); err == nil {
		t.Error("the folder of unfinished work is left")
	}
	mustRun(t, "index", "check", ix)
}

// TestIndexReembed: the items and columns stay, the vectors, dimension and network are new; sync and search use them.
func TestIndexReembed(t *testing.T) {
	dir, ix, runDir := newFollowedIndex(t)
	columns := filepath.Join(t.TempDir(), "items.csv")
	writeBytes(t, columns, []byte("id,price\nc2/4.png,3.5\nc1/1.png,7\n"))
	mustRun(t, "index", "add", ix, "--data", dir, "--update", "--columns", columns)
	mustRun(t, "index", "compact", ix, "--lists", "2")
	other := trainWider(t, dir, "12")
	before := readItems(t, ix)
	var res reembedResult
	kindredJSON(t, &res, "index", "reembed", ix, "--run", other)
	if res.Items != 18 || res.Embedded != 18 || res.Reused != 0 || len(res.Dropped) != 0 || res.Unchanged ||
		res.Calibrated {
		t.Errorf("%+v", res)
	}
	checkReembedded(t, ix, dir, other, before)
	var info indexInfo
	if kindredJSON(t, &info, "index", "info", ix); info.Dim != 12 || info.Lists == nil || info.Lists.NumLists != 2 {
		t.Errorf("%+v", info.Info)
	}
	var found lookup.Results
	kindredJSON(t, &found, "index", "search", ix, filepath.Join(dir, "c0", "1.png"))
	if q := found.Queries[0]; len(q.QueryIDs) != 1 || len(q.Neighbours) != 10 {
		t.Errorf("%+v", q)
	}
	writeBytes(t, filepath.Join(dir, "c0", "new.png"), newNoisePicture(t, 3))
	mustRun(t, "index", "sync", dir, "--index", ix)
	checkMirror(t, ix, dir, other)
	if kindredJSON(t, &res, "index", "reembed", ix, "--run", other); !res.Unchanged || res.Items != 19 {
		t.Errorf("again: %+v", res)
	}
	if kindredJSON(t, &res, "index", "reembed", ix, "--run", runDir); res.Unchanged || res.Embedded != 19 {
		t.Errorf("back: %+v", res)
	}
	checkMirror(t, ix, dir, runDir)
}

// TestIndexReembedRefused: items that cannot be embedded are listed with what to do, and nothing is changed.
func TestIndexReembedRefused(t *testing.T) {
	dir, ix, _ := newFollowedIndex(t)
	other := trainWider(t, dir, "12")
	refused := func(want ...string) {
		t.Helper()
		before := readItems(t, ix)
		code, _, stderr := runArgs(t, "index", "reembed", ix, "--run", other)
		for _, w := range want {
			if code != exitFailure || !strings.Contains(stderr, w) {
				t.Errorf("status %d: %s: want %q", code, stderr, w)
			}
		}
		if after := readItems(t, ix); len(after) != len(before) || len(after["c0/1.png"].Vector) == 12 {
			t.Errorf("%d items, of %d numbers", len(after), len(after["c0/1.png"].Vector))
		}
	}
	if err := os.Remove(filepath.Join(dir, "c0", "1.png")); err != nil {
		t.Fatal(err)
	}
	writeBytes(t, filepath.Join(dir, "c0", "2.png"), newBrokenPicture(t, 1))
	refused("1 item whose photo is missing", "--drop-missing", "c0/1.png: ", "1 item whose photo has changed",
		"kindred index sync PHOTOS --index "+ix, "c0/2.png", "2 of 18 items")
	writeBytes(t, filepath.Join(dir, "c0", "2.png"), newNoisePicture(t, 1))
	mustRun(t, "index", "sync", dir, "--index", ix)
	x, err := index.Open(ix, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.Add(t.Context(), []store.Item{{ID: "vector", Vector: make([]float32, x.Info().Dim)},
		{ID: "gone", Path: filepath.Join(dir, "gone.png"), Vector: make([]float32, x.Info().Dim)},
		{ID: "no picture", Path: writeColumnsFile(t), Vector: make([]float32, x.Info().Dim)}}, index.AddOptions{})
	if err == nil {
		err = x.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	refused("1 item without a photo", "kindred index remove", "vector", "1 item whose photo is missing", "gone: ")
	mustRun(t, "index", "remove", ix, "vector")
	var res reembedResult
	kindredJSON(t, &res, "index", "reembed", ix, "--run", other, "--drop-missing")
	if res.Items != 17 || len(res.Dropped) != 2 {
		t.Errorf("%+v", res)
	}
	checkMirror(t, ix, dir, other)
}

// writeColumnsFile is a file that is no picture.
func writeColumnsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text.png")
	writeBytes(t, path, []byte("no picture"))
	return path
}

// TestIndexReembedUsage: flags that do not apply are refused.
func TestIndexReembedUsage(t *testing.T) {
	_, ix, runDir := newFollowedIndex(t)
	for want, args := range map[string][]string{
		"missing --run or --network": {ix}, "--words": {ix, "--run", runDir, "--words", runDir},
		"unknown distance": {ix, "--run", runDir, "--distance", "far"}, "INDEX": {},
		"--run defines the network": {ix, "--run", runDir, "--size", "32"},
	} {
		code, _, stderr := runArgs(t, append([]string{"index", "reembed"}, args...)...)
		if code != exitUsage || !strings.Contains(strings.ToUpper(stderr), strings.ToUpper(want)) {
			t.Errorf("%v: status %d: %s", args, code, stderr)
		}
	}
}
