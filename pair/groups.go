package pair

import "math/bits"

// Groups says, for each anchor, which references belong to it and so are not
// its negatives. The zero value is ready for Build or BuildBy; both reuse its
// storage.
//
// Own lists are ascending. An anchor's own entry among the references, if it
// has one, is in its Own list and never among its positives.
type Groups struct {
	self []int32 // per anchor: its index among the references, -1 without one

	// Lists of one group per class, or, after BuildBy, per anchor.
	group   []int32 // per anchor: its list, -1 for an empty one
	start   []int32
	members []int32

	// Positives per anchor, only after BuildBy.
	explicit bool
	posStart []int32
	pos      []int32

	slots []int32 // open-addressing table from label to class
	label []int64 // per class
	ref   []int32 // per reference: class
}

// Build groups by label: a reference belongs to an anchor if their labels are
// equal. Anchor i is reference i if self is true (then anchors must be the
// first references), and none otherwise.
func (g *Groups) Build(anchors, refs []int64, self bool) {
	g.explicit = false
	g.self = resize(g.self, len(anchors))
	for i := range g.self {
		g.self[i] = -1
		if self {
			g.self[i] = int32(i)
		}
	}
	size := 1 << bits.Len(uint(2*len(refs)|7))
	g.slots = resize(g.slots, size)
	for i := range g.slots {
		g.slots[i] = -1
	}
	g.label = g.label[:0]
	g.ref = resize(g.ref, len(refs))
	for j, y := range refs {
		s := g.slot(y)
		if g.slots[s] < 0 {
			g.slots[s] = int32(len(g.label))
			g.label = append(g.label, y)
		}
		g.ref[j] = g.slots[s]
	}
	g.start = resize(g.start, len(g.label)+1)
	clear(g.start)
	for _, c := range g.ref {
		g.start[c+1]++
	}
	for c := range g.label {
		g.start[c+1] += g.start[c]
	}
	g.members = resize(g.members, len(refs))
	for j, c := range g.ref {
		g.members[g.start[c]] = int32(j)
		g.start[c]++
	}
	copy(g.start[1:], g.start)
	g.start[0] = 0
	g.group = resize(g.group, len(anchors))
	for i, y := range anchors {
		if self {
			g.group[i] = g.ref[i]
		} else {
			g.group[i] = g.slots[g.slot(y)]
		}
	}
}

// slot returns the place of y in the table: where it is, or where it would go.
func (g *Groups) slot(y int64) int {
	mask := len(g.slots) - 1
	s := int(uint64(y)*0x9e3779b97f4a7c15>>32) & mask
	for g.slots[s] >= 0 && g.label[g.slots[s]] != y {
		s = (s + 1) & mask
	}
	return s
}

// Kin is the relation of a reference to an anchor.
type Kin uint8

// The relations of a reference to an anchor. Ignored pairs are neither
// positive nor negative.
const (
	Negative Kin = iota
	Positive
	Ignored
)

// BuildBy groups by a relation other than equality of labels: for labels that
// are sets or hierarchies. kin is called once for each of n x m pairs other
// than an anchor with itself.
func (g *Groups) BuildBy(n, m int, self bool, kin func(anchor, ref int) Kin) {
	g.explicit = true
	g.self = resize(g.self, n)
	g.group = resize(g.group, n)
	g.start = resize(g.start, n+1)
	g.posStart = resize(g.posStart, n+1)
	g.start[0], g.posStart[0] = 0, 0
	g.members, g.pos = g.members[:0], g.pos[:0]
	for i := range n {
		g.group[i], g.self[i] = int32(i), -1
		if self {
			g.self[i] = int32(i)
		}
		for j := range m {
			if int32(j) == g.self[i] {
				g.members = append(g.members, int32(j))
				continue
			}
			k := kin(i, j)
			if k != Negative {
				g.members = append(g.members, int32(j))
			}
			if k == Positive {
				g.pos = append(g.pos, int32(j))
			}
		}
		g.start[i+1], g.posStart[i+1] = int32(len(g.members)), int32(len(g.pos))
	}
}

// BuildNone makes groups of n anchors, each a reference and alone.
func (g *Groups) BuildNone(n int) {
	g.explicit = false
	g.self, g.group = resize(g.self, n), resize(g.group, n)
	for i := range n {
		g.self[i], g.group[i] = int32(i), -1
	}
}

// Anchors returns the number of anchors.
func (g *Groups) Anchors() int { return len(g.self) }

// Self returns the index of anchor i among the references, -1 without one.
func (g *Groups) Self(i int) int { return int(g.self[i]) }

// Own returns the references that are not negatives of anchor i, ascending,
// the anchor itself included. The caller must not change it.
func (g *Groups) Own(i int) []int32 {
	c := g.group[i]
	if c < 0 {
		return nil
	}
	return g.members[g.start[c]:g.start[c+1]]
}

// PositiveCount returns the number of positives of anchor i.
func (g *Groups) PositiveCount(i int) int {
	if g.explicit {
		return int(g.posStart[i+1] - g.posStart[i])
	}
	n := len(g.Own(i))
	if g.self[i] >= 0 {
		n--
	}
	return n
}

// Positives appends the positives of anchor i, ascending, to dst[:0].
func (g *Groups) Positives(i int, dst []int32) []int32 {
	dst = dst[:0]
	if g.explicit {
		return append(dst, g.pos[g.posStart[i]:g.posStart[i+1]]...)
	}
	for _, j := range g.Own(i) {
		if j != g.self[i] {
			dst = append(dst, j)
		}
	}
	return dst
}

// resize returns a slice of length n, of s's storage where that suffices. Its
// content is arbitrary.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
