package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/nearest"
	"github.com/kindred-ml/kindred/matrix"
)

// The number of rows per list and of rounds of the k-means that makes lists, and the number of queries that
// measure their recall.
const (
	sampleRows    = 64
	kmeansRounds  = 10
	recallQueries = 500
	recallDepth   = 10
)

// buildLists sorts the rows into lists of near rows and measures how many lists a
// search must read.
func buildLists(ctx context.Context, v *view, rows *viewSource, opt CompactOptions) (*listLayout, *Lists, error) {
	n, d := len(rows.list), v.m.Dim
	if opt.NumLists > n {
		return nil, nil, inputf("%d items cannot be divided into more lists than items", n)
	}
	// The queries that measure the recall have no part in making the lists, if there are
	// enough other rows.
	held := min(recallQueries, max(1, n/5))
	most := n - held
	if most < opt.NumLists {
		most = n
	}
	sample := min(most, sampleRows*opt.NumLists)
	what := fmt.Sprintf("a sample of %d rows", sample)
	if err := budget.Check(what, budget.Product(int64(sample), int64(d), 4)); err != nil {
		return nil, nil, err
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 17))
	x, order := matrix.New(sample, d), rng.Perm(n)
	queries, err := drawQueries(ctx, v, rows, order[:held], rng)
	if err != nil {
		return nil, nil, err
	}
	err = recoverMapped(func() error {
		for i, r := range order[n-sample:] {
			copy(x.Row(i), rows.row(r))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if v.m.Distance == eval.Cosine {
		x = eval.NormalizeRows(x)
	}
	km, err := cluster.KMeans(ctx, x, cluster.Config{K: opt.NumLists, Iterations: kmeansRounds, Init: cluster.Random,
		Seed: opt.Seed, Progress: func(done float64) { opt.Progress("lists", done) }})
	if err != nil {
		return nil, nil, err
	}
	c := &listBuilder{v: v, rows: rows, centers: km.Centroids, progress: opt.Progress}
	l, err := c.sortRows(ctx)
	if err != nil {
		return nil, nil, err
	}
	m, err := c.measureRecall(ctx, l, opt, queries)
	return l, m, err
}

// listBuilder sorts rows into lists.
type listBuilder struct {
	v        *view
	rows     *viewSource
	centers  *matrix.Dense
	progress func(stage string, done float64)
}

// sortRows brings the rows into the order of their lists.
func (c *listBuilder) sortRows(ctx context.Context) (*listLayout, error) {
	n, lists := len(c.rows.list), c.centers.Rows
	of := make([]uint32, 0, n)
	for part := range slices.Chunk(c.rows.list, 1<<14) {
		x := matrix.New(len(part), c.centers.Cols)
		err := recoverMapped(func() error {
			for i := range part {
				copy(x.Row(i), c.rows.row(len(of)+i))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if c.v.m.Distance == eval.Cosine {
			x = eval.NormalizeRows(x)
		}
		near, err := eval.Nearest(ctx, x, c.centers, 1, eval.RankOptions{})
		if err != nil {
			return nil, err
		}
		for _, r := range near.Row {
			of = append(of, uint32(r))
		}
		c.progress("sorting", float64(len(of))/float64(n))
	}
	l := &listLayout{starts: make([]uint32, lists+1), centers: c.centers.Data}
	for _, k := range of {
		l.starts[k+1]++
	}
	for k := range lists {
		l.starts[k+1] += l.starts[k]
	}
	next, sorted := slices.Clone(l.starts), make([]rowRef, n)
	for i, k := range of {
		sorted[next[k]] = c.rows.list[i]
		next[k]++
	}
	c.rows.list = sorted
	return l, nil
}

// listQueries are what the recall of lists is measured with: items, and vectors unlike them.
type listQueries struct{ items, unlike []*pendingQuery }

// drawQueries makes queries of some rows, and as many queries unlike the items: the mean of the rows moved in a random
// direction by the distance of a row from it. A row that is moved itself stays nearest to its own list in many
// dimensions, and finds more.
func drawQueries(ctx context.Context, v *view, rows *viewSource, which []int, rng *rand.Rand) (*listQueries, error) {
	out := &listQueries{}
	for _, i := range which {
		e, err := v.itemAt(int(rows.list[i].part), int(rows.list[i].row))
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, &pendingQuery{ctx: ctx, q: Query{Vector: e.Vector, K: recallDepth, Exact: true,
			Exclude: []string{e.ID}}})
	}
	mean := meanVector(out.items)
	for _, p := range out.items {
		q := Query{Vector: moveRandomly(mean, p.q.Vector, rng), K: recallDepth, Exact: true}
		out.unlike = append(out.unlike, &pendingQuery{ctx: ctx, q: q})
	}
	return out, nil
}

// meanVector returns the mean of the vectors of at least one query.
func meanVector(queries []*pendingQuery) []float32 {
	out := make([]float32, len(queries[0].q.Vector))
	for j := range out {
		var sum float64
		for _, p := range queries {
			sum += float64(p.q.Vector[j])
		}
		out[j] = float32(sum / float64(len(queries)))
	}
	return out
}

// moveRandomly returns x moved in a random direction by its distance from y; x itself if the result does not fit
// into float32.
func moveRandomly(x, y []float32, rng *rand.Rand) []float32 {
	step, far, long := make([]float64, len(x)), 0.0, 0.0
	for j := range x {
		step[j] = rng.NormFloat64()
		long += step[j] * step[j]
		diff := float64(x[j]) - float64(y[j])
		far += diff * diff
	}
	out := make([]float32, len(x))
	for j := range x {
		out[j] = float32(float64(x[j]) + step[j]*math.Sqrt(far/long))
	}
	if firstNonFinite(out) >= 0 {
		return x
	}
	return out
}

// measureRecall finds how many of the nearest lists contain the wanted share of the true neighbours of
// queries that are items. It also returns the share that these lists contain for the other queries.
func (c *listBuilder) measureRecall(ctx context.Context, l *listLayout, opt CompactOptions,
	queries *listQueries) (*Lists, error) {
	lists := c.centers.Rows
	out := &Lists{NumLists: lists, Probes: lists, Recall: 1, RecallOutliers: 1, NumQueries: len(queries.items)}
	all := slices.Concat(queries.items, queries.unlike)
	const together = 50
	for lo := 0; lo < len(all); lo += together {
		batch := all[lo:min(lo+together, len(all))]
		if err := c.v.answer(ctx, batch); err != nil {
			return nil, err
		}
		for _, q := range batch {
			if q.err != nil {
				return nil, q.err
			}
		}
		c.progress("measuring", float64(lo+len(batch))/float64(len(all)))
	}
	place := c.listOfRows(l, all)
	reached, total := c.countReached(l, queries.items, place)
	sum := 0
	for p, k := range reached {
		if sum += k; float64(sum) >= opt.Recall*float64(total) {
			out.Probes, out.Recall = p+1, share(sum, total)
			break
		}
	}
	reached, total = c.countReached(l, queries.unlike, place)
	sum = 0
	for _, k := range reached[:out.Probes] {
		sum += k
	}
	out.RecallOutliers = share(sum, total)
	return out, nil
}

// share is part / total; 1 for a total of 0.
func share(part, total int) float64 {
	if total == 0 {
		return 1
	}
	return float64(part) / float64(total)
}

// listOfRows returns the list of each row that the queries found.
func (c *listBuilder) listOfRows(l *listLayout, queries []*pendingQuery) map[rowRef]uint32 {
	out := make(map[rowRef]uint32)
	for _, q := range queries {
		for _, f := range q.found {
			out[rowRef{f.part, f.row}] = 0
		}
	}
	for list := range c.centers.Rows {
		for i := l.starts[list]; i < l.starts[list+1]; i++ {
			if _, wanted := out[c.rows.list[i]]; wanted {
				out[c.rows.list[i]] = uint32(list)
			}
		}
	}
	return out
}

// countReached counts the rows that queries found in the p-th nearest of the lists, for each p.
func (c *listBuilder) countReached(l *listLayout, queries []*pendingQuery, place map[rowRef]uint32) (out []int,
	total int) {
	out = make([]int, c.centers.Rows)
	for _, q := range queries {
		order := nearestLists(c.v.m.Distance, q.q.Vector, l.centers)
		at := make([]int, len(out))
		for p, list := range order {
			at[list] = p
		}
		for _, f := range q.found {
			out[at[place[rowRef{f.part, f.row}]]]++
			total++
		}
	}
	return out, total
}

// nearestLists orders lists by the distance of their centers.
func nearestLists(distance eval.Distance, x []float32, centers []float32) []int {
	d := len(x)
	score, order := make([]float64, len(centers)/d), make([]int, len(centers)/d)
	for k := range order {
		order[k], score[k] = k, nearest.Score(exact.Distance(distance), x, centers[k*d:(k+1)*d])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(score[b], score[a]), a-b) })
	return order
}

// rowsOfLists returns the rows of the lists nearest to x.
func (s *segment) rowsOfLists(x []float32, probes int) []nearest.Range {
	order := nearestLists(s.table.Distance, x, s.centers)
	order = order[:min(probes, len(order))]
	slices.Sort(order)
	var out []nearest.Range
	for _, k := range order {
		out = append(out, nearest.Range{Lo: int(s.lists[k]), Hi: int(s.lists[k+1])})
	}
	return out
}
