package jpeg

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// kinds are the files of testdata that cjpeg of libjpeg-turbo 2.1 wrote of one picture
// of 75 x 51 pixels: ways of sampling, progressive (p), with restart markers.
func kinds() []string {
	return []string{"kind_444p", "kind_422p_restart", "kind_420p", "kind_440_restart", "kind_411", "kind_411p",
		"kind_410", "kind_greyp", "kind_22_11_odd"}
}

func TestKindsAgainstStandardLibrary(t *testing.T) {
	var d Decoder
	for _, name := range append(kinds(), "pillow_420p") {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", name+".jpg"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := decode(&d, b)
			if err != nil {
				t.Fatal(err)
			}
			// image/jpeg cannot read the first and is off at the right border of the second.
			twins := map[string]string{"kind_422p_restart": "kind_422", "kind_411p": "kind_411"}
			if twin, ok := twins[name]; ok { // the same coefficients in a sequential file
				b, err := os.ReadFile(filepath.Join("testdata", twin+".jpg"))
				if err != nil {
					t.Fatal(err)
				}
				twin, err := decode(new(Decoder), b)
				if err != nil || !bytes.Equal(twin.pix, p.pix) {
					t.Errorf("differs from its sequential twin: %v", err)
				}
				return
			}
			compare(t, p, b)
			for n := range len(b) - 2 { // cut off
				if p, err := decode(&d, b[:n]); err == nil {
					compare(t, p, b)
				}
			}
			for _, shrink := range []int{2, 4, 8} {
				compareShrunk(t, b, shrink)
			}
		})
	}
}

// compareShrunk requires that b, made smaller while it is decoded, is about the mean of
// the pixels that each pixel stands for.
func compareShrunk(t *testing.T, b []byte, shrink int) {
	t.Helper()
	full, err := decode(new(Decoder), b)
	if err != nil {
		t.Fatal(err)
	}
	d := Decoder{Shrink: func(w, h int) int {
		if w != full.w || h != full.h {
			t.Errorf("asked for %d x %d", w, h)
		}
		return shrink
	}}
	small, err := decode(&d, b)
	if err != nil {
		t.Fatal(err)
	}
	side := func(n int) int { return max(1, (n+shrink/2)/shrink) }
	if small.w != side(full.w) || small.h != side(full.h) || small.c != full.c {
		t.Fatalf("%d x %d x %d of %d x %d by %d", small.w, small.h, small.c, full.w, full.h, shrink)
	}
	var worst, sum, n float64
	for y := range full.h / shrink {
		for x := range full.w / shrink {
			for c := range full.c {
				mean := 0.0
				for v := range shrink {
					for u := range shrink {
						mean += float64(full.pix[((y*shrink+v)*full.w+x*shrink+u)*full.c+c])
					}
				}
				mean /= float64(shrink * shrink)
				e := float64(small.pix[(y*small.w+x)*small.c+c]) - mean
				worst, sum, n = max(worst, e, -e), sum+max(e, -e), n+1
			}
		}
	}
	// Chroma that stays smaller than the picture may be coarse.
	if even := d.across*d.down == 1; even && (worst > 24 || sum/n > 4) || sum/n > 22 {
		t.Errorf("by %d: differs from the mean of the pixels by up to %.0f levels, %.2f on average", shrink, worst,
			sum/n)
	}
}

func TestShrunkPictures(t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {3, 20}, {8, 8}, {64, 48}, {77, 61}} {
		im := scene(s[0], s[1], 9)
		for _, b := range [][]byte{encode(t, im, 90), encode(t, toGray(im), 90)} {
			for _, shrink := range []int{1, 2, 4, 8} {
				t.Run(fmt.Sprint(s, shrink), func(t *testing.T) { compareShrunk(t, b, shrink) })
			}
		}
	}
}

func TestMaxBytes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "kind_420p.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	// 5 x 4 units of 6 blocks, each of 64 coefficients of 2 bytes and 64 pixels.
	need := int64(5*4*6*64*3 + 75*51*3)
	if _, err := decode(&Decoder{MaxBytes: need}, b); err != nil {
		t.Errorf("%d bytes: %v", need, err)
	}
	if _, err := decode(&Decoder{MaxBytes: need - 1}, b); err != ErrUnsupported {
		t.Errorf("one byte less: %v", err)
	}
}

// A file of more scans than encoders write is left to who counts them.
func TestTooManyScans(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "kind_greyp.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndex(b, []byte{0xff, sos})
	again := bytes.Clone(b[:len(b)-2])
	for range maxScans {
		again = append(again, b[last:len(b)-2]...)
	}
	again = append(again, b[len(b)-2:]...)
	if _, err := decode(new(Decoder), again); err != ErrUnsupported {
		t.Errorf("%v", err)
	}
}
