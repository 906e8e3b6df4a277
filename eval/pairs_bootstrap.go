package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Bootstrap describes the resampling of metrics of decisions.
type Bootstrap struct {
	Resamples int
	Seed      uint64
}

// maxGroups is the largest number of units that are drawn. More identities are divided into this
// number of groups by the seed, and whole groups are drawn.
const maxGroups = 256

// ResamplePairs returns metrics (FNMR, TAR, EER, AUC and DPrime) of resamples of the pairs that
// ComparePairs counted, a list for each metric. Pairs are not independent, because a row is in many
// pairs, and rows of one class fail together. So as many classes as there are are drawn with
// replacement. The weight of the pairs of two classes is the product of how often each was drawn (the
// pigeonhole bootstrap of Owen 2007; Bolle, Ratha and Pankanti 2004 draw the subsets of pairs of one
// identity but keep the other side fixed, which makes intervals too narrow). Genuine pairs of a class
// count as often as it was drawn. The threshold is chosen again in each resample. More than 256 classes
// are drawn in 256 groups that the seed makes.
//
// Distances are divided into some hundred intervals, which are narrow at the requested rates, and rates
// are interpolated within them. Resample k draws from stream k of the seed. A draw without genuine or
// impostor pairs is repeated. ResamplePairs compares all pairs again. It returns the errors of
// ComparePairs, and an error if a metric is of another kind or if there are too few classes for draws
// with both kinds of pairs.
func ResamplePairs(ctx context.Context, queries Set, gallery *Set, c *Counts, metrics []Metric, b Bootstrap,
	opt CompareOptions) ([][]float64, error) {
	p, err := newPairProduct(queries, gallery, opt)
	if err != nil {
		return nil, err
	}
	if err := checkResamplable(metrics); err != nil {
		return nil, err
	}
	qGroups, gGroups, n := assignGroups(p.labels, p.galleryLabels, b.Seed)
	cells := newGroupCells(c.resamplingThresholds(metrics), n)
	err = p.visitTiles(ctx, opt, func(t *tile) {
		here := make([]int64, len(cells.levels)+1)
		t.visitRuns(func(i int, genuine bool, lo, hi int) {
			own := qGroups[i]
			for lo < hi {
				other := gGroups[p.cols[lo]]
				end := lo
				for ; end < hi && gGroups[p.cols[end]] == other; end++ {
					here[cells.intervalOf(p.roundUp(p.distance(i, int(p.cols[end]))))]++
				}
				cells.addPairs(own, other, genuine, here)
				lo = end
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return cells.resample(ctx, c, metrics, b)
}

// checkResamplable returns an error for metrics that are not computed from all pairs.
func checkResamplable(metrics []Metric) error {
	for _, m := range metrics {
		if !m.Kind.measure().isResampled() {
			return fmt.Errorf("%s cannot be resampled: must be %s", m, joinKinds((*measure).isResampled))
		}
		if err := m.Check(); err != nil {
			return err
		}
	}
	return nil
}

// assignGroups numbers the groups of two columns of labels. The labels of a group are drawn together.
func assignGroups(a, b []int64, seed uint64) (ofA, ofB []int32, n int) {
	classes := slices.Concat(a, b)
	slices.Sort(classes)
	classes = slices.Compact(classes)
	n = min(len(classes), maxGroups)
	unit := make([]int32, len(classes))
	for i := range unit {
		unit[i] = int32(i % n)
	}
	if len(classes) > n {
		rng := rand.New(rand.NewPCG(seed, 0))
		rng.Shuffle(len(unit), func(i, j int) { unit[i], unit[j] = unit[j], unit[i] })
	}
	number := func(labels []int64) []int32 {
		out := make([]int32, len(labels))
		for i, y := range labels {
			at, _ := slices.BinarySearch(classes, y)
			out[i] = unit[at]
		}
		return out
	}
	return number(a), number(b), n
}

// numQuantiles is the number of quantiles of each kind of pairs, and of parts of the range of distances, that
// resamples distinguish.
const numQuantiles = 24

// thresholdsNearFMR returns thresholds for rates around the given one.
func (c *Counts) thresholdsNearFMR(fmr float64) (out []key) {
	for e := -6; e <= 6; e++ {
		out = append(out, c.roundUp(c.RatesAtFMR(fmr*math.Pow(2, float64(e)/2)).Threshold))
	}
	return out
}

// evenThresholds returns thresholds over the range of distances, for a measure that depends on distances and
// not only on their order.
func (c *Counts) evenThresholds(float64) (out []key) {
	low, high := c.value(c.keys[0]), c.value(c.keys[len(c.keys)-1])
	for i := range numQuantiles {
		out = append(out, c.roundUp(low+(high-low)*float64(i)/numQuantiles))
	}
	return out
}

// resamplingThresholds returns the thresholds that resamples distinguish: those of the requested rates and of rates
// around them, and quantiles of both kinds of pairs.
func (c *Counts) resamplingThresholds(metrics []Metric) []key {
	var out []key
	for _, m := range metrics {
		if levels := m.Kind.measure().levels; levels != nil {
			out = append(out, levels(c, m.Rate)...)
		}
	}
	for s := range numQuantiles {
		for _, kind := range [...][]int64{c.genuine, c.impostor} {
			n := kind[len(kind)-1] * int64(s) / numQuantiles
			out = append(out, c.keys[sort.Search(len(kind), func(i int) bool { return kind[i] > n })])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// groupCells counts the pairs of every two groups by the interval of their distance: up to the first level,
// above it and up to the second, and so on, and above the last.
type groupCells struct {
	levels   []key
	groups   int
	genuine  []int64 // [group][quantileInterval]
	impostor []int64 // [couple of groups][quantileInterval]
}

func newGroupCells(levels []key, groups int) *groupCells {
	n := len(levels) + 1
	return &groupCells{levels: levels, groups: groups, genuine: make([]int64, groups*n),
		impostor: make([]int64, groups*(groups+1)/2*n)}
}

// intervalOf returns the interval that holds k.
func (c *groupCells) intervalOf(k key) int {
	return sort.Search(len(c.levels), func(i int) bool { return c.levels[i] >= k })
}

// addPairs adds pairs of two groups, by interval, and clears here. It is safe for concurrent use.
func (c *groupCells) addPairs(g, h int32, genuine bool, here []int64) {
	to := c.genuine[int(g)*len(here):]
	if !genuine {
		to = c.impostor[pairIndex(int(g), int(h))*len(here):]
	}
	for l, n := range here {
		if n > 0 {
			atomic.AddInt64(&to[l], n)
			here[l] = 0
		}
	}
}

// pairIndex returns the number of a combination of two groups in either order.
func pairIndex(g, h int) int {
	if g < h {
		g, h = h, g
	}
	return g*(g+1)/2 + h
}

// maxRedraws is the number of times that a draw without a kind of pairs is repeated.
const maxRedraws = 100

var errTooFewClasses = errors.New(
	"too few classes to resample: nearly every draw of them lacks genuine or impostor pairs")

func (c *groupCells) resample(ctx context.Context, counts *Counts, metrics []Metric, b Bootstrap) ([][]float64, error) {
	out := make([][]float64, len(metrics))
	for s := range out {
		out[s] = make([]float64, b.Resamples)
	}
	means := c.means(counts)
	var failed atomic.Bool
	err := par.ForContext(ctx, b.Resamples, 1, func(lo, hi int) {
		times := make([]float64, c.groups)
		for r := lo; r < hi; r++ {
			rng := rand.New(rand.NewPCG(b.Seed, uint64(r)+1))
			drawn := &resampledCounts{means: means}
			for range maxRedraws {
				clear(times)
				for range times {
					times[rng.IntN(c.groups)]++
				}
				if c.draw(times, drawn) {
					break
				}
			}
			if !drawn.hasBothKinds() {
				failed.Store(true)
				return
			}
			for s, m := range metrics {
				out[s][r] = m.Kind.measure().ofResample(drawn, m.Rate)
			}
		}
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("resampling %d groups of classes: %w", c.groups, err)
	case failed.Load():
		return nil, errTooFewClasses
	}
	return out, nil
}

// resampledCounts holds the weighted numbers of genuine and of impostor pairs up to each level, and of all.
type resampledCounts struct {
	cumulative [2][]float64
	means      [2][]distanceMoments
}

func (r *resampledCounts) hasBothKinds() bool {
	n := len(r.cumulative[0])
	return n > 0 && r.cumulative[0][n-1] > 0 && r.cumulative[1][n-1] > 0
}

// draw counts pairs as often as the groups were drawn.
func (c *groupCells) draw(times []float64, r *resampledCounts) bool {
	n := len(c.levels) + 1
	genuine, impostor := make([]float64, n), make([]float64, n)
	add := func(to []float64, w float64, counts []int64) {
		for l, v := range counts[:n] {
			to[l] += w * float64(v)
		}
	}
	for g, w := range times {
		if w == 0 {
			continue
		}
		add(genuine, w, c.genuine[g*n:])
		add(impostor, w, c.impostor[pairIndex(g, g)*n:]) // pairs of two classes in the same group
		for h, v := range times[:g] {
			if v != 0 {
				add(impostor, w*v, c.impostor[pairIndex(g, h)*n:])
			}
		}
	}
	for _, kind := range [...][]float64{genuine, impostor} {
		for l := 1; l < n; l++ {
			kind[l] += kind[l-1]
		}
	}
	r.cumulative = [2][]float64{genuine, impostor}
	return r.hasBothKinds()
}

// means returns the spread of each kind of pairs in each interval.
func (c *groupCells) means(counts *Counts) (out [2][]distanceMoments) {
	var before [2]int64
	for kind := range out {
		out[kind] = make([]distanceMoments, len(c.levels)+1)
	}
	for i, k := range counts.keys {
		l := c.intervalOf(k)
		for kind, upTo := range [...]int64{counts.genuine[i], counts.impostor[i]} {
			out[kind][l].add(k.value(), float64(upTo-before[kind]))
			before[kind] = upTo
		}
	}
	return out
}

// rates returns FMR and FNMR at level l.
func (r *resampledCounts) rates(l int) (fmr, fnmr float64) {
	last := len(r.cumulative[0]) - 1
	if l < 0 {
		return 0, 1
	}
	return r.cumulative[1][l] / r.cumulative[1][last], 1 - r.cumulative[0][l]/r.cumulative[0][last]
}

func (r *resampledCounts) fnmrAt(wanted float64) float64 {
	for l := range r.cumulative[1] {
		if fmr, fnmr := r.rates(l); fmr > wanted {
			before, at := r.rates(l - 1)
			return at + (wanted-before)/(fmr-before)*(fnmr-at)
		}
	}
	return 0
}

func (r *resampledCounts) eer() float64 {
	for l := range r.cumulative[1] {
		if fmr, fnmr := r.rates(l); fmr > fnmr {
			before, at := r.rates(l - 1)
			low, high := at-before, fmr-fnmr
			return before + low/(low+high)*(fmr-before)
		}
	}
	return 0
}

func (r *resampledCounts) auc() (area float64) {
	for l := range r.cumulative[1] {
		fmr, fnmr := r.rates(l)
		before, at := r.rates(l - 1)
		area += (fmr - before) * (1 - (fnmr+at)/2)
	}
	return area
}

func (r *resampledCounts) dPrime() float64 {
	var all [2]distanceMoments
	for kind, up := range r.cumulative {
		var before float64
		for l, n := range up {
			if in := r.means[kind][l]; in.n > 0 {
				w := n - before
				all[kind].merge(distanceMoments{w, in.mean, in.square * w / in.n})
			}
			before = n
		}
	}
	return dPrime(all)
}
