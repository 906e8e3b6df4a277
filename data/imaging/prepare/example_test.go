package prepare_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"log"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
)

// One picture, from its file to the values that a network takes.
func Example() {
	photo := imaging.NewImage(300, 200, 3) // a file, as it might come from a camera
	for i := range photo.Pix {
		photo.Pix[i] = uint8(i % 3 * 100)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, photo); err != nil {
		log.Fatal(err)
	}

	var dec imaging.Decoder
	var im imaging.Image
	if err := dec.Decode(context.Background(), &im, file.Bytes()); err != nil {
		log.Fatal(err)
	}
	cfg := prepare.Config{Width: 224, Height: 224, Fit: prepare.Cover, Shorter: 256}
	if err := cfg.Normalize.UnmarshalText([]byte("imagenet")); err != nil {
		log.Fatal(err)
	}
	if err := cfg.Augment.UnmarshalText([]byte("standard")); err != nil {
		log.Fatal(err)
	}
	p, err := prepare.NewPipeline(cfg)
	if err != nil {
		log.Fatal(err)
	}
	h, w, c := p.Shape(im.W, im.H, im.C)
	sample := make([]float32, h*w*c)
	var scratch prepare.Scratch
	p.Apply(sample, &im, nil, &scratch) // the evaluation's view
	fmt.Printf("%d x %d x %d, first pixel %.3f\n", h, w, c, sample[:3])
	p.Apply(sample, &im, rand.New(rand.NewPCG(1, 2)), &scratch) // a view for training
	// Output:
	// 224 x 224 x 3, first pixel [-2.118 -0.285 1.681]
}
