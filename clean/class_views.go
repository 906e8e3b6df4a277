package clean

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// classView is a class as seen from an item.
type classView struct {
	class      int
	distance   float64 // mean squared distance from the item to the nearest members
	items      float64 // number of items of the class, and of the classes that it represents
	numClasses int     // number of other classes that it represents
}

// An item sees the nearest other classes individually, and the rest in groups by distance. The middle class
// of a group represents it.
const (
	maxSingleViews = 8
	maxGroupViews  = 8
)

// numNearest returns how many of n members count as the nearest of a class: half of few, so that a wrong label
// does not decide, and at most five.
func numNearest(n int) int { return min(max(n/2, 1), maxNearest) }

const maxNearest = 5

// shortlist holds the smallest of some distances, ascending.
type shortlist []float64

func (l *shortlist) add(v float64) {
	s := *l
	if len(s) <= maxNearest {
		s = append(s, v)
	} else if v >= s[maxNearest] {
		return
	}
	at := len(s) - 1
	for ; at > 0 && s[at-1] > v; at-- {
		s[at] = s[at-1]
	}
	s[at] = v
	*l = s
}

// mean returns the mean of the nearest of n members. An item's own class has one member less, because the
// item is left out. So for other classes it is the mean over all ways to leave one out.
func (l shortlist) mean(n int, own bool) float64 {
	if !own && n > 1 {
		n--
	}
	k := numNearest(n)
	var sum float64
	for _, v := range l[:k] {
		sum += v
	}
	if !own && len(l) > k {
		// One of the k nearest is left out with probability k / (n + 1), and the next one replaces it.
		n := float64(n + 1)
		return sum/float64(k)*(1-1/n) + l[k]/n
	}
	return sum / float64(k)
}

// viewClasses writes the classes as seen from the held items of a part, the own class first. It writes nothing for
// an item whose class has no other member. Items with little trust do not count as members.
func (p *foldPart) viewClasses(ctx context.Context, y []int, classes int, trust []float64, out [][]classView) error {
	var members []int
	size := make([]int, classes)
	in := make([]bool, len(y))
	for _, j := range p.judges {
		if isTrusted(trust[j]) {
			members, in[j] = append(members, j), true
			size[y[j]]++
		}
	}
	centre := make([]float64, p.x.Cols)
	for _, j := range members {
		for k, v := range p.x.Row(j) {
			centre[k] += float64(v) / float64(len(members))
		}
	}
	gallery, square := centreRows(p.x, members, centre)
	const block = 256
	product := matrix.New(block, len(members))
	for lo := 0; lo < len(p.heldOut); lo += block {
		held := p.heldOut[lo:min(lo+block, len(p.heldOut))]
		queries, length := centreRows(p.x, held, centre)
		said := product.RowRange(0, len(held))
		if err := matrix.GemmContext(ctx, false, true, 1, queries, gallery, 0, said); err != nil {
			return err
		}
		err := par.ForContext(ctx, len(held), 16, func(lo, hi int) {
			near := make([]shortlist, classes)
			for k := lo; k < hi; k++ {
				for c := range near {
					near[c] = near[c][:0]
				}
				i, row := held[k], said.Row(k)
				for m, j := range members {
					if j != i {
						near[y[j]].add(max(length[k]+square[m]-2*float64(row[m]), 0))
					}
				}
				own := size[y[i]]
				if in[i] {
					own--
				}
				out[i] = classViews(near, size, y[i], own)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// centreRows returns copies of rows less a centre, and their squared lengths.
func centreRows(x *matrix.Dense, rows []int, centre []float64) (*matrix.Dense, []float64) {
	out, square := matrix.New(len(rows), x.Cols), make([]float64, len(rows))
	for k, i := range rows {
		to := out.Row(k)
		for j, v := range x.Row(i) {
			to[j] = v - float32(centre[j])
			square[k] += float64(to[j]) * float64(to[j])
		}
	}
	return out, square
}

// classViews returns the classes as seen from an item, its own first. own is the number of other members.
func classViews(near []shortlist, size []int, class, own int) []classView {
	if own == 0 {
		return nil
	}
	all := make([]classView, 0, len(size))
	for c, n := range size {
		if n > 0 && c != class {
			all = append(all, classView{c, near[c].mean(n, false), float64(n), 1})
		}
	}
	slices.SortStableFunc(all, func(a, b classView) int { return cmp.Compare(a.distance, b.distance) })
	out := make([]classView, 1, 1+min(len(all), maxSingleViews+maxGroupViews))
	out[0] = classView{class, near[class].mean(own, true), float64(own), 0}
	single := min(len(all), maxSingleViews)
	out, all = append(out, all[:single]...), all[single:]
	groups := min(len(all), maxGroupViews)
	for g := range groups {
		group := all[g*len(all)/groups : (g+1)*len(all)/groups]
		s := group[len(group)/2]
		s.items, s.numClasses = 0, len(group)
		for _, o := range group {
			s.items += o.items
		}
		out = append(out, s)
	}
	return out
}

// normalizeScales divides all distances by the median distance of items from their own class, and returns the scale
// of each class. Items of default labels that are not trusted do not count. It returns nil if all items coincide
// with others of their class.
func (m *noiseModel) normalizeScales() []float64 {
	var positive []float64
	own := make([][]float64, m.classes)
	for i, s := range m.views {
		if len(s) > 0 && (isTrusted(m.trust[i]) || !slices.Contains(m.defaults, m.y[i])) {
			own[m.y[i]] = append(own[m.y[i]], s[0].distance)
			if s[0].distance > 0 {
				positive = append(positive, s[0].distance)
			}
		}
	}
	if len(positive) == 0 {
		return nil
	}
	unit := median(positive)
	for _, seen := range m.views {
		for k := range seen {
			seen[k].distance /= unit
		}
	}
	out := make([]float64, m.classes)
	for c, list := range own {
		out[c] = 1
		if n := float64(len(list)); n > 0 {
			out[c] = math.Exp(n / (n + scaleWeight) * math.Log(max(median(list)/unit, minSquaredDistance)))
		}
	}
	return out
}

const (
	// minSquaredDistance is the least squared distance that float32 can distinguish from 0.
	minSquaredDistance = 1e-6
	// scaleWeight is the weight, in items, of the scale of all classes in the scale of a class. The logarithm
	// of the median of five items is about as uncertain as the differences of classes.
	scaleWeight = 5
)
