package clean

import (
	"fmt"
	"slices"
	"testing"
)

// Neighbours are known by their places among the pictures that are not copies; those of a
// copy are its original's, and blank ones have none.
func TestKnownNeighbours(t *testing.T) {
	pictures := make([]*Print, 6)
	for i := range pictures {
		var grey [side * side]uint8
		grey[0] = uint8(10 * i)
		pictures[i] = printOf(grey)
	}
	pictures[3] = pictures[1] // a copy
	pictures[2].blank = true
	f, same := newFinder(pictures, [][]int{{4, 3, 0}, {0, 2}, {0, 1}, {5, 1}, {2, 0}, {0, 0}})
	if want := []Copy{{1, 3, 1}}; !slices.Equal(same, want) || !slices.Equal(f.item, []int{0, 1, 4, 5}) {
		t.Errorf("%+v, places of %v", same, f.item)
	}
	if have, want := fmt.Sprint(f.known), "[[1 2] [0 3] [0] [0]]"; have != want {
		t.Errorf("%s, want %s", have, want)
	}
}
