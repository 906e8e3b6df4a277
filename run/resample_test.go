package run

import (
	"bytes"
	"context"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
)

// TestTrainingTakesTheResampling: the filter of a network by name is taken in training, unless it is bilinear, which
// the default is too.
func TestTrainingTakesTheResampling(t *testing.T) {
	for _, c := range []struct{ start, given, want string }{
		{"", "", ""}, {"bilinear", "", ""}, {"bicubic", "", "bicubic"}, {"bicubic", "bilinear", "bilinear"},
		{"", "lanczos", "lanczos"},
	} {
		small := smallStart(t, 64)
		cfg := Default()
		cfg.Network.Width, cfg.Data.Resample = 16, c.given
		tr, err := newPlan(t.Context(), cfg, Options{Dataset: newPhotos(8, 10, 64),
			Weights: func(ctx context.Context, name string) (Start, error) {
				s, err := small(ctx, name)
				s.Resample = c.start
				return s, err
			}})
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.cfg.Data.Resample; got != c.want {
			t.Errorf("start %q, data.resample %q: %q, want %q", c.start, c.given, got, c.want)
		}
		tr.close()
	}
}

// TestResamplingOfTheCache: images that are resized as Pillow does are kept whole, and prepared to the same bytes.
func TestResamplingOfTheCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for class := range 2 {
		for i := range 8 {
			im := imaging.NewImage(70, 50, 3)
			for k := range im.Pix {
				im.Pix[k] = uint8(k*k%(90+i)*(class+1) + 5*i)
			}
			var file bytes.Buffer
			if err := png.Encode(&file, im); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, string(rune('a'+class)), string(rune('a'+i))+".png")
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, file.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	samples := func(resample string, cache bool) []byte {
		cfg := Default()
		cfg.Data.Path, cfg.Data.Size, cfg.Data.Resample, cfg.Data.Cache = dir, 16, resample, cache
		cfg.Data.Augment, cfg.Network.Pretrained = none, none
		tr, err := newPlan(t.Context(), cfg, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		d := tr.split.Train.Data
		how, err := cfg.Data.imagingConfig(false)
		if err != nil {
			t.Fatal(err)
		}
		how.Rounded = true // bytes are compared
		p, err := prepare.NewPipeline(how)
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		x, im := make([]byte, 16*16*3), new(imaging.Image)
		for i := range d.Len() {
			if err := d.Image(t.Context(), i, im, new(imaging.Decoder)); err != nil {
				t.Fatal(err)
			}
			p.ApplyBytes(x, im, nil, new(prepare.Scratch))
			all = append(all, x...)
		}
		return all
	}
	if !bytes.Equal(samples("bicubic", false), samples("bicubic", true)) {
		t.Error("the cache changes the images that data.resample=bicubic prepares")
	}
	if bytes.Equal(samples("", false), samples("", true)) {
		t.Error("without data.resample the cache keeps whole images: this test shows nothing")
	}
}
