package rank

import (
	"slices"
)

// problem is one ranking task with the gallery indexed by label.
type problem struct {
	q, g    Set
	same    bool // queries are the gallery
	opt     Options
	scorer  *scorer
	members []map[int64][]int32 // per column: gallery rows of a label, increasing
}

func newProblem(q, g Set, same bool, opt Options) *problem {
	p := &problem{q: q, g: g, same: same, opt: opt, scorer: newScorer(q.X, g.X, opt.Distance)}
	for _, labels := range g.Labels {
		m := make(map[int64][]int32)
		for j, y := range labels {
			m[y] = append(m[y], int32(j))
		}
		p.members = append(p.members, m)
	}
	return p
}

// positives appends to dst the gallery rows that share a label of any column
// with query i, increasing, without the query itself.
func (p *problem) positives(dst []int32, i int) []int32 {
	n := len(dst)
	for c, m := range p.members {
		for _, j := range m[p.q.Labels[c][i]] {
			if !p.same || int(j) != i {
				dst = append(dst, j)
			}
		}
	}
	if len(p.members) > 1 {
		slices.Sort(dst[n:])
		dst = dst[:n+len(slices.Compact(dst[n:]))]
	}
	return dst
}

// count returns R of query i in column c.
func (p *problem) count(i, c int) int {
	y := p.q.Labels[c][i]
	r := len(p.members[c][y])
	if p.same {
		r--
	}
	return r
}
