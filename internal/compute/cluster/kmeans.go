package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/matrix"
)

// Init is the way in which the first centroids are chosen.
type Init int

const (
	// PlusPlus draws each next centroid with probability proportional to the
	// squared distance from the nearest one so far (Arthur and Vassilvitskii
	// 2007).
	PlusPlus Init = iota
	// Random draws K distinct rows uniformly.
	Random
)

var initNames = enum.New[Init]("Init", "start of k-means", "k-means++", "random")

func (i Init) String() string { return initNames.Name(i) }

// MarshalText returns the name of the start: k-means++ or random.
func (i Init) MarshalText() ([]byte, error) { return initNames.Marshal(i) }

// UnmarshalText reads a name.
func (i *Init) UnmarshalText(text []byte) error { return initNames.Unmarshal(i, text) }

// Config describes a clustering. All fields except K have defaults.
type Config struct {
	// K is the number of clusters, 1 to the number of rows.
	K int
	// Init is how to start; default PlusPlus.
	Init Init
	// Restarts is the number of starts; default 1. The result with the least inertia is kept.
	Restarts int
	// Iterations is the largest number of rounds of assignment and update; default 100.
	Iterations int
	// BatchSize, if positive, is the number of random rows that every round uses instead of all rows,
	// for very large sets.
	BatchSize int
	// Seed of the random choices. Restart r draws from stream r of the seed.
	Seed uint64
	// Progress, if set, is called after every round with the share done.
	Progress func(done float64)
}

// Result is a partition and how it was obtained.
type Result struct {
	K          int
	Init       Init
	Restarts   int
	Iterations int // rounds run by the winning start
	BatchSize  int // rows in a round, 0 for all
	Seed       uint64
	Converged  bool // the last round of the winning start changed no assignment
	// Inertia is the sum of squared distances to the assigned centroids.
	Inertia float64
	// Refilled counts how often an empty cluster was moved to the row farthest
	// from its centroid.
	Refilled int
	// Empty is the number of clusters without a row at the end. It is above 0 only if there are
	// fewer than K distinct rows.
	Empty int
	// Assignment holds the cluster of each row, 0..K-1.
	Assignment []int64
	// Centroids is K x d.
	Centroids *matrix.Dense
}

// KMeans partitions the rows of x (n x d) into K clusters by Lloyd's algorithm. It assigns every row to
// the nearest centroid (of equal ones to the lowest), moves every centroid to the mean of its rows, and
// repeats until nothing changes. A cluster that becomes empty takes the row farthest from its own
// centroid. The seed determines every bit of the result.
//
// It returns an error if there are no rows or fewer than K, if a row is not
// finite (it is named), or if a setting is out of range. It checks ctx before
// each initial centroid, each block of rows in a round and each empty cluster,
// and returns ctx.Err(), wrapped, once ctx is done.
func KMeans(ctx context.Context, x *matrix.Dense, cfg Config) (*Result, error) {
	if x == nil || x.Rows == 0 {
		return nil, errors.New("k-means needs at least one row")
	}
	if cfg.K < 1 || cfg.K > x.Rows {
		return nil, fmt.Errorf("k-means with %d clusters of %d rows: must be 1 to %d", cfg.K, x.Rows, x.Rows)
	}
	if cfg.Restarts < 0 || cfg.Iterations < 0 || cfg.BatchSize < 0 {
		return nil, fmt.Errorf("k-means with %d restarts of %d iterations in batches of %d", cfg.Restarts,
			cfg.Iterations, cfg.BatchSize)
	}
	if _, err := cfg.Init.MarshalText(); err != nil {
		return nil, fmt.Errorf("unknown start of k-means, %v", cfg.Init)
	}
	if err := checkFinite(x); err != nil {
		return nil, err
	}
	cfg.Restarts = cmp.Or(cfg.Restarts, 1)
	cfg.Iterations = cmp.Or(cfg.Iterations, 100)
	res, err := bestOfRestarts(ctx, x, cfg)
	if err != nil {
		return nil, fmt.Errorf("k-means of %d rows with %d clusters: %w", x.Rows, cfg.K, err)
	}
	return res, nil
}

// bestOfRestarts returns the best result of all starts. Its only error is that of ctx.
func bestOfRestarts(ctx context.Context, x *matrix.Dense, cfg Config) (*Result, error) {
	s := exact.Shift(x)
	near := exact.NewAssigner(s.X)
	var best *Result
	for r := range cfg.Restarts {
		l := newLloyd(s, near, cfg, rand.New(rand.NewPCG(cfg.Seed, uint64(r))))
		progress := func(done float64) {
			if cfg.Progress != nil {
				cfg.Progress((float64(r) + done) / float64(cfg.Restarts))
			}
		}
		run := l.run
		if cfg.BatchSize > 0 {
			run = l.runMiniBatch
		}
		res, err := run(ctx, progress)
		if err != nil {
			return nil, err
		}
		if best == nil || res.Inertia < best.Inertia {
			best = res
		}
	}
	return best, nil
}

// checkFinite returns an error that names the first row with a NaN or an infinity, because such a row has
// no nearest centroid.
func checkFinite(x *matrix.Dense) error {
	if bad, row, col := exact.Finite(x); bad > 0 {
		return fmt.Errorf("k-means: row %d holds %v (in dimension %d)", row, x.At(row, col), col)
	}
	return nil
}

// lloyd is one start of k-means.
type lloyd struct {
	*exact.Shifted
	cfg       Config
	rng       *rand.Rand
	assigner  *exact.Assigner
	centroids *matrix.Dense
	assign    []int32
	dist      []float64 // squared distance of each row to its centroid
	refilled  int
}

func newLloyd(s *exact.Shifted, near *exact.Assigner, cfg Config, rng *rand.Rand) *lloyd {
	return &lloyd{
		Shifted: s, cfg: cfg, rng: rng, assigner: near,
		centroids: matrix.New(cfg.K, s.X.Cols),
		assign:    make([]int32, s.X.Rows),
		dist:      make([]float64, s.X.Rows),
	}
}

func (l *lloyd) run(ctx context.Context, progress func(float64)) (*Result, error) {
	if err := l.chooseCentroids(ctx); err != nil {
		return nil, err
	}
	converged := false
	rounds := 0
	for !converged && rounds < l.cfg.Iterations {
		moved, err := l.assignAll(ctx)
		if err != nil {
			return nil, err
		}
		rounds++
		converged = !moved && rounds > 1
		if !converged {
			if err := l.update(ctx); err != nil {
				return nil, err
			}
		}
		progress(float64(rounds) / float64(l.cfg.Iterations))
	}
	if !converged {
		if _, err := l.assignAll(ctx); err != nil {
			return nil, err
		}
	}
	l.updateDistances()
	return l.result(rounds, converged), nil
}

// assignAll assigns every row to its nearest centroid, and reports whether any assignment changed.
func (l *lloyd) assignAll(ctx context.Context) (bool, error) {
	return l.assigner.Assign(ctx, l.assign, l.centroids)
}

// updateDistances updates the distances of the rows to their centroids.
func (l *lloyd) updateDistances() {
	par.For(l.X.Rows, 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			l.dist[i] = dot16.SquaredDistance(l.X.Row(i), l.centroids.Row(int(l.assign[i])))
		}
	})
}

// update moves the centroids to the means of their rows and refills empty clusters.
func (l *lloyd) update(ctx context.Context) error {
	start, rows := l.rowsByCluster()
	d := l.X.Cols
	par.For(l.cfg.K, 4, func(lo, hi int) {
		sum := make([]float64, d)
		for k := lo; k < hi; k++ {
			members := rows[start[k]:start[k+1]]
			if len(members) == 0 {
				continue
			}
			clear(sum)
			for _, i := range members {
				dot16.Accumulate(sum, l.X.Row(int(i)))
			}
			c := l.centroids.Row(k)
			for j, v := range sum {
				c[j] = float32(v / float64(len(members)))
			}
		}
	})
	for k := range l.cfg.K {
		if start[k+1] == start[k] {
			return l.refill(ctx, start)
		}
	}
	return nil
}

// rowsByCluster returns the rows ordered by cluster, and within a cluster in increasing order. Those of
// cluster k are rows[start[k]:start[k+1]].
func (l *lloyd) rowsByCluster() (start []int, rows []int32) {
	start = make([]int, l.cfg.K+1)
	for _, k := range l.assign {
		start[k+1]++
	}
	for k := range l.cfg.K {
		start[k+1] += start[k]
	}
	next := append([]int(nil), start...)
	rows = make([]int32, len(l.assign))
	for i, k := range l.assign {
		rows[next[k]] = int32(i)
		next[k]++
	}
	return start, rows
}

// refill moves the centroid of every empty cluster to the row that is farthest from its own centroid,
// unless all rows lie on their centroids.
func (l *lloyd) refill(ctx context.Context, start []int) error {
	l.updateDistances()
	for k := range l.cfg.K {
		if start[k+1] > start[k] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		far := 0
		for i, v := range l.dist {
			if v > l.dist[far] {
				far = i
			}
		}
		if l.dist[far] == 0 {
			return nil
		}
		copy(l.centroids.Row(k), l.X.Row(far))
		l.dist[far] = 0 // the next empty cluster takes another row
		l.refilled++
	}
	return nil
}

func (l *lloyd) result(rounds int, converged bool) *Result {
	r := &Result{
		K: l.cfg.K, Init: l.cfg.Init, Restarts: l.cfg.Restarts, Iterations: rounds, BatchSize: l.cfg.BatchSize,
		Seed: l.cfg.Seed, Converged: converged, Refilled: l.refilled,
		Assignment: make([]int64, len(l.assign)), Centroids: l.centroids,
	}
	used := make([]bool, l.cfg.K)
	for i, k := range l.assign {
		r.Assignment[i] = int64(k)
		r.Inertia += l.dist[i]
		used[k] = true
	}
	for _, u := range used {
		if !u {
			r.Empty++
		}
	}
	r.Inertia *= l.Size * l.Size
	for k := range l.cfg.K {
		row := l.centroids.Row(k)
		for j, c := range row {
			row[j] = float32(float64(c)*l.Size + l.Mean[j])
		}
	}
	return r
}
