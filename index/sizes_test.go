package index

import (
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	files "github.com/kindred-ml/kindred/internal/base/atomic"
)

// Segments are of one class up to twice the rows that are sealed, of the next up to so many
// times as many as are merged, and so on.
func TestTiers(t *testing.T) {
	z := sizes{seal: 100, fan: 8}
	for rows, want := range map[int]int{1: 0, 200: 0, 201: 1, 1607: 1, 1608: 2, 12863: 2, 12864: 3} {
		if got := z.tier(rows); got != want {
			t.Errorf("%d rows are of class %d, want %d", rows, got, want)
		}
	}
}

// A checksum is of as many vectors, a power of two up to 64, as take up 8 KiB.
func TestSumRows(t *testing.T) {
	for d, want := range map[int]int{1: 64, 32: 64, 33: 32, 64: 32, 65: 16, 512: 4, 1024: 2, 1025: 1, 1 << 20: 1} {
		if got := sumRows(d); got != want {
			t.Errorf("%d rows of dimension %d, want %d", got, d, want)
		}
	}
}

// Tables of ids are powers of two, from eight on, at most two thirds full; the place of an id
// is that of FNV-1a.
func TestSlots(t *testing.T) {
	for n, want := range map[int]int{1: 8, 5: 8, 6: 16, 10: 16, 11: 32, 21: 32, 22: 64} {
		if got := slotCount(n); got != want {
			t.Errorf("%d places for %d ids, want %d", got, n, want)
		}
	}
	for _, id := range []string{"", "a", "item 00042", "\x00\xff"} {
		h := fnv.New64a()
		h.Write([]byte(id))
		if hashID(id) != h.Sum64() {
			t.Errorf("%q has the hash %x, want %x", id, hashID(id), h.Sum64())
		}
	}
}

// Blocks that were seen are known one by one.
func TestSeen(t *testing.T) {
	s := newSeen(65)
	if len(s) != 2 || len(newSeen(64)) != 1 {
		t.Errorf("%d and %d words", len(s), len(newSeen(64)))
	}
	s.add(1)
	s.add(64)
	for b := range 65 {
		if s.has(b) != (b == 1 || b == 64) {
			t.Errorf("block %d was seen: %v", b, s.has(b))
		}
	}
}

// Where the log cannot become a segment, it takes a quarter of what it should hold before
// that is tried again; when it can, all is as before.
func TestLogThatCannotBecomeASegment(t *testing.T) {
	var full atomic.Bool
	var tries atomic.Int64
	z := sizes{bulk: 1000, seal: 20, fan: 100}
	open := &Index{dir: t.TempDir(), sizes: z, files: files.Files{Fault: func(op, path string) error {
		if full.Load() && op == "create" { // a file beside the log
			tries.Add(1)
			return errors.New("no room")
		}
		return nil
	}}}
	x, err := open.create(Config{Dim: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	all := entries(60, 4, 1)
	at := 0
	next := func(n int) {
		t.Helper()
		for range n {
			add(t, x, all[at:at+1], AddOptions{})
			at++
		}
		// A change that adds nothing waits for what came after the last one.
		if n, err := x.Remove(t.Context(), "nobody"); n != 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	segments := func() int {
		all, err := filepath.Glob(filepath.Join(x.dir, "*.seg"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	full.Store(true)
	next(19)
	if tries.Load() != 0 {
		t.Errorf("tried with 19 rows")
	}
	next(1)
	first := tries.Load()
	next(4)
	if tries.Load() != first || first == 0 {
		t.Errorf("tried %d and %d times with 20 and 24 rows", first, tries.Load())
	}
	next(1)
	if tries.Load() == first {
		t.Error("not tried with 25 rows")
	}
	full.Store(false)
	if next(4); segments() != 0 {
		t.Errorf("%d segments of 29 rows", segments())
	}
	if next(1); segments() != 1 {
		t.Errorf("%d segments of 30 rows", segments())
	}
	if next(19); segments() != 1 {
		t.Errorf("%d segments of 30 and 19 rows", segments())
	}
	if next(1); segments() != 2 {
		t.Errorf("%d segments of 30 and 20 rows", segments())
	}
	if in := x.Info(); in.Items != 50 {
		t.Errorf("%d items", in.Items)
	}
}

// The dead file of a segment is of its rows and no others, and every byte of it counts.
func TestDeadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.dead")
	live := full(70)
	live.clear(3)
	live.clear(69)
	if err := writeDead(files.Files{}, path, 70, live); err != nil {
		t.Fatal(err)
	}
	got, err := readDead(openFile(t, path), 70)
	if err != nil || got.count() != 68 || got.has(3) || got.has(69) || !got.has(68) {
		t.Errorf("%v, %v", got, err)
	}
	text, err := os.ReadFile(path)
	if err != nil || len(text) != 32 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	var damage *DamageError
	for n, want := range map[int]string{71: "it is of a segment of 70 rows: want 71", 129: "it is no list of 40 bytes",
		64: "it is of a segment of 70 rows: want 64"} {
		if _, err := readDead(openFile(t, path), n); !errors.As(err, &damage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d rows: %v, want %s", n, err, want)
		}
	}
	for i := range text {
		bad := append([]byte{}, text...)
		bad[i] ^= 4
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readDead(openFile(t, path), 70); !errors.As(err, &damage) {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := os.WriteFile(path, text[:i], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readDead(openFile(t, path), 70); !errors.As(err, &damage) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}
