package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/matrix"
)

// sureScore is the score from which a suspect is called nearly certain.
const sureScore = 0.9

// labelNoise says how labels are made wrong: a share of them, each to another label by the rule to.
type labelNoise struct {
	share float64
	to    target
}

// target is a rule for the label that an item is given by mistake.
type target string

const (
	anyClass     target = "at random"
	nearestClass target = "to the nearest class" // the one with the nearest centre
	oneDefault   target = "to one default label"
	twoDefaults  target = "to two default labels"
	newDefault   target = "to a default label that no class has"
	halfDefault  target = "half to one default label, half at random"
)

func (n labelNoise) String() string {
	if n.share == 0 {
		return "no label wrong"
	}
	return fmt.Sprintf("%g %% %s", 100*n.share, n.to)
}

// apply changes labels of the rows of x, and returns which. Of two near copies at most one is changed.
func (n labelNoise) apply(rng *rand.Rand, x *matrix.Dense, labels []int64, copies bool) (noisy []int64, wrong []bool) {
	noisy, wrong = slices.Clone(labels), make([]bool, len(labels))
	near := nearestClasses(x, labels)
	classes := int64(len(near))
	for i, y := range labels {
		if rng.Float64() >= n.share || copies && isCopy(labels, i) && wrong[i-1] {
			continue
		}
		to := n.to
		if to == halfDefault {
			to = []target{oneDefault, anyClass}[rng.IntN(2)]
		}
		switch to {
		case nearestClass:
			noisy[i] = near[y]
		case oneDefault:
			noisy[i] = 0
		case twoDefaults:
			noisy[i] = classes / 2 * rng.Int64N(2)
		case newDefault:
			noisy[i] = classes
		default:
			if noisy[i] = rng.Int64N(classes - 1); noisy[i] >= y {
				noisy[i]++
			}
		}
		wrong[i] = noisy[i] != y
	}
	return noisy, wrong
}

// isCopy reports whether an item is the copy of the item before it in a world of near copies.
func isCopy(labels []int64, i int) bool { return i%2 == 1 && labels[i] == labels[i-1] }

// nearestClasses returns, for each class, the class with the nearest mean.
func nearestClasses(x *matrix.Dense, labels []int64) []int64 {
	classes := int(slices.Max(labels)) + 1
	means, size := matrix.New(classes, x.Cols), make([]float32, classes)
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

// drawPairs draws classes in pairs whose centres are apart standard deviations of their items from
// each other.
func drawPairs(deviations, spread float64) func(rng *rand.Rand) func(c int, into []float64) {
	return func(rng *rand.Rand) func(int, []float64) {
		first := make([]float64, worldDim)
		return func(c int, into []float64) {
			if c%2 == 0 {
				fillNormal(rng, first, 1)
				copy(into, first)
				return
			}
			fillNormal(rng, into, 1)
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

// cleanWorld is a world for clean.
type cleanWorld struct {
	world
	copies bool // every other item is a near copy of the one before it
	kinds  bool // two classes far from each other have one label
}

// draw draws classes with the given numbers of items.
func (w *cleanWorld) draw(rng *rand.Rand, sizes []int) (*matrix.Dense, []int64) {
	x, labels := w.world.draw(rng, sizes)
	for i := range labels {
		if w.copies && isCopy(labels, i) {
			for k, v := range x.Row(i - 1) {
				x.Row(i)[k] = v + float32(0.03*rng.NormFloat64())
			}
		}
	}
	for i := range labels {
		if w.kinds {
			labels[i] %= int64(len(sizes)+1) / 2
		}
	}
	return x, labels
}

// cleanWorlds are the worlds of all promises, and some in which right labels look wrong.
func cleanWorlds() []cleanWorld {
	var out []cleanWorld
	for _, w := range newWorlds() {
		out = append(out, cleanWorld{world: w})
	}
	with := func(name, says string, change func(w *cleanWorld)) {
		w := out[0]
		w.name, w.says = name, says
		change(&w)
		out = append(out, w)
	}
	with("heavy 5", "items of t with 5 degrees", func(w *cleanWorld) { w.tails = studentDivisor(5) })
	with("heavy hard", "spread 0.7, items of t with 3 degrees",
		func(w *cleanWorld) { w.tails, w.spread = studentDivisor(3), constant(0.7) })
	for _, apart := range []float64{1.2, 2, 3} {
		with(fmt.Sprintf("pairs %g", apart), fmt.Sprintf("pairs of classes %g deviations apart", apart),
			func(w *cleanWorld) { w.centre = drawPairs(apart, 0.35) })
	}
	with("copies", "every item with a near copy", func(w *cleanWorld) { w.copies = true })
	with("broad", "one class in ten with a spread of 1", func(w *cleanWorld) {
		w.spread = func(rng *rand.Rand) float64 {
			if rng.Float64() < 0.1 {
				return 1
			}
			return 0.35
		}
	})
	with("kinds", "classes of two kinds far from each other", func(w *cleanWorld) { w.kinds = true })
	return out
}

// suspectCounts counts the suspects of some sets.
type suspectCounts struct {
	sets, alarmed   int // alarmed: sets with a suspect from sureScore on whose label is right
	sure, sureWrong int // suspects from sureScore on, and how many have a wrong label
	half, halfWrong int // suspects from 0.5 on, and how many have a wrong label
	wrong           int
	claimed         float64 // the sum of the scores from sureScore on
	average         float64 // sum of the average precisions
}

func (a *suspectCounts) add(j *clean.LabelErrors, wrong []bool) {
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

func tryClean(ctx context.Context, a options, out func(promiseLine)) error {
	noises := []labelNoise{{}}
	for to, shares := range map[target][]float64{anyClass: {0.02, 0.05, 0.1, 0.2}, nearestClass: {0.05, 0.1, 0.2},
		oneDefault: {0.01, 0.05, 0.1, 0.2}, twoDefaults: {0.05}, newDefault: {0.05}, halfDefault: {0.05}} {
		for _, share := range shares {
			noises = append(noises, labelNoise{share, to})
		}
	}
	slices.SortFunc(noises, func(a, b labelNoise) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.share, b.share))
	})
	shapes := [][]int{equalSizes(5, 60), equalSizes(10, 60), equalSizes(20, 20), equalSizes(40, 10), equalSizes(100, 5),
		{300, 150, 90, 60, 40, 25, 15, 10, 8, 6, 6}}
	const sets = 40 // of each shape
	for _, w := range cleanWorlds() {
		for k, n := range noises {
			name := w.name + ", " + n.String()
			if !a.world.MatchString(w.name) && !a.world.MatchString(name) {
				continue
			}
			var got suspectCounts
			for s, sizes := range shapes {
				for t := range a.numTrials(sets) {
					rng := rand.New(rand.NewPCG(a.seed, uint64(1000*t+10*s+k)))
					if err := got.try(ctx, &w, n, rng, sizes); err != nil {
						return err
					}
				}
			}
			got.report(name, n.share == 0, out)
		}
	}
	if a.world.MatchString("alone") {
		return tryAlone(ctx, a, out)
	}
	return nil
}

// tryAlone looks for suspects where each class has one item, so that nothing can be judged.
func tryAlone(ctx context.Context, a options, out func(promiseLine)) error {
	l := promiseLine{promise: "clean: no suspect and nothing odd", world: "alone, classes of one item", allowed: 0.05}
	w := newWorlds()[0]
	for _, n := range []int{2, 5, 12, 100} {
		for t := range a.numTrials(40) {
			x, labels := w.draw(rand.New(rand.NewPCG(a.seed, uint64(1000*t+n))), equalSizes(n, 1))
			j, err := clean.FindLabelErrors(ctx, labels, clean.Options{}, clean.Fold{X: x})
			if err != nil {
				return err
			}
			odd, err := clean.FindOutliers(ctx, x, 0, 0.05)
			if err != nil {
				return err
			}
			l.trials++
			l.mean += j.WrongShare
			if len(odd) > 0 || slices.Max(j.Score) >= 0.5 {
				l.broken++
			}
		}
	}
	l.mean /= float64(l.trials)
	out(l)
	return nil
}

func (a *suspectCounts) try(ctx context.Context, w *cleanWorld, n labelNoise, rng *rand.Rand, sizes []int) error {
	x, labels := w.draw(rng, sizes)
	noisy, wrong := n.apply(rng, x, labels, w.copies)
	j, err := clean.FindLabelErrors(ctx, noisy, clean.Options{}, clean.Fold{X: x})
	if err != nil {
		return err
	}
	a.add(j, wrong)
	return nil
}

// report returns a line with the share of right suspects; its note says what was found.
func (a *suspectCounts) report(world string, none bool, out func(promiseLine)) {
	if none {
		out(promiseLine{promise: "clean: no suspect of 0.9 or more if no label is wrong", world: world, allowed: 0.1,
			trials: a.sets, broken: a.alarmed, mean: float64(a.sure) / float64(a.sets),
			note: fmt.Sprintf("%d from 0.5", a.half)})
		return
	}
	found := func(n int) float64 { return float64(n) / float64(max(a.wrong, 1)) }
	out(promiseLine{promise: "clean: a suspect of 0.9 or more has a wrong label", world: world, allowed: 0.15,
		trials: a.sure,
		broken: a.sure - a.sureWrong, mean: a.claimed / float64(max(a.sure, 1)),
		note: fmt.Sprintf("found %.3f from 0.9, %.3f from 0.5 (%.2f right); average precision %.3f", found(a.sureWrong),
			found(a.halfWrong), float64(a.halfWrong)/float64(max(a.half, 1)), a.average/float64(a.sets))})
}
