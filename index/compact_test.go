package index

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// Where the manifest cannot be replaced, a compaction leaves no file that none names, whether it
// has written a segment or had no rows to write, and the next one succeeds.
func TestCompactThatCannotEnd(t *testing.T) {
	full := errors.New("the disk is full")
	for _, left := range []int{0, 1, 5} {
		fails, step := 0, 0 // which of the replacements
		open := &Index{dir: t.TempDir(), sizes: defaultLimits(),
			files: atomic.Files{Fault: func(op, path string) error {
				if op == "rename" && filepath.Base(path) == manifestFile {
					if step++; step == fails {
						return full
					}
				}
				return nil
			}}}
		x, err := open.create(Config{Dim: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		all := entries(5, 2, 1)
		add(t, x, all, AddOptions{})
		if err := x.Compact(t.Context(), CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, e := range all[left:] {
			if _, err := x.Remove(t.Context(), e.ID); err != nil {
				t.Fatal(err)
			}
		}
		err = full
		for fails = 1; err != nil; fails++ {
			step = 0
			if err = x.Compact(t.Context(), CompactOptions{}); err != nil && !errors.Is(err, full) {
				t.Fatal(err)
			}
			if got, want := presentFiles(t, x.dir), namedFiles(x.w.m); !slices.Equal(got, want) {
				t.Errorf("%d items, failure %d: there are %q, and the manifest names %q", left, fails, got, want)
			}
			if n := x.Info().Items; n != left {
				t.Errorf("%d items for %d", n, left)
			}
		}
		if fails < 3 {
			t.Errorf("%d items: only %d replacements failed", left, fails-2)
		}
	}
}

// presentFiles are those of a folder that a manifest can name.
func presentFiles(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if fileName.MatchString(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out
}

func namedFiles(m *manifest) []string {
	out := []string{m.Log}
	for _, s := range m.Segments {
		if out = append(out, s.File); s.RemovedFile != "" {
			out = append(out, s.RemovedFile)
		}
	}
	slices.Sort(out)
	return out
}

// Files have the numbers from the manifest's next one on, each once.
func TestNamesOfFiles(t *testing.T) {
	w := &writer{}
	w.next.Store(999_999)
	for _, want := range []string{"999999.seg", "1000000.seg"} {
		if got := w.newName("seg"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if w.next.Store(7); w.newName("log") != "000007.log" || w.next.Load() != 8 {
		t.Errorf("then %d", w.next.Load())
	}
}

// Segments are of one class up to twice the rows that are sealed, of the next up to so many
// times as many as are merged, and so on.
func TestTiers(t *testing.T) {
	z := limits{sealRows: 100, mergeCount: 8}
	for rows, want := range map[int]int{1: 0, 200: 0, 201: 1, 1607: 1, 1608: 2, 12863: 2, 12864: 3} {
		if got := z.tier(rows); got != want {
			t.Errorf("%d rows are of class %d, want %d", rows, got, want)
		}
	}
}
