package split

import "github.com/kindred-ml/kindred/internal/base/lists"

// holdout draws the samples to hold out of every class. It never divides a group.
type holdout struct {
	class   []int   // class of each position
	group   []int   // group of each position; nil if each is a separate group
	want    []int   // number of samples to hold out of each class
	keep    int     // least number of samples that stay of a class
	held    []bool  // whether each position is held out
	count   []int   // number of samples held out of each class
	left    []int   // number of samples not held out of each class
	members [][]int // positions of each group
}

// newHoldout makes a holding for the positions with the given classes.
func newHoldout(class, group, want []int, keep int) *holdout {
	h := &holdout{class: class, group: group, want: want, keep: keep, held: make([]bool, len(class)),
		count: make([]int, len(want)), left: make([]int, len(want))}
	for _, c := range class {
		h.left[c]++
	}
	if group == nil {
		h.group = lists.Indices(len(class))
	}
	h.members = lists.Places(h.group, len(h.group))
	return h
}

// draw goes through the positions of each class in order and takes the groups that bring the
// classes nearer to the wanted numbers. If all groups of a class are too large for that, it takes
// the smallest, if enough samples stay.
//
// It returns the number of classes that gave nothing because they are a single group.
func (h *holdout) draw(classes [][]int) (whole int) {
	asked := make([]int, len(h.group)) // class for which a group was last considered
	for c, order := range classes {
		if h.want[c] == 0 {
			continue
		}
		smallest := -1
		for _, i := range order {
			if h.count[c] >= h.want[c] {
				break
			}
			g := h.group[i]
			if asked[g] == c+1 || h.held[i] {
				continue
			}
			asked[g] = c + 1
			if !h.canHoldOut(g) {
				continue
			}
			if h.improves(g) {
				h.holdOut(g)
			} else if smallest < 0 || len(h.members[g]) < len(h.members[smallest]) {
				smallest = g
			}
		}
		switch {
		case h.count[c] > 0:
		case smallest >= 0:
			h.holdOut(smallest)
		default:
			whole++
		}
	}
	return whole
}

// canHoldOut reports whether enough samples of every class stay if a group is held out.
func (h *holdout) canHoldOut(g int) bool {
	for c, n := range h.classCounts(g) {
		if h.left[c]-n < h.keep {
			return false
		}
	}
	return true
}

// improves reports whether holding a group out brings the classes no farther from the wanted numbers.
func (h *holdout) improves(g int) bool {
	change := 0
	for c, n := range h.classCounts(g) {
		off := h.count[c] - h.want[c]
		change += max(off+n, -off-n) - max(off, -off)
	}
	return change <= 0
}

func (h *holdout) holdOut(g int) {
	for _, i := range h.members[g] {
		h.held[i] = true
		h.count[h.class[i]]++
		h.left[h.class[i]]--
	}
}

// classCounts returns the number of samples of a group by class.
func (h *holdout) classCounts(g int) map[int]int {
	return lists.Count(lists.At(h.class, h.members[g]))
}
