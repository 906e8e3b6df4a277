package index

import (
	"slices"
	"testing"
)

// A bitmap is a set of numbers.
func TestBitmap(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 127, 128, 130} {
		all := fullBitmap(n)
		if all.count() != n || len(all) != len(newBitmap(n)) || newBitmap(n).count() != 0 {
			t.Errorf("%d of %d rows", all.count(), n)
		}
		threes, evens := newBitmap(n), newBitmap(n)
		for i := range n {
			if i%3 == 0 {
				threes.set(i)
			}
			if evens.set(i); i%2 == 1 {
				evens.clear(i)
			}
		}
		for name, c := range map[string]struct {
			do func(b bitmap)
			in func(i int) bool
		}{
			"and": {func(b bitmap) { b.and(evens) }, func(i int) bool { return i%3 == 0 && i%2 == 0 }},
			"or":  {func(b bitmap) { b.or(evens) }, func(i int) bool { return i%3 == 0 || i%2 == 0 }},
			"not": {func(b bitmap) { b.not(all) }, func(i int) bool { return i%3 != 0 }},
		} {
			b := slices.Clone(threes)
			c.do(b)
			var want, got []int
			for i := range n {
				if c.in(i) {
					want = append(want, i)
				}
				if b.has(i) != c.in(i) {
					t.Errorf("%s: %d of %d is in: %v", name, i, n, b.has(i))
				}
			}
			b.visitRows(func(row int) bool {
				got = append(got, row)
				return true
			})
			if !slices.Equal(got, want) || b.count() != len(want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		seen := 0
		all.visitRows(func(row int) bool {
			seen++
			return row < 5
		})
		if seen != min(n, 6) {
			t.Errorf("%d of %d rows were gone through", seen, n)
		}
	}
	if len(newBitmap(0)) != 0 || fullBitmap(0).count() != 0 {
		t.Error("rows of nothing")
	}
}
