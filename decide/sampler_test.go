package decide

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval/rank"
)

// sampled is the spread of items by a sampler with so much memory.
func sampled(t *testing.T, bytes int, dim int, labels []string, row func(i int) []float32) Spread {
	t.Helper()
	count := make(map[string]int)
	for _, l := range labels {
		if l != "" {
			count[l]++
		}
	}
	s := newSampler(count, dim, bytes)
	for i, l := range labels {
		if err := s.Add(l, row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if kept := 4 * len(s.rows); kept > bytes {
		t.Errorf("%d bytes are kept, and %d allowed", kept, bytes)
	}
	out, err := s.Spread(t.Context(), rank.Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSampler: where all items fit, a class has the spread that NewSpread finds. Where they do
// not, every class keeps the same number, and lies no nearer together.
func TestSampler(t *testing.T) {
	x, labels, _ := wide(rand.New(rand.NewPCG(5, 6)), 0, 12, 20)
	for i := range 5 {
		labels[i], labels[40+i], labels[60+i] = "", "1", "alone "+fmt.Sprint(i) // of 0, 2 and 3
	}
	copy(x.Row(30), x.Row(31)) // a copy in class 1
	want, err := NewSpread(t.Context(), x, labels, rank.Euclidean, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	all := sampled(t, sampleBytes, x.Cols, labels, x.Row)
	if !maps.EqualFunc(all, want, slices.Equal[[]float64]) || len(all) != 12 {
		t.Errorf("%v, want %v", all, want)
	}
	some := sampled(t, 4*x.Cols*100, x.Cols, labels, x.Row)
	for l, own := range some {
		if len(own) != 7 { // 100 rows, of which 5 stand alone
			t.Errorf("class %s keeps %d items", l, len(own))
		}
		for k, d := range own {
			if d < all[l][k] {
				t.Errorf("class %s: the %d-th of fewer items lies at %v, of all at %v", l, k, d, all[l][k])
			}
		}
	}
	if len(some) != 12 {
		t.Errorf("%d classes", len(some))
	}
	if none := sampled(t, 4*x.Cols, x.Cols, labels, x.Row); len(none) != 0 {
		t.Errorf("%v of no memory", none)
	}
	s := NewSampler(map[string]int{"a": 2}, 2)
	if err := s.Add("a", []float32{1}); err == nil {
		t.Error("a vector of another length")
	}
	for i := range 4 { // items that came after they were counted
		if err := s.Add("a", []float32{float32(i), 0}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Spread(t.Context(), rank.Euclidean); err != nil || !slices.Equal(got["a"], []float64{1, 1}) {
		t.Errorf("%v %v", got, err)
	}
}

// TestSpreadFile: a spread comes back as it was kept, for the items that it is of alone.
func TestSpreadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), SpreadFileName)
	if _, err := LoadSpread(path, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	want := Spread{"x": {0, 0.1, 1e-30}, "\u2028 \"": {2, 3}}
	slices.Sort(want["x"])
	if err := want.Save(path, "a"); err != nil {
		t.Fatal(err)
	}
	got, err := LoadSpread(path, "a")
	if err != nil || !maps.EqualFunc(got, want, slices.Equal[[]float64]) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := LoadSpread(path, "b"); err == nil || !strings.Contains(err.Error(), "other items") {
		t.Error(err)
	}
	for _, text := range []string{"", "{", `{"format":2,"of":"a","classes":{}}`,
		`{"format":1,"of":"a","classes":{"x":[2,1]}}`, `{"format":1,"of":"a","classes":{"x":[1]}}`,
		`{"format":1,"of":"a","classes":{"x":[1,null]}}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if s, err := LoadSpread(path, "a"); err == nil {
			t.Errorf("%s is %v", text, s)
		}
	}
}

// FuzzSpread: whatever a file says, distances that are read rise.
func FuzzSpread(f *testing.F) {
	f.Add([]byte(`{"format":1,"of":"a","classes":{"x":[1,2]}}`))
	f.Add([]byte(`{"format":1,"of":"a","classes":{"x":[1e400,2]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := readSpread(strings.NewReader(string(text)), "a")
		for l, own := range s {
			if err != nil || len(own) < 2 || !slices.IsSorted(own) {
				t.Errorf("%q: %v, %v", l, own, err)
			}
		}
	})
}
