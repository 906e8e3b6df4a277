package index

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// An index of an earlier format is searched, and becomes one of this version when it is
// written. That of version 2 has ten items in its log.
func TestReadsVersions(t *testing.T) {
	for version := 1; version < formatVersion; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) { testReadsVersion(t, version) })
	}
}

func testReadsVersion(t *testing.T, version int) {
	dir := filepath.Join(t.TempDir(), "old.index")
	if err := os.CopyFS(dir, os.DirFS(fmt.Sprintf("testdata/version%d", version))); err != nil {
		t.Fatal(err)
	}
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	look := func(x *Index) {
		t.Helper()
		for _, e := range entries(30, 50, 1) {
			r, err := x.Search(t.Context(), Query{Vector: e.Vector, K: 40})
			if err != nil {
				t.Fatal(err)
			}
			removed := e.ID == "item 00003"
			if len(r.Hits) != 29 || removed == (r.Hits[0].ID == e.ID && r.Hits[0].Distance == 0) {
				t.Fatalf("%s: %d found, the nearest %s at %g", e.ID, len(r.Hits), r.Hits[0].ID, r.Hits[0].Distance)
			}
		}
	}
	look(x)
	if v := x.Info().Version; v != version {
		t.Errorf("version %d", v)
	}
	// Its log has no marks, and takes no more.
	for range 2 {
		add(t, x, []store.Item{{ID: "new", Vector: make([]float32, 50)}}, AddOptions{})
		x = reopen(t, x)
		if n, err := x.Remove(t.Context(), "new"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	look(x)
	if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if x = reopen(t, x); x.Info().Version != formatVersion {
		t.Errorf("version %d once it was written", x.Info().Version)
	}
	look(x)
	c, err := Check(t.Context(), dir, CheckOptions{})
	if err != nil || len(c.Problems) > 0 || c.Items != 29 {
		t.Errorf("%v, %+v", err, c)
	}
}

// A log of the earlier format that holds nothing is its header of 16 bytes.
func TestReadsOlderLogs(t *testing.T) {
	dir, path, whole := logOfThree(t)
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	header := append([]byte(olderMagic), whole[8:olderHeader]...)
	frames := whole[logHeader:]
	first := bytes.Index(frames[1:], []byte(frameMagic)) + 1
	for _, c := range []struct {
		log   []byte
		items int // -1: it is refused
	}{
		{header, 0}, {slices.Concat(header, frames[:first]), 1}, {slices.Concat(header, frames), 3},
		{header[:olderHeader-1], -1}, {whole[:olderHeader], -1}, {whole[:logHeader-1], -1}, {nil, -1},
	} {
		writeFile(t, path, c.log)
		items := 0
		_, err := readLog(path, m.Index, m.Dim, func(ops []operation) error {
			items += len(ops)
			return nil
		})
		if (err == nil) != (c.items >= 0) || err == nil && items != c.items {
			t.Errorf("a log of %d bytes: %d items, %v, want %d", len(c.log), items, err, c.items)
		}
	}
}

// Checking tells how many of the bytes of its files it has read, up to all.
func TestCheckTellsHowFarItIs(t *testing.T) {
	x := createSmall(t, Config{Dim: 3})
	for i := range 5 {
		e := entries(45, 3, uint64(i))
		for k := range e {
			e[k].ID = fmt.Sprint(i, " ", k)
		}
		add(t, x, e, AddOptions{})
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(x.Dir())
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(readFile(t, filepath.Join(x.Dir(), m.Log))))
	for _, s := range m.Segments {
		size += int64(len(readFile(t, filepath.Join(x.Dir(), s.File))))
	}
	last, calls := int64(0), 0
	c, err := Check(t.Context(), x.Dir(), CheckOptions{Progress: func(done, total int64) {
		if calls++; done <= last || total != size {
			t.Errorf("%d after %d of %d bytes, want of %d", done, last, total, size)
		}
		last = done
	}})
	if err != nil || calls < 2 || last != size || c.Bytes != size {
		t.Errorf("%v: %d calls, %d and %d bytes, want %d", err, calls, last, c.Bytes, size)
	}
}
