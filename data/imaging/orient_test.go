package imaging

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/budgettest"
)

// TestOrient: what each orientation makes of
//
//	a b c
//	d e f
//
// by the EXIF standard: the row and column that the stored ones are.
func TestOrient(t *testing.T) {
	for o, want := range map[int][]string{
		0: {"abc", "def"},
		1: {"abc", "def"},
		2: {"cba", "fed"}, // mirrored
		3: {"fed", "cba"}, // half a turn
		4: {"def", "abc"}, // upside down, mirrored
		5: {"ad", "be", "cf"},
		6: {"da", "eb", "fc"}, // a quarter turn clockwise
		7: {"fc", "eb", "da"},
		8: {"cf", "be", "ad"}, // a quarter turn anticlockwise
		9: {"abc", "def"},
	} {
		im := &Image{W: 3, H: 2, C: 3}
		for _, c := range "abcdef" {
			im.Pix = append(im.Pix, uint8(c), uint8(c)+50, uint8(c)+100)
		}
		im.orient(o)
		if im.H != len(want) || im.W != len(want[0]) || len(im.Pix) != 18 {
			t.Errorf("%d: %d x %d", o, im.W, im.H)
			continue
		}
		for y, row := range want {
			for x := range row {
				if at := (y*im.W + x) * 3; im.Pix[at] != row[x] || im.Pix[at+1] != row[x]+50 ||
					im.Pix[at+2] != row[x]+100 {
					t.Errorf("%d: %c at %d, %d, want %c", o, im.Pix[at], x, y, row[x])
				}
			}
		}
	}
}

// oriented returns im turned upright, pixel by pixel.
func oriented(im *Image, o int) *Image {
	out := NewImage(im.W, im.H, im.C)
	if o >= 5 {
		out = NewImage(im.H, im.W, im.C)
	}
	for y := range out.H {
		for x := range out.W {
			sx, sy := x, y
			if o >= 5 {
				sx, sy = y, x
			}
			switch o {
			case 2, 8:
				sx = im.W - 1 - sx
			case 4, 6:
				sy = im.H - 1 - sy
			case 3, 7:
				sx, sy = im.W-1-sx, im.H-1-sy
			}
			copy(out.Pix[(y*out.W+x)*out.C:][:out.C], im.Pix[(sy*im.W+sx)*im.C:])
		}
	}
	return out
}

// TestOrientInPlace: pictures of all shapes are turned in their memory.
func TestOrientInPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {2, 3}, {5, 4}, {31, 33}, {63, 64}, {64, 64}, {65, 3},
		{100, 37}, {2047, 5}, {2048, 3}, {2200, 9}, {3, 300}} {
		for _, c := range []int{1, 3} {
			im := NewImage(size[0], size[1], c)
			for i := range im.Pix {
				im.Pix[i] = uint8(rng.Uint32())
			}
			for o := 1; o <= 8; o++ {
				got := new(Image)
				got.CopyFrom(im)
				place := &got.Pix[0]
				got.orient(o)
				if want := oriented(im, o); got.W != want.W || got.H != want.H || !slices.Equal(got.Pix, want.Pix) {
					t.Errorf("%d x %d x %d, orientation %d: another picture", im.W, im.H, c, o)
				}
				if &got.Pix[0] != place {
					t.Errorf("%d x %d x %d, orientation %d: other memory", im.W, im.H, c, o)
				}
			}
		}
	}
}

// TestMemoryOfOrient: to turn a picture takes at most an eighth of its memory.
func TestMemoryOfOrient(t *testing.T) {
	for _, size := range [][2]int{{1, 400_000}, {400_000, 1}, {16, 40_000}, {63, 10_000}, {64, 10_000}, {127, 5000},
		{1000, 700}, {2111, 300}} {
		for _, c := range []int{1, 3} {
			im := NewImage(size[0], size[1], c)
			for o := 2; o <= 8; o++ {
				name := fmt.Sprintf("%d x %d x %d, orientation %d", size[0], size[1], c, o)
				most := int64(len(im.Pix))/8 + int64(2*max(size[0], size[1])*c) + 4096
				if n := budgettest.Allocated(func() { im.orient(o) }); n > most {
					t.Errorf("%s: %d bytes for a picture of %d: at most %d allowed", name, n, len(im.Pix), most)
				}
			}
		}
	}
}

func BenchmarkOrient(b *testing.B) {
	for _, o := range []int{3, 6} {
		b.Run(fmt.Sprint(o), func(b *testing.B) {
			im := NewImage(4000, 3000, 3)
			b.SetBytes(int64(len(im.Pix)))
			for b.Loop() {
				im.orient(o)
			}
		})
	}
}
