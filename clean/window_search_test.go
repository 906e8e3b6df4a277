package clean

import (
	"image"
	"math/rand/v2"
	"testing"
)

// newTestFingerprint is the print of a picture of these greys.
func newTestFingerprint(grey [side * side]uint8) *Fingerprint {
	p := &Fingerprint{grey: grey}
	for i, v := range p.grey {
		p.allPixels.add(v)
		if i%2 == 0 && i/side%2 == 0 {
			p.halfPixels.add(v)
		}
	}
	return p
}

// Greys up to the darkest and the brightest that are compared alone count, if they are at
// least half of a picture; else all do.
func TestCorrelationOfGreys(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	greys := []uint8{darkestGrey, darkestGrey + 1, 90, brightestGrey - 1, brightestGrey}
	cuts := []uint8{0, darkestGrey - 1, brightestGrey + 1, 255}
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
		p, q := newTestFingerprint(a), newTestFingerprint(b)
		if p.allPixels.greys != n {
			t.Fatalf("%d of %d greys", p.allPixels.greys, n)
		}
		for _, w := range []window{{0, 0, side}, {1.5, 2, 26}, {4, 0, 28}} {
			for _, every := range []int{1, 2} {
				requireNear(t, "correlation", windowCorrelation(p, q, w, every), plainCorrelation(&a, q, w, every),
					1e-12)
			}
		}
		if have, want := newStrokes(p).correlation(p, q), windowCorrelation(p, q, window{0, 0, side}, 1); have != want {
			t.Errorf("%d greys: %.17g by strokes, want %.17g", n, have, want)
		}
	}
}

// The details of a picture that is moved, enlarged or darkened are those of the picture; those of another shot of the
// same shapes are not, though both are nearly equal as a whole.
func TestDetails(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	disc := func(noise *rand.Rand) *image.Gray { // a bright disc with a relief of its own
		im := image.NewGray(image.Rect(0, 0, 96, 96))
		var relief [24 * 24]float64
		for i := range relief {
			relief[i] = noise.NormFloat64()
		}
		for y := range 96 {
			for x := range 96 {
				v := 60.0
				if (x-48)*(x-48)+(y-48)*(y-48) < 40*40 {
					v = 170 + 18*relief[y/4*24+x/4]
				}
				im.Pix[y*96+x] = uint8(v)
			}
		}
		return im
	}
	same := disc(rand.New(rand.NewPCG(1, 1)))
	other := NewFingerprint(disc(rand.New(rand.NewPCG(2, 2))))
	dark := image.NewGray(same.Rect)
	for i, v := range same.Pix {
		dark.Pix[i] = uint8(float64(v)*0.8) + uint8(rng.IntN(3))
	}
	p, whole := NewFingerprint(same), window{0, 0, side}
	if c := detailCorrelation(p, NewFingerprint(dark), whole); c < 0.98 {
		t.Errorf("details of the darkened picture: %v", c)
	}
	cut := NewFingerprint(same.SubImage(image.Rect(6, 3, 90, 87)))
	if c, at := searchWindows(cut, p, initialWindows()); c < minCopyCorrelation ||
		detailCorrelation(cut, p, at) < minDetailCorrelation {
		t.Errorf("the cut picture: %v, details %v", c, detailCorrelation(cut, p, at))
	}
	if c := windowCorrelation(p, other, whole, 1); c < minCopyCorrelation || c >= minWholeCorrelation {
		t.Errorf("another relief: %v, the test is of no use", c)
	}
	if c, at := searchWindows(other, p, initialWindows()); isCopy(c, other, p, at) {
		t.Errorf("another relief is a copy: %v, details %v", c, detailCorrelation(other, p, at))
	}
}
