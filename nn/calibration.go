package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
)

// RangeChoice says how a Calibration chooses the range of a layer from what it has seen.
type RangeChoice struct {
	// Percentile, in (50, 100): as many percent of the values lie below High, and as many
	// above Low. 100: the extremes. 0: the range, about 0 or of one sign as the values
	// are, whose rounded and clamped values have the least mean squared error.
	Percentile float64
	// Float names layers that are to compute in float32.
	Float []string
}

// String names the choice.
func (c RangeChoice) String() string {
	switch c.Percentile {
	case 0:
		return "mse"
	case 100:
		return "extremes"
	}
	return fmt.Sprintf("percentile %g", c.Percentile)
}

// Calibration watches a network in float32 and finds the ranges of its layers' outputs, for
// evaluation in 8 bits, and what corrects the sums of its layers. They depend on the inputs
// alone, not on how these are cut into batches beyond the first, nor on the number of cores.
type Calibration struct {
	net     *Net
	names   []string
	seen    []histogram
	before  map[string]*histogram // of what convolutions make, by their names
	room    []float32             // for that
	kept    []float32             // the first inputs, which corrections are found on
	keeping bool                  // those watched are among them
	means   map[string][]float64  // sums of each channel over them, by layer
	photos  int
	at      int // the step that is watched
}

// NewCalibration prepares to watch e, whose parameters must not change meanwhile. The
// layers of e need names of their own.
func NewCalibration(e *Net) (*Calibration, error) {
	opt := e.opt
	opt.Precision, opt.Quantization = Int8, nil // fused as in 8 bits
	net, err := e.subNetWith(opt, &e.spec, nil)
	if err != nil {
		return nil, err
	}
	c := &Calibration{net: net, names: []string{inputRange}, before: map[string]*histogram{},
		means: map[string][]float64{}}
	for _, s := range net.eval.steps {
		if slices.Contains(c.names, s.label()) {
			return nil, fmt.Errorf("network %s: two layers are called %q, so that their ranges cannot be told apart",
				e.spec.Name, s.label())
		}
		c.names = append(c.names, s.label())
	}
	c.seen = make([]histogram, len(c.names))
	net.observe = func(s step, n int) {
		c.at++
		c.seen[c.at].add(s.output().x.data)
		if s, ok := s.(sumStep); ok {
			c.addSums(s, n)
		}
	}
	return c, nil
}

// Add watches n inputs.
func (c *Calibration) Add(x []float32, n int) {
	size := c.net.spec.Input.Len()
	if keep := min(n, correctionPhotos-len(c.kept)/size); keep > 0 {
		c.kept, c.keeping = append(c.kept, x[:keep*size]...), true
		c.add(x[:keep*size], keep)
		x, n = x[keep*size:], n-keep
	}
	if n > 0 {
		c.keeping = false
		c.add(x, n)
	}
}

func (c *Calibration) add(x []float32, n int) {
	c.seen[0].add(x[:n*c.net.spec.Input.Len()])
	c.at = 0
	c.net.Infer(x[:n*c.net.spec.Input.Len()], n)
	c.photos += n
}

// Quantization chooses the ranges. It is an error if nothing was watched, or something
// that is not a finite number.
func (c *Calibration) Quantization(choice RangeChoice) (*Quantization, error) {
	if c.photos == 0 {
		return nil, errors.New("calibration: no inputs")
	}
	if p := choice.Percentile; p != 0 && !(p > 50 && p <= 100) {
		return nil, fmt.Errorf("calibration: percentile %g; it must be over 50 and at most 100, or 0 for the least "+
			"squared error", p)
	}
	q := &Quantization{Method: choice.String(), Photos: c.photos, Weights: c.net.digest(), Float: choice.Float}
	for i, name := range c.names {
		if h := c.before[name]; c.seen[i].broken || h != nil && h.broken {
			return nil, fmt.Errorf("calibration: layer %q makes values that are %w", name, ErrNotFinite)
		}
		q.Ranges = append(q.Ranges, c.seen[i].choose(name, choice))
		if h := c.before[name]; h != nil {
			q.Before = append(q.Before, h.choose(name, choice))
		}
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	return q, c.addCorrections(q)
}

// choose returns the range of a layer.
func (h *histogram) choose(layer string, choice RangeChoice) Range {
	r := Range{Layer: layer}
	switch choice.Percentile {
	case 0:
		r.Low, r.High = h.leastError()
	case 100:
		r.Low, r.High = h.low, h.high
	default:
		r.Low, r.High = h.percentile(choice.Percentile / 100)
	}
	return r
}

// histogram counts values by size, in bins of equal width about 0, which become twice as
// wide where a value lies beyond them.
type histogram struct {
	bins      []int64
	most      float64 // the bins go from -most to most
	low, high float32
	total     int64
	broken    bool // a value was not finite
}

const histogramBins = 8192

// histogramPart is the number of values that are counted at a time. Counts are integers:
// their sum is the same in any order.
const histogramPart = 1 << 16

func (h *histogram) add(x []float32) {
	if len(x) == 0 || h.broken {
		return
	}
	parts := (len(x) + histogramPart - 1) / histogramPart
	lows, highs := make([]float32, parts), make([]float32, parts)
	par.For(parts, 1, func(from, to int) {
		for i := from; i < to; i++ {
			part := x[i*histogramPart : min((i+1)*histogramPart, len(x))]
			lows[i], highs[i] = part[0], part[0]
			for _, v := range part {
				lows[i], highs[i] = min(lows[i], v), max(highs[i], v)
			}
		}
	})
	low, high := slices.Min(lows), slices.Max(highs)
	most := float64(max(high, -low))
	if math.IsNaN(most) || math.IsInf(most, 0) {
		h.broken = true
		return
	}
	if h.total == 0 {
		h.bins, h.low, h.high, h.most = make([]int64, histogramBins), low, high, 0x1p-100
	}
	h.low, h.high = min(h.low, low), max(h.high, high)
	h.widen(most)
	h.total += int64(len(x))
	counts := make([][]int64, parts)
	scale := histogramBins / 2 / h.most
	par.For(parts, 1, func(from, to int) {
		for i := from; i < to; i++ {
			counts[i] = make([]int64, histogramBins)
			for _, v := range x[i*histogramPart : min((i+1)*histogramPart, len(x))] {
				counts[i][min(int(float64(v)*scale+histogramBins/2), histogramBins-1)]++
			}
		}
	})
	for _, c := range counts {
		for i, n := range c {
			h.bins[i] += n
		}
	}
}

// widen has the bins reach most.
func (h *histogram) widen(most float64) {
	for h.most < most {
		if h.total == 0 { // nothing to join
			h.most *= 2
			continue
		}
		joined := make([]int64, histogramBins)
		for i, n := range h.bins {
			joined[histogramBins/4+i/2] += n
		}
		h.bins, h.most = joined, 2*h.most
	}
}

// centre is the middle of bin i.
func (h *histogram) centre(i int) float64 {
	return (float64(i) + 0.5 - histogramBins/2) * h.most / (histogramBins / 2)
}

// percentile returns what a share p of the values lies below, and above.
func (h *histogram) percentile(p float64) (low, high float32) {
	beyond := int64(math.Round((1 - p) * float64(h.total)))
	low, high = h.low, h.high
	for i, n := 0, int64(0); i < histogramBins; i++ {
		if n += h.bins[i]; n > beyond {
			low = max(low, float32(h.centre(i)))
			break
		}
	}
	for i, n := histogramBins-1, int64(0); i >= 0; i-- {
		if n += h.bins[i]; n > beyond {
			high = min(high, float32(h.centre(i)))
			break
		}
	}
	if low > high { // within one bin
		return h.low, h.high
	}
	return low, high
}

// numShrinks is the number of ranges that leastError tries.
const numShrinks = 100

// leastError tries the whole range and shorter ones, down to a hundredth.
func (h *histogram) leastError() (low, high float32) {
	best := math.Inf(1)
	for i := numShrinks; i > 0; i-- {
		f := float32(i) / numShrinks
		if e := h.squaredError(Range{Low: f * h.low, High: f * h.high}); e < best {
			best, low, high = e, f*h.low, f*h.high
		}
	}
	return low, high
}

// squaredError is the sum of squared errors of rounding to the bytes of r.
func (h *histogram) squaredError(r Range) (sum float64) {
	s := r.scale()
	for i, n := range h.bins {
		if n == 0 {
			continue
		}
		x := h.centre(i)
		q := min(max(math.RoundToEven(x/s.Unit)+float64(s.Zero), 0), 255)
		d := x - s.Unit*(q-float64(s.Zero))
		sum += float64(n) * d * d
	}
	return sum
}
