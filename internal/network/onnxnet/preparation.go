package onnxnet

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/nn"
)

// Preparation says how a picture becomes the network's input.
type Preparation = published.Preparation

// The sources of a Preparation.
const (
	fromMetadata = "the model's metadata"
	fromLayers   = "the network's first layers"
	fromType     = "the type of its input, UINT8"
	fromName     = "the file's name"
)

// The keys of the metadata that Export writes and Import reads.
const (
	keyFormat   = "kindred.format" // "1"
	keyPixels   = "kindred.pixels"
	keyMean     = "kindred.mean"
	keyStd      = "kindred.std"
	keyOrder    = "kindred.order" // "bgr"
	keyFit      = "kindred.fit"
	keyShorter  = "kindred.shorter"
	keyResample = "kindred.resample"
	keyColours  = "kindred.colours" // published.Raw
	keyDistance = "kindred.distance"
	keyExported = "kindred.exported"
)

// blueFirst is the value of keyOrder for blue, green, red. The key is absent for red, green, blue.
const blueFirst = "bgr"

// Entry is a line of a model's metadata.
type Entry = onnx.Entry

// Entries returns a preparation as metadata, for programs and for people, for a
// network with input in.
func Entries(p *Preparation, in nn.Shape) []Entry {
	out := []Entry{{Key: keyFormat, Value: "1"}}
	add := func(key, value string) {
		if value != "" {
			out = append(out, Entry{Key: key, Value: value})
		}
	}
	add(keyPixels, p.Pixels)
	add(keyMean, published.FormatNumbers(p.Mean))
	add(keyStd, published.FormatNumbers(p.Std))
	if p.BGR {
		add(keyOrder, blueFirst)
	}
	add(keyFit, p.Fit)
	if p.Shorter > 0 {
		add(keyShorter, strconv.Itoa(p.Shorter))
	}
	add(keyResample, p.Resample)
	if p.RawColours {
		add(keyColours, published.Raw)
	}
	add(keyDistance, p.Distance)
	add(keyExported, p.Exported)
	add("preparation", p.Describe(in))
	return out
}

// preparation reads what a model's metadata say.
func preparation(m *onnx.Model) Preparation {
	var p Preparation
	numbers := func(text string) (v []float32) {
		for word := range strings.SplitSeq(text, ",") {
			x, err := strconv.ParseFloat(strings.TrimSpace(word), 32)
			if err != nil {
				return nil
			}
			v = append(v, float32(x))
		}
		return v
	}
	for _, e := range m.Meta {
		switch e.Key {
		case keyFormat:
			p.Source = fromMetadata
		case keyPixels:
			p.Pixels, p.Source = e.Value, fromMetadata
		case keyMean:
			p.Mean = numbers(e.Value)
		case keyStd:
			p.Std = numbers(e.Value)
		case keyOrder:
			p.BGR = e.Value == blueFirst
		case keyFit:
			p.Fit = e.Value
		case keyColours:
			p.RawColours = e.Value == published.Raw
		case keyResample:
			p.Resample = e.Value
		case keyDistance:
			p.Distance = e.Value
		case keyExported:
			p.Exported = e.Value
		case keyShorter:
			p.Shorter, _ = strconv.Atoi(e.Value) // 0 is the input's size
		}
	}
	return p
}

// choosePreparation decides how images are prepared: by the model's metadata, else by the files beside it,
// its own layers and input, and its name, in this order. Layers that normalise themselves cannot be
// overruled by a file, for their values would be normalised twice.
func (net *Network) choosePreparation(beside Preparation, name string) {
	if net.Preparation.Source == fromMetadata && net.Preparation.Pixels != "" {
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
