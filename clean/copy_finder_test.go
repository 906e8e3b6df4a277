package clean

import (
	"fmt"
	"slices"
	"testing"
)

// Neighbours are known by their places among the pictures that are not copies; those of a
// copy are its original's, and blank ones have none.
func TestKnownNeighbours(t *testing.T) {
	pictures := make([]*Fingerprint, 6)
	for i := range pictures {
		var grey [side * side]uint8
		grey[0] = uint8(10 * i)
		pictures[i] = newTestFingerprint(grey)
	}
	pictures[3] = pictures[1] // a copy
	pictures[2].isBlank = true
	f, same := newCopyFinder(pictures, [][]int{{4, 3, 0}, {0, 2}, {0, 1}, {5, 1}, {2, 0}, {0, 0}})
	if want := []Copy{{1, 3, 1}}; !slices.Equal(same, want) || !slices.Equal(f.item, []int{0, 1, 4, 5}) {
		t.Errorf("%+v, places of %v", same, f.item)
	}
	if have, want := fmt.Sprint(f.neighbours), "[[1 2] [0 3] [0] [0]]"; have != want {
		t.Errorf("%s, want %s", have, want)
	}
}

// Of the copies of a picture the likest are kept, as many on either side.
func TestLikest(t *testing.T) {
	const i, more = 100, 3
	w := &worker{copyFinder: &copyFinder{item: make([]int, 2*i)}}
	for k := range w.item {
		w.item[k] = k
	}
	for k := 1; k <= maxListedCopies+more; k++ {
		w.add(i, i-k, 1-float64(k)/1000)
		w.add(i, i+k, 1-float64(k)/1000)
	}
	kept := w.keepClosest(i)
	if len(kept) != 2*maxListedCopies {
		t.Errorf("%d copies, want %d", len(kept), 2*maxListedCopies)
	}
	for _, c := range kept {
		if c.A < i-maxListedCopies || c.B > i+maxListedCopies {
			t.Errorf("%v, and likelier ones are left out", c)
		}
	}
}
