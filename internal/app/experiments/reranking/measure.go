package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/holm"
	"github.com/kindred-ml/kindred/internal/compute/rerank"
	"github.com/kindred-ml/kindred/matrix"
)

// measures are the names of scores. R of a query is the number of its positives, at most that of the candidates.
var measures = [...]string{"recall@1", "precision@10", "MAP@R"}

// scores has a value of each measure.
type scores [len(measures)]float64

// newScores returns the scores of a ranking: hit tells which places have an item of the query's class, which has
// positives items.
func newScores(hit []bool, positives int) (s scores) {
	found, r := 0, min(positives, len(hit))
	for place, is := range hit {
		if !is {
			continue
		}
		found++
		if place == 0 {
			s[0] = 1
		}
		if place < 10 {
			s[1] += 1. / 10
		}
		if place < r {
			s[2] += float64(found) / float64(place+1) / float64(r)
		}
	}
	return s
}

// method is a way to rank the candidates.
type method struct {
	name     string
	distance func(context.Context, *rerank.Candidates) ([]float64, error)
}

// methods returns the first search and what is compared with it.
func (s *settings) methods() []method {
	return []method{
		{"first search", func(_ context.Context, c *rerank.Candidates) ([]float64, error) {
			return make([]float64, c.X.Rows), nil // ties keep their order
		}},
		{"alpha-QE", func(_ context.Context, c *rerank.Candidates) ([]float64, error) {
			return c.AlphaQE(s.n, s.alpha), nil
		}},
		{"k-reciprocal", func(ctx context.Context, c *rerank.Candidates) ([]float64, error) {
			return c.KReciprocal(ctx, s.k1, s.k2, s.lambda)
		}},
	}
}

// choose returns the items to use, with their labels.
func (s *settings) choose(t *embedding.Table) (*matrix.Dense, []int64, error) {
	all := t.Labels()[0]
	taken := map[int64]int{}
	var rows []int
	for i, y := range all {
		if (t.Files == nil || s.paths.MatchString(t.Files[i])) && (s.each == 0 || taken[y] < s.each) {
			taken[y]++
			rows = append(rows, i)
		}
	}
	if len(rows) < 2 {
		return nil, nil, fmt.Errorf("%d items are left: there must be at least 2", len(rows))
	}
	x, labels := matrix.New(len(rows), t.X.Cols), make([]int64, len(rows))
	for k, i := range rows {
		copy(x.Row(k), t.X.Row(i))
		labels[k] = all[i]
	}
	return x, labels, nil
}

// scoredQueries has the scores of the queries whose classes have another item.
type scoredQueries struct {
	methods []method
	class   []int64    // of each query
	scores  [][]scores // for each method, of each query
}

// search searches each item among the others, and scores every method.
func (s *settings) search(ctx context.Context, x *matrix.Dense, labels []int64) (*scoredQueries, error) {
	k := min(s.candidates, x.Rows-1)
	near, err := eval.Nearest(ctx, x, nil, k, eval.RankOptions{Distance: s.by})
	if err != nil {
		return nil, err
	}
	size := map[int64]int{}
	for _, y := range labels {
		size[y]++
	}
	out := &scoredQueries{methods: s.methods()}
	var queries []int
	for i, y := range labels {
		if size[y] > 1 {
			queries, out.class = append(queries, i), append(out.class, y)
		}
	}
	out.scores = make([][]scores, len(out.methods))
	for m := range out.scores {
		out.scores[m] = make([]scores, len(queries))
	}
	var mu sync.Mutex
	var failed error
	if err := par.ForContext(ctx, len(queries), 1, func(q, _ int) {
		i := queries[q]
		c := &rerank.Candidates{Query: x.Row(i), X: matrix.New(k, x.Cols), By: s.by}
		row := near.Row[i*k : (i+1)*k]
		for p, j := range row {
			copy(c.X.Row(p), x.Row(int(j)))
		}
		for m := range out.methods {
			distance, err := out.methods[m].distance(ctx, c)
			if err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
				return
			}
			hit := make([]bool, k)
			for place, p := range rerank.Order(distance) {
				hit[place] = labels[row[p]] == labels[i]
			}
			out.scores[m][q] = newScores(hit, size[labels[i]]-1)
		}
	}); err != nil {
		return nil, err
	}
	return out, failed
}

// write prints the lines of a file.
func (r *scoredQueries) write(w io.Writer, file string, draws int, seed uint64) {
	classes := len(slices.Compact(slices.Sorted(slices.Values(r.class))))
	var p []float64
	for _, other := range r.scores[1:] {
		for k := range measures {
			p = append(p, signFlip(r.class, measureGains(r.scores[0], other, k), draws, seed))
		}
	}
	p = holm.Correct(p)
	for m, scores := range r.scores {
		name, count := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)),
			fmt.Sprintf("%d, %d", len(r.class), classes)
		if m > 0 {
			name, count = "", ""
		}
		fmt.Fprintf(w, "| %s | %s | %s |", name, count, r.methods[m].name)
		for k := range measures {
			fmt.Fprintf(w, " %.1f", 100*mean(scores, k))
			if m > 0 {
				fmt.Fprintf(w, ", %+.1f (p %.2g)", 100*(mean(scores, k)-mean(r.scores[0], k)), p[(m-1)*len(measures)+k])
			}
			fmt.Fprint(w, " |")
		}
		fmt.Fprintln(w)
	}
}

// mean returns the mean of a measure over the queries.
func mean(scores []scores, measure int) float64 {
	sum := 0.0
	for i := range scores {
		sum += scores[i][measure]
	}
	return sum / float64(len(scores))
}
