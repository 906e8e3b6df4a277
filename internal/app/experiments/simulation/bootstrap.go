package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/eval"
)

// minGroups is the fewest groups of classes for which an interval is promised if not all groups
// are detected.
const minGroups = 10

// tryBootstrap tries bootstrap intervals of retrieval by classes: on average over sets of new
// classes, drawn alike, they should contain the true value. Classes that are drawn in groups are
// not independent. Detected groups are left out as one; an interval may miss twice as often there,
// and nothing is promised for fewer than minGroups.
func tryBootstrap(ctx context.Context, a options, out func(promiseLine)) error {
	metrics := []eval.Metric{{Kind: eval.Recall, K: 1}, {Kind: eval.MAPAtR}}
	for _, w := range newWorlds() {
		if !a.world.MatchString(w.name) {
			continue
		}
		for _, sizes := range [][2]int{{10, photos}, {20, photos}, {50, photos}, {50, 20}} {
			lines, err := w.tryIntervals(ctx, a, sizes[0], sizes[1], metrics)
			if err != nil {
				return err
			}
			for _, l := range lines {
				out(l)
			}
		}
	}
	return nil
}

// tryIntervals tries the intervals of sets of n classes with items items each.
func (w *world) tryIntervals(ctx context.Context, a options, n, items int, metrics []eval.Metric) (
	[]promiseLine, error) {
	measure := func(trial uint64, resamples int) ([]eval.Value, error) {
		rng := rand.New(rand.NewPCG(a.seed, trial<<16|uint64(n)<<8|uint64(items)))
		x, labels := w.draw(rng, equalSizes(n, items))
		rep, err := eval.Evaluate(ctx, eval.Set{X: x, Labels: [][]int64{labels}}, nil,
			eval.Config{Metrics: metrics, Bootstrap: resamples, Seed: trial})
		if err != nil {
			return nil, err
		}
		return rep.Columns[0].Values, nil
	}
	trials := a.numTrials(1000)
	truth := make([]float64, len(metrics))
	for trial := range 4 * trials {
		values, err := measure(uint64(trials+trial), 0)
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			truth[k] += v.Value / float64(4*trials)
		}
	}
	lines, widths := make([]promiseLine, len(metrics)), make([]float64, len(metrics))
	for k, m := range metrics {
		lines[k] = promiseLine{promise: fmt.Sprintf("%s bootstrap 95 %%", m), allowed: 0.05,
			world: fmt.Sprintf("%s, %d classes of %d", w.name, n, items)}
		switch {
		case w.group > 1 && n < minGroups*w.group:
			lines[k].promise, lines[k].allowed = fmt.Sprintf("%s bootstrap (of few groups: no promise)", m), 1
		case w.group > 1:
			lines[k].promise, lines[k].allowed = fmt.Sprintf("%s bootstrap 95 %%, of groups", m), 0.1
		}
	}
	for trial := range trials {
		values, err := measure(uint64(trial), 1)
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			in := v.ByClass
			lines[k].addTrial(max(0, in.Low-truth[k], truth[k]-in.High), 0)
			widths[k] += (in.High - in.Low) / float64(trials)
		}
	}
	for k := range lines {
		lines[k].note = fmt.Sprintf("truth %.4f, mean width %.3f", truth[k], widths[k])
	}
	return lines, nil
}
