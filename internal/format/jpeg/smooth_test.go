package jpeg

import (
	"bytes"
	"image"
	stdjpeg "image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// pillow reads a file of testdata and what Pillow, and with it libjpeg, makes of
// it: 43 x 29 pixels, written by Pillow 9.4 at quality 92.
func pillow(t *testing.T, name string) (file []byte, want picture) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name+".jpg"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join("testdata", name+".png"))
	if err != nil {
		t.Fatal(err)
	}
	im, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	b := im.Bounds()
	want = picture{w: b.Dx(), h: b.Dy(), c: 3}
	for y := range want.h {
		for x := range want.w {
			r, g, b, _ := im.At(x, y).RGBA()
			want.pix = append(want.pix, uint8(r>>8), uint8(g>>8), uint8(b>>8))
		}
	}
	return file, want
}

// apart is the largest and the mean difference of two pictures.
func apart(a, b []uint8) (worst int, mean float64) {
	for i := range a {
		d := int(a[i]) - int(b[i])
		worst = max(worst, d, -d)
		mean += float64(max(d, -d)) / float64(len(a))
	}
	return worst, mean
}

// Smooth chroma is libjpeg's but for rounding in the transform, where repeated
// chroma is far from it; ToRGB gives the same of what image/jpeg has decoded.
func TestSmoothChromaIsLibjpegs(t *testing.T) {
	for _, name := range []string{"pillow_420", "pillow_422"} {
		file, want := pillow(t, name)
		var d Decoder
		repeated, err := decode(&d, file)
		if err != nil {
			t.Fatal(err)
		}
		d.Smooth = true
		got, err := decode(&d, file)
		if err != nil {
			t.Fatal(err)
		}
		worst, mean := apart(got.pix, want.pix)
		far, farMean := apart(repeated.pix, want.pix)
		t.Logf("%s: %d at most, %.2f on average; repeated %d, %.2f", name, worst, mean, far, farMean)
		if got.w != want.w || got.h != want.h || worst > 5 || mean > 0.4 || farMean < 2*mean {
			t.Errorf("%s: %d at most, %.2f on average; repeated %d, %.2f", name, worst, mean, far, farMean)
		}
	}
	for _, name := range []string{"pillow_420", "pillow_422", "pillow_420p"} {
		file, want := pillow(t, name)
		im, err := stdjpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var d Decoder
		pix := make([]uint8, len(want.pix))
		if !d.ToRGB(pix, im.(*image.YCbCr)) {
			t.Fatalf("%s: not converted", name)
		}
		if worst, mean := apart(pix, want.pix); worst > 5 || mean > 0.4 {
			t.Errorf("%s by image/jpeg: %d at most, %.2f on average", name, worst, mean)
		}
	}
}

// Every size and every kind, against the weights as they are defined.
func TestSmoothChromaByDefinition(t *testing.T) {
	weigh := func(plane []uint8, stride, n, m, across, down, x, y int) float64 {
		near := func(i, of, size int) (int, int, float64) {
			k := i / of
			if of == 1 {
				return k, k, 1
			}
			return k, min(max(k-1+2*(i%2), 0), size-1), 0.75
		}
		c0, c1, a := near(x, across, n)
		r0, r1, b := near(y, down, m)
		at := func(r, c int) float64 { return float64(plane[r*stride+c]) }
		return a*(b*at(r0, c0)+(1-b)*at(r1, c0)) + (1-a)*(b*at(r0, c1)+(1-b)*at(r1, c1))
	}
	for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422,
		image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio440} {
		for _, size := range [][2]int{{1, 1}, {2, 1}, {1, 2}, {3, 5}, {8, 8}, {17, 9}} {
			im := image.NewYCbCr(image.Rect(0, 0, size[0], size[1]), ratio)
			for i := range im.Cb {
				im.Cb[i], im.Cr[i] = uint8(i*37+5), 128
			}
			for i := range im.Y {
				im.Y[i] = 100
			}
			var d Decoder
			pix := make([]uint8, 3*size[0]*size[1])
			across, down := 1, 1
			if ratio == image.YCbCrSubsampleRatio422 || ratio == image.YCbCrSubsampleRatio420 {
				across = 2
			}
			if ratio == image.YCbCrSubsampleRatio440 || ratio == image.YCbCrSubsampleRatio420 {
				down = 2
			}
			if got, want := d.ToRGB(pix, im), usesInterpolation(size[0], across); got != want {
				t.Fatalf("%v, %v: converted is %v", ratio, size, got)
			} else if !want {
				continue
			}
			for y := range size[1] {
				for x := range size[0] {
					cb := weigh(im.Cb, im.CStride, (size[0]+across-1)/across, (size[1]+down-1)/down, across, down, x, y)
					want := min(max(100+1.772*(cb-128), 0), 255)
					got := float64(pix[3*(y*size[0]+x)+2])
					if got < want-2.4 || got > want+2.4 { // a rounded value, times 1.772
						t.Errorf("%v, %v at %d, %d: blue %v, want %.1f", ratio, size, x, y, got, want)
					}
				}
			}
		}
	}
	if new(Decoder).ToRGB(make([]uint8, 100), image.NewYCbCr(image.Rect(0, 0, 4, 4), image.YCbCrSubsampleRatio411)) {
		t.Error("4:1:1 was converted")
	}
}
