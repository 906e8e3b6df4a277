package imaging

import (
	"fmt"
	"slices"
	"strings"
)

// Normalization maps a pixel value v in 0..255 of channel c to
// (v/255 - Mean[c]) / Std[c]. Grey images use channel 0.
// The zero value is not valid; start from one of the presets.
type Normalization struct {
	Mean, Std [3]float32
}

// Presets of Normalization.
var (
	// normUnit scales to [0, 1].
	normUnit = Normalization{Std: [3]float32{1, 1, 1}}
	// normSymmetric scales to [-1, 1].
	normSymmetric = Normalization{Mean: [3]float32{0.5, 0.5, 0.5}, Std: [3]float32{0.5, 0.5, 0.5}}
	// normInverted scales to [0, 1] with white as 0: drawings on white paper
	// then agree with the zero padding of a convolution.
	normInverted = Normalization{Mean: [3]float32{1, 1, 1}, Std: [3]float32{-1, -1, -1}}
	// normImageNet has the per-channel statistics that torchvision's pretrained
	// networks were trained with.
	normImageNet = Normalization{Mean: [3]float32{0.485, 0.456, 0.406}, Std: [3]float32{0.229, 0.224, 0.225}}
)

// normalizations are the names that ParseNormalization knows.
var normalizations = []string{"unit", "symmetric", "inverted", "imagenet"}

// ParseNormalization returns a preset by name: "unit" ([0, 1]; also ""),
// "symmetric" ([-1, 1]), "inverted" (1 - v/255), "imagenet" (torchvision's mean
// and standard deviation).
func ParseNormalization(name string) (Normalization, error) {
	switch name {
	case "", "unit":
		return normUnit, nil
	case "symmetric":
		return normSymmetric, nil
	case "inverted":
		return normInverted, nil
	case "imagenet":
		return normImageNet, nil
	}
	known := slices.Clone(normalizations)
	return Normalization{}, fmt.Errorf("unknown normalization %q; known: %s", name, strings.Join(known, ", "))
}

// table holds the 256 results of a normalization per channel.
type table [3][256]float32

func (n Normalization) table() *table {
	t := new(table)
	for c := range t {
		for v := range t[c] {
			t[c][v] = (float32(v)/255 - n.Mean[c]) / n.Std[c]
		}
	}
	return t
}

// apply writes im's values, normalised, to dst, which has the same layout.
func (t *table) apply(im *Image, dst []float32) {
	if im.C == 1 {
		t0 := &t[0]
		dst = dst[:len(im.Pix)]
		for i, v := range im.Pix {
			dst[i] = t0[v]
		}
		return
	}
	t0, t1, t2 := &t[0], &t[1], &t[2]
	pix := im.Pix
	for len(pix) >= 3 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = t0[pix[0]], t1[pix[1]], t2[pix[2]]
		pix, dst = pix[3:], dst[3:]
	}
}
