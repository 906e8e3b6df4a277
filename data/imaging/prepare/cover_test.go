package prepare

import (
	"math"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// resized is one axis of PIL's triangle with antialiasing, in float64, of all of n
// pixels to m.
func resized(in []float64, m int) []float64 {
	out := make([]float64, m)
	scale := float64(len(in)) / float64(m)
	wide := max(scale, 1)
	for i := range out {
		center, sum := (float64(i)+0.5)*scale, 0.0
		for k, v := range in {
			if w := 1 - math.Abs(float64(k)+0.5-center)/wide; w > 0 {
				out[i] += w * v
				sum += w
			}
		}
		out[i] /= sum
	}
	return out
}

// Cover is the whole image resized, of which whole pixels are cut out, at the places
// that torchvision's CenterCrop takes: offsets of 0.5 and 2.5 go down, 1.5 up.
func TestCoverCutsWholePixels(t *testing.T) {
	for _, c := range []struct {
		w, h, width, height, shorter int
		fullW, fullH, x, y           int // torchvision's Resize and CenterCrop
	}{
		{w: 33, h: 20, width: 10, height: 10, fullW: 16, fullH: 10, x: 3},
		{w: 20, h: 33, width: 10, height: 10, fullW: 10, fullH: 16, y: 3},
		{w: 31, h: 20, width: 10, height: 10, fullW: 15, fullH: 10, x: 2},                    // 2.5
		{w: 27, h: 20, width: 10, height: 10, fullW: 13, fullH: 10, x: 2},                    // 1.5
		{w: 23, h: 20, width: 10, height: 10, fullW: 11, fullH: 10, x: 0},                    // 0.5
		{w: 33, h: 20, width: 10, height: 10, shorter: 13, fullW: 21, fullH: 13, x: 6, y: 2}, // 5.5, 1.5
		{w: 50, h: 37, width: 22, height: 22, shorter: 25, fullW: 33, fullH: 25, x: 6, y: 2},
		{w: 10, h: 10, width: 6, height: 6, shorter: 10, fullW: 10, fullH: 10, x: 2, y: 2},
		{w: 13, h: 7, width: 13, height: 7, fullW: 13, fullH: 7},
		{w: 5, h: 8, width: 10, height: 10, fullW: 10, fullH: 16, y: 3},
		{w: 40, h: 20, width: 4, height: 6, fullW: 12, fullH: 6, x: 4},
		{w: 20, h: 40, width: 4, height: 6, shorter: 5, fullW: 5, fullH: 10, x: 0, y: 2},
		{w: 20, h: 21, width: 4, height: 6, shorter: 5, fullW: 5, fullH: 6}, // 5 were too low
	} {
		im := noise(c.w, c.h, 1, uint64(c.w*c.h))
		rows := make([][]float64, c.h)
		for y := range rows {
			line := make([]float64, c.w)
			for x := range line {
				line[x] = float64(im.Row(y)[x])
			}
			rows[y] = resized(line, c.fullW)
		}
		got := apply(t, Config{Width: c.width, Height: c.height, Fit: Cover, Shorter: c.shorter}, im, nil)
		for x := range c.width {
			column := make([]float64, c.h)
			for y := range column {
				column[y] = rows[y][c.x+x]
			}
			column = resized(column, c.fullH)
			for y := range c.height {
				if v := float64(got[y*c.width+x]) * 255; math.Abs(v-column[c.y+y]) > 1e-2 {
					t.Fatalf("%+v: pixel %d, %d is %g, want %g", c, x, y, v, column[c.y+y])
				}
			}
		}
	}
}

// A random cut takes whole pixels too, each of the possible ones.
func TestRandomCutsAreWholePixels(t *testing.T) {
	im := imaging.NewImage(33, 20, 1)
	for i := range im.Pix {
		im.Pix[i] = uint8(i % 33 * 7)
	}
	line := make([]float64, 33)
	for x := range line {
		line[x] = float64(7 * x)
	}
	full := resized(line, 16)
	seen := map[int]bool{}
	for seed := range uint64(200) {
		cfg := Config{Width: 10, Height: 10, Fit: Cover, Augment: Augment{RandomCrop: true}}
		got := apply(t, cfg, im, newRand(seed))
		for x, v := range full {
			if math.Abs(float64(got[0])*255-v) < 1e-2 {
				seen[x] = true
				got[0] = -1
			}
		}
		if got[0] != -1 {
			t.Fatalf("seed %d: the cut starts at %g, which is no whole pixel", seed, got[0]*255)
		}
	}
	if len(seen) != 7 || !seen[0] || !seen[6] {
		t.Errorf("cuts start at %v", seen)
	}
}
