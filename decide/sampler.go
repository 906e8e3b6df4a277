package decide

import (
	"context"
	"fmt"
	"sort"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// sampleBytes is the largest memory of the vectors from which a spread is measured: 262,144 vectors of
// 128 numbers.
const sampleBytes = 128 << 20

// Sampler measures the spread of a gallery from a stream of items. It keeps as many items as fit into 128
// MiB: of every class at most the same number, spread evenly over its items. With fewer items the nearest
// is farther, so sets by such a spread contain their class at least as often. Classes with fewer kept
// items than a coverage needs use the calibration's spread.
type Sampler struct {
	count  map[string]int // number of items of each label
	dim    int
	most   int // number of items of a class to keep
	seen   map[string]int
	rows   []float32
	number map[string]int // number of each label
	names  []string       // labels by number
	of     []int          // number of the label of each row
}

// NewSampler returns a Sampler. count has the number of items of each label, and is kept. dim is the length of the
// vectors.
func NewSampler(count map[string]int, dim int) *Sampler { return newSampler(count, dim, sampleBytes) }

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

// Add adds the next item. Items without a label are ignored.
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

// Measure returns the Spread and Apart of the kept items.
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

// Spread measures the classes with two or more different items, for sets of any coverage. Copies of an
// item count once. Its only error is ctx.Err(), wrapped.
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
