package decide

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// minClasses is the least number of classes with two photos or more: five folds of two classes.
const minClasses = 10

const defaultRows = 60_000

// Options are the options of Calibrate. The zero value is the default.
type Options struct {
	// Distance is the distance between photos; default Euclidean.
	Distance eval.Distance
	// Source identifies what made the embeddings. It is checked before a calibration is used.
	Source embedding.Network
	// Seed chooses folds, the probes of the vote, and rows if there are too many.
	Seed uint64
	// Rows is the largest number of rows that are compared with each other; default 60,000. If
	// there are more, every class keeps at most the largest number of photos that fits.
	Rows int
	// Names, if set, has the names of labels.
	Names map[int64]string
	// Progress, if set, is called with the share of the work done, 0 to 1.
	Progress func(done float64)
}

// Calibrate learns what distances mean from embeddings x (n x d, one photo in each row) of classes that
// the network was not trained on, and their labels. It compares all pairs of rows twice, in about
// 140 n float32 and 50 MiB of memory.
//
// Copies of a photo within its class are left out. It returns an error without rows, for NaN, for rows
// of zeros with the cosine distance, and for fewer than ten classes of two photos, and ctx.Err(),
// wrapped.
func Calibrate(ctx context.Context, x *matrix.Dense, labels []int64, opt Options) (*Calibration, error) {
	s, copies, err := newSet(x, labels, &opt)
	if err != nil {
		return nil, err
	}
	pairs := 0
	for i := range s.numIdentities() {
		if s.numPhotos(i) > 1 {
			pairs++
		}
	}
	if pairs < minClasses {
		return nil, fmt.Errorf("%d classes with two different photos or more are too few to calibrate on: "+
			"at least %d are needed, and %[3]d for a false-match rate of 1e-3", pairs, minClasses,
			SampleSize(1e-3))
	}
	c := &Calibration{Format: format, Source: opt.Source, Distance: opt.Distance, Dim: x.Cols, Seed: opt.Seed,
		Classes: s.numIdentities(), Photos: s.x.Rows, Copies: copies, InputPhotos: x.Rows}
	c.PerClass = s.totalPhotos() / float64(c.Classes)
	report := opt.Progress
	if report == nil {
		report = func(float64) {}
	}
	done := 0
	tile := func() {
		done += tileRows
		report(min(1, float64(done)/float64(2*s.x.Rows)))
	}
	fine, err := s.countPairs(ctx, tile)
	if err != nil {
		return nil, err
	}
	l := fine.chooseLevels(s.distance)
	if far := l.end[len(l.end)-1]; math.IsInf(far, 0) || math.IsNaN(far) {
		return nil, fmt.Errorf("distances are too large for 32-bit numbers: scale the embeddings down")
	}
	u, err := newUnits(ctx, s, opt.Seed)
	if err != nil {
		return nil, err
	}
	m := newMeasure(s, l, u, &opt)
	if err := s.scan(ctx, m.visit, func() { m.merge(); tile() }); err != nil {
		return nil, err
	}
	m.fillCalibration(c)
	if c.Score, err = fitScore(ctx, s, u, &opt); err != nil {
		return nil, fmt.Errorf("learning the probability of labels: %w", err)
	}
	return c, nil
}

// pairCounts counts pairs by key.
type pairCounts struct{ same, different []int64 }

// pairUnit is what a pair of weight 1 counts in a pairCounts. Sums of integers do not depend on their order.
const pairUnit = 1 << 24

// pairWeight returns what a pair of photos of two identities counts in a pairCounts.
func (s *set) pairWeight(i, j int) int64 {
	return max(1, int64(pairUnit*s.weight[i]*s.weight[j]+0.5))
}

// countPairs counts all pairs of rows by their weights. Each pair is counted from both sides.
func (s *set) countPairs(ctx context.Context, tile func()) (*pairCounts, error) {
	var mu sync.Mutex
	var idle, all []*pairCounts
	take := func() *pairCounts {
		mu.Lock()
		defer mu.Unlock()
		if n := len(idle); n > 0 {
			f := idle[n-1]
			idle = idle[:n-1]
			return f
		}
		f := &pairCounts{make([]int64, 1<<keyBits), make([]int64, 1<<keyBits)}
		all = append(all, f)
		return f
	}
	err := s.scan(ctx, func(i, lo int, of [][]float32) {
		f := take()
		for k, v := range of {
			for j := range s.numIdentities() {
				to, pair := f.different, s.pairWeight(i, j)
				if j == i {
					to = f.same
				}
				for p := s.first[j]; p < s.first[j+1]; p++ {
					if p != lo+k {
						to[orderKey(v[p])] += pair
					}
				}
			}
		}
		mu.Lock()
		idle = append(idle, f)
		mu.Unlock()
	}, tile)
	if err != nil {
		return nil, err
	}
	sum := all[0]
	for _, f := range all[1:] {
		for k := range sum.same {
			sum.same[k] += f.same[k]
			sum.different[k] += f.different[k]
		}
	}
	return sum, nil
}

// levels holds the distances at which rates are kept.
type levels struct {
	keys       []uint32
	firstLevel []uint16  // for each key, the first level whose distance is at least as large
	end        []float64 // the largest distance of each level, as from outward
}

// chooseLevels chooses distances between which the rate of different pairs grows by about a tenth, and the
// rate of same pairs by a twentieth or by one per cent.
func (f *pairCounts) chooseLevels(by eval.Distance) *levels {
	var wanted []uint32
	choose := func(count []int64, linear bool, factor float64) {
		total := int64(0)
		for _, n := range count {
			total += n
		}
		if total == 0 {
			return
		}
		var sum int64
		next := 0.0
		for k, n := range count {
			if n == 0 {
				continue
			}
			sum += n
			if share := float64(sum) / float64(total); share >= next {
				wanted = append(wanted, uint32(k))
				if linear {
					next = share + 0.01
				} else {
					next = share * factor
				}
			}
		}
	}
	choose(f.different, false, 1.12)
	choose(f.same, false, 1.06)
	choose(f.same, true, 0)
	for k := len(f.same) - 1; k >= 0; k-- { // no value is larger
		if f.same[k]+f.different[k] > 0 {
			wanted = append(wanted, uint32(k))
			break
		}
	}
	slices.Sort(wanted)
	l := &levels{keys: slices.Compact(wanted), firstLevel: make([]uint16, 1<<keyBits)}
	level := 0
	for k := range l.firstLevel {
		l.firstLevel[k] = uint16(level)
		if level < len(l.keys)-1 && uint32(k) == l.keys[level] {
			level++
		}
	}
	for _, k := range l.keys {
		l.end = append(l.end, toDistance(by, maxValueOf(k)))
	}
	return l
}

func (l *levels) levelOf(v float32) int { return int(l.firstLevel[orderKey(v)]) }

// foldCount is the number of folds of classes for testing probabilities on classes that they were not
// fitted to.
const foldCount = 5

// assignFolds assigns a fold to each of n units.
func assignFolds(n int, seed uint64) []int {
	out := make([]int, n)
	for k, i := range rand.New(rand.NewPCG(seed, 1)).Perm(n) {
		out[i] = k % foldCount
	}
	return out
}

// gallerySizes returns the numbers of classes for which strangers are measured: 1, 2, 5, 10, ... up to
// all others, and the sizes beyond up to a million.
func gallerySizes(others int) (sizes []int, within int) {
	for _, decade := range []int{1, 10, 100, 1000, 10_000, 100_000, 1_000_000} {
		for _, step := range []int{1, 2, 5} {
			if g := decade * step; g <= 1_000_000 {
				sizes = append(sizes, g)
			}
		}
	}
	sizes = append(sizes, others)
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	return sizes, slices.Index(sizes, others) + 1
}

// drawProbability returns the probability that at least one of g classes, drawn from n without replacement, is
// among k.
func drawProbability(n, k, g int) float64 {
	if k == 0 {
		return 0
	}
	if g > n-k {
		return 1
	}
	lg := func(v int) float64 { r, _ := math.Lgamma(float64(v + 1)); return r }
	return -math.Expm1(lg(n-k) - lg(n-k-g) - lg(n) + lg(n-g))
}
