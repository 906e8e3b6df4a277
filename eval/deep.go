package eval

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/exact"
)

// deepShare is the share of the gallery, 1 in so many, from which on ordering items takes less time than heads and
// marks: of the items that matter in a query's ranking, and of its positives.
const deepShare = 24

// usesOrdering reports whether to order a large share of each ranking.
func (p *problem) usesOrdering() bool {
	if p.opt.deep != choiceAuto || p.opt.heads != choiceAuto {
		return p.opt.deep == choiceYes
	}
	n := p.g.X.Rows
	if p.opt.FirstOnly || n < 1000 || p.opt.Depth > 0 && p.opt.Depth < n/deepShare ||
		!exact.FullRankerFits(n, p.opt.memoryLimit()/2) {
		return false
	}
	marks := 0
	for i := p.opt.From; i < p.opt.To; i++ {
		marks += p.maxMarks(i)
	}
	return marks >= n/deepShare*(p.opt.To-p.opt.From)
}

// runOrdered ranks by ordering.
func (p *problem) runOrdered(ctx context.Context, sp *exact.Space, visit func(RankedQuery)) error {
	r := exact.NewFullRanker(sp, p.self, p.opt.Depth, p.opt.memoryLimit()/2)
	columns := make([]placedLabels, len(p.g.Labels))
	for c := range columns {
		columns[c] = p.placeLabels(c, r.Rows())
	}
	mixed := func(i int, places []int32) bool {
		for c := range columns {
			if columns[c].isMixed(p.q.Labels[c][i], places) {
				return true
			}
		}
		return false
	}
	from, n := p.opt.From, p.opt.To-p.opt.From
	cuts := exact.SplitByMemory(n, p.opt.memoryLimit()/2, func(i int) int64 {
		return 4*int64(len(columns)*p.maxMarks(from+i)) + queryBytes
	})
	for g := range len(cuts) - 1 {
		r.Progress = exact.SubProgress(p.opt.Progress, cuts[g], cuts[g+1], n)
		lo, hi := from+cuts[g], from+cuts[g+1]
		out := make([]positiveRanks, hi-lo)
		err := r.Run(ctx, lo, hi, mixed, func(i int, places []int32) {
			a := &out[i-lo]
			room := 1
			for c := range columns {
				room += min(p.numPositives(i, c), len(places))
			}
			a.ranks = make([]int32, 0, room)
			for c := range columns {
				a.ranks = columns[c].ranks(a.ranks, p.q.Labels[c][i], places)
				a.ends = append(a.ends, int32(len(a.ranks)))
			}
		})
		if err != nil {
			return err
		}
		p.visitRanks(out, lo, visit)
	}
	return nil
}

// placedLabels is a column of the gallery's labels by place.
type placedLabels struct {
	labels []int64
	// code is 1 to 255 for the labels of codes and 0 for others. It takes up an eighth of the labels, which stay in
	// the processor's cache.
	code  []uint8
	codes map[int64]uint8
}

// placeLabels returns a column of labels by place, with codes for the most frequent labels.
func (p *problem) placeLabels(c int, rows []int32) placedLabels {
	out := placedLabels{labels: make([]int64, len(rows)), code: make([]uint8, len(rows)), codes: map[int64]uint8{}}
	labels := slices.SortedFunc(maps.Keys(p.members[c]), func(a, b int64) int {
		return cmp.Or(len(p.members[c][b])-len(p.members[c][a]), cmp.Compare(a, b))
	})
	for k, y := range labels[:min(len(labels), math.MaxUint8)] {
		out.codes[y] = uint8(k + 1)
	}
	for at, j := range rows {
		out.labels[at] = p.g.Labels[c][j]
		out.code[at] = out.codes[out.labels[at]]
	}
	return out
}

// isMixed reports whether some places have the label and some have not.
func (l *placedLabels) isMixed(label int64, places []int32) bool {
	first := l.labels[places[0]] == label
	for _, at := range places[1:] {
		if l.labels[at] == label != first {
			return true
		}
	}
	return false
}

// ranks appends to dst the ranks of the places with the label. dst has room for one more.
func (l *placedLabels) ranks(dst []int32, label int64, places []int32) []int32 {
	code, ok := l.codes[label]
	if !ok {
		for k, at := range places {
			if l.labels[at] == label {
				dst = append(dst, int32(k+1))
			}
		}
		return dst
	}
	// The next rank overwrites that of another label: a branch would be hard to predict.
	n, all := len(dst), dst[:cap(dst)]
	for k, at := range places {
		all[n] = int32(k + 1)
		if l.code[at] == code {
			n++
		}
	}
	return all[:n]
}
