package clean

import (
	"context"
	"image"
	"image/color"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/test/ctxtest"
	"github.com/kindred-ml/kindred/matrix"
)

// drawStrokes is thick strokes on a black or white ground.
func drawStrokes(rng *rand.Rand, strokes int, white bool) *image.Gray {
	im := image.NewGray(image.Rect(0, 0, 40, 40))
	x, y := 20.0, 20.0
	for range strokes {
		dx, dy := 0.9*rng.NormFloat64(), 0.9*rng.NormFloat64()
		for range 10 {
			x, y = min(max(x+dx, 6), 34), min(max(y+dy, 6), 34)
			for v := int(y) - 1; v <= int(y)+1; v++ {
				for u := int(x) - 1; u <= int(x)+1; u++ {
					im.SetGray(u, v, color.Gray{uint8(200 + rng.IntN(56))})
				}
			}
		}
	}
	if white {
		for i, v := range im.Pix {
			im.Pix[i] = 255 - v
		}
	}
	return im
}

// What is found is what the plain search finds, pair by pair, to the last bit: among
// drawings that are much alike, parts of them, photographs, and both together.
func TestPlainSearch(t *testing.T) {
	for _, kind := range []string{"black", "white", "both", "photos"} {
		var prints []*Fingerprint
		for k := range uint64(12) {
			rng := rand.New(rand.NewPCG(k, 11))
			var im interface {
				image.Image
				SubImage(image.Rectangle) image.Image
			} = drawStrokes(rng, 2, kind == "white" || kind == "both" && k%2 == 0)
			if kind == "photos" || kind == "both" && k%3 == 0 {
				im = drawPhoto(k, 40, 40)
			}
			x, y := rng.IntN(5), rng.IntN(5)
			prints = append(prints, NewFingerprint(im), NewFingerprint(im.SubImage(image.Rect(x, y, x+36, y+36))))
		}
		prints = append(prints, nil, &Fingerprint{isBlank: true})
		x := matrix.New(len(prints), 2)
		for i := range x.Data {
			x.Data[i] = float32(i / 8) // those beside each other are neighbours, most not alike at all
		}
		for _, by := range []*matrix.Dense{nil, x} {
			got, err := FindDuplicates(t.Context(), prints, DuplicateOptions{X: by})
			if err != nil {
				t.Fatal(err)
			}
			want := plainDuplicates(t, prints, by)
			if !slices.Equal(got, want) {
				t.Errorf("%s: found %v, want %v", kind, got, want)
			}
			if len(want) < 3 {
				t.Errorf("%s: only %d pairs: the test says little", kind, len(want))
			}
		}
	}
}

// The same picture a great many times is one group and not the square of that in pairs,
// also if each differs by a pixel.
func TestRepeated(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 11))
	one, other := NewFingerprint(drawStrokes(rng, 3, false)), NewFingerprint(drawPhoto(4, 60, 60))
	prints := []*Fingerprint{other, nil}
	for range 2000 {
		prints = append(prints, one)
	}
	prints = append(prints, other)
	last, times := 0, 0
	copies, err := FindDuplicates(t.Context(), prints, DuplicateOptions{Progress: func(done, total int) {
		last, times = done, total // two pictures: one range, one call
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(copies) != 2000 || copies[0] != (Copy{0, 2002, 1}) || copies[1999] != (Copy{2, 2001, 1}) {
		t.Errorf("%d pairs, the first %v", len(copies), copies[:min(len(copies), 1)])
	}
	if g := GroupCopies(copies); len(g) != 2 || len(g[1]) != 2000 {
		t.Errorf("%d groups", len(g))
	}
	if last != 2 || times != 2 {
		t.Errorf("told of %d pictures of %d", last, times)
	}
	const n = 400
	nearly := make([]*Fingerprint, n)
	for i := range nearly {
		p := &Fingerprint{hash: one.hash, grey: one.grey}
		p.grey[i] ^= 1
		for k, v := range p.grey {
			p.allPixels.add(v)
			if k%2 == 0 && k/side%2 == 0 {
				p.halfPixels.add(v)
			}
		}
		nearly[i] = p
	}
	if copies, err = FindDuplicates(t.Context(), nearly, DuplicateOptions{}); err != nil {
		t.Fatal(err)
	}
	if g := GroupCopies(copies); len(g) != 1 || len(g[0]) != n || len(copies) > 2*maxListedCopies*n ||
		len(copies) < maxListedCopies*n/2 {
		t.Errorf("%d pairs in %d groups", len(copies), len(g))
	}
	before := make([]bool, n)
	for _, c := range copies {
		before[c.B] = true
	}
	if slices.Contains(before[1:], false) {
		t.Error("a picture has no copy before it")
	}
}

// The search stops when it is told to.
func TestDuplicatesStop(t *testing.T) {
	var prints []*Fingerprint
	for k := range uint64(60) {
		prints = append(prints, NewFingerprint(drawStrokes(rand.New(rand.NewPCG(k, 11)), 3, false)))
	}
	ctxtest.CheckStops(t, 3, func(ctx context.Context) error {
		_, err := FindDuplicates(ctx, prints, DuplicateOptions{})
		return err
	})
}

// The copies that 'kindred data info' knows in Omniglot and cub100 are found:
// with KINDRED_LONG=1 among all pictures, else among those of one alphabet and one species.
func TestKnownCopies(t *testing.T) {
	for _, c := range []struct{ set, of, a, b string }{
		{"omniglot", "Braille/", "Braille/character01/0192_03.png", "Braille/character01/0192_19.png"},
		{"cub100", "images/Pigeon_Guillemot/", "images/Pigeon_Guillemot/0028.jpg", "images/Pigeon_Guillemot/0043.jpg"},
	} {
		home := filepath.Join("..", "..", "shared", "data")
		if _, err := os.Stat(filepath.Join(home, c.set)); err != nil {
			t.Skip("../shared has no data sets: ", err)
		}
		d, err := data.Open(t.Context(), c.set, data.OpenOptions{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		var im imaging.Image
		var dec imaging.Decoder
		var names []string
		var prints []*Fingerprint
		for i, name := range d.Names {
			if os.Getenv("KINDRED_LONG") == "" && !strings.HasPrefix(name, c.of) {
				continue
			}
			if err := d.Image(t.Context(), i, &im, &dec); err != nil {
				t.Fatal(err)
			}
			names, prints = append(names, name), append(prints, NewFingerprint(&im))
		}
		copies, err := FindDuplicates(t.Context(), prints, DuplicateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d pictures, %d pairs", c.set, len(prints), len(copies))
		if len(prints) < 50 {
			t.Errorf("%s has %d pictures in %s", c.set, len(prints), c.of)
		}
		known := func(p Copy) bool { return names[p.A] == c.a && names[p.B] == c.b }
		if !slices.ContainsFunc(copies, known) {
			t.Errorf("%s: %s and %s are not found", c.set, c.a, c.b)
		}
		for _, p := range copies {
			if !known(p) {
				t.Logf("%s: also %s and %s, %.4f", c.set, names[p.A], names[p.B], p.Likeness)
			}
		}
	}
}
