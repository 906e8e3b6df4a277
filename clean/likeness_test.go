package clean

import (
	"math/rand/v2"
	"testing"
)

// printOf is the print of a picture of these greys.
func printOf(grey [side * side]uint8) *Print {
	p := &Print{grey: grey}
	for i, v := range p.grey {
		p.whole.add(v)
		if i%2 == 0 && i/side%2 == 0 {
			p.half.add(v)
		}
	}
	return p
}

// Greys up to the darkest and the brightest that are compared alone count, if they are at
// least half of a picture; else all do.
func TestCorrelationOfGreys(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	greys := []uint8{darkest, darkest + 1, 90, brightest - 1, brightest}
	cuts := []uint8{0, darkest - 1, brightest + 1, 255}
	for _, n := range []int{0, 200, side*side/2 - 1, side * side / 2, side*side/2 + 1, 900, side * side} {
		var a, b [side * side]uint8
		for k, i := range rng.Perm(side * side) {
			from := cuts
			if k < n {
				from = greys
			}
			a[i], b[i] = from[rng.IntN(len(from))], from[rng.IntN(len(from))]
			if rng.IntN(2) == 0 {
				b[i] = a[i]
			}
		}
		p, q := printOf(a), printOf(b)
		if p.whole.greys != n {
			t.Fatalf("%d of %d greys", p.whole.greys, n)
		}
		for _, w := range []window{{0, 0, side}, {1.5, 2, 26}, {4, 0, 28}} {
			for _, every := range []int{1, 2} {
				near(t, "correlation", correlation(p, q, w, every), plainCorrelation(&a, q, w, every), 1e-12)
			}
		}
		if have, want := strokesOf(p).correlation(p, q), correlation(p, q, window{0, 0, side}, 1); have != want {
			t.Errorf("%d greys: %.17g by strokes, want %.17g", n, have, want)
		}
	}
}
