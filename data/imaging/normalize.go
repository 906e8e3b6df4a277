package imaging

import (
	"fmt"
	"strings"
)

// Normalization maps a pixel value v in 0..255 of channel c to
// (v/255 - Mean[c]) / Std[c]. Grey images use channel 0.
// The zero value is not valid; ParseNormalization gives the presets.
type Normalization struct {
	Mean, Std [3]float32
}

// Normalizations names the presets of ParseNormalization.
func Normalizations() []string { return []string{"unit", "symmetric", "inverted", "imagenet"} }

// ParseNormalization returns a preset by name: "unit" ([0, 1]; also ""),
// "symmetric" ([-1, 1]), "inverted" (1 - v/255: white is 0, so that drawings on
// white paper agree with the zero padding of a convolution), "imagenet"
// (torchvision's mean and standard deviation).
func ParseNormalization(name string) (Normalization, error) {
	all := func(v float32) [3]float32 { return [3]float32{v, v, v} }
	switch name {
	case "", "unit":
		return Normalization{Std: all(1)}, nil
	case "symmetric":
		return Normalization{Mean: all(0.5), Std: all(0.5)}, nil
	case "inverted":
		return Normalization{Mean: all(1), Std: all(-1)}, nil
	case "imagenet":
		return Normalization{Mean: [3]float32{0.485, 0.456, 0.406}, Std: [3]float32{0.229, 0.224, 0.225}}, nil
	}
	return Normalization{},
		fmt.Errorf("unknown normalization %q; known: %s", name, strings.Join(Normalizations(), ", "))
}

// factors fills a and b, rows of c channels, so that a*v + b is the normalised
// value of v.
func (n Normalization) factors(a, b []float32, c int) {
	for i := range a {
		k := i % c
		a[i] = 1 / (255 * n.Std[k])
		b[i] = -n.Mean[k] / n.Std[k]
	}
}
