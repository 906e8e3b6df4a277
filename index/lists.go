package index

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/eval/cluster"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/budget"
	"github.com/kindred-ml/kindred/internal/nearest"
	"github.com/kindred-ml/kindred/mat"
)

// How lists are made: by k-means of so many rows a list, in so many rounds; and how
// their recall is measured.
const (
	sampleRows    = 64
	rounds        = 10
	recallQueries = 500
	recallDepth   = 10
)

// cut sorts the rows into lists of near ones and measures how many of the lists a
// search has to read.
func cut(ctx context.Context, v *view, rows *viewSource, opt CompactOptions) (*listing, *Lists, error) {
	n, d := len(rows.list), v.m.Dim
	if opt.Lists > n {
		return nil, nil, inputf("%d items: at most as many lists", n)
	}
	sample := min(n, sampleRows*opt.Lists)
	what := fmt.Sprintf("a sample of %d rows", sample)
	if err := budget.Check(what, budget.Product(int64(sample), int64(d), 4)); err != nil {
		return nil, nil, err
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 17))
	x := mat.New(sample, d)
	err := guarded(func() error {
		for i, r := range rng.Perm(n)[:sample] {
			copy(x.Row(i), rows.row(r))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if v.m.Distance == rank.Cosine {
		x = rank.Normalized(x)
	}
	km, err := cluster.KMeans(ctx, x, cluster.Config{K: opt.Lists, Iterations: rounds, Init: cluster.Random,
		Seed: opt.Seed, Progress: func(done float64) { opt.Progress("lists", done) }})
	if err != nil {
		return nil, nil, err
	}
	c := &cutter{v: v, rows: rows, centers: km.Centroids, progress: opt.Progress}
	l, err := c.sort(ctx)
	if err != nil {
		return nil, nil, err
	}
	m, err := c.measure(ctx, l, opt, rng)
	return l, m, err
}

// cutter sorts rows into lists.
type cutter struct {
	v        *view
	rows     *viewSource
	centers  *mat.Dense
	progress func(stage string, done float64)
}

// sort brings the rows into the order of their lists.
func (c *cutter) sort(ctx context.Context) (*listing, error) {
	n, lists := len(c.rows.list), c.centers.Rows
	of := make([]uint32, n)
	const chunk = 1 << 14
	x := mat.New(min(chunk, n), c.centers.Cols)
	for lo := 0; lo < n; lo += chunk {
		k := min(chunk, n-lo)
		err := guarded(func() error {
			for i := range k {
				copy(x.Row(i), c.rows.row(lo+i))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		part := x.RowRange(0, k)
		if c.v.m.Distance == rank.Cosine {
			part = rank.Normalized(part)
		}
		near, err := rank.Nearest(ctx, part, c.centers, 1, rank.Options{})
		if err != nil {
			return nil, err
		}
		for i, r := range near.Row {
			of[lo+i] = uint32(r)
		}
		c.progress("sorting", float64(lo+k)/float64(n))
	}
	l := &listing{starts: make([]uint32, lists+1), centers: c.centers.Data}
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

// measure finds the true nearest of some rows and in which lists they are, and
// from that how many of the nearest lists hold the share of them that is asked for.
func (c *cutter) measure(ctx context.Context, l *listing, opt CompactOptions, rng *rand.Rand) (*Lists, error) {
	n, lists := len(c.rows.list), c.centers.Rows
	out := &Lists{Lists: lists, Probes: lists, Recall: 1, Queries: min(recallQueries, n)}
	place := make(map[rowRef]uint32, recallQueries*recallDepth)
	var queries []*pending
	for _, i := range rng.Perm(n)[:out.Queries] {
		e, err := c.v.entry(int(c.rows.list[i].at), int(c.rows.list[i].row))
		if err != nil {
			return nil, err
		}
		queries = append(queries, &pending{ctx: ctx, q: Query{Vector: e.Vector, K: recallDepth, Exact: true,
			Exclude: []string{e.ID}}})
	}
	const together = 50
	for lo := 0; lo < len(queries); lo += together {
		batch := queries[lo:min(lo+together, len(queries))]
		if err := c.v.answer(ctx, batch); err != nil {
			return nil, err
		}
		for _, q := range batch {
			if q.err != nil {
				return nil, q.err
			}
			for _, f := range q.found {
				place[rowRef{f.at, f.row}] = 0
			}
		}
		c.progress("measuring", float64(lo+len(batch))/float64(len(queries)))
	}
	for list := range lists {
		for i := l.starts[list]; i < l.starts[list+1]; i++ {
			if _, wanted := place[c.rows.list[i]]; wanted {
				place[c.rows.list[i]] = uint32(list)
			}
		}
	}
	// reached[p] counts the neighbours in the p-th nearest list.
	reached, total := make([]int, lists), 0
	for _, q := range queries {
		order := nearestLists(c.v.m.Distance, q.q.Vector, l.centers)
		at := make([]int, lists)
		for p, list := range order {
			at[list] = p
		}
		for _, f := range q.found {
			reached[at[place[rowRef{f.at, f.row}]]]++
			total++
		}
	}
	sum := 0
	for p, k := range reached {
		if sum += k; float64(sum) >= opt.Recall*float64(total) {
			out.Probes, out.Recall = p+1, float64(sum)/float64(max(total, 1))
			break
		}
	}
	return out, nil
}

// nearestLists orders lists by the distance of their centers.
func nearestLists(distance rank.Distance, x []float32, centers []float32) []int {
	d := len(x)
	score, order := make([]float64, len(centers)/d), make([]int, len(centers)/d)
	for k := range order {
		order[k], score[k] = k, nearest.Score(distance, x, centers[k*d:(k+1)*d])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(score[b], score[a]), a-b) })
	return order
}

// within are the rows of the lists nearest to x.
func (s *segment) within(x []float32, probes int) []nearest.Range {
	order := nearestLists(s.table.Distance, x, s.centers)
	order = order[:min(probes, len(order))]
	slices.Sort(order)
	var out []nearest.Range
	for _, k := range order {
		out = append(out, nearest.Range{Lo: int(s.lists[k]), Hi: int(s.lists[k+1])})
	}
	return out
}
