package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Resample returns the values of metrics (FNIR and DIR) for b.Resamples resamples, a list for each
// metric. As many classes of probes as there are are drawn with replacement. The gallery, and what each
// probe finds in it, stay the same. The threshold is chosen again in each resample. Resample k draws
// from stream k of the seed. A draw without mated or without unmated probes is repeated.
func (o *OpenSet) Resample(ctx context.Context, metrics []Metric, b Bootstrap) ([][]float64, error) {
	classOf := func(found []probe) (labels []int64) {
		for _, p := range found {
			labels = append(labels, p.label)
		}
		return labels
	}
	classes := slices.Concat(classOf(o.unmated), classOf(o.mate))
	slices.Sort(classes)
	classes = slices.Compact(classes)
	at := func(found []probe) []int {
		out := make([]int, len(found))
		for i, p := range found {
			out[i], _ = slices.BinarySearch(classes, p.label)
		}
		return out
	}
	d := openSetResample{o: o, unmated: at(o.unmated), mate: at(o.mate), right: at(o.rank1)}
	out := make([][]float64, len(metrics))
	for s := range out {
		out[s] = make([]float64, b.Resamples)
	}
	var failed atomic.Bool
	err := par.ForContext(ctx, b.Resamples, 1, func(lo, hi int) {
		times := make([]int64, len(classes))
		for r := lo; r < hi; r++ {
			rng := rand.New(rand.NewPCG(b.Seed, uint64(r)+1))
			drawn := false
			for try := 0; try < maxRedraws && !drawn; try++ {
				clear(times)
				for range times {
					times[rng.IntN(len(times))]++
				}
				drawn = countDrawn(d.unmated, times) > 0 && countDrawn(d.mate, times) > 0
			}
			if !drawn {
				failed.Store(true)
				return
			}
			var rates OpenSetRates
			for s, m := range metrics {
				if s == 0 || m.Rate != metrics[s-1].Rate {
					rates = d.rates(m.Rate, times)
				}
				out[s][r] = m.Kind.measure().probes(rates)
			}
		}
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("resampling %d classes of probes: %w", len(classes), err)
	case failed.Load():
		return nil, errors.New("too few classes of probes to resample: nearly every draw lacks probes with or " +
			"without a mate")
	}
	return out, nil
}

// openSetResample holds the number of the class of each probe of an Open.
type openSetResample struct {
	o                    *OpenSet
	unmated, mate, right []int
}

func countDrawn(classes []int, times []int64) (n int64) {
	for _, c := range classes {
		n += times[c]
	}
	return n
}

// rates returns FNIR and DIR of the probes. Each probe counts as often as its class was drawn.
func (d *openSetResample) rates(fpir float64, times []int64) OpenSetRates {
	left := maxCount(fpir, countDrawn(d.unmated, times))
	limit := key(math.MaxInt32)
	for i, p := range d.o.unmated {
		if left -= times[d.unmated[i]]; left < 0 {
			limit = p.key - 1
			break
		}
	}
	within := func(found []probe, classes []int) (n int64) {
		for i, p := range found {
			if p.key > limit {
				break
			}
			n += times[classes[i]]
		}
		return n
	}
	mated := countDrawn(d.mate, times)
	return OpenSetRates{FNIR: ratio(mated-within(d.o.mate, d.mate), mated),
		DIR: ratio(within(d.o.rank1, d.right), mated)}
}
