package eval

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Interval is a percentile bootstrap interval (Efron 1979): the central share
// of the values obtained from resampling with replacement.
type Interval struct {
	Low, High  float64
	Confidence float64
	Resamples  int
}

const defaultConfidence = 0.95

// bootstrap adds the intervals of the means to values, by resampling queries and
// by resampling classes. Resample b draws from stream b of the seed.
func (t *perQuery) bootstrap(ctx context.Context, cfg Config, values []Value) error {
	m := len(t.metrics)
	// One unit per query, and one per class: its sums and its number of queries.
	queries := make([]unit, t.queries)
	at := make(map[int64]int)
	var classes []unit
	for i := range queries {
		sums := make([]float64, m)
		for k, v := range t.row(i) {
			sums[k] = v
		}
		queries[i] = unit{sums, 1}
		y := t.labels[t.index[i]]
		c, ok := at[y]
		if !ok {
			c = len(classes)
			at[y] = c
			classes = append(classes, unit{sums: make([]float64, m)})
		}
		for k, v := range sums {
			classes[c].sums[k] += v
		}
		classes[c].queries++
	}
	byQuery, err := resample(ctx, queries, m, cfg.Bootstrap, cfg.Seed, 0)
	if err != nil {
		return err
	}
	byClass, err := resample(ctx, classes, m, cfg.Bootstrap, cfg.Seed, 1)
	if err != nil {
		return err
	}
	confidence := cmp.Or(cfg.Confidence, defaultConfidence)
	for k := range m {
		values[k].ByQuery = interval(byQuery[k], confidence)
		values[k].ByClass = interval(byClass[k], confidence)
	}
	return nil
}

// unit is what a resample draws: a query or a class of queries.
type unit struct {
	sums    []float64
	queries float64
}

// resample returns, for each of m measures, its mean in every resample.
func resample(ctx context.Context, units []unit, m, resamples int, seed, kind uint64) ([][]float64, error) {
	out := make([][]float64, m)
	for k := range out {
		out[k] = make([]float64, resamples)
	}
	err := par.ForContext(ctx, resamples, 1, func(lo, hi int) {
		sums := make([]float64, m)
		for b := lo; b < hi; b++ {
			rng := rand.New(rand.NewPCG(seed, uint64(b)<<1|kind))
			clear(sums)
			var queries float64
			for range units {
				u := &units[rng.IntN(len(units))]
				queries += u.queries
				for k, v := range u.sums {
					sums[k] += v
				}
			}
			for k, s := range sums {
				out[k][b] = s / queries
			}
		}
	})
	return out, err
}

// interval cuts off equal shares of the values at both ends.
func interval(values []float64, confidence float64) *Interval {
	slices.Sort(values)
	at := func(share float64) float64 { // linear between order statistics
		x := share * float64(len(values)-1)
		i := int(x)
		if i+1 >= len(values) {
			return values[len(values)-1]
		}
		return values[i] + (x-math.Floor(x))*(values[i+1]-values[i])
	}
	tail := (1 - confidence) / 2
	return &Interval{at(tail), at(1 - tail), confidence, len(values)}
}
