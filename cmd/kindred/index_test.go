package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/indexing"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/base/lock"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/store"
)

// kindredJSON runs a command with --json and reads its document.
func kindredJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	code, stdout, stderr := runArgs(t, append(args, "--json")...)
	if code != exitOK {
		t.Fatalf("%v: status %d\n%s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), into); err != nil {
		t.Fatalf("%v: %v: %s", args, err, stdout)
	}
}

// numOwnColumns counts the columns that are not there for sync.
func numOwnColumns(info *indexInfo) int {
	return len(slices.DeleteFunc(info.Columns, func(c store.Column) bool { return strings.HasPrefix(c.Name, "file.") }))
}

func TestIndexOfPhotos(t *testing.T) {
	dir, runDir := searchRun(t)
	home := t.TempDir()
	ix, columns := filepath.Join(home, "photos.index"), filepath.Join(home, "items.csv")
	text := "id,price,tag,sale\nc0/1.png,3.5,007,true\nc0/2.png,30,008,false\nc1/1.png,4,009,\n"
	if err := os.WriteFile(columns, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var added indexing.Added
	kindredJSON(t, &added, "index", "create", "--run", runDir, "--data", dir, "--out", ix, "--columns", columns)
	if added.Added.Added != 18 || added.Items != 18 {
		t.Fatalf("%+v", added)
	}
	if kindredJSON(t, &added, "index", "add", ix, "--data", dir); added.Skipped != 18 || added.Added.Added != 0 {
		t.Errorf("again: %+v", added)
	}
	// The folder alone is enough, and says what kindred search does of the photos.
	one := filepath.Join(dir, "c0", "1.png")
	want, _ := searchFor(t, one, "--run", runDir, "--in", dir, "--neighbours", "5")
	if err := os.RemoveAll(runDir); err != nil {
		t.Fatal(err)
	}
	var got lookup.Results
	kindredJSON(t, &got, "index", "search", ix, one, "--neighbours", "5")
	q := got.Queries[0]
	if len(q.Neighbours) != 5 || len(q.QueryIDs) != 1 || q.QueryIDs[0] != "c0/1.png" || !q.Exact {
		t.Fatalf("%+v", q)
	}
	for i, n := range want.Queries[0].Neighbours {
		if g := q.Neighbours[i]; g.Path != n.Path || g.Label != n.Label || g.Distance != n.Distance {
			t.Errorf("neighbour %d: %+v, want %+v", i, g, n)
		}
	}
	var alias lookup.Results
	kindredJSON(t, &alias, "search", one, "--index", ix, "--neighbours", "5")
	if !reflect.DeepEqual(alias, got) {
		t.Errorf("kindred search --index finds %+v", alias)
	}
	kindredJSON(t, &got, "index", "search", ix, "--id", "c0/1.png", "--filter", `price < 20 and not sale`)
	if q := got.Queries[0]; len(q.Neighbours) != 1 || q.Neighbours[0].ID != "c1/1.png" || *q.Passed != 1 ||
		q.Neighbours[0].Columns["tag"] != "009" {
		t.Errorf("%+v", q)
	}
	code, _, stderr := runArgs(t, "index", "search", ix, "--id", "c0/1.png", "--filter", `prise < 20`)
	if code != exitUsage || !strings.Contains(stderr, `column 1: no column prise (did you mean "price"?)`) {
		t.Errorf("status %d: %s", code, stderr)
	}
	// The same names in another folder are other photos.
	other := writePhotos(t)
	code, _, stderr = runArgs(t, "index", "add", ix, "--data", other)
	if code != exitFailure || !strings.Contains(stderr, "--prefix") {
		t.Errorf("status %d: %s", code, stderr)
	}
	kindredJSON(t, &added, "index", "add", ix, "--data", other, "--prefix", "other/")
	if added.Items != 36 {
		t.Errorf("%+v", added)
	}
	var removed struct{ Removed, Items int }
	kindredJSON(t, &removed, "index", "remove", ix, "--filter", `label = "c2"`)
	if removed.Removed != 12 || removed.Items != 24 {
		t.Errorf("%+v", removed)
	}
	kindredJSON(t, &removed, "index", "remove", ix, "c0/1.png", "nothing")
	if removed.Removed != 1 {
		t.Errorf("%+v", removed)
	}
	var info indexInfo
	kindredJSON(t, &info, "index", "compact", ix)
	if info.Items != 23 || info.Segments+info.Removed != 1 || info.Network.Fingerprint == "" ||
		numOwnColumns(&info) != 4 {
		t.Errorf("%+v", info)
	}
	code, stdout, stderr := runArgs(t, "index", "check", ix)
	if code != exitOK || !strings.Contains(stdout, "23 items") {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, _ := runArgs(t, "index", "info", ix); code != exitOK || !strings.Contains(stdout, "column price") {
		t.Errorf("status %d: %s", code, stdout)
	}
}

func TestIndexOfEmbeddings(t *testing.T) {
	home := t.TempDir()
	e, ix := filepath.Join(home, "E.csv"), filepath.Join(home, "E.index")
	text := "id,label,embedding_0,embedding_1\na,x,0,0\nb,y,1,0\nc,x,0,3\n"
	if err := os.WriteFile(e, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var added indexing.Added
	kindredJSON(t, &added, "index", "create", "--embeddings", e, "--out", ix)
	var got lookup.Results
	kindredJSON(t, &got, "index", "search", ix, "--vector", e, "--neighbours", "2")
	if len(got.Queries) != 3 || got.Queries[0].Neighbours[0].ID != "b" || got.Queries[0].Neighbours[0].Distance != 1 ||
		got.Queries[0].QueryIDs[0] != "a" {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitFailure, "has no network, so photos cannot be embedded: use --id or --vector\n",
			[]string{"search", ix, "photo.jpg"}},
		{exitFailure, `no item "z"`, []string{"search", ix, "--id", "z"}},
		{exitUsage, "--vector: the queries", []string{"search", ix}},
		{exitUsage, "column 9", []string{"search", ix, "--id", "a", "--filter", "label = x"}},
		{exitFailure, "an index already", []string{"create", "--embeddings", e, "--out", ix}},
		{exitFailure, "not the folder of an index", []string{"info", home}},
		{exitUsage, "(--data), or --embeddings", []string{"add", ix}},
		{exitFailure, "so photos cannot be embedded", []string{"add", ix, "--data", home}},
		{exitUsage, "ids or --filter", []string{"remove", ix, "a", "--filter", `id = "b"`}},
	} {
		if code, _, stderr := runArgs(t, append([]string{"index"}, c.args...)...); code != c.code ||
			!strings.Contains(stderr, c.says) {
			t.Errorf("%v: status %d: %s", c.args, code, stderr)
		}
	}
	// Other commands have other flags, or none, in place of photos.
	for _, way := range []string{"", ": use --vector"} {
		look := &inputs.LookupFlags{Console: &console.Console{}, Spec: lookup.Spec{Index: ix, Way: way}}
		source, err := lookup.Open(t.Context(), &look.Spec, look)
		if err != nil {
			t.Fatal(err)
		}
		want := ix + " has no network, so photos cannot be embedded" + way
		if _, _, err := source.EmbedPhotos(t.Context(), []string{home}, ""); err == nil || err.Error() != want {
			t.Errorf("%q: %v", way, err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A model that was saved is read again as it was, whatever it came from.
func TestIndexKeepsTheNetwork(t *testing.T) {
	_, runDir := searchRun(t)
	m, err := run.Load(runDir)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n, err := provenance.SaveNetwork(m, dir, "r")
	if err != nil {
		t.Fatal(err)
	}
	back, err := run.Load(filepath.Join(dir, "network"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := provenance.SaveNetwork(back, t.TempDir(), "r")
	if err != nil || again != n || string(back.Config.YAML()) != string(m.Config.YAML()) {
		t.Errorf("%+v, %+v, %v", n, again, err)
	}
}

// TestIndexColumnsOfParquet: numbers with fractions and missing values of a Parquet
// file can be filtered by.
func TestIndexColumnsOfParquet(t *testing.T) {
	t.Chdir(t.TempDir())
	writeBytes(t, "E.csv", []byte("path,embedding_0,embedding_1\na,0,0\nb,0,1\nc,1,0\n"))
	type row struct {
		Path  string   `parquet:"path"`
		Price *float64 `parquet:"price,optional"`
	}
	cheap, dear := 19.99, 20.5
	var b bytes.Buffer
	w := pq.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{{"c", nil}, {"a", &dear}, {"b", &cheap}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeBytes(t, "P.parquet", b.Bytes())
	runProgram(t, "index create --embeddings E.csv --out E.index --columns P.parquet")
	var got lookup.Results
	kindredJSON(t, &got, "index", "search", "E.index", "--id", "a", "--filter", "price < 20")
	if q := got.Queries[0]; *q.Passed != 1 || q.Neighbours[0].ID != "b" {
		t.Errorf("%+v", q)
	}
}

// TestIndexInUse: a change beside a server names the ways that go through it; beside another program, which one to
// wait for.
func TestIndexInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	x, err := index.Create(dir, index.Config{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, args := range [][]string{{"remove", dir, "a"}, {"compact", dir}} {
		code, _, stderr := runArgs(t, append([]string{"index"}, args...)...)
		if code != exitFailure || !strings.Contains(stderr, "in use by process") ||
			!strings.Contains(stderr, "wait for that program") {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
	}
	for command, want := range map[string]string{"kindred serve ix": "POST", "": "wait for that program",
		"kindred index sync --index ix": "wait for that program"} {
		e := &lock.HeldError{Dir: "ix"}
		if command != "" {
			e.Holder = &lock.Holder{Command: strings.Fields(command)}
		}
		if err := inputs.ExplainInUse(e); !strings.Contains(err.Error(), want) || !errors.Is(err, e) {
			t.Errorf("%q: %v", command, err)
		}
	}
}
