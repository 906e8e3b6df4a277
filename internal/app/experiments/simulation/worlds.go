package main

import (
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/matrix"
)

// world draws classes. The classes of a world are drawn alike and independently, except for groups,
// whose classes are drawn together.
type world struct {
	name string
	says string
	// spread draws the standard deviation of a class's items around its centre.
	spread func(rng *rand.Rand) float64
	// centre draws the centre of the next class; classes of one group follow each other.
	centre func(rng *rand.Rand) func(c int, into []float64)
	// group is the number of neighbouring classes that are drawn together, and tier the number that
	// have one spread.
	group, tier int
	// tails divides an item's deviation; it is 1 for normal items.
	tails func(rng *rand.Rand) float64
	// sizes draws the number of items of a class of a calibration; nil: all have the same.
	sizes func(rng *rand.Rand) int
}

const worldDim = 12

func fillNormal(rng *rand.Rand, into []float64, scale float64) {
	for k := range into {
		into[k] = scale * rng.NormFloat64()
	}
}

func drawSeparate(scale func(rng *rand.Rand) float64) func(rng *rand.Rand) func(c int, into []float64) {
	return func(rng *rand.Rand) func(int, []float64) {
		return func(_ int, into []float64) { fillNormal(rng, into, scale(rng)) }
	}
}

func constant(v float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return v } }

func lognormal(middle, sigma float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return middle * math.Exp(sigma*rng.NormFloat64()) }
}

// studentDivisor returns the divisor that turns a normal vector into one of Student's t distribution.
func studentDivisor(degrees int) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 {
		var chi float64
		for range degrees {
			v := rng.NormFloat64()
			chi += v * v
		}
		return math.Sqrt(chi / float64(degrees))
	}
}

// drawGroups draws groups of size classes around a middle, within a distance from it that is drawn for
// each group.
func drawGroups(size int, apart func(*rand.Rand) float64) func(rng *rand.Rand) func(c int, into []float64) {
	return func(rng *rand.Rand) func(int, []float64) {
		middle := make([]float64, worldDim)
		within := 0.0
		return func(c int, into []float64) {
			if c%size == 0 {
				fillNormal(rng, middle, 1)
				within = apart(rng)
			}
			fillNormal(rng, into, within)
			for k := range into {
				into[k] += middle[k]
			}
		}
	}
}

// newWorlds are the arrangements of classes in which promises are tried.
func newWorlds() []world {
	one := constant(1)
	equal := world{name: "equal", says: "centres N(0, I) in 12 dimensions, spread 0.35", spread: constant(0.35),
		centre: drawSeparate(one), group: 1, tier: 1, tails: one}
	with := func(name, says string, change func(w *world)) world {
		w := equal
		w.name, w.says = name, says
		change(&w)
		return w
	}
	return []world{
		equal,
		with("unequal", "spread 0.35 times a lognormal of 0.5", func(w *world) { w.spread = lognormal(0.35, 0.5) }),
		with("heavy", "items of t with 3 degrees", func(w *world) { w.tails = studentDivisor(3) }),
		with("hubs", "centres N(0, I) times a lognormal of 0.4",
			func(w *world) { w.centre = drawSeparate(lognormal(1, 0.4)) }),
		with("super", "groups of five classes, 0.6 times a lognormal of 0.4 apart",
			func(w *world) { w.group, w.centre = 5, drawGroups(5, lognormal(0.6, 0.4)) }),
		with("tiers", "the same, with a spread of 0.35 times a lognormal of 0.5 for each group", func(w *world) {
			w.group, w.centre = 5, drawGroups(5, lognormal(0.6, 0.4))
			w.tier, w.spread = 5, lognormal(0.35, 0.5)
		}),
		with("sizes", "3 / u items for u uniform, 300 at most", func(w *world) {
			w.sizes = func(rng *rand.Rand) int { return min(300, int(3/rng.Float64())) }
		}),
		with("easy", "spread 0.15", func(w *world) { w.spread = constant(0.15) }),
		with("hard", "spread 0.7", func(w *world) { w.spread = constant(0.7) }),
	}
}

// draw draws classes with the given numbers of items.
func (w *world) draw(rng *rand.Rand, sizes []int) (x *matrix.Dense, labels []int64) {
	n := 0
	for _, s := range sizes {
		n += s
	}
	x, labels = matrix.New(n, worldDim), make([]int64, 0, n)
	next := w.centre(rng)
	centre := make([]float64, worldDim)
	var spread float64
	for c, s := range sizes {
		next(c, centre)
		if c%w.tier == 0 {
			spread = w.spread(rng)
		}
		for range s {
			wide := spread / w.tails(rng)
			row := x.Row(len(labels))
			for k := range row {
				row[k] = float32(centre[k] + wide*rng.NormFloat64())
			}
			labels = append(labels, int64(c))
		}
	}
	return x, labels
}

// drawSizes draws the numbers of items of the classes of a calibration.
func (w *world) drawSizes(rng *rand.Rand, n int) []int {
	out := equalSizes(n, photos)
	for i := range out {
		if w.sizes != nil {
			out[i] = w.sizes(rng)
		}
	}
	return out
}

// equalSizes returns n classes with the same number of items.
func equalSizes(n, items int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = items
	}
	return out
}
