package imaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/heif"
)

// TestReferences: pictures with chroma of fewer pixels, and with opacity, are what avifdec 0.11.1 and heif-convert
// 1.15.1 write without options. Those files are in testdata/references.
func TestReferences(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "references", "*.png"))
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".png")
		format, _, _ := strings.Cut(base, "-")
		t.Run(base, func(t *testing.T) {
			if format == "heic" {
				heif.Decoder(t)
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := decodeFile(t, b, &Decoder{})
			want.SetChannels(3)
			mean, most := pixelDifference(t, decodeFile(t, formatFile(t, base+"."+format), &Decoder{Smooth: true}),
				want)
			if most > 16 || mean > 0.5 { // where colours of AVIF were clipped
				t.Errorf("apart by %v, %.3f on average", most, mean)
			}
			repeated, _ := pixelDifference(t, decodeFile(t, formatFile(t, base+"."+format), &Decoder{}), want)
			if format == "avif" && repeated < 2*mean {
				t.Errorf("repeated chroma is apart by %.3f, smooth by %.3f", repeated, mean)
			}
		})
	}
}

// TestSmoothChroma: a picture of one colour, and one of greys, stay as they are, for every size and both widths of
// values.
func TestSmoothChroma(t *testing.T) {
	for _, wide := range []bool{false, true} {
		for w := 1; w <= 5; w++ {
			for h := 1; h <= 5; h++ {
				for _, grey := range []bool{false, true} {
					s := samples{w: w, h: h, size: 3, wide: wide}
					if wide {
						s.size = 6
					}
					s.pix = make([]uint8, w*h*s.size)
					for i := range s.pix {
						s.pix[i] = uint8(40 + 50*(i%s.size))
						if grey {
							s.pix[i] = uint8(i / s.size * 9)
						}
					}
					was := string(s.pix)
					for _, by := range [][2]int{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {0, 0}, {4, 1}} {
						if s.smoothChroma(by[0], by[1], 0.299, 0.114); string(s.pix) != was {
							t.Fatalf("%d x %d by %v, grey %v: % x became % x", w, h, by, grey, was, s.pix)
						}
					}
				}
			}
		}
	}
}
