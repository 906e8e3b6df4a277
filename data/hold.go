package data

// holding draws samples to hold out of every class, a group whole or not at all.
type holding struct {
	class   []int   // of each position
	group   []int   // of each position; nil: each is its own
	want    []int   // of each class, 0 where it gives none
	keep    int     // how many stay of a class at least
	held    []bool  // the positions
	count   []int   // of each class: how many are held
	left    []int   // of each class: how many are not
	members [][]int // of each group: its positions
}

// newHolding prepares for positions of so many classes.
func newHolding(class, group, want []int, keep int) *holding {
	h := &holding{class: class, group: group, want: want, keep: keep, held: make([]bool, len(class)),
		count: make([]int, len(want)), left: make([]int, len(want))}
	for _, c := range class {
		h.left[c]++
	}
	if group == nil {
		h.group = make([]int, len(class))
		for i := range h.group {
			h.group[i] = i
		}
	}
	h.members = membersOf(h.group)
	return h
}

// membersOf lists the positions of each group, which is called by one of them.
func membersOf(group []int) [][]int {
	out := make([][]int, len(group))
	for i, g := range group {
		out[g] = append(out[g], i)
	}
	return out
}

// draw goes through the positions of each class in their order and takes groups that
// bring the classes nearer to what is wanted. Where that takes none of a class, as
// they are all too large, it takes the smallest, if enough stays.
//
// It returns the number of classes whose images that could be taken are all in one group with the rest.
func (h *holding) draw(classes [][]int) (whole int) {
	asked := make([]int, len(h.group)) // for which class a group was last considered
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
			if !h.fits(g) {
				continue
			}
			if h.nearer(g) {
				h.take(g)
			} else if smallest < 0 || len(h.members[g]) < len(h.members[smallest]) {
				smallest = g
			}
		}
		switch {
		case h.count[c] > 0:
		case smallest >= 0:
			h.take(smallest)
		default:
			whole++
		}
	}
	return whole
}

// fits reports whether enough of every class stays without a group.
func (h *holding) fits(g int) bool {
	for c, n := range h.parts(g) {
		if h.left[c]-n < h.keep {
			return false
		}
	}
	return true
}

// nearer reports whether a group brings the classes no farther from what is wanted.
func (h *holding) nearer(g int) bool {
	change := 0
	for c, n := range h.parts(g) {
		off := h.count[c] - h.want[c]
		change += max(off+n, -off-n) - max(off, -off)
	}
	return change <= 0
}

func (h *holding) take(g int) {
	for _, i := range h.members[g] {
		h.held[i] = true
		h.count[h.class[i]]++
		h.left[h.class[i]]--
	}
}

// parts counts the samples of a group by class.
func (h *holding) parts(g int) map[int]int {
	out := make(map[int]int, 1)
	for _, i := range h.members[g] {
		out[h.class[i]]++
	}
	return out
}
