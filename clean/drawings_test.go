package clean

import (
	"image"
	"image/color"
	"math"
	"testing"
)

// drawGradient is a picture whose greys rise by rows, on a ground of its own.
func drawGradient(ground, by int) *Fingerprint {
	im := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			im.SetGray(x, y, color.Gray{uint8(ground + by*y/8 + x%3)})
		}
	}
	return NewFingerprint(im)
}

// Every other pixel, in both directions, less about their mean, so that sums of float32
// stay small; and their length about the mean itself.
func TestCentred(t *testing.T) {
	for _, p := range []*Fingerprint{drawGradient(200, 3), drawGradient(10, 1), drawGradient(100, 0)} {
		const n = side * side / 4
		var sum float64
		var all []float64
		for y := 0; y < side; y += 2 {
			for x := 0; x < side; x += 2 {
				all = append(all, float64(p.grey[y*side+x]))
				sum += all[len(all)-1]
			}
		}
		mean, square := sum/n, 0.0
		dst := make([]float32, n)
		length := p.centre(dst)
		for k, v := range all {
			square += (v - mean) * (v - mean)
			if want := v - math.Floor(mean); float64(dst[k]) != want {
				t.Fatalf("pixel %d: %g, want %g", k, dst[k], want)
			}
		}
		requireNear(t, "length", length, math.Sqrt(square), 1e-6)
	}
}

// Numbers about their mean, divided by their length, which is told; equal ones are zeros.
func TestUnit(t *testing.T) {
	dst := make([]float32, 4)
	requireNear(t, "length", normalizeInto(dst, []float64{1, 3, 5, 7}), math.Sqrt(20), 1e-12)
	for k, want := range []float64{-3, -1, 1, 3} {
		requireNear(t, "unit", float64(dst[k]), want/math.Sqrt(20), 1e-7)
	}
	requireNear(t, "length of equals", normalizeInto(dst, []float64{2, 2, 2, 2}), 0, 0)
	for _, v := range dst {
		requireNear(t, "unit of equals", float64(v), 0, 0)
	}
}

// Views are kept up to a number; beyond it they begin anew, and say the same.
func TestViewsForgotten(t *testing.T) {
	v := newWindowViews(initialWindows())
	v.picture = drawGradient(50, 4)
	w := window{1, 2, 29}
	first, ok := v.view(w)
	if !ok {
		t.Fatal("a gradient shows nothing")
	}
	before := *first
	// As if others had been asked for.
	v.fine = append(v.fine, make([][side * side]float32, maxFineViews-2)...)
	v.flat = append(v.flat, make([]bool, maxFineViews-2)...)
	if v.view(window{0, 0, 30}); len(v.fine) != maxFineViews {
		t.Fatalf("%d views kept, want %d", len(v.fine), maxFineViews)
	}
	again, _ := v.view(w)
	if len(v.fine) != maxFineViews || *again != before {
		t.Error("a view that is kept is made again, or is another")
	}
	v.view(window{0, 0, 31})
	if len(v.fine) != 1 || len(v.flat) != 1 || len(v.fineIndex) != 1 {
		t.Errorf("%d views kept after one too many", len(v.fine))
	}
	if again, _ = v.view(w); *again != before {
		t.Error("a view made again is another")
	}
	flat := newWindowViews(initialWindows())
	flat.picture = drawGradient(100, 0)
	for i := range flat.picture.grey {
		flat.picture.grey[i] = 100
	}
	if _, ok := flat.view(window{0, 0, side}); ok {
		t.Error("one grey shows something")
	}
}
