package nn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/network/qconv"
)

// QuantizationFile is the file of a saved network that is evaluated in 8 bits which holds
// its Quantization.
const QuantizationFile = "quantization.json"

// inputRange is the name of the network's input among the ranges.
const inputRange = "input"

// Quantization says what the bytes of a network evaluated in 8 bits mean. A byte q stands
// for
//
//	x = unit (q - zero), unit = (High - Low)/255, zero = round(-Low/unit)
//
// with the range of the layer that made it, widened to have 0 in it. Weights need no
// entry: those of an output channel are multiples of 1/127 of the largest among them.
type Quantization struct {
	// Method says how the ranges were chosen.
	Method string `json:"method"`
	// Photos is how many inputs they were chosen from.
	Photos int `json:"photos"`
	// Weights is a digest of the parameters that the network had.
	Weights string `json:"weights"`
	// Ranges holds the ranges of the input, named "input", and of each step's output, which is
	// a layer with what is fused to it.
	Ranges []Range `json:"ranges"`
	// Before holds the ranges of what convolutions make before a residual is added or a curved
	// activation applied. Package nn does not round there; other programs may.
	Before []Range `json:"before,omitempty"`
	// Corrections are of layers whose sums are off on average; they may be absent.
	Corrections []Correction `json:"corrections,omitempty"`
	// Float names layers that compute in float32.
	Float []string `json:"float,omitempty"`
}

// Range is the values between which a layer's output is represented. What lies beyond is
// clamped.
type Range struct {
	Layer string  `json:"layer"`
	Low   float32 `json:"low"`
	High  float32 `json:"high"`
}

// Correction is added to each output channel of a layer, before the residual and the activation.
type Correction struct {
	Layer  string    `json:"layer"`
	Values []float32 `json:"values"`
}

// quantizationFormat and quantizationVersion head the file.
const (
	quantizationFormat  = "kindred-quantization"
	quantizationVersion = 1
	maxQuantization     = 16 << 20
)

type quantizationFile struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	*Quantization
}

// JSON serialises q.
func (q *Quantization) JSON() ([]byte, error) {
	return json.MarshalIndent(quantizationFile{quantizationFormat, quantizationVersion, q}, "", " ")
}

// ParseQuantization reads what JSON wrote. Unknown keys, layers that are listed twice and
// ranges that are not finite are errors.
func ParseQuantization(data []byte) (*Quantization, error) {
	if len(data) > maxQuantization {
		return nil, fmt.Errorf("quantization: %d bytes; at most %d are read", len(data), maxQuantization)
	}
	f := quantizationFile{Quantization: new(Quantization)}
	if err := strictjson.UnmarshalKnown(data, &f); err != nil {
		return nil, fmt.Errorf("quantization: %w", err)
	}
	if f.Format != quantizationFormat {
		return nil, fmt.Errorf("quantization: format is %q, not %q", f.Format, quantizationFormat)
	}
	if f.Version != quantizationVersion {
		return nil, fmt.Errorf("quantization: version %d; this program reads version %d", f.Version,
			quantizationVersion)
	}
	return f.Quantization, f.check()
}

func (q *Quantization) check() error {
	if q == nil || len(q.Ranges) == 0 {
		return errors.New("quantization: no ranges")
	}
	seen, err := checkRanges(q.Ranges)
	if err != nil {
		return err
	}
	before, err := checkRanges(q.Before)
	if err != nil {
		return err
	}
	for name := range before {
		if !seen[name] {
			return fmt.Errorf("quantization: layer %q has a range before its activation only", name)
		}
	}
	for i, c := range q.Corrections {
		switch {
		case !seen[c.Layer]:
			return fmt.Errorf("quantization: no layer %q is there to correct", c.Layer)
		case slices.ContainsFunc(q.Corrections[:i], func(d Correction) bool { return d.Layer == c.Layer }):
			return fmt.Errorf("quantization: layer %q is corrected twice", c.Layer)
		}
		for _, v := range c.Values {
			if v-v != 0 {
				return fmt.Errorf("quantization: layer %q is corrected by %g", c.Layer, v)
			}
		}
	}
	for _, name := range q.Float {
		if !seen[name] {
			return fmt.Errorf("quantization: no layer %q is there to compute in float32", name)
		}
	}
	return nil
}

// checkRanges returns the layers of ranges, each of which must be valid.
func checkRanges(ranges []Range) (map[string]bool, error) {
	seen := map[string]bool{}
	for _, r := range ranges {
		switch {
		case seen[r.Layer]:
			return nil, fmt.Errorf("quantization: layer %q is listed twice", r.Layer)
		case !(r.Low <= r.High) || math.IsInf(float64(r.Low), 0) || math.IsInf(float64(r.High), 0):
			return nil, fmt.Errorf("quantization: layer %q ranges from %g to %g", r.Layer, r.Low, r.High)
		}
		seen[r.Layer] = true
	}
	return seen, nil
}

// checkQuantization reports whether precision and quantization belong together.
func (o *Options) checkQuantization() error {
	switch {
	case o.Precision == Int8 && o.Quantization == nil:
		return errors.New("precision int8 needs the ranges of activations, which a calibration finds")
	case o.Precision != Int8 && o.Quantization != nil:
		return fmt.Errorf("ranges of activations are for precision int8, not %q", o.Precision)
	case o.Quantization == nil:
		return nil
	}
	return o.Quantization.check()
}

// scale is what the bytes of a layer's output mean, and whether that is known.
func (q *Quantization) scale(layer string) (qconv.Scale, bool) { return findScale(q.Ranges, layer) }

// scaleBefore is what bytes mean that are rounded before the layer's residual or activation.
func (q *Quantization) scaleBefore(layer string) (qconv.Scale, bool) {
	return findScale(q.Before, layer)
}

func findScale(ranges []Range, layer string) (qconv.Scale, bool) {
	i := slices.IndexFunc(ranges, func(r Range) bool { return r.Layer == layer })
	if i < 0 {
		return qconv.Scale{}, false
	}
	return ranges[i].scale(), true
}

// scale of a range that holds only 0 is the scale of a range of width 1.
func (r Range) scale() qconv.Scale {
	low, high := float64(min(r.Low, 0)), float64(max(r.High, 0))
	unit := (high - low) / 255
	if !(unit > 0x1p-120) {
		return qconv.Scale{Unit: 1.0 / 255}
	}
	return qconv.Scale{Unit: unit, Zero: uint8(math.RoundToEven(-low / unit))}
}

// isFloat reports whether the layer is to compute in float32.
func (q *Quantization) isFloat(layer string) bool { return slices.Contains(q.Float, layer) }

// correction returns what is added to a layer's channels, nil if nothing is.
func (q *Quantization) correction(layer string) []float32 {
	i := slices.IndexFunc(q.Corrections, func(c Correction) bool { return c.Layer == layer })
	if i < 0 {
		return nil
	}
	return q.Corrections[i].Values
}

// withoutRange returns q less a range.
func (q *Quantization) withoutRange(layer string) *Quantization {
	if q == nil {
		return nil
	}
	c := *q
	c.Ranges = slices.DeleteFunc(slices.Clone(q.Ranges), func(r Range) bool { return r.Layer == layer })
	return &c
}

// digest is one of all parameters.
func (e *Net) digest() string {
	h := sha256.New()
	var buf []byte
	for _, p := range e.params {
		h.Write([]byte(p.Name))
		buf = buf[:0]
		for _, v := range p.Value {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checkQuantization reports whether q was made for the network with these parameters, as far as can be
// seen: the layers have the names, and the parameters the digest.
func (e *Net) checkQuantization(q *Quantization) error {
	known := map[string]bool{inputRange: true}
	for _, s := range e.eval.steps {
		known[s.label()] = true
		if n, k := len(q.correction(s.label())), s.output().shape.C; n != 0 && n != k {
			return fmt.Errorf("quantization: %d corrections for the %d channels of layer %q", n, k, s.label())
		}
	}
	for _, r := range q.Ranges {
		if !known[r.Layer] {
			return fmt.Errorf("quantization: network %s has no layer %q", e.spec.Name, r.Layer)
		}
	}
	if len(q.Ranges) != len(known) {
		return fmt.Errorf("quantization: %d ranges for the %d of network %s", len(q.Ranges), len(known), e.spec.Name)
	}
	if d := e.digest(); d != q.Weights {
		return fmt.Errorf("quantization: made for other weights than those of network %s: quantize it again",
			e.spec.Name)
	}
	return nil
}

// Quantization is Options.Quantization: nil unless the network is evaluated in 8 bits.
func (e *Net) Quantization() *Quantization { return e.opt.Quantization }

// Quantized returns a network for evaluation in 8 bits that shares the parameters of e.
func (e *Net) Quantized(q *Quantization) (*Net, error) {
	opt := e.opt
	opt.Precision, opt.Quantization = Int8, q
	if err := opt.checkQuantization(); err != nil {
		return nil, err
	}
	n, err := e.subNetWith(opt, &e.spec, nil)
	if err != nil {
		return nil, err
	}
	return n, n.checkQuantization(q)
}
