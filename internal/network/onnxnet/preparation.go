package onnxnet

import (
	"cmp"
	"strings"

	"github.com/kindred-ml/kindred/internal/network/published"
)

// Preparation says how a picture becomes the network's input.
type Preparation = published.Preparation

// The sources of a Preparation.
const (
	fromLayers = "the network's first layers"
	fromType   = "the type of its input, UINT8"
	fromName   = "the file's name"
)

// choosePreparation decides how images are prepared: by the model's metadata, else by the files beside it,
// its own layers and input, and its name, in this order. Layers that normalise themselves cannot be
// overruled by a file, for their values would be normalised twice.
func (net *Network) choosePreparation(beside Preparation, name string) {
	if net.Preparation.Source == published.FromMetadata && net.Preparation.Pixels != "" {
		return
	}
	p, own := beside.ForSide(net.Spec.Input.H), net.evidence
	p.Distance = net.Preparation.Distance
	switch {
	case own.Pixels != "" && p.Pixels != own.Pixels:
		if p.Pixels != "" {
			net.note("%s gives the pixel values %s, but by %s they are %s", p.Source, p.Pixels, own.Source, own.Pixels)
		}
		p.Pixels, p.Mean, p.Std, p.BGR, p.Source = own.Pixels, nil, nil, false, own.Source
	case p.Pixels == "":
		g := guessPixels(name)
		p.Pixels, p.Source, p.Fit = g.Pixels, g.Source, cmp.Or(p.Fit, g.Fit)
	}
	net.Preparation = p
}

// guessPixels tells the range of pixels from the name of a network: what the training
// that is best known under it used.
func guessPixels(name string) Preparation {
	name = strings.ToLower(name)
	for _, known := range []struct {
		pixels string
		words  []string
	}{
		{"clip", []string{"clip"}},
		{"symmetric", []string{"iresnet", "arcface", "insightface", "w600k", "glint"}}, // InsightFace
		{"bn_inception", []string{"bn_inception", "bninception", "bn-inception"}},
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
