package qconv

import (
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/qgemm"
	"github.com/kindred-ml/kindred/internal/network/conv"
)

// Scale says what bytes mean: the value Unit (q - Zero).
type Scale struct {
	Unit float64
	Zero uint8
}

// shift and factor turn values into bytes: x factor + shift.
func (s Scale) factor() float32 { return float32(1 / s.Unit) }

// Operand is an activation: bytes, or float32 if there are none.
type Operand struct {
	Scale
	Bytes  []uint8
	Floats []float32
}

// Epilogue says what follows the sums: y = act(Factor[k] z + Offset[k] + residual).
type Epilogue struct {
	Factor, Offset []float64 // nil: 1 and 0
	ReLU, ReLU6    bool
	// Act, if not nil, changes values in place instead; it is called from several
	// goroutines.
	Act func(y []float32)
	// Residual reports whether something is added.
	Residual bool
	// Unrounded has a depthwise convolution make float32 that were not rounded to bytes: for a
	// calibration, because it is slow.
	Unrounded bool
}

// Layer is a convolution with its filters packed.
type Layer struct {
	shape    conv.Shape
	epilogue Epilogue
	q        []int8
	unit     []float64
	panels   []int8 // of each group: [panel][run][quad][column][4]
	depth    *qgemm.DepthFilters
	quads    int
	packed   affine
	scale    []float32 // for the kernels, each group padded
	shift    []float32
	table    table
}

// Fits reports whether s can be computed: its sums fit 32 bits.
func Fits(s *conv.Shape) bool { return s.R*s.S*(s.C/s.Groups) <= qgemm.MaxDepth }

// isDepthwise reports whether each channel has a filter of its own.
func isDepthwise(s *conv.Shape) bool { return s.Groups > 1 && s.Groups == s.C && s.C == s.K }

// New packs the filters w of a convolution, K x R x S x C/Groups. The shape's number of
// images means nothing.
func New(s conv.Shape, w []float32, e Epilogue) (*Layer, error) {
	s.N = 0
	if err := s.Check(); err != nil {
		return nil, err
	}
	switch {
	case !Fits(&s):
		return nil, fmt.Errorf("sums of %d products of bytes may not fit 32 bits", s.R*s.S*(s.C/s.Groups))
	case isDepthwise(&s) && e.Residual && !e.Unrounded:
		return nil, fmt.Errorf("something is added to a depthwise convolution")
	}
	if _, n, _ := s.Len(); n != len(w) {
		return nil, fmt.Errorf("%d weights for %+v, which has %d", len(w), s, n)
	}
	l := &Layer{shape: s, epilogue: e}
	l.q, l.unit = quantizeFilters(w, s.K)
	if isDepthwise(&s) && !e.Unrounded {
		l.depth = qgemm.NewDepthFilters(l.q, s.C, s.R*s.S)
		l.scale, l.shift = make([]float32, s.K), make([]float32, s.K)
		return l, nil
	}
	l.pack()
	return l, nil
}

// Filters returns the filters, K x R x S x C/Groups, and what the sums of their products with
// values become: unit[k] sum + offset[k].
func (l *Layer) Filters() (q []int8, unit, offset []float64) {
	unit, offset = slices.Clone(l.unit), make([]float64, l.shape.K)
	for k, f := range l.epilogue.Factor {
		unit[k] *= f
	}
	copy(offset, l.epilogue.Offset)
	return l.q, unit, offset
}

// groupCols is the number of columns of a group's panels, filled up.
func (l *Layer) groupCols() int { return qgemm.Columns(l.shape.K / l.shape.Groups) }

// pack lays the filters out as tiles read them.
func (l *Layer) pack() {
	s := &l.shape
	cg, kg := s.C/s.Groups, s.K/s.Groups
	run := s.S * cg
	l.quads = (run + 3) / 4
	wide := l.groupCols()
	group := s.R * l.quads * 4 * wide
	l.panels = make([]int8, s.Groups*group)
	l.scale, l.shift = make([]float32, s.Groups*wide), make([]float32, s.Groups*wide)
	for k := range s.K {
		g, col := k/kg, k%kg
		panel := col / qgemm.BlockCols
		cols := min(qgemm.BlockCols, wide-panel*qgemm.BlockCols)
		to := l.panels[g*group+panel*qgemm.BlockCols*s.R*l.quads*4:]
		from := l.q[k*s.R*run:]
		for r := range s.R {
			for i := range run {
				at := ((r*l.quads+i/4)*cols + col%qgemm.BlockCols) * 4
				to[at+i%4] = from[r*run+i]
			}
		}
	}
}

// affine is what scale and shift were computed for.
type affine struct {
	in, out, res Scale
	bytes        bool
	valid        bool
}

// prepare computes the scale and shift of each channel:
//
//	unit z = in.Unit unit[k] (sum - in.Zero sum of the weights)
//
// so that bytes of the output are out.Zero + (Factor z + Offset + residual)/out.Unit.
// Every operation is rounded by itself, to the same bits on every machine.
func (l *Layer) prepare(a affine) {
	a.valid = true
	if !a.bytes {
		a.out = Scale{Unit: 1}
	}
	if a == l.packed {
		return
	}
	l.packed = a
	s := &l.shape
	kg, depth := s.K/s.Groups, len(l.q)/s.K
	for k := range s.K {
		factor, offset := 1.0, 0.0
		if l.epilogue.Factor != nil {
			factor = l.epilogue.Factor[k]
		}
		if l.epilogue.Offset != nil {
			offset = l.epilogue.Offset[k]
		}
		scale := a.in.Unit * l.unit[k] * factor / a.out.Unit
		zeros := float64(scale * float64(int64(a.in.Zero)*sumOf(l.q[k*depth:(k+1)*depth])))
		shift := float64(float64(offset/a.out.Unit) + float64(a.out.Zero))
		if l.epilogue.Residual {
			shift -= float64(a.res.Unit / a.out.Unit * float64(a.res.Zero))
		}
		at := k
		if l.depth == nil {
			at = k/kg*l.groupCols() + k%kg
		}
		l.scale[at], l.shift[at] = float32(scale), float32(shift-zeros)
	}
	if l.depth != nil {
		l.depth.SetAffine(l.scale, l.shift)
	}
}

// bounds returns the bounds of the rectifier, in bytes or in values.
func (l *Layer) bounds() (lo, hi float32) {
	e, out := &l.epilogue, l.packed.out
	lo, hi = float32(math.Inf(-1)), float32(math.Inf(1))
	if l.packed.bytes {
		lo, hi = 0, 255
	}
	if e.ReLU || e.ReLU6 {
		lo = float32(out.Zero)
	}
	if e.ReLU6 {
		hi = min(hi, float32(float64(6/out.Unit)+float64(out.Zero)))
	}
	return lo, hi
}
