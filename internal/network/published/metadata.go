package published

import (
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
)

// FromMetadata is the source of a preparation that a model states itself.
const FromMetadata = "the model's metadata"

// The keys of the metadata of ONNX models that exports write and imports read.
const (
	keyFormat   = "kindred.format" // "1"
	keyPixels   = "kindred.pixels"
	keyMean     = "kindred.mean"
	keyStd      = "kindred.std"
	keyOrder    = "kindred.order" // "bgr"
	keyFit      = "kindred.fit"
	keyShorter  = "kindred.shorter"
	keyResample = "kindred.resample"
	keyColours  = "kindred.colours" // Raw
	keyDistance = "kindred.distance"
	keyExported = "kindred.exported"
)

// blueFirst is the value of keyOrder for blue, green, red. The key is absent for red, green, blue.
const blueFirst = "bgr"

// Entries returns a preparation as metadata, for programs and for people, for a
// network with input in.
func Entries(p *Preparation, in nn.Shape) []onnx.Entry {
	out := []onnx.Entry{{Key: keyFormat, Value: "1"}}
	add := func(key, value string) {
		if value != "" {
			out = append(out, onnx.Entry{Key: key, Value: value})
		}
	}
	add(keyPixels, p.Pixels)
	add(keyMean, FormatNumbers(p.Mean))
	add(keyStd, FormatNumbers(p.Std))
	if p.BGR {
		add(keyOrder, blueFirst)
	}
	add(keyFit, p.Fit)
	if p.Shorter > 0 {
		add(keyShorter, strconv.Itoa(p.Shorter))
	}
	add(keyResample, p.Resample)
	if p.RawColours {
		add(keyColours, Raw)
	}
	add(keyDistance, p.Distance)
	add(keyExported, p.Exported)
	add("preparation", p.Describe(in))
	return out
}

// FromEntries reads what a model's metadata say.
func FromEntries(meta []onnx.Entry) Preparation {
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
	for _, e := range meta {
		switch e.Key {
		case keyFormat:
			p.Source = FromMetadata
		case keyPixels:
			p.Pixels, p.Source = e.Value, FromMetadata
		case keyMean:
			p.Mean = numbers(e.Value)
		case keyStd:
			p.Std = numbers(e.Value)
		case keyOrder:
			p.BGR = e.Value == blueFirst
		case keyFit:
			p.Fit = e.Value
		case keyColours:
			p.RawColours = e.Value == Raw
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
