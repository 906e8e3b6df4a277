package decide

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/eval"
)

// sampledSpread is the spread of items by a sampler with so much memory.
func sampledSpread(t *testing.T, bytes int, dim int, labels []string, row func(i int) []float32) Spread {
	t.Helper()
	count := make(map[string]int)
	for _, l := range labels {
		if l != "" {
			count[l]++
		}
	}
	s := newSampler(count, dim, eval.Euclidean, bytes)
	for i, l := range labels {
		if err := s.Add(l, row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if kept := 4 * len(s.rows); kept > bytes {
		t.Errorf("%d bytes are kept, and %d allowed", kept, bytes)
	}
	out, err := s.Spread(t.Context(), eval.Euclidean)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSampler: where all items fit, a class has the spread that NewSpread finds. Where they do
// not, every class keeps the same number, and lies no nearer together.
func TestSampler(t *testing.T) {
	x, labels, _ := drawUnevenClasses(rand.New(rand.NewPCG(5, 6)), 0, 12, 20)
	for i := range 5 {
		labels[i], labels[40+i], labels[60+i] = "", "1", "alone "+fmt.Sprint(i) // of 0, 2 and 3
	}
	copy(x.Row(30), x.Row(31)) // a copy in class 1
	want, err := NewSpread(t.Context(), x, labels, eval.Euclidean, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	all := sampledSpread(t, sampleBytes, x.Cols, labels, x.Row)
	if !maps.EqualFunc(all, want, slices.Equal[[]float64]) || len(all) != 12 {
		t.Errorf("%v, want %v", all, want)
	}
	some := sampledSpread(t, 4*x.Cols*100, x.Cols, labels, x.Row)
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
	if none := sampledSpread(t, 4*x.Cols, x.Cols, labels, x.Row); len(none) != 0 {
		t.Errorf("%v of no memory", none)
	}
	s := NewSampler(nil, map[string]int{"a": 2}, 2, eval.Euclidean)
	if err := s.Add("a", []float32{1}); err == nil {
		t.Error("a vector of another length")
	}
	for i := range 4 { // items that came after they were counted
		if err := s.Add("a", []float32{float32(i), 0}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Spread(t.Context(), eval.Euclidean); err != nil || !slices.Equal(got["a"], []float64{1, 1}) {
		t.Errorf("%v %v", got, err)
	}
}

// TestMeasuresFile: measures come back as they were kept, for the items that they are of alone.
func TestMeasuresFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), MeasuresFileName)
	if _, err := LoadMeasures(path, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	want := &Measures{Spread{"x": {1e-30, 0.1, 0.2}, "\u2028 \"": {2, 3}},
		&StrangerTrial{Strangers: []ClassScores{{[]float64{1, 1, 4}, 3}},
			OwnItems: []ClassScores{{[]float64{-2}, 0}}}, nil}
	if err := want.Save(path, "a"); err != nil {
		t.Fatal(err)
	}
	got, err := LoadMeasures(path, "a")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := LoadMeasures(path, "b"); err == nil || !strings.Contains(err.Error(), "other items") {
		t.Error(err)
	}
	for _, text := range []string{"", "{", `{"format":3,"of":"a","classes":{}}`,
		`{"format":2,"of":"a","classes":{"x":[2,1]}}`, `{"format":2,"of":"a","classes":{"x":[1]}}`,
		`{"format":2,"of":"a","classes":{"x":[1,null]}}`,
		`{"format":2,"of":"a","classes":{},"tryout":{"strangers":[{"scores":[2,1]}],"own":[]}}`,
		`{"format":2,"of":"a","classes":{},"tryout":{"strangers":[],"own":[{"scores":[]}]}}`,
		`{"format":2,"of":"a","classes":{},"tryout":{"strangers":[],"own":[{"scores":[1e9]}]}}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if m, err := LoadMeasures(path, "a"); err == nil {
			t.Errorf("%s is %v", text, m)
		}
	}
}

// FuzzMeasures: whatever a file says, distances that are read rise.
func FuzzMeasures(f *testing.F) {
	f.Add([]byte(`{"format":2,"of":"a","classes":{"x":[1,2]},"tryout":{"strangers":[{"scores":[1,2]}],"own":[]}}`))
	f.Add([]byte(`{"format":2,"of":"a","classes":{"x":[1e400,2]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := readMeasures(text, "a")
		if err != nil {
			return
		}
		for l, own := range m.Spread {
			if len(own) < 2 || !slices.IsSorted(own) {
				t.Errorf("%q: %v", l, own)
			}
		}
		if m.StrangerTrial == nil {
			return
		}
		for _, c := range append(m.StrangerTrial.Strangers, m.StrangerTrial.OwnItems...) {
			if len(c.Scores) == 0 || !slices.IsSorted(c.Scores) {
				t.Error(c.Scores)
			}
		}
	})
}
