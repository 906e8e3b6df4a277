package objective

// givenTriplets stands in for a miner.
type givenTriplets struct {
	used     bool
	start    []int32
	pos, neg []int32
}

// set sorts the triplets by anchor, keeping their order otherwise.
func (g *givenTriplets) set(n int, triplets [][3]int32) {
	g.used = triplets != nil
	if !g.used {
		return
	}
	g.start = resize(g.start, n+1)
	clear(g.start)
	for _, t := range triplets {
		g.start[t[0]+1]++
	}
	for i := range n {
		g.start[i+1] += g.start[i]
	}
	g.pos, g.neg = resize(g.pos, len(triplets)), resize(g.neg, len(triplets))
	for _, t := range triplets {
		at := g.start[t[0]]
		g.start[t[0]]++
		g.pos[at], g.neg[at] = t[1], t[2]
	}
	copy(g.start[1:], g.start)
	g.start[0] = 0
}

func (g *givenTriplets) selection(i int, sel *Selection) *Selection {
	lo, hi := g.start[i], g.start[i+1]
	*sel = Selection{Pos: g.pos[lo:hi], Neg: g.neg[lo:hi], Paired: true}
	return sel
}
