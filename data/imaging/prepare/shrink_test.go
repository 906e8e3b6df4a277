package prepare

import (
	"bytes"
	"image/jpeg"
	"math"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// waves is a picture of slow waves in all colours, as JPEG of the given orientation.
func waves(t *testing.T, w, h, orientation int) []byte {
	t.Helper()
	im := imaging.NewImage(w, h, 3)
	for y := range h {
		for x := range w {
			for c := range 3 {
				v := 128 + 100*math.Sin(float64(x)*(0.02+0.01*float64(c)))*math.Cos(float64(y)*0.03)
				im.Pix[(y*w+x)*3+c] = uint8(v)
			}
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, im, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	exif := []byte{0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3,
		0, 0, 0, 1, 0, byte(orientation), 0, 0, 0, 0, 0, 0}
	return append(append(append([]byte(nil), b.Bytes()[:2]...), exif...), b.Bytes()[2:]...)
}

func TestShrinkKeepsTwoPixelsForOne(t *testing.T) {
	standard := Augment{CropArea: [2]float64{0.25, 1}, Flip: 0.5}
	for _, c := range []struct {
		cfg        Config
		w, h, want int
	}{
		{Config{}, 8000, 8000, 1},
		{Config{Width: 100, Height: 100}, 399, 400, 1},
		{Config{Width: 100, Height: 100}, 400, 400, 2},
		{Config{Width: 100, Height: 100}, 400, 9000, 2},
		{Config{Width: 100, Height: 100}, 800, 1599, 4},
		{Config{Width: 100, Height: 50}, 1600, 800, 8},
		{Config{Width: 100, Height: 100}, 30000, 30000, 8},
		{Config{Width: 100, Height: 100, Fit: Cover, Shorter: 101}, 400, 400, 1},
		{Config{Width: 100, Height: 100, Fit: Cover, Shorter: 200}, 800, 900, 2},
		{Config{Width: 100, Height: 100, Augment: standard}, 800, 800, 1},
		{Config{Width: 100, Height: 100, Augment: standard}, 924, 924, 2},
		{Config{Width: 100, Height: 100, Augment: Augment{CropArea: [2]float64{1, 1}}}, 500, 300, 1},
		{Config{Width: 224, Height: 224, Augment: standard}, 4032, 3024, 2},
		{Config{Width: 64, Height: 64, Rounded: true}, 4000, 3000, 2},
		{Config{Width: 64, Height: 64, Rounded: true}, 4002, 3001, 1},
		{Config{Width: 64, Height: 64, Rounded: true}, 4001, 3002, 1},
		{Config{Width: 64, Height: 64, Rounded: true}, 5400, 5402, 2},
		{Config{Width: 64, Height: 64, Rounded: true}, 2558, 2558, 1},
		{Config{Width: 16, Height: 16, Rounded: true}, 4000, 3000, 8},
		{Config{Width: 224, Height: 224, Rounded: true}, 4032, 3024, 1},
	} {
		p, err := NewPipeline(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Shrink(c.w, c.h); got != c.want {
			t.Errorf("%+v, %d x %d: by %d, want %d", c.cfg, c.w, c.h, got, c.want)
		}
	}
	// What is drawn is never smaller than smallestCrop says.
	for _, size := range [][2]int{{400, 300}, {90, 800}, {1000, 60}} {
		w, h := float64(size[0]), float64(size[1])
		cw, ch := standard.smallestCrop(w, h)
		for seed := range 500 {
			b := standard.cropBox(size[0], size[1], newRand(uint64(seed)))
			if b.X1-b.X0 < cw-0.51 || b.Y1-b.Y0 < ch-0.51 {
				t.Fatalf("%v: drew %v, said at least %.1f x %.1f", size, b, cw, ch)
			}
		}
	}
}

// A view of a picture that was made smaller while it was decoded is that of the whole
// one, whichever way up its file has it.
func TestShrunkViews(t *testing.T) {
	p, err := NewPipeline(Config{Width: 20, Height: 20, Fit: Cover})
	if err != nil {
		t.Fatal(err)
	}
	view := func(file []byte, shrink func(w, h int) int) (*imaging.Image, []float32) {
		dec := imaging.Decoder{Shrink: shrink}
		im := new(imaging.Image)
		if err := dec.Decode(t.Context(), im, file); err != nil {
			t.Fatal(err)
		}
		size := *im
		dst := make([]float32, 20*20*3)
		p.Apply(dst, im, nil, new(Scratch))
		return &size, dst
	}
	for o := 1; o <= 8; o++ {
		file := waves(t, 352, 200, o)
		w, h := 352, 200
		if o >= 5 {
			w, h = h, w
		}
		full, want := view(file, nil)
		small, got := view(file, func(gw, gh int) int {
			if gw != w || gh != h {
				t.Errorf("orientation %d: asked for %d x %d, want %d x %d", o, gw, gh, w, h)
			}
			return p.Shrink(gw, gh)
		})
		if full.W != w || full.H != h || small.W != w/4 || small.H != h/4 {
			t.Errorf("orientation %d: %d x %d and %d x %d", o, full.W, full.H, small.W, small.H)
		}
		var sum, worst float64
		for i := range want {
			e := math.Abs(float64(got[i]-want[i])) * 255
			sum, worst = sum+e, max(worst, e)
		}
		if mean := sum / float64(len(want)); mean > 0.7 || worst > 4 {
			t.Errorf("orientation %d: off by %.2f levels of 255, %.1f at most", o, mean, worst)
		}
	}
}
