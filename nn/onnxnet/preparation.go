package onnxnet

import (
	"strings"

	"github.com/kindred-ml/kindred/format/onnx"
)

// Preparation is how an image becomes the network's input.
type Preparation struct {
	// Pixels is the range of values, a preset of imaging.ParseNormalization; "" is
	// not known.
	Pixels string
	// Fit says how an image is made square, "cover" or "stretch"; "" is not known.
	Fit string
	// Source says where this is from: "the model's metadata" or "the file's name".
	Source string
}

// The sources of a Preparation. What Export wrote says so in its metadata.
const (
	fromExport = "the model's metadata"
	fromName   = "the file's name"
)

// The keys of the metadata that Export writes and Import reads.
const (
	keyPixels = "kindred.pixels"
	keyFit    = "kindred.fit"
)

func preparation(m *onnx.Model) Preparation {
	var p Preparation
	for _, e := range m.Meta {
		switch e.Key {
		case keyPixels:
			p.Pixels, p.Source = e.Value, fromExport
		case keyFit:
			p.Fit = e.Value
		}
	}
	return p
}

// guess tells the range of pixels from the name of a network: what the training
// that is best known under it used.
func guess(name string) Preparation {
	name = strings.ToLower(name)
	for _, known := range []struct {
		pixels string
		words  []string
	}{
		{"symmetric", []string{"mobilenet_v1", "mobilenetv1", "mobilenet-v1", "inception", "nasnetl", "nasneta",
			"siglip", "vit_base_patch16_224",
			"vit_small_patch16_224", "vit-base-patch16-224", "lite"}},
		{"imagenet", []string{"resnet", "resnext", "convnext", "dino", "mobilenet", "efficientnet", "regnet",
			"densenet", "squeezenet",
			"shufflenet", "vgg", "deit", "vit"}},
	} {
		for _, w := range known.words {
			if strings.Contains(name, w) {
				return Preparation{Pixels: known.pixels, Fit: "cover", Source: fromName}
			}
		}
	}
	return Preparation{}
}
