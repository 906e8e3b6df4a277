package decide

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/matrix"
)

// tryBlock is the number of items with which strangers are compared at a time.
const tryBlock = 1024

// sampleBytes is the largest memory of the vectors from which a spread is measured: 262,144 vectors of
// 128 numbers.
const sampleBytes = 128 << 20

// Sampler measures a gallery from a stream of items: the means of its classes, the scores of strangers, and the spread
// of classes. For the last it keeps as many items as fit into 128
// MiB: of every class at most the same number, spread evenly over its items. With fewer items the nearest
// is farther, so sets by such a spread contain their class at least as often. Classes with fewer kept
// items than a coverage needs use the calibration's spread.
type Sampler struct {
	count map[string]int // number of items of each label
	dim   int
	most  int // number of items of a class to keep
	seen  map[string]int
	rows  []float32
	of    []int // number of the class of each row among those of means

	means   *Means
	score   *Score   // of the calibration; nil: strangers are not tried
	tried   *lookups // of the calibration's photos
	block   []float32
	blockOf []int // class of each row of the block
}

// NewSampler returns a Sampler for decisions by a calibration about a gallery of vectors of dim numbers. count has the
// number of items of each label, and is kept. Without a calibration, or with a closed one, strangers are not tried.
func NewSampler(says *Calibration, count map[string]int, dim int, by rank.Distance) *Sampler {
	s := newSampler(count, dim, by, sampleBytes)
	if says != nil && says.Score != nil && says.Dim == dim {
		s.score = says.Score
		without := make([]int, len(s.score.SampleClass))
		for k := range without {
			without[k] = -1
		}
		s.tried = newLookups(s.score.Sample.rows(dim), without, by)
	}
	return s
}

func newSampler(count map[string]int, dim int, by rank.Distance, bytes int) *Sampler {
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
	return &Sampler{means: NewMeans(dim, by), count: count, dim: dim, most: most, seen: make(map[string]int)}
}

// Add adds the next item. Items without a label are ignored.
func (s *Sampler) Add(label string, vector []float32) error {
	if len(vector) != s.dim {
		return fmt.Errorf("an item of %d numbers among those of %d", len(vector), s.dim)
	}
	if label == "" {
		return nil
	}
	if err := s.means.Add(label, vector); err != nil {
		return err
	}
	if s.tried != nil {
		s.block, s.blockOf = append(s.block, vector...), append(s.blockOf, s.means.number[label])
		if len(s.blockOf) == tryBlock {
			s.try()
		}
	}
	n := s.count[label]
	if n == 0 || s.most == 0 {
		return nil
	}
	k := s.seen[label]
	s.seen[label]++
	if m := min(n, s.most); k >= n || (k+1)*m/n == k*m/n {
		return nil
	}
	s.rows, s.of = append(s.rows, vector...), append(s.of, s.means.number[label])
	return nil
}

// try compares strangers with the items of the block.
func (s *Sampler) try() {
	x := matrix.FromSlice(len(s.blockOf), s.dim, s.block)
	if s.means.by == rank.Cosine {
		x = rank.Normalized(x)
	}
	s.tried.add(x, s.blockOf)
	s.block, s.blockOf = s.block[:0], s.blockOf[:0]
}

// Measure returns the measures of the items. Without spread, the spread is left out.
func (s *Sampler) Measure(ctx context.Context, spread bool) (m *Measures, err error) {
	m = &Measures{Means: s.means}
	if spread {
		if m.Spread, err = s.Spread(ctx, s.means.by); err != nil {
			return nil, err
		}
	}
	if s.tried == nil || s.means.classes() == 0 {
		return m, nil
	}
	s.try()
	of := s.score
	scores, err := of.scores(ctx, s.means, s.tried, of.cohorts(s.tried.photos, of.SampleClass),
		func(i int) *weights { return &of.Folds[of.SampleFold[i]] })
	if err != nil {
		return nil, err
	}
	in := s.inGallery()
	for i, class := range of.SampleClass {
		if in[class] {
			scores[i] = math.Inf(-1)
		}
	}
	m.Tryout = &Tryout{Strangers: byClass(scores, of.SampleClass, of.SampleGroup)}
	m.Tryout.Own, err = s.tryOwn(ctx)
	return m, err
}

// inGallery returns the classes of the calibration that are in the gallery, by their name or as a photo of them is an
// item.
func (s *Sampler) inGallery() map[int]bool {
	out := make(map[int]bool)
	for i, class := range s.score.SampleClass {
		near := s.tried.near[i]
		_, named := s.means.number[s.score.Names[class]]
		out[class] = out[class] || named || len(near) > 0 && float64(near[0].d) <= 1e-6*s.score.Scatter
	}
	return out
}

// tryOwn returns the scores of kept items among the kept items of the other classes.
func (s *Sampler) tryOwn(ctx context.Context) ([]ClassScores, error) {
	x := matrix.FromSlice(len(s.of), s.dim, s.rows)
	if s.means.by == rank.Cosine {
		x = rank.Normalized(x)
	}
	rows := s.byClass()
	var probes, own []int
	each, step := max(1, mostOwnTried/max(1, len(rows))), max(1, len(rows)/mostOwnTried)
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
	l := newLookups(taken(x, probes), own, s.means.by)
	for lo := 0; lo < x.Rows; lo += tryBlock {
		hi := min(lo+tryBlock, x.Rows)
		l.add(x.RowRange(lo, hi), s.of[lo:hi])
	}
	scores, err := s.score.scores(ctx, s.means, l, s.score.cohorts(l.photos, nil),
		func(int) *weights { return &s.score.Weights })
	return byClass(scores, own, own), err
}

// byClass returns the kept rows of each class.
func (s *Sampler) byClass() [][]int {
	out := make([][]int, s.means.classes())
	for row, i := range s.of {
		out[i] = append(out[i], row)
	}
	return out
}

// Spread measures the classes with two or more different items, for sets of any coverage. Copies of an
// item count once. Its only error is ctx.Err(), wrapped.
func (s *Sampler) Spread(ctx context.Context, by rank.Distance) (Spread, error) {
	x := matrix.FromSlice(len(s.of), s.dim, s.rows)
	out := make(Spread)
	for i, rows := range s.byClass() {
		if rows = once(x, rows); len(rows) < 2 {
			continue
		}
		own, err := spreadOf(ctx, x, rows, by)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", s.means.labels[i], err)
		}
		out[s.means.labels[i]] = own
	}
	return out, nil
}

// MeasuredGallery returns a gallery of items x (n x d) with the given labels, measured for decisions by a calibration.
func MeasuredGallery(ctx context.Context, c *Calibration, x *matrix.Dense, labels []string, by rank.Distance) (Gallery,
	error) {
	if len(labels) != x.Rows {
		return Gallery{}, fmt.Errorf("%d items with %d labels", x.Rows, len(labels))
	}
	count := make(map[string]int)
	for _, l := range labels {
		count[l]++
	}
	g := Counted(count)
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
	g.Means, g.Tryout, g.Spread = m.Means, m.Tryout, m.Spread
	return g, nil
}
