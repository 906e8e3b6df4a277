package prepare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// golden makes pictures of two by every augmentation, and returns some of their
// values.
func golden(t *testing.T) map[string][]float32 {
	colour, grey := imaging.NewImage(13, 9, 3), imaging.NewImage(13, 9, 1)
	for i := range colour.Pix {
		colour.Pix[i] = uint8(i*i/7 + 3*i)
	}
	for i := range grey.Pix {
		grey.Pix[i] = uint8(i*i/5 + 40)
	}
	got := map[string][]float32{}
	add := func(name string, cfg Config) {
		for which, im := range map[string]*imaging.Image{"colour": colour, "grey": grey} {
			p, err := NewPipeline(cfg)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			rng := rand.New(rand.NewPCG(3, 4))
			var values []float32
			for range 4 { // draws of one generator
				var work imaging.Image
				work.CopyFrom(im)
				h, w, c := p.Shape(im.W, im.H, im.C)
				dst := make([]float32, h*w*c)
				p.Apply(dst, &work, rng, new(Scratch))
				for k := range 5 {
					values = append(values, dst[(2*k+1)*len(dst)/10])
				}
			}
			got[name+" "+which] = values
		}
	}
	for _, name := range Augmentations() {
		a, err := ParseAugment(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range Normalizations() {
			add(name+" "+n, Config{Width: 8, Height: 6, Normalize: norm(t, n), Augment: a})
		}
		if a.CropArea[1] == 0 {
			add(name+" at its size", Config{Augment: a})
		}
	}
	for name, a := range map[string]Augment{
		"ratio":               {CropArea: [2]float64{0.2, 0.9}, CropRatio: [2]float64{0.5, 3}},
		"never fits":          {CropArea: [2]float64{1, 1}, CropRatio: [2]float64{3, 4}},
		"never fits, upright": {CropArea: [2]float64{1, 1}, CropRatio: [2]float64{0.1, 0.2}},
		"pad":                 {Pad: 0.3}, "flip": {Flip: 0.5}, "rotate": {Rotate: 40}, "shear": {Shear: 20},
		"move": {Move: 0.3}, "scale": {Scale: [2]float64{0.5, 2}},
		"brightness": {Brightness: 0.5}, "contrast": {Contrast: 0.5}, "saturation": {Saturation: 0.5},
		"hue": {Hue: 0.3}, "erase": {Erase: 0.7},
		"all": {Pad: 0.1, Flip: 0.5, Rotate: 20, Contrast: 0.3, Erase: 0.5},
	} {
		add(name, Config{Width: 8, Height: 6, Augment: a})
	}
	add("cover", Config{Width: 4, Height: 6, Fit: Cover, Augment: Augment{RandomCrop: true}})
	add("cover, shorter", Config{Width: 4, Height: 6, Fit: Cover, Shorter: 8, Augment: Augment{RandomCrop: true}})
	return got
}

// TestGoldenAugmentations compares what a seed makes of two pictures with the
// values that it made when this test was written: runs repeat only if these
// stay. That they are right is for other tests. KINDRED_UPDATE=1 writes them
// anew.
func TestGoldenAugmentations(t *testing.T) {
	got := golden(t)
	path := filepath.Join("testdata", "augmented.json")
	if os.Getenv("KINDRED_UPDATE") != "" {
		b, err := json.Marshal(got)
		if err == nil {
			err = os.WriteFile(path, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]float32
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(got) {
		t.Errorf("%d cases are kept, %d made", len(want), len(got))
	}
	for name, values := range got {
		for i, v := range values {
			if len(want[name]) != len(values) || math.Abs(float64(v-want[name][i])) > 1e-3 {
				t.Errorf("%s: %v, want %v", name, values, want[name])
				break
			}
		}
	}
}
