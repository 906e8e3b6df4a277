package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/matrix"
)

// photos is the number of items of a class in the worlds of decisions.
const photos = 6

// tryMatches tries false-match rates on as many new classes as the calibration had.
func tryMatches(ctx context.Context, a options, out func(promiseLine)) error {
	for _, w := range newWorlds() {
		if !a.world.MatchString(w.name) {
			continue
		}
		for _, n := range []int{20, 50, 100, 200} {
			lines, err := w.tryRates(ctx, a, n, []float64{1e-2, 1e-3})
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

// tryRates tries rates with calibrations on n classes, on new classes of equal sizes and of sizes like theirs.
func (w *world) tryRates(ctx context.Context, a options, n int, rates []float64) ([]promiseLine, error) {
	of := []string{""}
	if w.sizes != nil {
		of = []string{", new ones of equal sizes", ", new ones of such sizes"}
	}
	var lines []promiseLine
	for _, kind := range of {
		for _, rate := range rates {
			lines = append(lines, promiseLine{promise: fmt.Sprintf("FMR %g", rate), allowed: 0.05,
				world: fmt.Sprintf("%s, %d classes%s", w.name, n, kind)})
		}
	}
	matched := make([]float64, len(lines))
	for trial := range a.numTrials(max(20, 10_000/n)) {
		rng := rand.New(rand.NewPCG(a.seed, uint64(trial)<<16|uint64(n)))
		x, labels := w.draw(rng, w.drawSizes(rng, n))
		c, err := decide.Calibrate(ctx, x, labels, decide.Options{})
		if err != nil {
			return nil, err
		}
		sizes := equalSizes(n, photos)
		for kind := range of {
			x, labels = w.draw(rng, sizes)
			for r, rate := range rates {
				k := kind*len(rates) + r
				t, err := c.Threshold(rate)
				if err != nil {
					lines[k].refused++
					continue
				}
				lines[k].addTrial(falseMatchShare(x, labels, t.Distance), rate)
				matched[k] += t.TrueMatch
			}
			sizes = w.drawSizes(rng, n)
		}
	}
	for k := range lines {
		if n := lines[k].trials; n > 0 {
			lines[k].note = fmt.Sprintf("%.1f %% of same pairs match", 100*matched[k]/float64(n))
		}
	}
	return lines, nil
}

// falseMatchShare is the share of pairs of different classes within a distance. Each class counts for at most as many
// photos as the median class has.
func falseMatchShare(x *matrix.Dense, labels []int64, within float64) float64 {
	count := make(map[int64]float64)
	for _, y := range labels {
		count[y]++
	}
	most := slices.Sorted(maps.Values(count))[len(count)/2]
	d := matrix.New(x.Rows, x.Rows)
	matrix.SquaredDistances(x, x, d)
	var pairs, matched float64
	for i, y := range labels {
		for j, v := range d.Row(i)[:i] {
			if labels[j] != y {
				weight := min(1, most/count[y]) * min(1, most/count[labels[j]])
				pairs += weight
				if float64(v) <= within*within {
					matched += weight
				}
			}
		}
	}
	return matched / pairs
}
