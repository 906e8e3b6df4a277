package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// photos is the number of items of a class in the worlds of decisions.
const photos = 6

// tryMatches tries false-match rates on as many new classes as the calibration had.
func tryMatches(ctx context.Context, a ask, out func(line)) error {
	for _, w := range worlds() {
		if !a.world.MatchString(w.name) {
			continue
		}
		for _, n := range []int{20, 50, 100, 200} {
			lines, err := w.matches(ctx, a, n, []float64{1e-2, 1e-3})
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

// matches tries rates with calibrations on n classes.
func (w *world) matches(ctx context.Context, a ask, n int, rates []float64) ([]line, error) {
	lines, matched := make([]line, len(rates)), make([]float64, len(rates))
	for k, rate := range rates {
		lines[k] = line{promise: fmt.Sprintf("FMR %g", rate), allowed: 0.05,
			world: fmt.Sprintf("%s, %d classes", w.name, n)}
	}
	for trial := range a.trials(max(20, 10_000/n)) {
		rng := rand.New(rand.NewPCG(a.seed, uint64(trial)<<16|uint64(n)))
		x, labels := w.draw(rng, equalSizes(n, photos))
		y, of := w.draw(rng, equalSizes(n, photos))
		c, err := decide.Calibrate(ctx, x, labels, decide.Options{})
		if err != nil {
			return nil, err
		}
		for k, rate := range rates {
			t, err := c.Threshold(rate)
			if err != nil {
				lines[k].refused++
				continue
			}
			lines[k].count(falseMatches(y, of, t.Distance), rate)
			matched[k] += t.TrueMatch
		}
	}
	for k := range lines {
		if n := lines[k].trials; n > 0 {
			lines[k].note = fmt.Sprintf("%.1f %% of same pairs match", 100*matched[k]/float64(n))
		}
	}
	return lines, nil
}

// falseMatches is the share of pairs of different classes within a distance.
func falseMatches(x *mat.Dense, labels []int64, within float64) float64 {
	d := mat.New(x.Rows, x.Rows)
	mat.SquaredDistances(x, x, d)
	var pairs, matched float64
	for i, y := range labels {
		for j, v := range d.Row(i)[:i] {
			if labels[j] != y {
				pairs++
				if float64(v) <= within*within {
					matched++
				}
			}
		}
	}
	return matched / pairs
}

// strangers is the number of classes that the strangers of a trial belong to.
const strangers = 100

// tryStrangers tries the share of strangers that a gallery lets in. The classes of the gallery and
// of the strangers are drawn like those of the calibration.
func tryStrangers(ctx context.Context, a ask, out func(line)) error {
	for _, w := range worlds() {
		if !a.world.MatchString(w.name) {
			continue
		}
		for _, n := range []int{20, 50, 150, 600} {
			lines, err := w.strangers(ctx, a, n, []int{10, 20, 50, 200, 2000})
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

// strangers tries galleries with calibrations on n classes.
func (w *world) strangers(ctx context.Context, a ask, n int, galleries []int) ([]line, error) {
	const rate = 0.05
	lines, known := make([]line, len(galleries)), make([]float64, len(galleries))
	for k, g := range galleries {
		lines[k] = line{promise: fmt.Sprintf("FPIR %g", rate), allowed: 0.05,
			world: fmt.Sprintf("%s, %d classes, gallery of %d", w.name, n, g)}
	}
	for trial := range a.trials(max(20, 12_000/n)) {
		rng := rand.New(rand.NewPCG(a.seed, uint64(trial)<<16|uint64(n)))
		x, labels := w.draw(rng, equalSizes(n, photos))
		c, err := decide.Calibrate(ctx, x, labels, decide.Options{})
		if err != nil {
			return nil, err
		}
		for k, g := range galleries {
			if g == 2000 && trial%10 > 0 {
				continue // it takes as long as all others
			}
			t, err := c.Unknown(rate, decide.Gallery{Classes: g, Items: g * photos})
			if err != nil {
				lines[k].refused++
				continue
			}
			gallery, probes := w.galleryOf(rng, n, g)
			in, err := nearerThan(ctx, probes, gallery, t.Distance)
			if err != nil {
				return nil, err
			}
			lines[k].count(in, rate)
			known[k] += t.TrueMatch
		}
	}
	for k := range lines {
		if n := lines[k].trials; n > 0 {
			lines[k].note = fmt.Sprintf("%.1f %% of known photos are near enough", 100*known[k]/float64(n))
		}
	}
	return lines, nil
}

// galleryOf draws at least as many classes as the calibration had, and deals some of them to a
// gallery and others to strangers. So the share of strangers from a group of the gallery's classes
// is at most that of the calibration.
func (w *world) galleryOf(rng *rand.Rand, n, classes int) (gallery, probes *mat.Dense) {
	n = max(n, classes+strangers)
	x, _ := w.draw(rng, equalSizes(n, photos))
	gallery, probes = mat.New(classes*photos, x.Cols), mat.New(strangers*photos, x.Cols)
	for k, c := range rng.Perm(n)[:classes+strangers] {
		to := gallery
		if k >= classes {
			k, to = k-classes, probes
		}
		copy(to.Data[k*photos*x.Cols:(k+1)*photos*x.Cols], x.Data[c*photos*x.Cols:])
	}
	return gallery, probes
}

// nearerThan is the share of probes with an item within a distance.
func nearerThan(ctx context.Context, probes, gallery *mat.Dense, within float64) (float64, error) {
	found, err := rank.Nearest(ctx, probes, gallery, 1, rank.Options{})
	if err != nil {
		return 0, err
	}
	in := 0.0
	for _, v := range found.Value {
		if rank.Euclidean.From(v) <= within {
			in++
		}
	}
	return in / float64(probes.Rows), nil
}
