package pair

import "slices"

// Groups says, for each anchor, which references belong to it and are therefore
// not its negatives. The zero value is ready for Build or BuildBy; both reuse
// its storage.
//
// Own lists are ascending. An anchor's own entry among the references, if it
// has one, is in its Own list and never among its positives. After Merge
// further entries of the same sample are in its Own list too.
type Groups struct {
	self []int32 // per anchor: its index among the references, -1 without one

	labels buckets // of the references, unless explicit
	group  []int32 // per anchor: its bucket, -1 for an empty one

	// Lists per anchor, where labels do not say all.
	explicit bool
	own, pos lists

	ids            buckets // of the references, if merged
	merged         bool    // positives exclude those of equal ids
	spare, without lists   // what own and pos become
	buf            []int32
}

// lists are lists of references, one for each anchor.
type lists struct {
	start []int32
	items []int32
}

func (l *lists) reset() { l.start, l.items = append(l.start[:0], 0), l.items[:0] }

// endList closes a list.
func (l *lists) endList() { l.start = append(l.start, int32(len(l.items))) }

func (l *lists) list(i int) []int32 { return l.items[l.start[i]:l.start[i+1]] }

// Build groups by label: a reference belongs to an anchor if their labels are
// equal. If self is true, anchor i is reference i (the anchors must then be the
// first references); otherwise no anchor is a reference.
func (g *Groups) Build(anchors, refs []int64, self bool) {
	g.explicit, g.merged = false, false
	g.self = resize(g.self, len(anchors))
	for i := range g.self {
		g.self[i] = -1
		if self {
			g.self[i] = int32(i)
		}
	}
	g.labels.build(refs)
	g.group = resize(g.group, len(anchors))
	for i, y := range anchors {
		if self {
			g.group[i] = g.labels.at[i]
		} else {
			g.group[i] = g.labels.find(y)
		}
	}
}

// BuildBy groups by a relation other than equality of labels, for labels that
// are sets or hierarchies. relate is called once for each of the n x m pairs
// except those of an anchor with itself.
func (g *Groups) BuildBy(n, m int, self bool, relate func(anchor, ref int) Relation) {
	g.explicit, g.merged = true, false
	g.self = resize(g.self, n)
	g.own.reset()
	g.pos.reset()
	for i := range n {
		g.self[i] = -1
		if self {
			g.self[i] = int32(i)
		}
		for j := range m {
			if int32(j) == g.self[i] {
				g.own.items = append(g.own.items, int32(j))
				continue
			}
			r := relate(i, j)
			if r != Negative {
				g.own.items = append(g.own.items, int32(j))
			}
			if r == Positive {
				g.pos.items = append(g.pos.items, int32(j))
			}
		}
		g.own.endList()
		g.pos.endList()
	}
}

// BuildSingletons makes n groups of one anchor each, which is also a reference.
func (g *Groups) BuildSingletons(n int) {
	g.explicit, g.merged = false, false
	g.self, g.group = resize(g.self, n), resize(g.group, n)
	for i := range n {
		g.self[i], g.group[i] = int32(i), -1
	}
}

// Merge makes references with equal ids one sample: a pair of them is neither
// positive nor negative, whatever Build or BuildBy said. If views is true, a pair of
// anchors stays positive if it was. There is one id for each reference, and anchors
// must be the first references.
func (g *Groups) Merge(ids []int64, views bool) {
	g.ids.build(ids)
	if len(g.ids.value) == len(ids) {
		return // every reference is a sample of its own
	}
	if !g.explicit && g.haveEqualLabels() && (!views || len(ids) == len(g.self)) {
		g.merged = !views
		return
	}
	g.spare.reset()
	g.without.reset()
	for i := range g.self {
		same := g.ids.indices(g.ids.at[i])
		g.spare.items = union(g.spare.items, g.NonNegatives(i), same)
		if views {
			others, _ := slices.BinarySearch(same, int32(len(g.self)))
			same = same[others:]
		}
		g.buf = subtract(g.Positives(i, g.buf), same)
		g.without.items = append(g.without.items, g.buf...)
		g.spare.endList()
		g.without.endList()
	}
	g.own, g.spare = g.spare, g.own
	g.pos, g.without = g.without, g.pos
	g.explicit = true
}

// haveEqualLabels reports whether all entries of a sample have the same label.
func (g *Groups) haveEqualLabels() bool {
	for i, c := range g.ids.at[:len(g.self)] {
		for _, j := range g.ids.indices(c) {
			if g.labels.at[j] != g.group[i] {
				return false
			}
		}
	}
	return true
}

// SharedNegatives reports whether every anchor has the same negatives as each of
// its positives, as it has where labels alone say what belongs together. Anchors
// must be all the references.
func (g *Groups) SharedNegatives() bool {
	if !g.explicit {
		return true
	}
	for i := range g.self {
		g.buf = g.Positives(i, g.buf)
		for _, j := range g.buf {
			if !slices.Equal(g.NonNegatives(i), g.NonNegatives(int(j))) {
				return false
			}
		}
	}
	return true
}

// union appends the members of two ascending lists to dst, ascending.
func union(dst, a, b []int32) []int32 {
	for len(a) > 0 && len(b) > 0 {
		x := min(a[0], b[0])
		dst = append(dst, x)
		if a[0] == x {
			a = a[1:]
		}
		if b[0] == x {
			b = b[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// subtract removes the members of b from a, both ascending.
func subtract(a, b []int32) []int32 {
	n := 0
	for _, x := range a {
		for len(b) > 0 && b[0] < x {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == x {
			continue
		}
		a[n] = x
		n++
	}
	return a[:n]
}

// Anchors returns the number of anchors.
func (g *Groups) Anchors() int { return len(g.self) }

// NonNegatives returns the references that are not negatives of anchor i, ascending,
// the anchor itself included. The caller must not change it.
func (g *Groups) NonNegatives(i int) []int32 {
	if g.explicit {
		return g.own.list(i)
	}
	return g.labels.indices(g.group[i])
}

// PositiveCount returns the number of positives of anchor i.
func (g *Groups) PositiveCount(i int) int {
	switch {
	case g.explicit:
		return len(g.pos.list(i))
	case g.merged:
		return len(g.NonNegatives(i)) - len(g.ids.indices(g.ids.at[i]))
	case g.self[i] >= 0 && g.group[i] >= 0:
		return len(g.NonNegatives(i)) - 1
	}
	return len(g.NonNegatives(i))
}

// Positives appends the positives of anchor i, ascending, to dst[:0].
func (g *Groups) Positives(i int, dst []int32) []int32 {
	dst = dst[:0]
	if g.explicit {
		return append(dst, g.pos.list(i)...)
	}
	if g.merged {
		return subtract(append(dst, g.NonNegatives(i)...), g.ids.indices(g.ids.at[i]))
	}
	for _, j := range g.NonNegatives(i) {
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
