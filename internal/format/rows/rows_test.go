package rows

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

func some(from, to int) map[Key][]float32 {
	out := map[Key][]float32{}
	for i := from; i < to; i++ {
		out[Key{byte(i), byte(i >> 8)}] = []float32{float32(i), 0.5, -float32(i)}
	}
	return out
}

func same(a, b map[Key][]float32) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if !slices.Equal(v, b[k]) {
			return false
		}
	}
	return true
}

// TestSave: rows come back, are added to, and those of another computation do not.
func TestSave(t *testing.T) {
	path, of := filepath.Join(t.TempDir(), "r"), Key{7}
	if all, err := Load(path, of, 3); err != nil || len(all) != 0 {
		t.Fatalf("without a file: %v, %v", all, err)
	}
	for _, n := range []int{2, 5} {
		if err := Save(path, of, 3, some(n-2, n)); err != nil {
			t.Fatal(err)
		}
	}
	want := some(0, 2)
	for k, v := range some(3, 5) {
		want[k] = v
	}
	if all, err := Load(path, of, 3); err != nil || !same(all, want) {
		t.Fatalf("%v, %v", all, err)
	}
	if all, err := Load(path, Key{8}, 3); err == nil || all != nil {
		t.Error("rows of another computation")
	}
	if all, err := Load(path, of, 4); err == nil || all != nil {
		t.Error("rows of another length")
	}
	if err := Save(path, Key{8}, 3, some(9, 10)); err != nil {
		t.Fatal(err)
	}
	if all, err := Load(path, Key{8}, 3); err != nil || !same(all, some(9, 10)) {
		t.Errorf("replaced: %v, %v", all, err)
	}
}

// TestDamage: every byte counts, and every end of the file that is missing.
func TestDamage(t *testing.T) {
	path, of := filepath.Join(t.TempDir(), "r"), Key{7}
	if err := Save(path, of, 3, some(0, 3)); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := some(0, 3)
	try := func(b []byte) bool {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		all, err := Load(path, of, 3)
		return err != nil && all == nil || same(all, want) // a space of the header says nothing
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x10
		if !try(b) {
			t.Fatalf("byte %d of %d changed unnoticed", i, len(good))
		}
		if !try(good[:i]) {
			t.Fatalf("cut to %d of %d bytes unnoticed", i, len(good))
		}
	}
	try(good[:len(good)/2])
	if err := Save(path, of, 3, some(1, 2)); err != nil {
		t.Fatal(err)
	}
	if all, err := Load(path, of, 3); err != nil || !same(all, some(1, 2)) {
		t.Errorf("a damaged file that was replaced: %v, %v", all, err)
	}
}

// TestConcurrentUse: whoever reads finds a whole file, whoever writes last finds
// its own rows.
func TestConcurrentUse(t *testing.T) {
	path, of := filepath.Join(t.TempDir(), "r"), Key{7}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 8 {
				if err := Save(path, of, 3, some(8*w+i, 8*w+i+1)); err != nil {
					t.Error(err)
				}
				if got, err := Load(path, of, 3); err != nil || len(got) == 0 {
					t.Errorf("%d rows: %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func FuzzParse(f *testing.F) {
	path := filepath.Join(f.TempDir(), "r")
	if err := Save(path, Key{7}, 3, some(0, 3)); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := safetensors.Parse(b)
		if err != nil {
			return
		}
		all, err := parse(file, Key{7}, 3)
		for _, row := range all {
			if err != nil || len(row) != 3 {
				t.Fatalf("a row of %d numbers, error %v", len(row), err)
			}
		}
	})
}
