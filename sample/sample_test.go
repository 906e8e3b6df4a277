package sample

import (
	"reflect"
	"slices"
	"testing"
)

// labelsOf returns labels with the given number of samples per class.
func labelsOf(sizes ...int) []int64 {
	var y []int64
	for c, n := range sizes {
		for range n {
			y = append(y, int64(c*10-5))
		}
	}
	return y
}

func TestBalancedBatches(t *testing.T) {
	sizes := []int{1, 2, 3, 7, 20, 4, 4, 50}
	y := labelsOf(sizes...)
	for _, cfg := range []Config{{Classes: 3, PerClass: 4}, {Classes: 8, PerClass: 2}, {Classes: 1, PerClass: 1}, {Classes: 5, PerClass: 9, Batches: 40}, {}} {
		s, err := New(y, cfg)
		if err != nil {
			t.Fatal(err)
		}
		classes, perClass := s.BatchSize()/max(cfg.PerClass, 1), cfg.PerClass
		if cfg.PerClass == 0 {
			classes, perClass = 8, 4
		}
		for range 3 {
			visits := map[int64]int{}
			epoch := s.Epoch()
			if len(epoch) != s.Batches() {
				t.Fatalf("%d batches, want %d", len(epoch), s.Batches())
			}
			for _, b := range epoch {
				seen := map[int64][]int{}
				for _, i := range b {
					seen[y[i]] = append(seen[y[i]], i)
				}
				if len(seen) != classes {
					t.Fatalf("%+v: %d classes in a batch, want %d", cfg, len(seen), classes)
				}
				for c, idx := range seen {
					visits[c]++
					if len(idx) != perClass {
						t.Fatalf("%+v: %d samples of a class, want %d", cfg, len(idx), perClass)
					}
					slices.Sort(idx)
					distinct := len(slices.Compact(idx))
					if want := min(perClass, sizes[(c+5)/10]); distinct != want {
						t.Fatalf("%+v: %d distinct samples of class %d, want %d", cfg, distinct, c, want)
					}
				}
			}
			least, most := len(epoch), 0
			for c := range sizes {
				n := visits[int64(c*10-5)]
				least, most = min(least, n), max(most, n)
			}
			if least == 0 && s.Batches()*classes >= len(sizes) {
				t.Fatalf("%+v: a class was not visited in an epoch", cfg)
			}
			if most-least > 2 {
				t.Fatalf("%+v: classes are visited %d to %d times", cfg, least, most)
			}
		}
	}
}

func TestStateContinues(t *testing.T) {
	y := labelsOf(5, 5, 5, 9)
	a, _ := New(y, Config{Classes: 2, PerClass: 3, Seed: 4})
	a.Epoch()
	state := a.State()
	want := a.Epoch()
	b, _ := New(y, Config{Classes: 2, PerClass: 3, Seed: 4})
	if err := b.Restore(state); err != nil {
		t.Fatal(err)
	}
	if got := b.Epoch(); !reflect.DeepEqual(got, want) {
		t.Errorf("after Restore %v, want %v", got, want)
	}
	if reflect.DeepEqual(want, b.Epoch()) {
		t.Error("two epochs are the same")
	}
}

func TestErrors(t *testing.T) {
	for name, f := range map[string]func() error{
		"no samples":  func() error { _, err := New(nil, Config{}); return err },
		"too many":    func() error { _, err := New(labelsOf(2, 2), Config{Classes: 3}); return err },
		"negative":    func() error { _, err := New(labelsOf(2, 2), Config{PerClass: -1}); return err },
		"wrong state": func() error { b, _ := New(labelsOf(2), Config{}); return b.Restore(State{-1}) },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
