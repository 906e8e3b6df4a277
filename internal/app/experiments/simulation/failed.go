package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/matrix"
)

// tryFailed tries false-match rates where some photos of the calibration and of the new classes have failed, such as
// of a lens cap. Failed photos are left out of the calibration, and the promise is about pairs of other photos. One
// line counts the sets without failed photos of which one is left out.
func tryFailed(ctx context.Context, a options, out func(promiseLine)) error {
	for _, w := range newWorlds() {
		if !a.world.MatchString(w.name) {
			continue
		}
		lost := promiseLine{promise: "failed photos: none found where there is none", world: w.name, allowed: 0.01}
		for _, n := range []int{26, 40} {
			for _, uneven := range []bool{false, true} {
				l := promiseLine{promise: "FMR 0.001 without failed photos", allowed: 0.05,
					world: fmt.Sprintf("%s, %d classes, 3 %% of each failed", w.name, n)}
				if uneven {
					l.world = fmt.Sprintf("%s, %d classes, 5 %% of them with 40 %% of the failed photos", w.name, n)
				}
				if err := w.tryFailedPhotos(ctx, a, n, uneven, &l, &lost); err != nil {
					return err
				}
				out(l)
			}
		}
		out(lost)
	}
	return nil
}

// failedItems is the number of photos of a class in the sets with failed photos.
const failedItems = 24

func (w *world) tryFailedPhotos(ctx context.Context, a options, n int, uneven bool, l, lost *promiseLine) error {
	missed := 0
	for trial := range a.numTrials(100) {
		rng := rand.New(rand.NewPCG(a.seed, uint64(trial)<<16|uint64(n)))
		x, labels := w.draw(rng, equalSizes(n, failedItems))
		none, err := clean.FindFailedPhotos(ctx, x, labels, eval.Euclidean)
		if err != nil {
			return err
		}
		lost.addTrial(float64(len(none)), 0)
		bad := spoilPhotos(rng, x, labels, n, uneven)
		found, err := clean.FindFailedPhotos(ctx, x, labels, eval.Euclidean)
		if err != nil {
			return err
		}
		missed += len(bad)
		for _, i := range found {
			if bad[i] {
				missed--
			}
		}
		x, labels = keptRows(x, labels, found)
		c, err := decide.Calibrate(ctx, x, labels, decide.Options{})
		if err != nil {
			return err
		}
		t, err := c.Threshold(1e-3)
		if err != nil {
			l.refused++
			continue
		}
		y, of := w.draw(rng, equalSizes(n, photos))
		l.addTrial(falseMatchShare(y, of, t.Distance), 1e-3)
	}
	l.note = fmt.Sprintf("%d failed photos missed", missed)
	return nil
}

// spoilPhotos turns 3 % of the photos into nearly the same one, and returns which. If they are uneven, 5 % of the
// classes have 40 % of them.
func spoilPhotos(rng *rand.Rand, x *matrix.Dense, labels []int64, n int, uneven bool) map[int]bool {
	middle, bad := make([]float64, x.Cols), map[int]bool{}
	fillNormal(rng, middle, 1)
	few := int64(max(n/20, 1))
	for i, c := range labels {
		share := 0.03
		if uneven {
			share = 0.03 * 0.6 * float64(n) / float64(int64(n)-few)
			if c < few {
				share = min(0.03*0.4*float64(n)/float64(few), 0.4)
			}
		}
		if rng.Float64() < share {
			bad[i] = true
			for k := range x.Row(i) {
				x.Row(i)[k] = float32(middle[k] + 0.02*rng.NormFloat64())
			}
		}
	}
	return bad
}

// keptRows returns the rows that are not left out.
func keptRows(x *matrix.Dense, labels []int64, out []int) (*matrix.Dense, []int64) {
	leave := map[int]bool{}
	for _, i := range out {
		leave[i] = true
	}
	var rows []int
	var of []int64
	for i, c := range labels {
		if !leave[i] {
			rows, of = append(rows, i), append(of, c)
		}
	}
	return selectRows(x, rows), of
}
