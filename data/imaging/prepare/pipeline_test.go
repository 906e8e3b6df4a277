package prepare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// noise is an image of random pixels.
func noise(w, h, c int, seed uint64) *imaging.Image {
	rng := newRand(seed)
	im := imaging.NewImage(w, h, c)
	for i := range im.Pix {
		im.Pix[i] = uint8(rng.IntN(256))
	}
	return im
}

func apply(t *testing.T, cfg Config, im *imaging.Image, rng *rand.Rand) []float32 {
	t.Helper()
	p, err := NewPipeline(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, w, c := p.Shape(im.W, im.H, im.C)
	dst := make([]float32, h*w*c)
	p.Apply(dst, im, rng, new(Scratch))
	return dst
}

// norm returns a normalization by its text.
func norm(t *testing.T, text string) Normalization {
	t.Helper()
	n, err := ParseNormalization(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNormalizations(t *testing.T) {
	im := &imaging.Image{W: 2, H: 1, C: 3, Pix: []uint8{0, 128, 255, 10, 20, 30}}
	for name, f := range map[string]func(v float64, c int) float64{
		"":          func(v float64, _ int) float64 { return v / 255 },
		"unit":      func(v float64, _ int) float64 { return v / 255 },
		"symmetric": func(v float64, _ int) float64 { return v/127.5 - 1 },
		"byte":      func(v float64, _ int) float64 { return v },
		"inverted":  func(v float64, _ int) float64 { return 1 - v/255 },
		"0.5,0,-1/2,0.25,1": func(v float64, c int) float64 {
			return (v/255 - []float64{0.5, 0, -1}[c]) / []float64{2, 0.25, 1}[c]
		},
		"clip": func(v float64, c int) float64 {
			return (v/255 - []float64{0.48145466, 0.4578275, 0.40821073}[c]) /
				[]float64{0.26862954, 0.26130258, 0.27577711}[c]
		},
		"imagenet": func(v float64, c int) float64 {
			return (v/255 - []float64{0.485, 0.456, 0.406}[c]) / []float64{0.229, 0.224, 0.225}[c]
		},
	} {
		same := &imaging.Image{W: 2, H: 1, C: 3, Pix: slices.Clone(im.Pix)}
		for i, got := range apply(t, Config{Normalize: norm(t, name)}, same, nil) {
			if want := f(float64(im.Pix[i]), i%3); math.Abs(float64(got)-want) > 1e-5 {
				t.Errorf("%s: value %d is %v, want %v", name, i, got, want)
			}
		}
	}
}

func TestChannels(t *testing.T) {
	im := &imaging.Image{W: 1, H: 1, C: 3, Pix: []uint8{100, 150, 200}}
	im.SetChannels(1)
	// 0.299*100 + 0.587*150 + 0.114*200 = 140.75
	if !slices.Equal(im.Pix, []uint8{141}) {
		t.Errorf("luma %v", im.Pix)
	}
	im.SetChannels(3)
	if !slices.Equal(im.Pix, []uint8{141, 141, 141}) {
		t.Errorf("grey as colour %v", im.Pix)
	}
}

// resizeNaive is the definition: a weighted sum over the whole image in float64.
func resizeNaive(src *imaging.Image, box Box, w, h int, f Filter) []float64 {
	weights := func(n, out int, lo, hi float64, i int) []float64 {
		scale := (hi - lo) / float64(out)
		stretch := max(1, scale)
		center := lo + (float64(i)+0.5)*scale
		wts := make([]float64, n)
		sum := 0.0
		for k := range wts {
			wts[k] = f.kernel((float64(k) + 0.5 - center) / stretch)
			sum += wts[k]
		}
		for k := range wts {
			wts[k] /= sum
		}
		return wts
	}
	out := make([]float64, w*h*src.C)
	for y := range h {
		wy := weights(src.H, h, box.Y0, box.Y1, y)
		for x := range w {
			wx := weights(src.W, w, box.X0, box.X1, x)
			for c := range src.C {
				sum := 0.0
				for sy := range src.H {
					for sx := range src.W {
						if wy[sy] != 0 && wx[sx] != 0 {
							sum += wy[sy] * wx[sx] * float64(src.Pix[(sy*src.W+sx)*src.C+c])
						}
					}
				}
				out[(y*w+x)*src.C+c] = min(max(sum, 0), 255)
			}
		}
	}
	return out
}

func TestResizeAgainstDefinition(t *testing.T) {
	var r Resizer
	dst := new(imaging.Image)
	for _, f := range []Filter{Bilinear, Bicubic, Lanczos, Hamming, BoxFilter} {
		r.Filter = f
		for _, c := range []int{1, 3} {
			for _, s := range [][2]int{{1, 1}, {7, 5}, {16, 9}, {23, 31}} {
				src := noise(s[0], s[1], c, 3)
				full := Box{0, 0, float64(s[0]), float64(s[1])}
				boxes := []Box{full}
				if s[0] > 5 {
					boxes = append(boxes, Box{1, 2, 6, 5}, Box{0.25, 1.5, 3.75, 4.5}, Box{2.4, 3.4, 2.6, 3.6})
				}
				for _, box := range boxes {
					for _, to := range [][2]int{{1, 1}, {4, 6}, {8, 8}, {33, 17}} {
						r.Resize(dst, src, box, to[0], to[1])
						want := resizeNaive(src, box, to[0], to[1], f)
						// Rounding twice to 8 bits; bicubic overshoot between
						// the passes is clipped too.
						tol := 1.1
						if f == Bicubic || f == Lanczos {
							tol = 24
						}
						worst := 0.0
						sum := 0.0
						for i, v := range want {
							d := math.Abs(v - float64(dst.Pix[i]))
							worst, sum = max(worst, d), sum+d
						}
						if worst > tol || sum/float64(len(want)) > 1.2 {
							t.Errorf("filter %d, %v box %v to %v, %d channels: off by up to %.2f, mean %.2f", f, s, box,
								to, c, worst, sum/float64(len(want)))
						}
					}
				}
			}
		}
	}
}

func TestResizeKeepsConstantsAndIdentity(t *testing.T) {
	var r Resizer
	src := imaging.NewImage(13, 9, 3)
	for i := range src.Pix {
		src.Pix[i] = 201
	}
	dst := new(imaging.Image)
	for _, to := range [][2]int{{1, 1}, {5, 40}, {13, 9}, {100, 3}} {
		r.Resize(dst, src, Box{0, 0, 13, 9}, to[0], to[1])
		for _, v := range dst.Pix {
			if v != 201 {
				t.Fatalf("to %v: %d", to, v)
			}
		}
	}
	src = noise(13, 9, 3, 1)
	r.Resize(dst, src, Box{0, 0, 13, 9}, 13, 9)
	if !slices.Equal(dst.Pix, src.Pix) {
		t.Error("the same size changed pixels")
	}
	r.Resize(dst, src, Box{2, 3, 7, 8}, 5, 5)
	for y := range 5 {
		if !slices.Equal(dst.Row(y), src.Row(y + 3)[6:21]) {
			t.Errorf("a crop changed row %d", y)
		}
	}
}

func TestCoverFit(t *testing.T) {
	// Columns have the value of their number.
	im := imaging.NewImage(20, 10, 1)
	for i := range im.Pix {
		im.Pix[i] = uint8(i % 20)
	}
	got := apply(t, Config{Width: 10, Height: 10, Fit: Cover}, im, nil)
	if v := got[0] * 255; math.Abs(float64(v)-5) > 1e-3 {
		t.Errorf("the cut starts at column %v, not at 5", v)
	}
	got = apply(t, Config{Width: 8, Height: 8, Fit: Cover, Shorter: 10}, im, nil)
	if v := got[0] * 255; math.Abs(float64(v)-6) > 1e-3 {
		t.Errorf("the cut starts at column %v, not at 6", v)
	}
	starts := map[int]bool{}
	for seed := range uint64(200) {
		got = apply(t, Config{Width: 10, Height: 10, Fit: Cover, Augment: Augment{RandomCrop: true}}, im, newRand(seed))
		starts[int(math.Round(float64(got[0])*255))] = true
	}
	if len(starts) < 9 {
		t.Errorf("random cuts start at %v", starts)
	}
}

// raw is a copy of im's values as the pipeline handles them.
func raw(im *imaging.Image) []float32 {
	v := make([]float32, len(im.Pix))
	for i, p := range im.Pix {
		v[i] = float32(p)
	}
	return v
}

func TestMirrorAndShift(t *testing.T) {
	fill := [3]float32{77, 78, 79}
	for _, c := range []int{1, 3} {
		for _, w := range []int{1, 2, 5, 6} {
			im := noise(w, 3, c, 5)
			row := raw(im)[:w*c]
			mirror(row, c)
			for x := range w {
				for k := range c {
					if row[x*c+k] != float32(im.Pix[(w-1-x)*c+k]) {
						t.Fatalf("%d channels, width %d", c, w)
					}
				}
			}
			for dx := -7; dx <= 7; dx++ {
				for dy := -4; dy <= 4; dy++ {
					dst := raw(im)
					shift(dst, w, 3, c, dx, dy, fill)
					for y := range 3 {
						for x := range w {
							for k := range c {
								want := fill[k]
								if sx, sy := x-dx, y-dy; sx >= 0 && sx < w && sy >= 0 && sy < 3 {
									want = float32(im.Pix[(sy*w+sx)*c+k])
								}
								if dst[(y*w+x)*c+k] != want {
									t.Fatalf("shift %d,%d of width %d at %d,%d", dx, dy, w, x, y)
								}
							}
						}
					}
				}
			}
		}
	}
}

// The pipeline's mirror image, resized or not, is its plain image reversed.
func TestFlip(t *testing.T) {
	for _, c := range []int{1, 3} {
		for _, size := range []int{9, 13, 20} {
			cfg := Config{Width: size, Height: size}
			plain := apply(t, cfg, noise(13, 13, c, 6), nil)
			cfg.Augment.Flip = 1
			got := apply(t, cfg, noise(13, 13, c, 6), newRand(1))
			for y := range size {
				mirror(got[y*size*c:(y+1)*size*c], c)
			}
			for i := range got {
				if math.Abs(float64(got[i]-plain[i])) > 1e-6 {
					t.Fatalf("%d channels to %d: value %d is %v, want %v", c, size, i, got[i], plain[i])
				}
			}
		}
	}
}

func TestWarp(t *testing.T) {
	im := raw(noise(9, 9, 3, 2))
	dst := make([]float32, len(im))
	warp(dst, im, 9, 9, 3, (&Augment{}).affine(9, 9, newRand(1)), 0)
	if !slices.Equal(dst, im) {
		t.Error("the identity changed pixels")
	}
	// A quarter turn about the centre: out(x, y) = in(y, 8-x).
	warp(dst, im, 9, 9, 3, [6]float64{0, 1, 0, -1, 0, 8}, 0)
	for y := range 9 {
		for x := range 9 {
			if dst[(y*9+x)*3] != im[((8-x)*9+y)*3] {
				t.Fatalf("quarter turn at %d,%d", x, y)
			}
		}
	}
	// Every drawn map keeps the centre within the largest shift.
	a := Augment{Rotate: 180, Shear: 30, Move: 0.25, Scale: [2]float64{0.5, 2}}
	for seed := range uint64(50) {
		m := a.affine(9, 9, newRand(seed))
		// The output point centre+shift comes from the input's centre.
		det := m[0]*m[4] - m[1]*m[3]
		x := (m[4]*(4-m[2]) - m[1]*(4-m[5])) / det
		y := (m[0]*(4-m[5]) - m[3]*(4-m[2])) / det
		if math.Abs(x-4) > 2.2501 || math.Abs(y-4) > 2.2501 {
			t.Errorf("seed %d: the centre moves to %v,%v", seed, x, y)
		}
	}
	warp(dst, im, 9, 9, 3, [6]float64{1e300, 0, 0, 0, 1e300, math.Inf(1)}, 5) // no panic
}

func TestHueMatrix(t *testing.T) {
	for angle := 0.0; angle < 7; angle += 0.5 {
		m := hueMatrix(angle)
		for i := range 3 {
			if s := m[3*i] + m[3*i+1] + m[3*i+2]; math.Abs(s-1) > 2e-3 {
				t.Errorf("angle %v: grey becomes %v", angle, s)
			}
		}
	}
	m := hueMatrix(0)
	if math.Abs(m[0]-1) > 1e-9 || math.Abs(m[1]) > 1e-9 {
		t.Errorf("no turn is not the identity: %v", m)
	}
}

// jittered returns what a makes of v, not normalised.
func jittered(a Augment, v []float32, c int, seed uint64) []float32 {
	out := make([]float32, len(v))
	a.jitter(out, v, 1, c, [3]float32{1, 1, 1}, [3]float32{}, make([]float32, len(v)), newRand(seed))
	return out
}

func TestJitter(t *testing.T) {
	// Brightness alone multiplies; grey stays grey under every jitter.
	v := jittered(Augment{Brightness: 0.2}, []float32{50, 100, 200, 20, 20, 20}, 3, 3)
	f := v[1] / 100
	if f < 0.8 || f > 1.2 || f == 1 || math.Abs(float64(v[0]-50*f)) > 1e-3 || math.Abs(float64(v[2]-200*f)) > 1e-3 {
		t.Errorf("brightness gives %v", v)
	}
	all := Augment{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.5}
	for seed := range uint64(100) {
		v := jittered(all, []float32{0, 0, 0, 90, 90, 90, 140, 140, 140, 255, 255, 255}, 3, seed)
		grey := jittered(all, []float32{0, 90, 140, 255}, 1, seed)
		for i, g := range grey {
			for _, x := range v[3*i : 3*i+3] {
				if math.Abs(float64(x-g)) > 1 {
					t.Fatalf("seed %d: grey %v, as colour %v", seed, grey, v)
				}
			}
		}
	}
	// Contrast alone keeps the mean; saturation and hue keep the luma.
	luma := func(v []float32) float64 { return meanLuma(v, 1, 3, make([]float32, len(v))) }
	for _, a := range []Augment{{Contrast: 0.9}, {Saturation: 0.9}, {Hue: 0.5}} {
		v := raw(noise(40, 40, 3, 9))
		for i := range v {
			v[i] = 110 + v[i]/16
		}
		got := jittered(a, v, 3, 1)
		if d := math.Abs(luma(got) - luma(v)); d > 0.1 || slices.Equal(v, got) {
			t.Errorf("%+v moves the mean luma by %v", a, d)
		}
	}
}

func TestMeanLuma(t *testing.T) {
	v := []float32{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}
	want := (0.299*(10+40+70+100) + 0.587*(20+50+80+110) + 0.114*(30+60+90+120)) / 4
	for _, h := range []int{1, 2, 4} {
		if got := meanLuma(v, h, 3, make([]float32, 12)); math.Abs(got-want) > 1e-4 {
			t.Errorf("%d rows: %v, want %v", h, got, want)
		}
	}
	if got := meanLuma(v, 2, 1, make([]float32, 12)); math.Abs(got-65) > 1e-4 {
		t.Errorf("grey: %v", got)
	}
}

func TestCropBoxStaysInside(t *testing.T) {
	for _, a := range []Augment{{CropArea: [2]float64{0.25, 1}}, {CropArea: [2]float64{0.01, 0.02}},
		{CropArea: [2]float64{1, 1}, CropRatio: [2]float64{1, 1}}} {
		for _, s := range [][2]int{{1, 1}, {1, 50}, {60, 2}, {31, 47}} {
			for seed := range uint64(200) {
				b := a.cropBox(s[0], s[1], newRand(seed))
				if !(b.X0 >= 0 && b.Y0 >= 0 && b.X1 <= float64(s[0]) && b.Y1 <= float64(s[1]) && b.X0 < b.X1 &&
					b.Y0 < b.Y1) {
					t.Fatalf("%v of %v", b, s)
				}
			}
		}
	}
}

func TestPresets(t *testing.T) {
	for _, name := range Augmentations() {
		a, err := ParseAugment(name)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Width: 16, Height: 16, Normalize: norm(t, "symmetric"), Augment: a}
		differ := false
		for _, c := range []int{1, 3} {
			for seed := range uint64(20) {
				im := func() *imaging.Image { return noise(20, 24, c, 8) }
				one, two := apply(t, cfg, im(), newRand(seed)), apply(t, cfg, im(), newRand(seed))
				if !slices.Equal(one, two) {
					t.Fatalf("%s: one seed, two results", name)
				}
				plain := apply(t, cfg, im(), nil)
				differ = differ || !slices.Equal(one, plain)
				for _, v := range one {
					if !(math.Abs(float64(v)) <= 1+1e-6) {
						t.Fatalf("%s: value %v", name, v)
					}
				}
				unchanged := Config{Width: 16, Height: 16, Normalize: norm(t, "symmetric")}
				if !slices.Equal(plain, apply(t, unchanged, im(), nil)) {
					t.Fatalf("%s: changes the evaluation's view", name)
				}
			}
		}
		if differ != (name != "none") {
			t.Errorf("%s: changes images: %v", name, differ)
		}
	}
	if _, err := ParseAugment("stronger"); err == nil || !strings.Contains(err.Error(), "must be one of none, "+
		"characters") {
		t.Errorf("%v", err)
	}
}

func TestFillFollowsTheBackground(t *testing.T) {
	white := imaging.NewImage(12, 12, 1)
	for i := range white.Pix {
		white.Pix[i] = 255
	}
	for _, v := range apply(t, Config{Normalize: norm(t, "inverted"), Augment: Augment{Pad: 0.5, Rotate: 45}}, white,
		newRand(4)) {
		if v > 1e-6 {
			t.Fatalf("white paper becomes %v", v)
		}
	}
}

func TestErase(t *testing.T) {
	im := imaging.NewImage(20, 20, 1)
	for i := range im.Pix {
		im.Pix[i] = 255
	}
	got := apply(t, Config{Augment: Augment{Erase: 1}}, im, newRand(1))
	zeros := 0
	for _, v := range got {
		if v == 0 {
			zeros++
		}
	}
	if zeros < 4 || zeros > 160 {
		t.Errorf("%d of 400 values erased", zeros)
	}
}

func TestNewPipelineErrors(t *testing.T) {
	for want, cfg := range map[string]Config{
		"give both sides":              {Width: 3},
		"channels":                     {Channels: 2},
		"finite and not 0":             {Normalize: Normalization{Std: [3]float32{1, 0, 1}}},
		"needs the size":               {Fit: Cover},
		"shorter side is 5":            {Width: 8, Height: 8, Fit: Cover, Shorter: 5},
		"flip is 2: must be 0 to 1":    {Augment: Augment{Flip: 2}},
		"rotate is NaN":                {Augment: Augment{Rotate: math.NaN()}},
		"crop area is 0.5 to 0.1":      {Width: 8, Height: 8, Augment: Augment{CropArea: [2]float64{0.5, 0.1}}},
		"image size is -1 x 3: give b": {Width: -1, Height: 3},
	} {
		if _, err := NewPipeline(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
