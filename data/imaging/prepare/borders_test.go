package prepare

import (
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// TestFilters compares both kernels with their definitions: the triangle, and
// Keys' cubic with a = -0.5, which interpolates and adds up to 1.
func TestFilters(t *testing.T) {
	keys := func(x float64) float64 {
		const a = -0.5
		switch x = math.Abs(x); {
		case x < 1:
			return (a+2)*x*x*x - (a+3)*x*x + 1
		case x < 2:
			return a*x*x*x - 5*a*x*x + 8*a*x - 4*a
		}
		return 0
	}
	for k := range 101 {
		x := float64(k-50) / 20
		if got, want := Bilinear.kernel(x), math.Max(0, 1-math.Abs(x)); math.Abs(got-want) > 1e-12 {
			t.Errorf("bilinear at %v: %v, want %v", x, got, want)
		}
		if got, want := Bicubic.kernel(x), keys(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("bicubic at %v: %v, want %v", x, got, want)
		}
		for _, f := range []Filter{Bilinear, Bicubic} {
			var sum float64
			for i := -4; i <= 4; i++ {
				sum += f.kernel(x + float64(i))
			}
			if math.Abs(x) <= 2 && math.Abs(sum-1) > 1e-12 {
				t.Errorf("filter %d: weights at %v add up to %v", f, x, sum)
			}
			if f.kernel(f.support()) != 0 || f.kernel(f.support()-0.01) == 0 {
				t.Errorf("filter %d: its half-width is not %v", f, f.support())
			}
		}
	}
}

// TestCropAtTheSameSize: a part of an image is enlarged even where the result
// is as large as the image, and the whole image is not touched.
func TestCropAtTheSameSize(t *testing.T) {
	im := noise(12, 10, 3, 4)
	p, err := NewPipeline(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, box := range []Box{{0, 0, 12, 10}, {3, 2, 9, 8}, {0, 0, 12, 9}, {1, 0, 12, 10}} {
		for _, flip := range []bool{false, true} {
			got, want := make([]float32, len(im.Pix)), make([]float32, len(im.Pix))
			p.placeView(got, im, view{box: box, w: 12, h: 10}, 12, 10, flip, true, new(Scratch))
			naive(want, im, box, flip)
			for k := range want {
				if math.Abs(float64(got[k]-want[k])) > 1e-5 {
					t.Fatalf("box %v, flipped %v: value %d is %v, want %v", box, flip, k, got[k], want[k])
				}
			}
		}
	}
}

// naive enlarges box to the size of im, bilinear, to [0, 1].
func naive(dst []float32, im *imaging.Image, box Box, flip bool) {
	axis := func(lo, hi float64, n, i int) []float64 {
		w, sum := make([]float64, n), 0.0
		for k := range w {
			w[k] = math.Max(0, 1-math.Abs(float64(k)+0.5-lo-(float64(i)+0.5)*(hi-lo)/float64(n)))
			sum += w[k]
		}
		for k := range w {
			w[k] /= sum
		}
		return w
	}
	for y := range im.H {
		wy := axis(box.Y0, box.Y1, im.H, y)
		for x := range im.W {
			wx := axis(box.X0, box.X1, im.W, x)
			to := x
			if flip {
				to = im.W - 1 - x
			}
			for c := range im.C {
				var v float64
				for j, a := range wy {
					for i, b := range wx {
						if a*b > 0 {
							v += a * b * float64(im.Pix[(j*im.W+i)*im.C+c])
						}
					}
				}
				dst[(y*im.W+to)*im.C+c] = float32(v / 255)
			}
		}
	}
}

// TestAugmentRanges: the ends of every range belong to it, and beyond them
// nothing does.
func TestAugmentRanges(t *testing.T) {
	for _, tc := range []struct {
		name    string
		highest float64
		set     func(a *Augment, v float64)
	}{
		{"pad", 1, func(a *Augment, v float64) { a.Pad = v }},
		{"flip", 1, func(a *Augment, v float64) { a.Flip = v }},
		{"rotate", 180, func(a *Augment, v float64) { a.Rotate = v }},
		{"shear", 80, func(a *Augment, v float64) { a.Shear = v }},
		{"move", 1, func(a *Augment, v float64) { a.Move = v }},
		{"brightness", 10, func(a *Augment, v float64) { a.Brightness = v }},
		{"contrast", 10, func(a *Augment, v float64) { a.Contrast = v }},
		{"saturation", 10, func(a *Augment, v float64) { a.Saturation = v }},
		{"hue", 0.5, func(a *Augment, v float64) { a.Hue = v }},
		{"erase", 1, func(a *Augment, v float64) { a.Erase = v }},
	} {
		for _, v := range []float64{0, tc.highest} {
			var a Augment
			if tc.set(&a, v); a.check() != nil {
				t.Errorf("%s = %v: %v", tc.name, v, a.check())
			}
		}
		for _, v := range []float64{-1e-9, tc.highest * 1.001, math.NaN()} {
			var a Augment
			if tc.set(&a, v); a.check() == nil || !strings.Contains(a.check().Error(), tc.name) {
				t.Errorf("%s = %v: %v", tc.name, v, a.check())
			}
		}
	}
	for _, tc := range []struct {
		name    string
		highest float64
		set     func(a *Augment, v [2]float64)
	}{
		{"crop area", 1, func(a *Augment, v [2]float64) { a.CropArea = v }},
		{"crop ratio", 100, func(a *Augment, v [2]float64) { a.CropRatio = v }},
		{"scale", 100, func(a *Augment, v [2]float64) { a.Scale = v }},
	} {
		for _, v := range [][2]float64{{}, {1e-9, tc.highest}, {0.5, 0.5}, {tc.highest, tc.highest}} {
			var a Augment
			if tc.set(&a, v); a.check() != nil {
				t.Errorf("%s = %v: %v", tc.name, v, a.check())
			}
		}
		for _, v := range [][2]float64{{0, 0.5}, {-0.1, 0.5}, {0.5, 0}, {0.6, 0.5}, {0.5, tc.highest * 1.001},
			{math.NaN(), 0.5}, {0.5, math.NaN()}} {
			var a Augment
			if tc.set(&a, v); a.check() == nil || !strings.Contains(a.check().Error(), tc.name) {
				t.Errorf("%s = %v: %v", tc.name, v, a.check())
			}
		}
	}
}

// TestEraseBox: rectangles within the image and smaller than it, from one pixel
// on, at every place.
func TestEraseBox(t *testing.T) {
	const w, h = 6, 5
	rng := newRand(3)
	var widths, heights, left, top [w + 1]int
	for range 4000 {
		x, y, ew, eh, ok := eraseBox(w, h, rng)
		if !ok {
			continue
		}
		if x < 0 || y < 0 || ew < 1 || eh < 1 || ew >= w || eh >= h || x+ew > w || y+eh > h {
			t.Fatalf("%d x %d at %d, %d of an image of %d x %d", ew, eh, x, y, w, h)
		}
		widths[ew]++
		heights[eh]++
		left[x]++
		top[y]++
	}
	// sqrt(1/3 of the area x 3.3) is 5.7.
	for k := 1; k < w; k++ {
		if widths[k] == 0 || k < h && heights[k] == 0 || left[k-1] == 0 || k < h && top[k-1] == 0 {
			t.Errorf("none of width or height %d, or at %d: %v %v %v %v", k, k-1, widths, heights, left, top)
		}
	}
	if left[w-1] == 0 || top[h-1] == 0 {
		t.Errorf("none at the far edge: %v %v", left, top)
	}
	for _, size := range [][2]int{{1, 1}, {1, 9}, {9, 1}} { // nothing smaller than the image
		if _, _, _, _, ok := eraseBox(size[0], size[1], rng); ok {
			t.Errorf("erased a part of %v", size)
		}
	}
}
