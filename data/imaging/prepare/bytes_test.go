package prepare

import (
	"math"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// bytesOf is apply's ApplyBytes, put through the table.
func bytesOf(t *testing.T, cfg Config, im *imaging.Image, seed uint64) []float32 {
	t.Helper()
	p, err := NewPipeline(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, w, c := p.Shape(im.W, im.H, im.C)
	b := make([]uint8, h*w*c)
	p.ApplyBytes(b, im, newRand(seed), new(Scratch))
	table, out := cfg.Normalize.Table(c), make([]float32, len(b))
	for i, v := range b {
		out[i] = table[int(v)*c+i%c]
	}
	return out
}

func augment(t *testing.T, name string) Augment {
	t.Helper()
	a, err := ParseAugment(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestBytesAreTheSameValues: where nothing makes other values, bytes through the table
// are bit by bit what Apply makes, in rows of whole blocks; and Bytes says where.
func TestBytesAreTheSameValues(t *testing.T) {
	for _, pixels := range Normalizations() {
		for _, name := range []string{"none", "light"} {
			for _, c := range []int{1, 3} {
				cfg := Config{Width: 32, Height: 32, Normalize: norm(t, pixels), Augment: augment(t, name)}
				p, err := NewPipeline(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if !p.Bytes(32, 32) {
					if name == "none" || pixels == "unit" {
						t.Errorf("%s, %s: no bytes", pixels, name)
					}
					continue
				}
				for seed := range uint64(4) {
					want := apply(t, cfg, noise(32, 32, c, seed), newRand(seed))
					if got := bytesOf(t, cfg, noise(32, 32, c, seed), seed); !slices.Equal(got, want) {
						t.Errorf("%s, %s, %d channels, seed %d: other values", pixels, name, c, seed)
					}
				}
			}
		}
	}
	for _, c := range []struct {
		cfg  Config
		w, h int
		want bool
	}{
		{Config{}, 7, 5, true}, {Config{Width: 8, Height: 8}, 8, 8, true}, {Config{Width: 8, Height: 8}, 9, 8, false},
		{Config{Width: 8, Height: 8}, 0, 0, false}, {Config{Width: 8, Height: 8, Rounded: true}, 9, 8, true},
		{Config{Augment: augment(t, "characters")}, 8, 8, false},
		{Config{Width: 8, Height: 8, Augment: augment(t, "standard")}, 8, 8, false},
		{Config{Augment: Augment{Erase: 0.5}}, 8, 8, false}, {Config{Augment: Augment{Hue: 0.1}}, 8, 8, false},
		{Config{Width: 8, Height: 8, Rounded: true, Augment: augment(t, "strong")}, 8, 8, true},
	} {
		p, err := NewPipeline(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Bytes(c.w, c.h); got != c.want {
			t.Errorf("%+v of %d x %d: %v", c.cfg, c.w, c.h, got)
		}
	}
}

// TestRounded: with Rounded, Apply gives the values of ApplyBytes, which are those without it to the steps of 8 bits
// at which two passes are rounded. Bent pixels and changed colours are rounded once more, the latter after those steps
// were made larger.
func TestRounded(t *testing.T) {
	for _, name := range Augmentations() {
		for _, c := range []int{1, 3} {
			cfg := Config{Width: 16, Height: 16, Normalize: norm(t, "imagenet"), Augment: augment(t, name)}
			rounded := cfg
			rounded.Rounded = true
			for seed := range uint64(8) {
				got := apply(t, rounded, noise(24, 20, c, seed), newRand(seed))
				if !slices.Equal(got, bytesOf(t, rounded, noise(24, 20, c, seed), seed)) {
					t.Errorf("%s, %d channels: Apply and ApplyBytes differ", name, c)
				}
				for i, want := range apply(t, cfg, noise(24, 20, c, seed), newRand(seed)) {
					step := 1 / 255. / float64(cfg.Normalize.Std[i%c])
					switch name {
					case "characters":
						step *= 1.6
					case "strong":
						step *= 3
					}
					if d := math.Abs(float64(got[i] - want)); d > 1.001*step {
						t.Fatalf("%s, %d channels, seed %d: value %d is %v, unrounded %v", name, c, seed, i, got[i],
							want)
					}
				}
			}
		}
	}
}
