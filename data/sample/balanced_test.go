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
	sizes := []int{1, 2, 3, 7, 20, 4, 4, 50, 1}
	y := labelsOf(sizes...)
	for _, cfg := range []BalancedConfig{{Classes: 3, PerClass: 4}, {Classes: 9, PerClass: 2},
		{Classes: 1, PerClass: 1},
		{Classes: 5, PerClass: 9, Batches: 40},
		{Classes: 2, PerClass: 40}, {Classes: 6, PerClass: 99}, {},
		{Classes: 3, PerClass: 4, Batches: 40, Power: 0.5}} {
		s, err := NewBalanced(y, cfg)
		if err != nil {
			t.Fatal(err)
		}
		classes, perClass := cfg.Classes, cfg.PerClass
		if perClass == 0 {
			classes, perClass = 9, 4 // the median of the seven above 1
		}
		size := min(classes*perClass, len(y))
		if s.BatchSize() != size {
			t.Fatalf("%+v: batches of %d, want %d", cfg, s.BatchSize(), size)
		}
		for range 3 {
			visits := map[int64]int{}
			epoch := s.Epoch()
			if len(epoch) != s.Batches() {
				t.Fatalf("%d batches, want %d", len(epoch), s.Batches())
			}
			for _, b := range epoch {
				checkBatch(t, b, y, size)
				counts := map[int64]int{}
				for k, i := range b {
					if counts[y[i]]++; counts[y[i]] > 1 && y[b[k-1]] != y[i] {
						t.Fatalf("%+v: samples of a class are apart: %v", cfg, b)
					}
				}
				partial := 0 // classes that give less than they could
				for c, n := range counts {
					visits[c]++
					if n > perClass && len(counts) < len(sizes) {
						t.Fatalf("%+v: %d samples of a class while others give none", cfg, n)
					}
					if n < min(perClass, sizes[(c+5)/10]) {
						partial++
					}
				}
				if len(counts) < classes || partial > 1 {
					t.Fatalf("%+v: %d classes, %d of which are cut short", cfg, len(counts), partial)
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
			if most-least > 3 && cfg.Power == 0 {
				t.Fatalf("%+v: classes are visited %d to %d times", cfg, least, most)
			}
		}
	}
}

// checkBatch reports a batch of another size, or that holds a sample twice.
func checkBatch(t *testing.T, b []int, y []int64, size int) {
	t.Helper()
	sorted := slices.Compact(slices.Sorted(slices.Values(b)))
	if len(b) != size || len(sorted) != size || sorted[0] < 0 || sorted[size-1] >= len(y) {
		t.Fatalf("a batch of %d, %d of them distinct, want %d", len(b), len(sorted), size)
	}
}

// Batches follow what the classes hold, and hold about 128 samples.
func TestDefaults(t *testing.T) {
	many := func(classes, size int) []int { return slices.Repeat([]int{size}, classes) }
	for _, c := range []struct {
		sizes []int
		cfg   BalancedConfig
		want  BalancedConfig
	}{
		{many(10, 6000), BalancedConfig{}, BalancedConfig{Classes: 8, PerClass: 16}},
		{many(2, 6000), BalancedConfig{}, BalancedConfig{Classes: 2, PerClass: 64}},
		{many(5, 6000), BalancedConfig{}, BalancedConfig{Classes: 5, PerClass: 25}},
		{many(50, 5), BalancedConfig{}, BalancedConfig{Classes: 25, PerClass: 5}},
		{many(50, 2), BalancedConfig{}, BalancedConfig{Classes: 50, PerClass: 2}},
		{many(500, 2), BalancedConfig{}, BalancedConfig{Classes: 64, PerClass: 2}},
		{many(500, 1), BalancedConfig{}, BalancedConfig{Classes: 64, PerClass: 2}},
		{many(1, 9), BalancedConfig{}, BalancedConfig{Classes: 1, PerClass: 9}},
		{append(many(90, 1), 3, 5, 6, 60), BalancedConfig{}, BalancedConfig{Classes: 25, PerClass: 5}},
		{many(50, 600), BalancedConfig{Classes: 4}, BalancedConfig{Classes: 4, PerClass: 32}},
		{many(50, 600), BalancedConfig{PerClass: 4}, BalancedConfig{Classes: 32, PerClass: 4}},
		{many(50, 600), BalancedConfig{PerClass: 400}, BalancedConfig{Classes: 2, PerClass: 400}},
		{many(50, 3), BalancedConfig{Classes: 50}, BalancedConfig{Classes: 50, PerClass: 2}},
	} {
		s, err := NewBalanced(labelsOf(c.sizes...), c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.want.Views = 1
		if got := s.Config(); got != c.want {
			t.Errorf("%d classes of %d and so on, %+v: %+v, want %+v", len(c.sizes), c.sizes[0], c.cfg, got, c.want)
		}
	}
}

func TestStateContinues(t *testing.T) {
	y := labelsOf(5, 5, 5, 9)
	a, _ := NewBalanced(y, BalancedConfig{Classes: 2, PerClass: 3, Seed: 4})
	a.Epoch()
	state := a.State()
	want := a.Epoch()
	b, _ := NewBalanced(y, BalancedConfig{Classes: 2, PerClass: 3, Seed: 4})
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
		"no samples": func() error { _, err := NewBalanced(nil, BalancedConfig{}); return err },
		"too many":   func() error { _, err := NewBalanced(labelsOf(2, 2), BalancedConfig{Classes: 3}); return err },
		"negative":   func() error { _, err := NewBalanced(labelsOf(2, 2), BalancedConfig{PerClass: -1}); return err },
		"wrong state": func() error {
			b, _ := NewBalanced(labelsOf(2), BalancedConfig{})
			return b.Restore(State{-1})
		},
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestViews lists every sample as often as asked for, in the batches that there are
// without.
func TestViews(t *testing.T) {
	y := labelsOf(5, 9, 3, 12)
	type sampler interface {
		Epoch() [][]int
		BatchSize() int
		Batches() int
	}
	balanced := func(views int) sampler {
		s, err := NewBalanced(y, BalancedConfig{Classes: 2, PerClass: 4, Views: views, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hierarchy := func(views int) sampler {
		s, err := NewHierarchical(y, y, HierarchyConfig{Coarse: 2, Fine: 1, PerClass: 4, Views: views, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, of := range []func(int) sampler{balanced, hierarchy} {
		once, thrice := of(0), of(3)
		if thrice.BatchSize() != 3*once.BatchSize() || thrice.Batches() != once.Batches() {
			t.Errorf("batches of %d rows, and with three views %d; %d and %d of them", once.BatchSize(),
				thrice.BatchSize(), once.Batches(), thrice.Batches())
		}
		for range 2 {
			var want [][]int
			for _, b := range once.Epoch() {
				var rows []int
				for _, i := range b {
					rows = append(rows, i, i, i)
				}
				want = append(want, rows)
			}
			if got := thrice.Epoch(); !reflect.DeepEqual(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		}
	}
	// Batches that are chosen by default keep to about 128 rows.
	many := slices.Repeat([]int{30}, 40)
	for views, want := range map[int]BalancedConfig{1: {Classes: 8, PerClass: 16}, 2: {Classes: 8, PerClass: 8},
		100: {Classes: 2, PerClass: 2}} {
		s, err := NewBalanced(labelsOf(many...), BalancedConfig{Views: views})
		if err != nil {
			t.Fatal(err)
		}
		want.Views = views
		if s.Config() != want {
			t.Errorf("%d views: %+v, want %+v", views, s.Config(), want)
		}
	}
	for _, views := range []int{-1, maxViews + 1, 1 << 40} {
		if _, err := NewBalanced(y, BalancedConfig{Views: views}); err == nil {
			t.Errorf("%d views: no error", views)
		}
		if _, err := NewHierarchical(y, y, HierarchyConfig{Views: views}); err == nil {
			t.Errorf("%d views by two labels: no error", views)
		}
	}
}
