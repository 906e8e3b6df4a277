package data

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/test/refdata"
)

// benchCases are the pipelines that testdata/peer_decode.py times with PIL and
// torchvision under the same names.
func benchCases(b *testing.B) []struct {
	name string
	cfg  prepare.Config
} {
	norm := normalization(b, "imagenet")
	crop := prepare.Augment{CropArea: [2]float64{0.08, 1}, Flip: 0.5}
	jitter := crop
	jitter.Brightness, jitter.Contrast, jitter.Saturation = 0.4, 0.4, 0.4
	return []struct {
		name string
		cfg  prepare.Config
	}{
		{"resize-128", prepare.Config{Width: 128, Height: 128, Normalize: norm}},
		{"resize-64", prepare.Config{Width: 64, Height: 64, Normalize: norm}},
		{"crop-flip-112", prepare.Config{Width: 112, Height: 112, Normalize: norm, Augment: crop}},
		{"crop-flip-224", prepare.Config{Width: 224, Height: 224, Normalize: norm, Augment: crop}},
		{"crop-flip-jitter-224", prepare.Config{Width: 224, Height: 224, Normalize: norm, Augment: jitter}},
	}
}

func normalization(b *testing.B, name string) prepare.Normalization {
	n, err := prepare.ParseNormalization(name)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkFromJPEG reports images per second on one core from the files of
// cub100, kept in memory, to normalised samples.
func BenchmarkFromJPEG(b *testing.B) {
	d := open(b, refdata.Path(b, "data", "cub100"))
	files := d.Source.(*tree.Files)
	content := make([][]byte, 1000)
	for i := range content {
		c, err := files.Content(i*d.Len()/len(content), nil)
		if err != nil {
			b.Fatal(err)
		}
		content[i] = c
	}
	var dec imaging.Decoder
	var im imaging.Image
	b.Run("decode", func(b *testing.B) {
		for i := range b.N {
			if err := dec.Decode(b.Context(), &im, content[i%len(content)]); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
	for _, c := range benchCases(b) {
		b.Run(c.name, func(b *testing.B) {
			read := func(i int) error { return dec.Decode(b.Context(), &im, content[i%len(content)]) }
			benchPipeline(b, c.cfg, read, &im)
		})
	}
}

// BenchmarkFromPhotos does it from photos as cameras write them: files of cub100
// enlarged, with noise, first decoded in full and then no larger than the views of
// them need.
func BenchmarkFromPhotos(b *testing.B) {
	d := open(b, refdata.Path(b, "data", "cub100"))
	standard := prepare.Augment{CropArea: [2]float64{0.25, 1}, Flip: 0.5}
	for _, width := range []int{1000, 2000, 4000} {
		var content [][]byte
		for i := range 4 {
			content = append(content, photo(b, d, 1000*i, width))
		}
		for _, c := range []struct {
			name string
			cfg  prepare.Config
		}{
			{"resize-128", prepare.Config{Width: 128, Height: 128}},
			{"resize-224", prepare.Config{Width: 224, Height: 224}},
			{"crop-flip-224", prepare.Config{Width: 224, Height: 224, Augment: standard}},
		} {
			p, err := prepare.NewPipeline(c.cfg)
			if err != nil {
				b.Fatal(err)
			}
			for name, dec := range map[string]*imaging.Decoder{"full": {}, "shrunk": {Shrink: p.Shrink}} {
				b.Run(fmt.Sprintf("%d/%s/%s", width, c.name, name), func(b *testing.B) {
					var im imaging.Image
					read := func(i int) error { return dec.Decode(b.Context(), &im, content[i%len(content)]) }
					benchPipeline(b, c.cfg, read, &im)
				})
			}
		}
	}
}

// photo is sample i of d as a file of the given width in pixels, three quarters as
// high.
func photo(b *testing.B, d *Dataset, i, width int) []byte {
	var small, large imaging.Image
	if err := d.Image(b.Context(), i, &small, nil); err != nil {
		b.Fatal(err)
	}
	var r prepare.Resizer
	r.Resize(&large, &small, prepare.Box{X1: float64(small.W), Y1: float64(small.H)}, width, width*3/4)
	rng := newRand(uint64(i))
	for k, v := range large.Pix {
		large.Pix[k] = uint8(min(max(float64(v)+3*rng.NormFloat64(), 0), 255))
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, &large, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}

// BenchmarkFromCache does the same from a packed cache of the files at their own
// size, and the cheaper augmentation that networks for small images use.
func BenchmarkFromCache(b *testing.B) {
	d, err := open(b, refdata.Path(b, "data", "cub100")).Cache(b.Context(), CacheOptions{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	square, err := open(b, refdata.Path(b, "data", "cub100")).Cache(b.Context(),
		CacheOptions{Dir: b.TempDir(), Side: 64})
	if err != nil {
		b.Fatal(err)
	}
	var im imaging.Image
	from := func(d *Dataset) func(i int) error {
		return func(i int) error { return d.Source.Read(b.Context(), i*37%d.Len(), &im, nil) }
	}
	for _, c := range benchCases(b) {
		b.Run(c.name, func(b *testing.B) {
			if c.name == "resize-64" {
				benchPipeline(b, c.cfg, from(square), &im)
				return
			}
			benchPipeline(b, c.cfg, from(d), &im)
		})
	}
}

// BenchmarkOmniglot reads drawings at the 40 pixels that Conv4 takes, from the
// official archives and from a cache.
func BenchmarkOmniglot(b *testing.B) {
	d := open(b, refdata.Path(b, "data", "omniglot"))
	cfg := prepare.Config{Width: 40, Height: 40, Normalize: normalization(b, "inverted")}
	var dec imaging.Decoder
	var im imaging.Image
	p, err := prepare.NewPipeline(cfg)
	if err != nil {
		b.Fatal(err)
	}
	var scratch prepare.Scratch
	dst := make([]float32, 40*40)
	run := func(name string, d *Dataset) {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				if err := d.Image(b.Context(), i*37%d.Len(), &im, &dec); err != nil {
					b.Fatal(err)
				}
				p.Apply(dst, &im, nil, &scratch)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
	run("archive", d)
	for name, side := range map[string]int{"cache": 0, "cache-40": 40} {
		c, err := d.Cache(b.Context(), CacheOptions{Dir: b.TempDir(), Side: side})
		if err != nil {
			b.Fatal(err)
		}
		run(name, c)
	}
}

func benchPipeline(b *testing.B, cfg prepare.Config, next func(i int) error, im *imaging.Image) {
	p, err := prepare.NewPipeline(cfg)
	if err != nil {
		b.Fatal(err)
	}
	var scratch prepare.Scratch
	dst := make([]float32, cfg.Width*cfg.Height*3)
	b.ReportAllocs()
	for i := range b.N {
		if err := next(i); err != nil {
			b.Fatal(err)
		}
		p.Apply(dst, im, newRand(uint64(i)), &scratch)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
}
