package jpeg

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// scene is a smooth image with some noise: like a photograph to the coder.
func scene(w, h int, seed uint64) *image.RGBA {
	rng := rand.New(rand.NewPCG(seed, 1))
	im := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			v := func(a, b float64) uint8 {
				return uint8(min(max(128+90*math.Sin(float64(x)*a)*math.Cos(float64(y)*b)+rng.NormFloat64()*12, 0),
					255))
			}
			im.Set(x, y, color.RGBA{v(0.11, 0.05), v(0.03, 0.21), v(0.07, 0.02), 255})
		}
	}
	return im
}

func encode(t testing.TB, im image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := stdjpeg.Encode(&b, im, &stdjpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type picture struct {
	w, h, c int
	pix     []uint8
}

func decode(d *Decoder, b []byte) (p picture, err error) {
	err = d.Decode(b, func(w, h, c int) []uint8 {
		p = picture{w, h, c, make([]uint8, w*h*c)}
		return p.pix
	})
	return p, err
}

// compare requires that p agrees with what image/jpeg makes of b. The two round
// differently, in the transform and in the colours.
func compare(t *testing.T, p picture, b []byte) {
	t.Helper()
	im, err := stdjpeg.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if im.Bounds().Dx() != p.w || im.Bounds().Dy() != p.h {
		t.Fatalf("%d x %d, want %v", p.w, p.h, im.Bounds())
	}
	worst, sum := 0, 0
	for y := range p.h {
		for x := range p.w {
			var want [3]uint8
			switch im := im.(type) {
			case *image.Gray:
				want[0] = im.GrayAt(x, y).Y
			case *image.YCbCr:
				c := im.YCbCrAt(x, y)
				want[0], want[1], want[2] = color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			}
			for k := range p.c {
				d := int(p.pix[(y*p.w+x)*p.c+k]) - int(want[k])
				worst, sum = max(worst, d, -d), sum+max(d, -d)
			}
		}
	}
	if mean := float64(sum) / float64(len(p.pix)); worst > 6 || mean > 0.6 {
		t.Errorf("differs from image/jpeg by up to %d levels, %.3f on average", worst, mean)
	}
}

func TestDecodeAgainstStandardLibrary(t *testing.T) {
	var d Decoder
	for _, s := range [][2]int{{1, 1}, {8, 8}, {16, 16}, {17, 15}, {7, 33}, {64, 48}, {100, 99}, {129, 1}} {
		for _, q := range []int{5, 50, 75, 95, 100} {
			im := scene(s[0], s[1], uint64(s[0]*q))
			for _, b := range [][]byte{encode(t, im, q), encode(t, toGray(im), q)} {
				p, err := decode(&d, b)
				if err != nil {
					t.Fatalf("%v quality %d: %v", s, q, err)
				}
				compare(t, p, b)
			}
		}
	}
}

func toGray(im image.Image) *image.Gray {
	g := image.NewGray(im.Bounds())
	for y := range im.Bounds().Dy() {
		for x := range im.Bounds().Dx() {
			g.Set(x, y, im.At(x, y))
		}
	}
	return g
}

// The transforms to all sizes against their definition in float64.
func TestTransformAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for trial := range 4000 {
		var d Decoder
		last, size := trial%64, 8>>(trial/64%4)
		for k := range last + 1 {
			if rng.IntN(3) == 0 || k == last || k == 0 {
				d.block[zigzag[k]] = int32(rng.IntN(400)-200) / int32(1+k/4)
			}
		}
		block := d.block
		dst := [8 * 11]uint8{87: 77}
		d.transform(dst[:], 11, last, size)
		if d.block != [64]int32{} {
			t.Fatal("the block is not cleared")
		}
		for y := range size {
			for x := range size {
				sum := 0.0
				for v := range size {
					for u := range size {
						c := 0.25
						if u == 0 {
							c *= math.Sqrt2 / 2
						}
						if v == 0 {
							c *= math.Sqrt2 / 2
						}
						step := math.Pi / float64(2*size)
						sum += c * float64(block[8*v+u]) * math.Cos(float64(2*x+1)*float64(u)*step) *
							math.Cos(float64(2*y+1)*float64(v)*step)
					}
				}
				want := min(max(sum+128, 0), 255)
				if got := float64(dst[y*11+x]); math.Abs(got-want) > 1.05 {
					t.Fatalf("trial %d, size %d, last %d, (%d,%d): %v, want %v", trial, size, last, x, y, got, want)
				}
			}
		}
		if size < 8 && (dst[size] != 0 || dst[size*11] != 0) || dst[87] != 77 {
			t.Fatalf("size %d: wrote outside its square", size)
		}
	}
}

func TestDamagedFiles(t *testing.T) {
	var d Decoder
	good := encode(t, scene(40, 40, 1), 80)
	if _, err := decode(&d, good); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{nil, good[:2], good[:100], good[:len(good)/2], good[2:], []byte("\xff\xd8\xff\xd9")} {
		if _, err := decode(&d, b); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	// A header that claims 32768 x 32768 pixels gets no memory.
	huge := bytes.Clone(good)
	at := bytes.Index(huge, []byte{0xff, sof0})
	copy(huge[at+5:], []byte{0x80, 0, 0x80, 0})
	if n := testing.AllocsPerRun(3, func() { decode(&d, huge) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
	want, err := decode(new(Decoder), good)
	if err != nil {
		t.Fatal(err)
	}
	for n := range good { // what a file that ends early leaves behind does not show
		decode(&d, good[:n])
		if p, err := decode(&d, good); err != nil || !bytes.Equal(p.pix, want.pix) {
			t.Fatalf("a good file after its first %d bytes: %v", n, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, q := range []int{10, 90} {
		f.Add(encode(f, scene(19, 21, 2), q))
		f.Add(encode(f, toGray(scene(9, 9, 3)), q))
	}
	for _, name := range kinds() {
		b, err := os.ReadFile(filepath.Join("testdata", name+".jpg"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	var d Decoder
	f.Fuzz(func(t *testing.T, b []byte) {
		d.MaxPixels = 1 << 22
		for _, shrink := range []int{1, 2, 4, 8} {
			d.Shrink = func(w, h int) int { return shrink }
			p, err := decode(&d, b)
			if err != nil {
				continue
			}
			if len(p.pix) != p.w*p.h*p.c || d.block != [64]int32{} {
				t.Fatal("inconsistent result")
			}
			im, err := stdjpeg.Decode(bytes.NewReader(b))
			if err != nil { // that what follows the picture is damaged does not matter here
				continue
			}
			if shrink == 1 && (im.Bounds().Dx() != p.w || im.Bounds().Dy() != p.h) {
				t.Fatalf("%d x %d, image/jpeg says %v", p.w, p.h, im.Bounds())
			}
		}
	})
}
