package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/matrix"
)

// kindsWorld is a world of classes, some of which hold several sub-classes: normal clouds or other
// shapes with one mode, apart from each other.
type kindsWorld struct {
	world
	// shape makes the shape of a class; nil is normal.
	shape func(rng *rand.Rand) shape
}

// shape draws an item around 0.
type shape func(rng *rand.Rand, into []float64)

// kindsSetting is the number and the make-up of the classes that are drawn in a world.
type kindsSetting struct {
	name    string
	classes int
	sizes   func(rng *rand.Rand, c int) int
	several int     // number of classes with several sub-classes, which come first
	kinds   int     // number of sub-classes in each of these
	apart   float64 // distance of two sub-classes, in standard deviations of one along a line
}

// kindsWorlds are the worlds of all promises, and classes of one mode in other shapes.
func kindsWorlds() []kindsWorld {
	var out []kindsWorld
	for _, w := range newWorlds() {
		out = append(out, kindsWorld{world: w})
	}
	equal := out[0].world
	add := func(name, says string, shape func(rng *rand.Rand) shape) {
		w := equal
		w.name, w.says = name, says
		out = append(out, kindsWorld{w, shape})
	}
	each := func(one func(rng *rand.Rand) float64) func(rng *rand.Rand) shape {
		return func(*rand.Rand) shape {
			return func(rng *rand.Rand, into []float64) {
				for k := range into {
					into[k] = one(rng)
				}
			}
		}
	}
	add("exponential", "coordinates are exponential",
		each(func(rng *rand.Rand) float64 { return rng.ExpFloat64() - 1 }))
	add("skew", "coordinates are lognormal of 0.6", each(func(rng *rand.Rand) float64 {
		return (math.Exp(0.6*rng.NormFloat64()) - 1) / 0.8
	}))
	add("flat", "cubes", each(func(rng *rand.Rand) float64 { return math.Sqrt(3) * (2*rng.Float64() - 1) }))
	// Of all shapes with one mode, a line is the hardest to tell from two modes by a test for gaps.
	add("line", "uniform along a line, a tenth as thick", func(*rand.Rand) shape {
		return func(rng *rand.Rand, into []float64) {
			fillNormal(rng, into, 0.1)
			into[0] += math.Sqrt(3) * (2*rng.Float64() - 1)
		}
	})
	add("peak", "normal times a lognormal of 1 for each item", func(*rand.Rand) shape {
		return func(rng *rand.Rand, into []float64) { fillNormal(rng, into, math.Exp(rng.NormFloat64())) }
	})
	add("long", "normal in ellipsoids of their own, axes 3 times a lognormal of 1, and uniform along the first",
		func(rng *rand.Rand) shape {
			axes := make([]float64, worldDim)
			for k := range axes {
				axes[k] = math.Exp(rng.NormFloat64())
			}
			return func(rng *rand.Rand, into []float64) {
				for k := range into {
					into[k] = axes[k] * rng.NormFloat64()
				}
				into[0] = 3 * axes[0] * (2*rng.Float64() - 1)
			}
		})
	for _, c := range curves {
		add(c.name, c.says+", 5 % thick", func(*rand.Rand) shape {
			return func(rng *rand.Rand, into []float64) {
				fillNormal(rng, into, 0.05)
				for k, v := range c.at(rng.Float64(), rng.Float64()) {
					into[k] += v
				}
			}
		})
	}
	return out
}

// curves are lines and surfaces in one piece. Each has a place for two uniform numbers.
var curves = []struct {
	name, says string
	at         func(u, v float64) [3]float64
}{
	{"arc", "288 degrees", func(u, _ float64) [3]float64 { return circle(0.8*u, 1, 0) }},
	{"ring", "a circle", func(u, _ float64) [3]float64 { return circle(u, 1, 0) }},
	{"helix", "two turns of radius 1, 2 high", func(u, _ float64) [3]float64 { return circle(2*u, 1, 2*u) }},
	{"spiral", "two turns, equally dense", func(u, _ float64) [3]float64 {
		return circle(2*math.Sqrt(u), 2*math.Sqrt(u), 0)
	}},
	{"eight", "a figure eight", func(u, _ float64) [3]float64 {
		return [3]float64{math.Sin(2 * math.Pi * u), math.Sin(4 * math.Pi * u)}
	}},
	{"wave", "an S of two arcs", func(u, _ float64) [3]float64 {
		a := 3 * math.Pi * (u - 0.5)
		return [3]float64{math.Sin(a), math.Copysign(1-math.Cos(a), a)}
	}},
	{"ends", "a line, three times as dense at its ends", func(u,
		_ float64) [3]float64 {
		return [3]float64{densePlace(u)}
	}},
	{"poles", "an arc of 288 degrees, three times as dense at its ends", func(u, _ float64) [3]float64 {
		return circle(0.4*densePlace(u), 1, 0)
	}},
	{"torus", "radii 1 and 0.4", func(u, v float64) [3]float64 {
		return circle(u, 1+0.4*math.Cos(2*math.Pi*v), 0.4*math.Sin(2*math.Pi*v))
	}},
	{"roll", "a sheet rolled up in a turn and a half", func(u, v float64) [3]float64 {
		return circle(1.5*u, 0.7+1.4*u, 3*v)
	}},
	{"band", "a Moebius band 0.6 wide", func(u, v float64) [3]float64 {
		w := 0.6 * (v - 0.5)
		return circle(u, 1+w*math.Cos(math.Pi*u), w*math.Sin(math.Pi*u))
	}},
}

// circle returns the place after some turns at a radius and a height.
func circle(turns, radius, height float64) [3]float64 {
	sin, cos := math.Sincos(2 * math.Pi * turns)
	return [3]float64{radius * cos, radius * sin, height}
}

// densePlace turns a uniform number into a place from -1 to 1 with a density of (1 + 2 x^2) 3/10, by Newton's steps.
func densePlace(u float64) float64 {
	x := 2*u - 1
	for range 20 {
		x -= (0.3*(x+2*x*x*x/3) + 0.5 - u) / (0.3 * (1 + 2*x*x))
	}
	return x
}

// hasNormalKinds reports whether sub-classes are normal clouds, so that their standard deviation says how
// clear the gaps between them are.
func (w *kindsWorld) hasNormalKinds() bool { return w.shape == nil && w.name != "heavy" }

// equalSize gives all classes the same number of items.
func equalSize(n int) func(*rand.Rand, int) int { return func(*rand.Rand, int) int { return n } }

// oneLarger gives three classes of four 20 items, and the fourth a multiple of that.
func oneLarger(times float64) func(*rand.Rand, int) int {
	return func(_ *rand.Rand, c int) int {
		if c%4 == 3 {
			return int(20 * times)
		}
		return 20
	}
}

// anySize gives classes 2 to 300 items, each order of magnitude with the same chance.
func anySize(rng *rand.Rand, _ int) int { return int(2 * math.Pow(150, rng.Float64())) }

// oneKind are the settings of classes without sub-classes.
func oneKind() []kindsSetting {
	return []kindsSetting{
		{name: "40 classes of 20", classes: 40, sizes: equalSize(20)},
		{name: "20 classes of 40", classes: 20, sizes: equalSize(40)},
		{name: "20 classes of 80", classes: 20, sizes: equalSize(80)},
		{name: "40 classes of 20, ten 1.25 times as large", classes: 40, sizes: oneLarger(1.25)},
		{name: "40 classes of 20, ten 1.5 times as large", classes: 40, sizes: oneLarger(1.5)},
		{name: "60 classes of 2 to 300", classes: 60, sizes: anySize},
		{name: "5 classes of 100", classes: 5, sizes: equalSize(100)},
		{name: "10 classes of 60, two of four kinds 14 apart", classes: 10, sizes: equalSize(60), several: 2, kinds: 4,
			apart: 14},
		{name: "40 classes of 30, ten of three kinds 14 apart", classes: 40, sizes: equalSize(30), several: 10,
			kinds: 3,
			apart: 14},
	}
}

// severalKinds are the settings of classes with several sub-classes. With six deviations between
// them a class has too few rows for a test of any shape: half of them may be missed.
func severalKinds() []kindsSetting {
	var out []kindsSetting
	for _, apart := range []float64{6, 8, 10, 14} {
		for _, s := range []kindsSetting{
			{name: "10 classes of 60, two of four kinds", classes: 10, sizes: equalSize(60), several: 2, kinds: 4},
			{name: "40 classes of 20, ten of two kinds", classes: 40, sizes: equalSize(20), several: 10, kinds: 2},
			{name: "40 classes of 30, ten of three kinds", classes: 40, sizes: equalSize(30), several: 10, kinds: 3},
			{name: "40 classes of 60, ten of six kinds", classes: 40, sizes: equalSize(60), several: 10, kinds: 6},
		} {
			s.apart = apart
			s.name = fmt.Sprintf("%s %g apart", s.name, apart)
			out = append(out, s)
		}
	}
	return out
}

// drawKinds draws the classes of a setting.
func (w *kindsWorld) drawKinds(rng *rand.Rand, s *kindsSetting) (x *matrix.Dense, labels []int64) {
	var rows [][]float64
	next := w.centre(rng)
	centre, item := make([]float64, worldDim), make([]float64, worldDim)
	var draw shape = func(rng *rand.Rand, into []float64) { fillNormal(rng, into, 1) }
	for c := range s.classes {
		next(c, centre)
		if w.shape != nil {
			draw = w.shape(rng)
		}
		spread := w.spread(rng)
		places := [][]float64{make([]float64, worldDim)}
		if c < s.several {
			places = nil
			for range s.kinds {
				places = append(places, randomDirection(rng, s.apart*spread/math.Sqrt2))
			}
		}
		for i := range s.sizes(rng, c) {
			draw(rng, item)
			wide := spread / w.tails(rng)
			row := make([]float64, worldDim)
			for k := range row {
				row[k] = centre[k] + places[i%len(places)][k] + wide*item[k]
			}
			rows, labels = append(rows, row), append(labels, int64(c))
		}
	}
	x = matrix.New(len(rows), worldDim)
	for i, row := range rows {
		for k, v := range row {
			x.Row(i)[k] = float32(v)
		}
	}
	return x, labels
}

// randomDirection returns a vector of a given length in a random direction. Two of them are on average
// sqrt(2) times that length apart.
func randomDirection(rng *rand.Rand, length float64) []float64 {
	out := make([]float64, worldDim)
	fillNormal(rng, out, 1)
	var square float64
	for _, v := range out {
		square += v * v
	}
	for k := range out {
		out[k] *= length / math.Sqrt(square)
	}
	return out
}

// kindsSets is the number of sets that are drawn in each setting: about a thousand classes.
const kindsSets = 25

// tryDiscover tries what discover says of classes without sub-classes, and how many classes with
// several it finds.
func tryDiscover(ctx context.Context, ask options, out func(promiseLine)) error {
	for k, w := range kindsWorlds() {
		if !ask.world.MatchString(w.name) {
			continue
		}
		for i, s := range oneKind() {
			one, _, err := w.judge(ctx, &ask, &s, uint64(100*k+i))
			if err != nil {
				return err
			}
			out(one)
		}
		if !w.hasNormalKinds() {
			continue
		}
		for i, s := range severalKinds() {
			_, several, err := w.judge(ctx, &ask, &s, uint64(100*k+50+i))
			if err != nil {
				return err
			}
			out(several)
		}
	}
	return nil
}

// judge counts the classes without sub-classes that are divided, and those with several that are
// not.
func (w *kindsWorld) judge(ctx context.Context, ask *options, s *kindsSetting, stream uint64) (
	one, several promiseLine, err error) {
	world := w.name + " (" + w.says + "), " + s.name
	one = promiseLine{promise: "discover: a class without sub-classes is divided", world: world, allowed: 0.05}
	several = promiseLine{promise: "discover: a class with several sub-classes is left whole", world: world,
		allowed: 0.1}
	switch {
	case s.apart < 8:
		several.allowed = 0.5
	case s.apart < 10:
		several.allowed = 0.3
	}
	for range ask.numTrials(kindsSets) {
		rng := rand.New(rand.NewPCG(ask.seed, stream))
		stream += 1 << 32 // a set of its own
		x, labels := w.drawKinds(rng, s)
		v, err := discover.Judge(ctx, x, labels, discover.Options{})
		if err != nil {
			return one, several, err
		}
		divided := 0
		for c, j := range v.Classes {
			l, wrong := &one, j.P <= v.Level
			if c < s.several {
				l, wrong = &several, !wrong
			}
			if !j.Tested {
				l.refused++
				continue
			}
			l.trials++
			if wrong {
				l.broken++
			}
			if c >= s.several && wrong {
				divided++
			}
		}
		one.worst = max(one.worst, float64(divided)/float64(max(v.NumTested-s.several, 1)))
	}
	one.mean = float64(one.broken) / float64(max(one.trials, 1))
	several.mean = float64(several.broken) / float64(max(several.trials, 1))
	several.worst = several.mean
	return one, several, nil
}
