package projection

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// SampledTSNE holds the settings of a map of many rows. t-SNE places a sample of them, and Anchors the others. The
// zero value means the stated defaults.
type SampledTSNE struct {
	TSNE
	// Rows is the size of the sample; default 50,000. A matrix with at most this number of rows is placed
	// completely by t-SNE.
	Rows int
}

const sampleRows = 50_000

// Run places the rows of x. Draw draws the sample by TSNE.Seed. The divergence, the perplexity and the iterations
// of the map are those of the sample's map. Progress counts the iterations, and after them each 20,000 rows that
// are placed beside the sample.
//
// It returns the errors of TSNE.Run, and an error for a sample of fewer than 1 row.
func (c SampledTSNE) Run(ctx context.Context, x *matrix.Dense) (*Map, error) {
	most := c.Rows
	most = cmp.Or(most, sampleRows)
	if most < 1 {
		return nil, fmt.Errorf("the sample of the map has %d rows: must be at least 1", most)
	}
	if x.Rows <= most {
		return c.TSNE.Run(ctx, x)
	}
	if err := checkRows(x); err != nil {
		return nil, err
	}
	rows := SampleRows(x.Rows, most, c.Seed)
	sample := matrix.New(most, x.Cols)
	for k, i := range rows {
		copy(sample.Row(k), x.Row(i))
	}
	tsne, after := c.TSNE, (x.Rows+placeBatch-1)/placeBatch
	if c.Progress != nil {
		tsne.Progress = func(done, total int) { c.Progress(done, total+after) }
	}
	m, err := tsne.Run(ctx, sample)
	if err != nil {
		return nil, err
	}
	anchors := NewAnchors(sample, m)
	anchors.progress = func(done int) {
		if c.Progress != nil {
			c.Progress(m.Iterations+done, m.Iterations+after)
		}
	}
	out := *m
	if out.X, out.Y, err = anchors.Place(ctx, x); err != nil {
		return nil, err
	}
	for k, i := range rows {
		out.X[i], out.Y[i] = m.X[k], m.Y[k]
	}
	return &out, nil
}

// SampleRows returns size of n rows, drawn at random and in ascending order, or all if n is at most size.
func SampleRows(n, size int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0x5a3d_1e55))
	rows := rng.Perm(n)[:min(size, n)]
	slices.Sort(rows)
	return rows
}

// Anchors holds rows with their places in a map, beside which other rows are placed.
type Anchors struct {
	x         *matrix.Dense
	positions points
	progress  func(done int)
}

// NewAnchors makes anchors of the rows of x, which m has placed. It keeps x. It panics if their numbers differ.
func NewAnchors(x *matrix.Dense, m *Map) *Anchors {
	if x.Rows != len(m.X) || x.Rows != len(m.Y) {
		panic(fmt.Sprintf("projection: there are %d rows, but %d places", x.Rows, len(m.X)))
	}
	a := &Anchors{x: x, positions: make(points, 2*x.Rows), progress: func(int) {}}
	for i := range x.Rows {
		a.positions[2*i], a.positions[2*i+1] = m.X[i], m.Y[i]
	}
	return a
}

const (
	anchorNeighbours = 15 // number of anchors by which a row is placed
	anchorPerplexity = 5
	placeBatch       = 20_000
)

// Place places rows beside the anchors that are nearest to them. The place of a row minimises
//
//	sum_j p_j |y - y_j|
//
// over its 15 nearest anchors, where p_j are t-SNE's conditional affinities of perplexity 5. This is a median,
// which is among most of the neighbours, while a mean could be far from all. A row that equals an anchor gets the
// anchor's place. The place of a row does not depend on other rows.
//
// It returns an error for another number of columns and values that are not finite, and ctx.Err(), wrapped.
func (a *Anchors) Place(ctx context.Context, x *matrix.Dense) (xs, ys []float64, err error) {
	if x.Cols != a.x.Cols {
		return nil, nil, fmt.Errorf("the rows have %d columns, but the anchors have %d", x.Cols, a.x.Cols)
	}
	if err := checkRows(x); err != nil {
		return nil, nil, err
	}
	xs, ys = make([]float64, x.Rows), make([]float64, x.Rows)
	for lo := 0; lo < x.Rows; lo += placeBatch {
		hi := min(lo+placeBatch, x.Rows)
		if err := a.place(ctx, x.RowRange(lo, hi), xs[lo:hi], ys[lo:hi]); err != nil {
			return nil, nil, fmt.Errorf("%d rows beside %d: %w", x.Rows, a.x.Rows, err)
		}
		a.progress(lo/placeBatch + 1)
	}
	return xs, ys, nil
}

func (a *Anchors) place(ctx context.Context, x *matrix.Dense, xs, ys []float64) error {
	k := min(anchorNeighbours, a.x.Rows)
	nb, err := eval.Nearest(ctx, x, a.x, k, eval.RankOptions{})
	if err != nil {
		return err
	}
	perplexity := max(1, min(anchorPerplexity, float64(k)/3))
	return par.ForContext(ctx, x.Rows, rowGrain, func(lo, hi int) {
		p, at := make([]float64, k), make(points, 2*k)
		for i := lo; i < hi; i++ {
			d := nb.Value[i*k : (i+1)*k]
			for e, j := range nb.Row[i*k : (i+1)*k] {
				at[2*e], at[2*e+1] = a.positions[2*j], a.positions[2*j+1]
			}
			if d[0] == 0 || k == 1 {
				xs[i], ys[i] = at[0], at[1]
				continue
			}
			bandwidth(d, perplexity, p)
			xs[i], ys[i] = weightedMedian(at, p)
		}
	})
}

// weightedMedian returns the point with the least sum of distances to the others, weighted by p. It uses Weiszfeld's
// iteration and begins at the mean.
func weightedMedian(at points, p []float64) (x, y float64) {
	var spread float64
	for e, w := range p {
		x, y = x+w*at[2*e], y+w*at[2*e+1]
	}
	for e, w := range p {
		spread += w * math.Hypot(at[2*e]-x, at[2*e+1]-y)
	}
	least := 1e-4 * spread // otherwise the iteration would stop at a point that it meets
	for range 50 {
		var sx, sy, sum float64
		for e, w := range p {
			w /= max(math.Hypot(at[2*e]-x, at[2*e+1]-y), least)
			sx, sy, sum = sx+w*at[2*e], sy+w*at[2*e+1], sum+w
		}
		if !(sum > 0) || math.IsInf(sum, 1) { // all points are at one place
			break
		}
		dx, dy := sx/sum-x, sy/sum-y
		x, y = x+dx, y+dy
		if math.Hypot(dx, dy) < least {
			break
		}
	}
	return x, y
}
