package eval

import (
	"context"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/exact"
)

// positiveRanks holds the ranks of a query's positives for each column of labels.
type positiveRanks struct {
	ranks []int32
	ends  []int32 // end of each column's ranks
}

// rankHeads ranks the positives of queries lo..hi-1 that are in their heads.
func (p *problem) rankHeads(ctx context.Context, r *exact.HeadRanker, lo, hi int) ([]positiveRanks, error) {
	out := make([]positiveRanks, hi-lo)
	err := r.Run(ctx, lo, hi, func(h *exact.Head) { out[h.Query-lo] = p.ranksInHead(h) })
	return out, err
}

// ranksInHead returns the ranks of the positives in a head.
func (p *problem) ranksInHead(h *exact.Head) (out positiveRanks) {
	var ordered []exact.Item
	for c, labels := range p.g.Labels {
		y := p.q.Labels[c][h.Query]
		h.Places = h.Places[:0]
		for k, j := range h.Rows() {
			if labels[j] == y {
				h.Places = append(h.Places, int32(k))
			}
		}
		switch {
		case len(h.Places) <= len(h.Rows())/8: // counting takes less time than sorting
			from := len(out.ranks)
			for _, k := range h.Places {
				if ahead := h.Ahead(int(k)); ahead < h.Depth {
					out.ranks = append(out.ranks, int32(ahead+1))
				}
			}
			slices.Sort(out.ranks[from:])
		default:
			if ordered == nil {
				ordered = h.Ordered(func(items []exact.Item) bool { return p.isMixed(items, h.Query) })
			}
			for k, it := range ordered {
				if labels[it.Row] == y {
					out.ranks = append(out.ranks, int32(k+1))
				}
			}
		}
		out.ends = append(out.ends, int32(len(out.ranks)))
	}
	return out
}

// isMixed reports whether some items are positives and some are not, by any column.
func (p *problem) isMixed(items []exact.Item, i int) bool {
	for c, labels := range p.g.Labels {
		y := p.q.Labels[c][i]
		first := labels[items[0].Row] == y
		for _, it := range items[1:] {
			if labels[it.Row] == y != first {
				return true
			}
		}
	}
	return false
}

// visitRanks calls visit with the ranks of queries lo, lo+1, ... in order.
func (p *problem) visitRanks(all []positiveRanks, lo int, visitRanks func(RankedQuery)) {
	for k, a := range all {
		from := int32(0)
		for c, to := range a.ends {
			visitRanks(RankedQuery{Index: lo + k, Column: c, Positives: p.numPositives(lo+k, c),
				Ranks: a.ranks[from:to]})
			from = to
		}
	}
}
