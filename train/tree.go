package train

import "math/bits"

// node is a node of a fixed binary tree over the pieces of a batch. It holds the pieces from lo up
// to, but not including, hi. Its left half holds the largest power of two that leaves at least one
// piece for the right half. The tree is the order in which gradients are added.
//
//	0..5 = (0..3) + 4,  0..3 = (0 + 1) + (2 + 3)
//
// The tree does not depend on which rank has which piece, so processes that share the pieces get
// the same bits as one process.
type node struct{ lo, hi int }

// isLeaf reports whether the node is a single piece.
func (n node) isLeaf() bool { return n.hi-n.lo == 1 }

// halves returns the two nodes whose sum is the node.
func (n node) halves() (left, right node) {
	mid := n.lo + 1<<(bits.Len(uint(n.hi-n.lo-1))-1)
	return node{n.lo, mid}, node{mid, n.hi}
}

// rankNode returns the consecutive pieces of rank r out of size ranks. The numbers of pieces differ
// by at most one.
func rankNode(count, r, size int) node { return node{r * count / size, (r + 1) * count / size} }

// isWithin reports whether all pieces of n are among those of m.
func (n node) isWithin(m node) bool { return m.lo <= n.lo && n.hi <= m.hi }

// ownerRank returns the rank that has the sum of a node: the rank of its first piece.
func ownerRank(n node, count, size int) int {
	for r := range size {
		if s := rankNode(count, r, size); n.lo < s.hi {
			return r
		}
	}
	return size - 1
}
