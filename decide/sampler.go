package decide

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// lookupBlock is the number of items with which strangers are compared at a time.
const lookupBlock = 1024

// sampleBytes is the largest memory of the vectors from which a spread is measured: 262,144 vectors of
// 128 numbers.
const sampleBytes = 128 << 20

// Sampler measures a gallery from a stream of items: the means of its classes, the scores of strangers, and the spread
// of classes. For the last it keeps as many items as fit into 128
// MiB: of every class at most the same number, spread evenly over its items. With fewer items the nearest
// is farther, so sets by such a spread contain their class at least as often. Classes with fewer kept
// items than a coverage needs use the calibration's spread.
type Sampler struct {
	count       map[string]int // number of items of each label
	dim         int
	maxPerClass int // number of items of a class to keep
	seen        map[string]int
	rows        []float32
	rowClass    []int // number of the class of each row among those of means

	means      *Means
	score      *Score   // of the calibration; nil: strangers are not tried
	lookups    *lookups // of the calibration's photos
	block      []float32
	blockClass []int // class of each row of the block
}

// NewSampler returns a Sampler for decisions by a calibration about a gallery of vectors of dim numbers. count has the
// number of items of each label, and is kept. Without a calibration, or with a closed one, strangers are not tried.
func NewSampler(says *Calibration, count map[string]int, dim int, by eval.Distance) *Sampler {
	s := newSampler(count, dim, by, sampleBytes)
	if says != nil && says.Score != nil && says.Dim == dim {
		s.score = says.Score
		without := make([]int, len(s.score.SampleClass))
		for k := range without {
			without[k] = -1
		}
		s.lookups = newLookups(s.score.Sample.matrix(dim), without, by)
	}
	return s
}

func newSampler(count map[string]int, dim int, by eval.Distance, bytes int) *Sampler {
	largest := 0
	for _, n := range count {
		largest = max(largest, n)
	}
	rows := bytes / (4 * max(1, dim))
	// The largest number that fits.
	most := sort.Search(largest, func(m int) bool {
		total := 0
		for _, n := range count {
			total += min(n, m+1)
		}
		return total > rows
	})
	return &Sampler{means: NewMeans(dim, by), count: count, dim: dim, maxPerClass: most, seen: make(map[string]int)}
}

// Add adds the next item. Items without a label are ignored.
func (s *Sampler) Add(label string, vector []float32) error {
	if len(vector) != s.dim {
		return fmt.Errorf("an item has %d numbers, but the others have %d", len(vector), s.dim)
	}
	if label == "" {
		return nil
	}
	if err := s.means.Add(label, vector); err != nil {
		return err
	}
	if s.lookups != nil {
		s.block, s.blockClass = append(s.block, vector...), append(s.blockClass, s.means.index[label])
		if len(s.blockClass) == lookupBlock {
			s.lookUpBlock()
		}
	}
	n := s.count[label]
	if n == 0 || s.maxPerClass == 0 {
		return nil
	}
	k := s.seen[label]
	s.seen[label]++
	if m := min(n, s.maxPerClass); k >= n || (k+1)*m/n == k*m/n {
		return nil
	}
	s.rows, s.rowClass = append(s.rows, vector...), append(s.rowClass, s.means.index[label])
	return nil
}

// lookUpBlock compares strangers with the items of the block.
func (s *Sampler) lookUpBlock() {
	x := matrix.FromSlice(len(s.blockClass), s.dim, s.block)
	if s.means.distance == eval.Cosine {
		x = eval.NormalizeRows(x)
	}
	s.lookups.add(x, s.blockClass)
	s.block, s.blockClass = s.block[:0], s.blockClass[:0]
}

// Measure returns the measures of the items. Without spread, the spread is left out.
func (s *Sampler) Measure(ctx context.Context, spread bool) (m *Measures, err error) {
	m = &Measures{Means: s.means}
	if spread {
		if m.Spread, err = s.Spread(ctx, s.means.distance); err != nil {
			return nil, err
		}
	}
	if s.lookups == nil || s.means.numClasses() == 0 {
		return m, nil
	}
	s.lookUpBlock()
	of := s.score
	scores, err := of.computeScores(ctx, s.means, s.lookups, of.cohortDistances(s.lookups.photos, of.SampleClass),
		func(i int) *weights { return &of.Folds[of.SampleFold[i]] })
	if err != nil {
		return nil, err
	}
	in := s.galleryClasses()
	for i, class := range of.SampleClass {
		if in[class] {
			scores[i] = math.Inf(-1)
		}
	}
	m.StrangerTrial = &StrangerTrial{Strangers: groupByClass(scores, of.SampleClass, of.SampleGroup)}
	m.StrangerTrial.OwnItems, err = s.scoreOwnItems(ctx)
	return m, err
}

// galleryClasses returns the classes of the calibration that are in the gallery, by their name or as a photo
// of them is an item.
func (s *Sampler) galleryClasses() map[int]bool {
	out := make(map[int]bool)
	for i, class := range s.score.SampleClass {
		near := s.lookups.nearest[i]
		_, named := s.means.index[s.score.Names[class]]
		out[class] = out[class] || named || len(near) > 0 && float64(near[0].d) <= 1e-6*s.score.Scatter
	}
	return out
}

// scoreOwnItems returns the scores of kept items among the kept items of the other classes.
func (s *Sampler) scoreOwnItems(ctx context.Context) ([]ClassScores, error) {
	x := matrix.FromSlice(len(s.rowClass), s.dim, s.rows)
	if s.means.distance == eval.Cosine {
		x = eval.NormalizeRows(x)
	}
	rows := s.rowsByClass()
	var probes, own []int
	each, step := max(1, maxOwnLookups/max(1, len(rows))), max(1, len(rows)/maxOwnLookups)
	for i := 0; i < len(rows); i += step {
		n := min(each, len(rows[i]))
		for k := range n {
			row := rows[i][k*len(rows[i])/n]
			probes, own = append(probes, row), append(own, i)
		}
	}
	if len(probes) == 0 {
		return nil, nil
	}
	l := newLookups(copyRows(x, probes), own, s.means.distance)
	for lo := 0; lo < x.Rows; lo += lookupBlock {
		hi := min(lo+lookupBlock, x.Rows)
		l.add(x.RowRange(lo, hi), s.rowClass[lo:hi])
	}
	scores, err := s.score.computeScores(ctx, s.means, l, s.score.cohortDistances(l.photos, nil),
		func(int) *weights { return &s.score.Weights })
	return groupByClass(scores, own, own), err
}

// rowsByClass returns the kept rows of each class.
func (s *Sampler) rowsByClass() [][]int {
	out := make([][]int, s.means.numClasses())
	for row, i := range s.rowClass {
		out[i] = append(out[i], row)
	}
	return out
}

// Spread measures the classes with two or more different items, for sets of any coverage. Copies of an
// item count once. Its only error is ctx.Err(), wrapped.
func (s *Sampler) Spread(ctx context.Context, by eval.Distance) (Spread, error) {
	x := matrix.FromSlice(len(s.rowClass), s.dim, s.rows)
	out := make(Spread)
	for i, rows := range s.rowsByClass() {
		if rows = distinctRows(x, rows); len(rows) < 2 {
			continue
		}
		own, err := classSpread(ctx, x, rows, by)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", s.means.labels[i], err)
		}
		out[s.means.labels[i]] = own
	}
	return out, nil
}

// MeasureGallery returns a gallery of items x (n x d) with the given labels, measured for decisions by a calibration.
func MeasureGallery(ctx context.Context, c *Calibration, x *matrix.Dense, labels []string, by eval.Distance) (Gallery,
	error) {
	if len(labels) != x.Rows {
		return Gallery{}, fmt.Errorf("there are %d items, but %d labels", x.Rows, len(labels))
	}
	count := make(map[string]int)
	for _, l := range labels {
		count[l]++
	}
	g := NewGalleryFromCounts(count)
	s := NewSampler(c, count, x.Cols, by)
	for i, l := range labels {
		if err := s.Add(l, x.Row(i)); err != nil {
			return g, fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	m, err := s.Measure(ctx, true)
	if err != nil {
		return g, err
	}
	g.Means, g.StrangerTrial, g.Spread = m.Means, m.StrangerTrial, m.Spread
	return g, nil
}
