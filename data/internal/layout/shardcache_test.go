package layout

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/test/archives"
)

// TestShardCache: the index of a large shard is kept, found again, and not believed once the shard
// or the file of the index has changed.
func TestShardCache(t *testing.T) {
	dir := t.TempDir()
	shard := filepath.Join(dir, "s.tar")
	write(t, shard, archives.Tar(t, "a.png", "1", "a.cls", "x", "b.png", "22"))
	c := &shardCache{filepath.Join(dir, "kept"), 1, "cls"}
	x := &tarReader{fields: []string{"cls"}, limit: 1 << 20}
	index := func() (*tarIndex, *tree.RangeFile) {
		f, err := tree.OpenRanged(tree.NewFolder(dir, nil), "s.tar")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		kept := c.find("s.tar", f)
		if kept == nil {
			made, err := x.index(t.Context(), "s.tar", f, f.Size)
			if err != nil {
				t.Fatal(err)
			}
			c.put("s.tar", f, made)
		}
		return kept, f
	}
	if kept, _ := index(); kept != nil {
		t.Fatal("found before it was made")
	}
	kept, f := index()
	if kept == nil || len(kept.Samples) != 2 || kept.Samples[0].Values[0] != (tarValue{"x", true}) || !kept.Marked ||
		kept.Samples[1].Size != 2 {
		t.Fatalf("%+v", kept)
	}
	for name, other := range map[string]*shardCache{"fields": {c.dir, 1, "label"}, "small": {c.dir, f.Size + 1, "cls"},
		"nowhere": {"", 1, "cls"}} {
		if other.find("s.tar", f) != nil {
			t.Errorf("%s: found", name)
		}
	}
	if c.find("other.tar", f) != nil {
		t.Error("found for another shard")
	}
	file := c.path("s.tar")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(b); i += 7 {
		broken := bytes.Clone(b)
		broken[i] ^= 4
		write(t, file, broken)
		if c.find("s.tar", f) != nil {
			t.Fatalf("believed with byte %d changed", i)
		}
	}
	write(t, file, b)
	if err := os.Chtimes(shard, time.Now(), time.Unix(99, 0)); err != nil {
		t.Fatal(err)
	}
	if kept, _ := index(); kept != nil {
		t.Error("believed after the shard has changed")
	}
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTableReplaced: a table that another takes the place of is noticed while it is read.
func TestTableReplaced(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "x.parquet")
	write(t, at, []byte("0123456789"))
	f, err := tree.OpenRanged(tree.NewFolder(dir, nil), "x.parquet")
	if err != nil {
		t.Fatal(err)
	}
	table := &reopeningReader{tree.NewFolder(dir, nil), "x.parquet", f.State}
	f.Close()
	if _, err := table.ReadAt(make([]byte, 9), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(at, time.Now(), time.Unix(99, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := table.ReadAt(make([]byte, 9), 0); !errors.Is(err, tree.ErrShardChanged) {
		t.Errorf("%v", err)
	}
}
