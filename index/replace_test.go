package index

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/store"
)

// newTestIndex is an index of n items with vectors of dim numbers, and a file in its folder of the network.
func newTestIndex(t *testing.T, dir, network string, dim, n int) *Index {
	t.Helper()
	cfg := Config{Dim: dim, Network: Network{Network: embedding.Network{Name: network, Fingerprint: network}}}
	if dim != 8 {
		cfg.Distance = eval.Cosine
	}
	x, err := (&Index{dir: dir, sizes: tinyLimits()}).create(cfg)
	if err == nil {
		err = os.MkdirAll(NetworkDir(dir), 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(NetworkDir(dir), "model.json"), []byte(network), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		it := generation(fmt.Sprint("id ", i), 1)
		it.Vector = make([]float32, dim)
		it.Vector[i%dim], it.Vector[0] = 1, float32(i+1)
		if _, err := x.Add(t.Context(), []store.Item{it}, AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// checkContents requires what an index of made holds.
func checkContents(t *testing.T, x *Index, network string, dim, n int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(x.NetworkDir(), "model.json"))
	in := x.Info()
	if err != nil || string(text) != network || in.Network.Fingerprint != network || in.Dim != dim || in.Items != n {
		t.Fatalf("%q, %v, %+v: want %s of %d numbers, %d items", text, err, in, network, dim, n)
	}
	q := make([]float32, dim)
	q[0] = 1
	res, err := x.Search(t.Context(), Query{Vector: q, K: n + 1, Exact: true})
	if err != nil || len(res.Hits) != n {
		t.Fatalf("%d hits, %v", len(res.Hits), err)
	}
}

// TestReplaceContents: the old contents stay to be read, what is opened later has the new ones, with removed rows,
// lists, network and columns; the old files go away.
func TestReplaceContents(t *testing.T) {
	dir := t.TempDir()
	x, other := newTestIndex(t, filepath.Join(dir, "x"), "old", 8, 40),
		newTestIndex(t, filepath.Join(dir, "y"), "new", 5, 60)
	defer other.Close()
	if _, err := x.Add(t.Context(), []store.Item{{ID: "own", Vector: make([]float32, 8),
		Columns: map[string]any{"only here": true}}}, AddOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := other.Compact(t.Context(), CompactOptions{NumLists: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Remove(t.Context(), "id 3", "id 59"); err != nil {
		t.Fatal(err)
	}
	reader, err := Open(x.dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if old, err := reader.IsOutdated(); old || err != nil {
		t.Fatal(old, err)
	}
	if err := x.ReplaceContents(t.Context(), other, other.Info().Network); err != nil {
		t.Fatal(err)
	}
	for _, old := range []*Index{x, reader} {
		if is, err := old.IsOutdated(); !is || err != nil {
			t.Error(is, err)
		}
		checkContents(t, old, "old", 8, 41)
	}
	if _, err := x.Remove(t.Context(), "id 1"); !errors.Is(err, errReplacedContents) {
		t.Errorf("a change: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	checkContents(t, reader, "old", 8, 41)
	again, err := Open(x.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkContents(t, again, "new", 5, 58)
	in := again.Info()
	if in.Lists == nil || in.Distance != eval.Cosine || !slices.ContainsFunc(in.Columns, func(c store.Column) bool {
		return c.Name == "only here"
	}) {
		t.Errorf("%+v", in)
	}
	if _, err := again.Add(t.Context(), []store.Item{{ID: "later", Vector: make([]float32, 5)}},
		AddOptions{}); err != nil {
		t.Error(err)
	}
	old := NetworkDir(again.dir)
	then := time.Now().Add(-2 * networkGrace)
	if err := errors.Join(again.Close(), os.Chtimes(old, then, then)); err != nil {
		t.Fatal(err)
	}
	if again, err = Open(x.dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	checkContents(t, again, "new", 5, 59)
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old network: %v", err)
	}
	c, err := Check(t.Context(), x.dir, CheckOptions{})
	if err != nil || len(c.Problems) > 0 || c.Items != 59 {
		t.Errorf("%+v, %v", c, err)
	}
	segments, err := filepath.Glob(filepath.Join(x.dir, "*.seg"))
	if err != nil || len(segments) != in.Segments {
		t.Errorf("%v, %v: want %d", segments, err, in.Segments)
	}
}

// TestReplaceContentsFails: an error at any step leaves the old contents or the new ones, whole.
func TestReplaceContentsFails(t *testing.T) {
	outcome := map[string]int{}
	for step := 0; ; step++ {
		dir := t.TempDir()
		x, other := newTestIndex(t, filepath.Join(dir, "x"), "old", 8, 20),
			newTestIndex(t, filepath.Join(dir, "y"), "new", 5, 30)
		left := step
		stray := filepath.Join(x.dir, "000099.network") // as of a process that was killed
		if err := errors.Join(os.Mkdir(stray, 0o777), os.WriteFile(filepath.Join(stray, "a"), nil, 0o666)); err != nil {
			t.Fatal(err)
		}
		x.files.Fault = func(op, path string) error {
			if left--; left == -1 {
				return fmt.Errorf("%s %s: fails", op, path)
			}
			return nil
		}
		err := x.ReplaceContents(t.Context(), other, other.Info().Network)
		done := left >= 0
		if e := errors.Join(x.Close(), other.Close()); e != nil && err == nil {
			t.Fatal(e)
		}
		again, e := Open(x.dir, Options{})
		if e != nil {
			t.Fatal(step, e)
		}
		if _, err := os.Stat(stray); err == nil {
			t.Error("the folder of a killed process is left")
		}
		if again.Info().Dim == 8 {
			checkContents(t, again, "old", 8, 20)
			outcome["old"]++
		} else {
			checkContents(t, again, "new", 5, 30)
			outcome["new"]++
		}
		c, e := Check(t.Context(), x.dir, CheckOptions{})
		if e = errors.Join(e, again.Close()); e != nil || len(c.Problems) > 0 {
			t.Fatalf("step %d: %+v, %v", step, c, e)
		}
		if done {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	t.Log(maps.Clone(outcome))
	if outcome["old"] < 5 || outcome["new"] < 1 {
		t.Errorf("%v: the test shows nothing", outcome)
	}
}

// TestYield: another writer takes over while the first one goes on reading.
func TestYield(t *testing.T) {
	x := newTestIndex(t, t.TempDir(), "old", 8, 20)
	if err := errors.Join(x.Yield(), x.Yield()); err != nil {
		t.Fatal(err)
	}
	y, err := Open(x.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if _, err := y.Remove(t.Context(), "id 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Remove(t.Context(), "id 2"); !errors.Is(err, ErrClosed) {
		t.Errorf("a change of one that yielded: %v", err)
	}
	checkContents(t, x, "old", 8, 20)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	checkContents(t, y, "old", 8, 19)
}
