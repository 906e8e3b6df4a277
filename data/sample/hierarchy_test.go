package sample

import (
	"math"
	"reflect"
	"testing"
)

// TestHierarchicalBatches draws batches for some settings and counts what is in them.
//
// Long: what an epoch shows is counted batch by batch.
func TestHierarchicalBatches(t *testing.T) {
	// Coarse classes of 1, 2, 3 and 7 fine ones, fine ones of 1 to 5 samples; the
	// fine labels of different coarse classes are the same numbers.
	var coarse, fine []int64
	for c, n := range []int{1, 2, 3, 7} {
		for f := range n {
			for range 1 + (c+f)%5 {
				coarse, fine = append(coarse, int64(100-c)), append(fine, int64(f))
			}
		}
	}
	for _, cfg := range []HierarchyConfig{{}, {Coarse: 1, Fine: 1, PerClass: 1}, {Coarse: 3, Fine: 3, PerClass: 2},
		{Coarse: 4, Fine: 2, PerClass: 6}} {
		h, err := NewHierarchical(coarse, fine, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			visited := map[[2]int64]bool{}
			for _, b := range h.Epoch() {
				checkBatch(t, b, fine, min(h.cfg.Coarse*h.cfg.Fine*h.cfg.PerClass, len(fine)))
				groups := map[int64]map[int64]int{}
				for _, i := range b {
					if groups[coarse[i]] == nil {
						groups[coarse[i]] = map[int64]int{}
					}
					groups[coarse[i]][fine[i]]++
					visited[[2]int64{coarse[i], fine[i]}] = true
				}
				if len(groups) < h.cfg.Coarse {
					t.Fatalf("%+v: %d coarse classes in a batch", cfg, len(groups))
				}
				partial := 0 // coarse classes cut short
				for c, g := range groups {
					has, all, got := []int{1, 2, 3, 7}[100-c], 0, 0
					for f := range has {
						size := 1 + (int(100-c)+f)%5
						n := g[int64(f)]
						all, got = all+size, got+n
						if n > h.cfg.PerClass && len(g) < has {
							t.Fatalf("%+v: %d samples of a fine class while others give none", cfg, n)
						}
					}
					each := h.cfg.Fine * h.cfg.PerClass
					if got > each && len(groups) < 4 {
						t.Fatalf("%+v: %d samples of a coarse class while others give none", cfg, got)
					}
					if got < min(all, each) {
						partial++
					} else if len(g) < min(has, h.cfg.Fine) {
						t.Fatalf("%+v: %d fine classes of one that has %d", cfg, len(g), has)
					}
				}
				if partial > 1 {
					t.Fatalf("%+v: %d coarse classes are cut short", cfg, partial)
				}
			}
			if len(visited) != 13 {
				t.Fatalf("%+v: %d of 13 fine classes visited in %d batches", cfg, len(visited), h.Batches())
			}
		}
		state := h.State()
		want := h.Epoch()
		again, _ := NewHierarchical(coarse, fine, cfg)
		if err := again.Restore(state); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again.Epoch(), want) {
			t.Error("another epoch after Restore")
		}
	}
	for _, bad := range []func() error{
		func() error { _, err := NewHierarchical(nil, nil, HierarchyConfig{}); return err },
		func() error { _, err := NewHierarchical(coarse, fine[1:], HierarchyConfig{}); return err },
		func() error { _, err := NewHierarchical(coarse, fine, HierarchyConfig{Coarse: 5}); return err },
		func() error { _, err := NewHierarchical(coarse, fine, HierarchyConfig{Fine: -1}); return err },
	} {
		if bad() == nil {
			t.Error("no error")
		}
	}
}

// Visits follow size^Power, every class comes up, none twice in a batch.
func TestPower(t *testing.T) {
	sizes := []int{2, 10, 40, 100, 200}
	y := labelsOf(sizes...)
	for _, power := range []float64{0.5, 1} {
		s, err := NewBalanced(y, BalancedConfig{Classes: 2, PerClass: 2, Batches: 200, Power: power, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		visits := make([]int, len(sizes))
		for _, b := range s.Epoch() {
			seen := map[int64]bool{}
			for _, i := range b {
				seen[y[i]] = true
			}
			if len(seen) != 2 || len(b) != 4 {
				t.Fatalf("batch %v", b)
			}
			for c := range seen {
				visits[(c+5)/10]++
			}
		}
		var total float64
		for _, n := range sizes {
			total += math.Pow(float64(n), power)
		}
		for c, n := range sizes {
			want := 400 * math.Pow(float64(n), power) / total
			if want > 200 {
				want = 200 // in every batch
			}
			// Class 4 alone exceeds its bound at power 1, and others share the rest.
			if visits[c] < 1 || math.Abs(float64(visits[c])-want) > 0.35*want+2 {
				t.Errorf("power %v: class of %d visited %d times, want about %.0f", power, n, visits[c], want)
			}
		}
	}
	if _, err := NewBalanced(y, BalancedConfig{Classes: 2, Batches: 2, Power: 1}); err == nil {
		t.Error("an epoch too short for all classes gave no error")
	}
	if _, err := NewBalanced(y, BalancedConfig{Power: -1}); err == nil {
		t.Error("a negative power gave no error")
	}
}
