package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/mat"
)

// sureScore is the score from which a suspect is called nearly certain.
const sureScore = 0.9

// noise says how labels are made wrong.
type noise struct {
	share float64
	alike bool // the class with the nearest centre, instead of any other
}

func (n noise) String() string {
	switch {
	case n.share == 0:
		return "no label wrong"
	case n.alike:
		return fmt.Sprintf("%g %% to the nearest class", 100*n.share)
	}
	return fmt.Sprintf("%g %% at random", 100*n.share)
}

// apply changes labels of the rows of x, and returns which.
func (n noise) apply(rng *rand.Rand, x *mat.Dense, labels []int64) (noisy []int64, wrong []bool) {
	noisy, wrong = slices.Clone(labels), make([]bool, len(labels))
	near := nearestClasses(x, labels)
	for i, y := range labels {
		if rng.Float64() >= n.share {
			continue
		}
		wrong[i] = true
		if n.alike {
			noisy[i] = near[y]
		} else if noisy[i] = rng.Int64N(int64(len(near) - 1)); noisy[i] >= y {
			noisy[i]++
		}
	}
	return noisy, wrong
}

// nearestClasses returns, for each class, the class with the nearest mean.
func nearestClasses(x *mat.Dense, labels []int64) []int64 {
	classes := int(slices.Max(labels)) + 1
	means, size := mat.New(classes, x.Cols), make([]float32, classes)
	for i, y := range labels {
		size[y]++
		for k, v := range x.Row(i) {
			means.Row(int(y))[k] += v
		}
	}
	for c := range classes {
		for k := range means.Cols {
			means.Row(c)[k] /= size[c]
		}
	}
	out := make([]int64, classes)
	for c := range classes {
		least := math.Inf(1)
		for o := range classes {
			var d float64
			for k, v := range means.Row(o) {
				d += float64(v-means.Row(c)[k]) * float64(v-means.Row(c)[k])
			}
			if o != c && d < least {
				least, out[c] = d, int64(o)
			}
		}
	}
	return out
}

// pairsApart draws classes in pairs whose centres are apart standard deviations of their items from
// each other.
func pairsApart(deviations, spread float64) func(rng *rand.Rand) func(c int, into []float64) {
	return func(rng *rand.Rand) func(int, []float64) {
		first := make([]float64, worldDim)
		return func(c int, into []float64) {
			if c%2 == 0 {
				normal(rng, first, 1)
				copy(into, first)
				return
			}
			normal(rng, into, 1)
			var length float64
			for _, v := range into {
				length += v * v
			}
			for k := range into {
				into[k] = first[k] + deviations*spread*into[k]/math.Sqrt(length)
			}
		}
	}
}

// cleanWorlds are the worlds of all promises, and some in which right labels look wrong.
func cleanWorlds() []world {
	out := worlds()
	equal := out[0]
	heavy := equal
	heavy.name, heavy.says, heavy.tails = "heavy 5", "items of t with 5 degrees", student(5)
	out = append(out, heavy)
	wide := equal
	wide.name, wide.says = "heavy hard", "spread 0.7, items of t with 3 degrees"
	wide.tails, wide.spread = student(3), always(0.7)
	out = append(out, wide)
	for _, apart := range []float64{1.2, 2, 3} {
		pair := equal
		pair.name = fmt.Sprintf("pairs %g", apart)
		pair.says = fmt.Sprintf("pairs of classes %g deviations apart", apart)
		pair.centre = pairsApart(apart, 0.35)
		out = append(out, pair)
	}
	return out
}

// accused counts the suspects of some sets.
type accused struct {
	sets, alarmed   int // alarmed: sets with a suspect from sureScore on whose label is right
	sure, sureWrong int // suspects from sureScore on, and how many have a wrong label
	half, halfWrong int // suspects from 0.5 on, and how many have a wrong label
	wrong           int
	claimed         float64 // the sum of the scores from sureScore on
	average         float64 // sum of the average precisions
}

func (a *accused) add(j *clean.Judged, wrong []bool) {
	a.sets++
	right := 0
	for i, s := range j.Score {
		if wrong[i] {
			a.wrong++
		}
		if s >= 0.5 {
			a.half++
			if wrong[i] {
				a.halfWrong++
			}
		}
		if s >= sureScore {
			a.sure++
			a.claimed += s
			if wrong[i] {
				a.sureWrong++
			} else {
				right++
			}
		}
	}
	if right > 0 {
		a.alarmed++
	}
	a.average += averagePrecision(j.Raw, wrong)
}

// averagePrecision is the mean of the precisions down to each wrong label, the highest score first.
func averagePrecision(score []float64, wrong []bool) float64 {
	order := make([]int, len(score))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	hits, sum := 0.0, 0.0
	for k, i := range order {
		if wrong[i] {
			hits++
			sum += hits / float64(k+1)
		}
	}
	return sum / max(hits, 1)
}

func tryClean(ctx context.Context, a ask, out func(line)) error {
	noises := []noise{{}}
	for _, share := range []float64{0.02, 0.05, 0.1, 0.2} {
		noises = append(noises, noise{share, false})
	}
	for _, share := range []float64{0.05, 0.1, 0.2} {
		noises = append(noises, noise{share, true})
	}
	shapes := [][]int{equalSizes(5, 60), equalSizes(10, 60), equalSizes(20, 20), equalSizes(40, 10), equalSizes(100, 5)}
	const sets = 40 // of each shape
	for _, w := range cleanWorlds() {
		if !a.world.MatchString(w.name) {
			continue
		}
		for k, n := range noises {
			var got accused
			for s, sizes := range shapes {
				for t := range a.trials(sets) {
					rng := rand.New(rand.NewPCG(a.seed, uint64(1000*t+10*s+k)))
					if err := got.try(ctx, &w, n, rng, sizes); err != nil {
						return err
					}
				}
			}
			got.report(w.name+", "+n.String(), n.share == 0, out)
		}
	}
	if a.world.MatchString("alone") {
		return tryAlone(ctx, a, out)
	}
	return nil
}

// tryAlone looks for suspects where each class has one item, so that nothing can be judged.
func tryAlone(ctx context.Context, a ask, out func(line)) error {
	l := line{promise: "clean: no suspect and nothing odd", world: "alone, classes of one item", allowed: 0.05}
	w := worlds()[0]
	for _, n := range []int{2, 5, 12, 100} {
		for t := range a.trials(40) {
			x, labels := w.draw(rand.New(rand.NewPCG(a.seed, uint64(1000*t+n))), equalSizes(n, 1))
			j, err := clean.Labels(ctx, labels, clean.Options{}, clean.Fold{X: x})
			if err != nil {
				return err
			}
			odd, err := clean.Outliers(ctx, x, 0, 0.05)
			if err != nil {
				return err
			}
			l.trials++
			l.mean += j.Wrong
			if len(odd) > 0 || slices.Max(j.Score) >= 0.5 {
				l.broken++
			}
		}
	}
	l.mean /= float64(l.trials)
	out(l)
	return nil
}

func (a *accused) try(ctx context.Context, w *world, n noise, rng *rand.Rand, sizes []int) error {
	x, labels := w.draw(rng, sizes)
	noisy, wrong := n.apply(rng, x, labels)
	j, err := clean.Labels(ctx, noisy, clean.Options{}, clean.Fold{X: x})
	if err != nil {
		return err
	}
	a.add(j, wrong)
	return nil
}

// report returns a line with the share of right suspects; its note says what was found.
func (a *accused) report(world string, none bool, out func(line)) {
	if none {
		out(line{promise: "clean: no suspect of 0.9 or more if no label is wrong", world: world, allowed: 0.1,
			trials: a.sets, broken: a.alarmed, mean: float64(a.sure) / float64(a.sets),
			note: fmt.Sprintf("%d from 0.5", a.half)})
		return
	}
	found := func(n int) float64 { return float64(n) / float64(max(a.wrong, 1)) }
	out(line{promise: "clean: a suspect of 0.9 or more has a wrong label", world: world, allowed: 0.15, trials: a.sure,
		broken: a.sure - a.sureWrong, mean: a.claimed / float64(max(a.sure, 1)),
		note: fmt.Sprintf("found %.3f from 0.9, %.3f from 0.5 (%.2f right); average precision %.3f", found(a.sureWrong),
			found(a.halfWrong), float64(a.halfWrong)/float64(max(a.half, 1)), a.average/float64(a.sets))})
}
