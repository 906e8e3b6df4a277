package prepare

import (
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// TestBlueFirst: the values of bn_inception, reckoned by hand, in floats and in bytes.
func TestBlueFirst(t *testing.T) {
	image := func(c int, pix ...uint8) *imaging.Image { return &imaging.Image{W: len(pix) / c, H: 1, C: c, Pix: pix} }
	white := norm(t, "bn_inception").Table(3)[255*3:]
	for k, want := range []float32{255 - 104, 255 - 117, 255 - 128} {
		if d := white[k] - want; d < -1e-4 || d > 1e-4 {
			t.Errorf("byte 255 in channel %d is %v, want %v", k, white[k], want)
		}
	}
	for _, c := range []struct {
		channels int
		im       *imaging.Image
		want     []float32
	}{
		{0, image(3, 0, 128, 255, 10, 20, 30), []float32{255 - 104, 128 - 117, 0 - 128, 30 - 104, 20 - 117, 10 - 128}},
		{0, image(1, 7, 104), []float32{7 - 104, 0}}, // channel 0 of the result
		{3, image(1, 200), []float32{200 - 104, 200 - 117, 200 - 128}},
		{1, image(3, 100, 150, 200), []float32{141 - 104}}, // the luma, as in TestChannels
	} {
		for _, rounded := range []bool{false, true} {
			cfg := Config{Channels: c.channels, Rounded: rounded, Normalize: norm(t, "bn_inception")}
			for way, got := range map[string][]float32{
				"floats": apply(t, cfg, image(c.im.C, slices.Clone(c.im.Pix)...), nil),
				"bytes":  bytesOf(t, cfg, image(c.im.C, slices.Clone(c.im.Pix)...), 1),
			} {
				if !slices.EqualFunc(got, c.want, func(a, b float32) bool { return a-b < 1e-4 && b-a < 1e-4 }) {
					t.Errorf("%v as %s, rounded %v: %v, want %v", c.im.Pix, way, rounded, got, c.want)
				}
			}
		}
	}
}

// TestOrderChangesNothingElse: whatever the augmentation does, a result with blue in
// front is the one with red in front and its channels turned round.
func TestOrderChangesNothingElse(t *testing.T) {
	for _, name := range Augmentations() {
		for _, rounded := range []bool{false, true} {
			for seed := range uint64(6) {
				cfg := Config{Width: 32, Height: 10, Rounded: rounded, Augment: augment(t, name),
					Normalize: norm(t, "0.1,0.2,0.3/0.4,0.5,0.6")}
				want := apply(t, cfg, noise(17, 14, 3, seed), newRand(seed))
				for i := 0; i < len(want); i += 3 {
					slices.Reverse(want[i : i+3])
				}
				cfg.Normalize = norm(t, "bgr:0.3,0.2,0.1/0.6,0.5,0.4")
				if got := apply(t, cfg, noise(17, 14, 3, seed), newRand(seed)); !slices.Equal(got, want) {
					t.Errorf("%s, rounded %v, seed %d: %v, want %v", name, rounded, seed, got[:6], want[:6])
				}
				if !rounded {
					continue
				}
				if got := bytesOf(t, cfg, noise(17, 14, 3, seed), seed); !slices.Equal(got, want) {
					t.Errorf("%s in bytes, seed %d: %v, want %v", name, seed, got[:6], want[:6])
				}
			}
		}
	}
}
