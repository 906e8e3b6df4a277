package prepare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Normalization maps a pixel value v from 0 to 255 to (v/255 - Mean[c]) / Std[c] in channel c of
// the result. The channels are red, green and blue. Grey images use channel 0. The zero value maps
// to [0, 1].
//
// Its text form is the name of a preset, or the three means and the three standard deviations, as
// in "0.5,0.5,0.5/0.25,0.25,0.25". The prefix "bgr:" before the numbers means BGR.
type Normalization struct {
	Mean, Std [3]float32
	// BGR makes the channels of the result blue, green and red. Grey images still have
	// one channel.
	BGR bool
}

// Normalizations returns the names of the presets of ParseNormalization.
func Normalizations() []string {
	return []string{"unit", "symmetric", "inverted", "byte", "imagenet", "clip", "bn_inception"}
}

// ParseNormalization reads the text of a Normalization. The presets are
//
//	unit (or "")  [0, 1]
//	symmetric     [-1, 1]
//	inverted      1 - v/255: white is 0, so that drawings on white paper fit
//	              the zero padding of a convolution
//	byte          [0, 255], the values of the file
//	imagenet      the mean and standard deviation of ImageNet, as in torchvision
//	              and most of timm
//	clip          the mean and standard deviation of OpenAI's CLIP
//	bn_inception  v - 104, v - 117 and v - 128 in the order blue, green, red, for
//	              the published weights of Inception with batch norm, which come
//	              from Caffe
func ParseNormalization(text string) (Normalization, error) {
	var n Normalization
	err := n.UnmarshalText([]byte(text))
	return n, err
}

// preset returns the preset with the given name.
func preset(name string) (n Normalization, ok bool) {
	all := func(v float32) [3]float32 { return [3]float32{v, v, v} }
	switch name {
	case "", "unit":
		return Normalization{}, true
	case "symmetric":
		return Normalization{Mean: all(0.5), Std: all(0.5)}, true
	case "inverted":
		return Normalization{Mean: all(1), Std: all(-1)}, true
	case "byte":
		return Normalization{Std: all(1. / 255)}, true
	case "imagenet":
		return Normalization{Mean: [3]float32{0.485, 0.456, 0.406}, Std: [3]float32{0.229, 0.224, 0.225}}, true
	case "clip":
		return Normalization{Mean: [3]float32{0.48145466, 0.4578275, 0.40821073},
			Std: [3]float32{0.26862954, 0.26130258, 0.27577711}}, true
	case "bn_inception":
		return Normalization{Mean: [3]float32{104. / 255, 117. / 255, 128. / 255}, Std: all(1. / 255), BGR: true}, true
	}
	return Normalization{}, false
}

// blueFirst is the prefix of the text of a Normalization with BGR.
const blueFirst = "bgr:"

// UnmarshalText sets n to what ParseNormalization returns.
func (n *Normalization) UnmarshalText(text []byte) error {
	if p, ok := preset(string(text)); ok {
		*n = p
		return nil
	}
	var out Normalization
	numbers, bgr := strings.CutPrefix(string(text), blueFirst)
	out.BGR = bgr
	mean, std, ok := strings.Cut(numbers, "/")
	if !ok || !parseTriple(&out.Mean, mean) || !parseTriple(&out.Std, std) {
		return fmt.Errorf("unknown normalization %q: must be %s, or means and standard deviations as in "+
			"0.5,0.5,0.5/0.25,0.25,0.25, with the prefix %s for channels in the order blue, green, red", text,
			strings.Join(Normalizations(), ", "), blueFirst)
	}
	if err := out.check(); err != nil {
		return err
	}
	*n = out
	return nil
}

// parseTriple reads three numbers.
func parseTriple(v *[3]float32, text string) bool {
	parts := strings.Split(text, ",")
	if len(parts) != len(v) {
		return false
	}
	for i, p := range parts {
		x, err := strconv.ParseFloat(strings.TrimSpace(p), 32)
		if err != nil {
			return false
		}
		v[i] = float32(x)
	}
	return true
}

// MarshalText returns the text of n, which ParseNormalization reads.
func (n Normalization) MarshalText() ([]byte, error) { return []byte(n.String()), n.check() }

// String returns the text of n.
func (n Normalization) String() string {
	for _, name := range Normalizations() {
		if p, _ := preset(name); p.withDefaults() == n.withDefaults() {
			return name
		}
	}
	n = n.withDefaults()
	var parts []string
	for _, x := range slices.Concat(n.Mean[:], n.Std[:]) {
		parts = append(parts, strconv.FormatFloat(float64(x), 'g', -1, 32))
	}
	text := strings.Join(parts[:3], ",") + "/" + strings.Join(parts[3:], ",")
	if n.BGR {
		return blueFirst + text
	}
	return text
}

// withDefaults returns n, with the zero value replaced by the equal means and standard deviations.
func (n Normalization) withDefaults() Normalization {
	if n == (Normalization{BGR: n.BGR}) {
		n.Std = [3]float32{1, 1, 1}
	}
	return n
}

// Numbers returns the means and standard deviations of an image of some channels, of which those after the third have
// none.
func (n Normalization) Numbers(channels int) (mean, std []float32) {
	n = n.withDefaults()
	channels = min(channels, len(n.Mean))
	return n.Mean[:channels], n.Std[:channels]
}

// swapsChannels reports whether the result of an image of c channels has another order of channels.
func (n Normalization) swapsChannels(c int) bool { return n.BGR && c == len(n.Mean) }

// inImageOrder returns n for channels in the order of an image of c channels.
func (n Normalization) inImageOrder(c int) Normalization {
	if n.swapsChannels(c) {
		slices.Reverse(n.Mean[:])
		slices.Reverse(n.Std[:])
		n.BGR = false
	}
	return n
}

// check returns an error for means and standard deviations that are not usable.
func (n Normalization) check() error {
	n = n.withDefaults()
	for c := range 3 {
		if n.Mean[c]-n.Mean[c] != 0 || n.Std[c]-n.Std[c] != 0 || n.Std[c] == 0 {
			return fmt.Errorf("normalization %s: means must be finite, and standard deviations finite and not 0", n)
		}
	}
	return nil
}

// factors fills a and b, rows of c channels, so that a*v + b is the normalised value of v. n must
// be full.
func (n Normalization) factors(a, b []float32, c int) {
	for i := range a {
		k := i % c
		a[i] = 1 / (255 * n.Std[k])
		b[i] = -n.Mean[k] / n.Std[k]
	}
}
