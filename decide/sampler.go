package decide

import (
	"context"
	"fmt"
	"sort"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// sampleBytes is the most memory that vectors take from which a spread is measured: 262,144 of
// 128 numbers.
const sampleBytes = 128 << 20

// Sampler measures the spread of a gallery from items as they come. It keeps as many as fit
// into 128 MiB: of every class at most the same number, spread evenly over its items. Among
// fewer items the nearest is farther, so that sets by such a spread hold their class as often
// or more often. Classes with fewer kept items than a coverage needs use the calibration's spread.
type Sampler struct {
	count  map[string]int // items of a label, as they were counted
	dim    int
	most   int // items of a class to keep
	seen   map[string]int
	rows   []float32
	number map[string]int // of a label
	names  []string       // by number
	of     []int          // the number of the label of each row
}

// NewSampler takes how many items have which label, and the length of the vectors. count is kept.
func NewSampler(count map[string]int, dim int) *Sampler {
	return newSampler(count, dim, sampleBytes)
}

func newSampler(count map[string]int, dim, bytes int) *Sampler {
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
	return &Sampler{count: count, dim: dim, most: most, seen: make(map[string]int), number: make(map[string]int)}
}

// Add takes one item after the other; those without a label are passed over.
func (s *Sampler) Add(label string, vector []float32) error {
	if len(vector) != s.dim {
		return fmt.Errorf("an item of %d numbers among those of %d", len(vector), s.dim)
	}
	n := s.count[label]
	if label == "" || n < 2 || s.most < 2 {
		return nil
	}
	k := s.seen[label]
	s.seen[label]++
	if m := min(n, s.most); k >= n || (k+1)*m/n == k*m/n {
		return nil
	}
	i, ok := s.number[label]
	if !ok {
		i = len(s.names)
		s.number[label] = i
		s.names = append(s.names, label)
	}
	s.rows, s.of = append(s.rows, vector...), append(s.of, i)
	return nil
}

// Measure is Spread and NewApart of the items that were kept.
func (s *Sampler) Measure(ctx context.Context, by rank.Distance) (*Measures, error) {
	spread, err := s.Spread(ctx, by)
	if err != nil {
		return nil, err
	}
	labels := make([]string, len(s.of))
	for row, i := range s.of {
		labels[row] = s.names[i]
	}
	apart, err := NewApart(ctx, mat.Of(len(s.of), s.dim, s.rows), labels, by)
	return &Measures{spread, apart}, err
}

// Spread measures the classes that have two different items or more, for sets of any coverage.
// Copies of an item count once. The error is ctx.Err(), wrapped.
func (s *Sampler) Spread(ctx context.Context, by rank.Distance) (Spread, error) {
	x := mat.Of(len(s.of), s.dim, s.rows)
	classes := make([][]int, len(s.names))
	for row, i := range s.of {
		classes[i] = append(classes[i], row)
	}
	out := make(Spread)
	for i, rows := range classes {
		if rows = once(x, rows); len(rows) < 2 {
			continue
		}
		own, err := spreadOf(ctx, x, rows, by)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", s.names[i], err)
		}
		out[s.names[i]] = own
	}
	return out, nil
}
