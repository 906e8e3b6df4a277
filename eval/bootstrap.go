package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Interval is a confidence interval.
type Interval struct {
	Low, High  float64
	Confidence float64
	// Resamples is the number of resamples with replacement whose quantiles are Low and High
	// (Efron 1979). It is 0 for an interval from leaving classes out in turn.
	Resamples int
	// Groups is the number of groups of look-alike classes, which were left out together.
	Groups int
}

const defaultConfidence = 0.95

// addQueryIntervals adds the intervals of the means over queries to values, by resampling the queries.
// Resample b draws from stream 2b of the seed.
func (t *queryMeasures) addQueryIntervals(ctx context.Context, cfg Config, confidence float64, values []Value) error {
	m := len(t.metrics)
	out := make([][]float64, m)
	for k := range out {
		out[k] = make([]float64, cfg.Bootstrap)
	}
	err := par.ForContext(ctx, cfg.Bootstrap, 1, func(lo, hi int) {
		sums := make([]float64, m)
		for b := lo; b < hi; b++ {
			rng := rand.New(rand.NewPCG(cfg.Seed, uint64(b)<<1))
			clear(sums)
			for range t.queries {
				for k, v := range t.valuesOf(rng.IntN(t.queries)) {
					sums[k] += v
				}
			}
			for k, s := range sums {
				out[k][b] = s / float64(t.queries)
			}
		}
	})
	if err != nil {
		return err
	}
	for k := range m {
		values[k].ByQuery = quantileInterval(out[k], confidence)
	}
	return nil
}

// quantileInterval returns the quantiles that cut off equal shares of the values at both ends.
func quantileInterval(values []float64, confidence float64) *Interval {
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
	return &Interval{Low: at(tail), High: at(1 - tail), Confidence: confidence, Resamples: len(values)}
}
