package train

import "math/bits"

// node is one of a fixed binary tree over the pieces of a batch, whoever has them: the pieces
// from lo up to, not including, hi. Its left half holds the largest power of two of them that
// leaves one or more for the right. The tree is the order in which their gradients are added.
//
//	0..5 = (0..3) + 4,  0..3 = (0 + 1) + (2 + 3)
//
// Since every sum is of the same two numbers, processes that share the pieces get the bits that
// one process does.
type node struct{ lo, hi int }

// leaf reports whether the node is a single piece.
func (n node) leaf() bool { return n.hi-n.lo == 1 }

// halves are the two nodes whose sum the node is.
func (n node) halves() (left, right node) {
	mid := n.lo + 1<<(bits.Len(uint(n.hi-n.lo-1))-1)
	return node{n.lo, mid}, node{mid, n.hi}
}

// share is the pieces of rank r out of size: a run of them, equal in number but for one.
func share(count, r, size int) node { return node{r * count / size, (r + 1) * count / size} }

// within reports whether all pieces of n are among those of m.
func (n node) within(m node) bool { return m.lo <= n.lo && n.hi <= m.hi }

// owner is the rank that has the sum of a node: that of its first piece.
func owner(n node, count, size int) int {
	for r := range size {
		if s := share(count, r, size); n.lo < s.hi {
			return r
		}
	}
	return size - 1
}
