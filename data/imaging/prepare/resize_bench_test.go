package prepare

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"testing"

	"github.com/kindred-ml/kindred/data/imaging"
)

// BenchmarkPrepare decodes and resizes photographs: unrounded and reduced while they are decoded, and as Pillow does.
func BenchmarkPrepare(b *testing.B) {
	for _, size := range [][2]int{{500, 375}, {4000, 3000}} {
		im := imaging.NewImage(size[0], size[1], 3)
		for i := range im.Pix {
			im.Pix[i] = uint8(i/3%size[0]/3 + i/3/size[0]/2 + i*i%13)
		}
		var file bytes.Buffer
		if err := jpeg.Encode(&file, im, &jpeg.Options{Quality: 90}); err != nil {
			b.Fatal(err)
		}
		for _, side := range []int{64, 224} {
			for _, cfg := range []Config{{}, {Filter: Bilinear, Rounded: true}, {Filter: Bicubic, Rounded: true},
				{Filter: Lanczos, Rounded: true}} {
				cfg.Width, cfg.Height, cfg.Fit, cfg.Shorter = side, side, Cover, side*8/7
				p, err := NewPipeline(cfg)
				if err != nil {
					b.Fatal(err)
				}
				name := fmt.Sprintf("%dx%d/%d/%v", size[0], size[1], side, cfg.Filter)
				if cfg.Rounded {
					name += "-rounded"
				}
				b.Run(name, func(b *testing.B) {
					dec, pic := imaging.Decoder{Shrink: p.Shrink, Smooth: true}, new(imaging.Image)
					s, dst := new(Scratch),
						make([]float32, side*side*3)
					for b.Loop() {
						if err := dec.Decode(b.Context(), pic, file.Bytes()); err != nil {
							b.Fatal(err)
						}
						p.Apply(dst, pic, nil, s)
					}
				})
			}
		}
	}
}
