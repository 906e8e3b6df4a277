package isometry

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// Trial is one set of a survey with what was found for it. The constants of
// theorem 3 are Found/Loss (at most 2, it says) and Lower/Loss (at least 1/2).
type Trial struct {
	F Set
	Nearest
	// Searched says that F was made by a search for a large factor.
	Searched bool
}

// Factor returns d_iso(f, TS) / L_HN as found, an upper estimate except on the
// line, where it is exact. It is 0 for a set that is separated.
func (t Trial) Factor() float64 {
	if t.Loss == 0 {
		return 0
	}
	return t.Found / t.Loss
}

// Survey says which sets are tried. The zero value is the default.
type Survey struct {
	Random   int // sets drawn at random; default 2000
	Searches int // adversarial searches; default 24
	Steps    int // of each search; default 120
	Seed     uint64
}

func (s Survey) sizes() (random, searches, steps int) {
	random, searches, steps = s.Random, s.Searches, s.Steps
	random = cmp.Or(random, 2000)
	searches = cmp.Or(searches, 24)
	steps = cmp.Or(steps, 120)
	return random, searches, steps
}

// Work returns the number of sets that Run will examine.
func (s Survey) Work() int {
	r, k, n := s.sizes()
	return r + k*n
}

// Run examines the sets: random ones of 3 to 8 points in 1 to 4 dimensions and
// 2 to 4 classes, normal, uniform, clustered or nearly on a line, and then sets
// moved step by step towards a larger factor. done is called with numbers of
// sets as they are finished, from several goroutines. Trials come in a fixed
// order; of a search only the last set is among them. Once ctx is done Run returns
// ctx.Err(), wrapped.
func (s Survey) Run(ctx context.Context, done func(int)) ([]Trial, error) {
	random, searches, steps := s.sizes()
	out := make([]Trial, random+searches)
	failed := make([]error, len(out))
	err := par.ForContext(ctx, len(out), 1, func(k, _ int) {
		rng := rand.New(rand.NewPCG(s.Seed, uint64(k)))
		if k < random {
			f := drawSet(rng)
			out[k] = Trial{F: f}
			out[k].Nearest, failed[k] = NearestTS(ctx, f, Options{Starts: 3, Steps: 30, Seed: uint64(k)})
			done(1)
			return
		}
		out[k], failed[k] = ascend(ctx, rng, s.Seed, k-random, steps, done)
	})
	if err = cmp.Or(append(failed, err)...); err != nil {
		return nil, fmt.Errorf("a survey of %d sets: %w", s.Work(), err)
	}
	return out, nil
}

// drawSet draws a set of the survey. Every class but the last ones has at
// least two points, so that there are triplets.
func drawSet(rng *rand.Rand) Set {
	dim := 1 + rng.IntN(4)
	n := 3 + rng.IntN(6)
	if dim == 1 {
		n = 3 + rng.IntN(4)
	}
	f := Set{Dim: dim, X: make([]float64, n*dim), Class: drawClasses(rng, n)}
	kind := rng.IntN(4)
	for i := range n {
		for k := range dim {
			v := rng.NormFloat64()
			switch kind {
			case 1:
				v = rng.Float64()
			case 2:
				v = 0.3*v + float64(f.Class[i]%3)
			case 3:
				if k > 0 {
					v *= 0.05
				}
			}
			f.Row(i)[k] = v
		}
	}
	return f
}

func drawClasses(rng *rand.Rand, n int) []int {
	t := 2 + rng.IntN(min(3, n-2))
	class := make([]int, n)
	for i := range class {
		switch {
		case i < 2:
			class[i] = 0
		case i < t+1:
			class[i] = i - 1
		default:
			class[i] = rng.IntN(t)
		}
	}
	return class
}

// ascend moves a set to raise its factor: normal steps whose size grows after
// a success and shrinks after a failure. Two searches of three are on the line,
// where the factor is exact, half of them from two copies of a set far apart.
func ascend(ctx context.Context, rng *rand.Rand, seed uint64, index, steps int, done func(int)) (Trial, error) {
	var f Set
	switch index % 3 {
	case 0:
		n := 4 + rng.IntN(3)
		f = Set{Dim: 1, X: make([]float64, n), Class: drawClasses(rng, n)}
		for i := range f.X {
			f.X[i] = 4 * rng.Float64()
		}
	case 1:
		f = Set{Dim: 1, X: make([]float64, 6), Class: []int{0, 0, 1, 2, 2, 3}}
		for i := range f.X {
			f.X[i] = 4*rng.Float64() + 20*float64(i/3)
		}
	default:
		for f.Dim < 2 || f.N() > 7 {
			f = drawSet(rng)
		}
	}
	eval := func(f Set) (Trial, error) {
		near, err := NearestTS(ctx, f, Options{Starts: 2, Steps: 25, Seed: seed})
		return Trial{F: f, Nearest: near, Searched: true}, err
	}
	best, err := eval(f)
	if err != nil {
		return best, err
	}
	size := 0.5
	for range steps {
		x := append([]float64(nil), best.F.X...)
		for k := range x {
			if rng.IntN(2) == 0 {
				x[k] += size * rng.NormFloat64()
			}
		}
		t, err := eval(f.With(f.Dim, x))
		if err != nil {
			return best, err
		}
		// Loss far below the diameter would make the factor a matter of rounding.
		switch {
		case t.Loss > 1e-4*t.F.Distances().Diameter() && t.Factor() > best.Factor():
			best = t
			size *= 1.5
		default:
			if size *= 0.93; size < 1e-6 {
				size = 0.3
			}
		}
		done(1)
	}
	if f.Dim > 1 { // search harder for a near arrangement before believing the factor
		best.Nearest, err = NearestTS(ctx, best.F, Options{Starts: 24, Seed: seed + 1})
	}
	return best, err
}

// Extremes returns the trials with the smallest and the largest factor among
// those with a loss, and the worst violation of Loss/2 <= Found.
func Extremes(trials []Trial) (low, high Trial, violation float64) {
	lowest := math.Inf(1)
	for _, t := range trials {
		if t.Loss == 0 {
			continue
		}
		if v := t.Factor(); v < lowest {
			lowest, low = v, t
		}
		if t.Factor() > high.Factor() {
			high = t
		}
		violation = max(violation, t.Loss/2-t.Found)
	}
	return low, high, violation
}
