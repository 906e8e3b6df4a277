package qconv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/qgemm"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/conv"
)

// shapes are convolutions of every kind: pointwise, strided, padded, of odd sizes, with
// groups, depthwise, and of a size at which chunks are cut.
var shapes = map[string]conv.Shape{
	"pointwise":    {N: 3, H: 5, W: 7, C: 8, K: 70, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
	"odd channels": {N: 2, H: 5, W: 3, C: 7, K: 5, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
	"vector":       {N: 1, H: 3, W: 1, C: 130, K: 65, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
	"strided":      {N: 2, H: 6, W: 7, C: 12, K: 17, R: 1, S: 1, StrideH: 2, StrideW: 2, Groups: 1},
	"three": {N: 2, H: 9, W: 8, C: 6, K: 33, R: 3, S: 3,
		StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	"inside": {N: 2, H: 9, W: 8, C: 4, K: 16, R: 3, S: 2, StrideH: 2, StrideW: 1, Groups: 1},
	"stem": {N: 2, H: 23, W: 22, C: 3, K: 16, R: 7, S: 7,
		StrideH: 2, StrideW: 2, PadH: 3, PadW: 3, Groups: 1},
	"end": {N: 1, H: 8, W: 8, C: 3, K: 4, R: 3, S: 3,
		StrideH: 2, StrideW: 2, EndH: 1, EndW: 1, Groups: 1},
	"groups": {N: 2, H: 6, W: 6, C: 12, K: 9, R: 3, S: 3,
		StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 3},
	"depthwise": {N: 3, H: 7, W: 9, C: 70, K: 70, R: 3, S: 3,
		StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 70},
	"strided depth": {N: 2, H: 8, W: 8, C: 24, K: 24, R: 3, S: 3,
		StrideH: 2, StrideW: 2, EndH: 1, EndW: 1, Groups: 24},
	"depthwise inside": {N: 2, H: 8, W: 9, C: 5, K: 5, R: 2, S: 5, StrideH: 1, StrideW: 2, Groups: 5},
	"bands": {N: 1, H: 60, W: 40, C: 8, K: 24, R: 3, S: 3,
		StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 1},
	"images": {N: 17, H: 5, W: 5, C: 32, K: 70, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1},
}

// trial is a layer with operands.
type trial struct {
	s              conv.Shape
	w              []float32
	e              Epilogue
	x, y, residual Operand
}

func random(rnd *rand.Rand, n int) []uint8 {
	q := make([]uint8, n)
	for i := range q {
		q[i] = uint8(rnd.Uint32())
	}
	return q
}

func newTrial(rnd *rand.Rand, s conv.Shape) *trial {
	t := &trial{s: s}
	nx, nw, ny := s.Len()
	t.w = make([]float32, nw)
	for i := range t.w {
		t.w[i] = float32(rnd.NormFloat64())
	}
	clear(t.w[:nw/s.K]) // a filter of zeros
	t.x = Operand{Scale: Scale{0.021, 37}, Bytes: random(rnd, nx)}
	t.y = Operand{Scale: Scale{0.02 * math.Sqrt(float64(nw/s.K)), 19}, Bytes: make([]uint8, ny)}
	t.residual = Operand{Scale: Scale{0.013, 101}, Bytes: random(rnd, ny)}
	for range s.K {
		t.e.Factor = append(t.e.Factor, rnd.NormFloat64())
		t.e.Offset = append(t.e.Offset, rnd.NormFloat64())
	}
	return t
}

func (t *trial) run(tb testing.TB) []float32 {
	tb.Helper()
	l, err := New(t.s, t.w, t.e)
	if err != nil {
		tb.Fatal(err)
	}
	var ws Workspace
	_, _, ny := t.s.Len()
	if t.y.Bytes != nil {
		t.y.Bytes = make([]uint8, ny)
	} else {
		t.y.Floats = make([]float32, ny)
	}
	l.Forward(&ws, t.s.N, t.x, t.y, t.residual)
	return t.y.values()
}

// values are what an operand stands for.
func (o *Operand) values() []float32 {
	if o.Bytes == nil {
		return o.Floats
	}
	v := make([]float32, len(o.Bytes))
	qgemm.Dequantize(v, o.Bytes, int32(o.Zero), float32(o.Unit))
	return v
}

// naive computes the layer in float64, from filters rounded to 127ths of the largest, and
// rounds nothing after that.
func (t *trial) naive() []float64 {
	s, x := t.s, t.x.values()
	if t.x.Bytes == nil {
		rounded := Operand{Scale: t.x.Scale, Bytes: make([]uint8, len(x))}
		qgemm.Quantize(rounded.Bytes, x, 1/float32(t.x.Unit), float32(t.x.Zero))
		x = rounded.values()
	}
	var res []float32
	if t.e.Residual {
		res = t.residual.values()
	}
	depth := len(t.w) / s.K
	w := make([]float64, len(t.w))
	for k := range s.K {
		var most float64
		for _, v := range t.w[k*depth : (k+1)*depth] {
			most = max(most, math.Abs(float64(v)))
		}
		for i, v := range t.w[k*depth : (k+1)*depth] {
			if most > 0 {
				w[k*depth+i] = math.RoundToEven(float64(v)/(most/127)) * (most / 127)
			}
		}
	}
	_, _, ny := s.Len()
	out := make([]float64, 0, ny)
	cg, kg := s.C/s.Groups, s.K/s.Groups
	for n := range s.N {
		for p := range s.OutH() {
			for q := range s.OutW() {
				for k := range s.K {
					var z float64
					for r := range s.R {
						for u := range s.S {
							h, v := p*s.StrideH+r-s.PadH, q*s.StrideW+u-s.PadW
							if h < 0 || h >= s.H || v < 0 || v >= s.W {
								continue
							}
							for c := range cg {
								z += float64(x[((n*s.H+h)*s.W+v)*s.C+k/kg*cg+c]) * w[((k*s.R+r)*s.S+u)*cg+c]
							}
						}
					}
					if t.e.Factor != nil {
						z *= t.e.Factor[k]
					}
					if t.e.Offset != nil {
						z += t.e.Offset[k]
					}
					if res != nil {
						z += float64(res[len(out)])
					}
					out = append(out, t.rectified(z))
				}
			}
		}
	}
	return out
}

func (t *trial) rectified(z float64) float64 {
	if t.e.Act != nil {
		v := []float32{float32(z)}
		t.e.Act(v)
		z = float64(v[0])
	}
	if t.e.ReLU || t.e.ReLU6 {
		z = max(z, 0)
	}
	if t.e.ReLU6 {
		z = min(z, 6)
	}
	return z
}

func (t *trial) check(tb testing.TB, what string) {
	tb.Helper()
	got, want := t.run(tb), t.naive()
	lo, hi := -float64(t.y.Zero)*t.y.Unit, (255-float64(t.y.Zero))*t.y.Unit
	if t.y.Bytes == nil && (t.e.Unrounded || !isDepthwise(&t.s)) {
		lo, hi = math.Inf(-1), math.Inf(1)
	}
	slack := 0.501 * t.y.Unit
	if t.y.Bytes == nil && (t.e.Unrounded || !isDepthwise(&t.s)) {
		slack = 1e-4 * t.y.Unit
	}
	for i, v := range got {
		if d := math.Abs(float64(v) - min(max(want[i], lo), hi)); !(d <= slack+1e-5*math.Abs(want[i])) {
			tb.Fatalf("%s: value %d is %g, want %g", what, i, v, want[i])
		}
	}
}

func double(y []float32) {
	for i := range y {
		y[i] *= 2
	}
}

// Every kind of convolution, with every kind of operand, is what its definition says to
// half a unit of a byte, at every level of instructions and with the same bits at all.
func TestForwardAgreesWithTheDefinition(t *testing.T) {
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(len(name))))
			for variant := range 7 {
				tr := newTrial(rnd, s)
				switch variant {
				case 1:
					tr.e.ReLU, tr.e.Factor = true, nil
				case 2:
					tr.e.ReLU6, tr.e.Offset, tr.x.Zero = true, nil, 0
				case 3:
					tr.e.Residual = !isDepthwise(&s)
					nx, _, _ := s.Len()
					tr.x.Bytes, tr.x.Floats = nil, make([]float32, nx)
					for i := range tr.x.Floats {
						tr.x.Floats[i] = float32(rnd.NormFloat64())
					}
				case 4:
					tr.y.Bytes = nil
					if tr.e.Residual = !isDepthwise(&s); tr.e.Residual {
						tr.residual.Floats, tr.residual.Bytes = tr.residual.values(), nil
					}
				case 5:
					if !isDepthwise(&s) {
						tr.e.Residual, tr.e.Act = true, double
					}
				case 6:
					tr.y.Bytes, tr.e.Unrounded = nil, true
				}
				tr.check(t, fmt.Sprintf("variant %d", variant))
				first := slices.Clone(tr.y.values())
				for _, level := range []simd.Level{simd.AVX2, simd.Generic} {
					undo := simd.Force(level)
					again := tr.run(t)
					undo()
					if i := differ(first, again); i >= 0 {
						t.Fatalf("variant %d: %v gives %g at %d, the best level %g", variant, level, again[i], i,
							first[i])
					}
				}
			}
		})
	}
}

func differ(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	for name, s := range shapes {
		tr := newTrial(rand.New(rand.NewPCG(3, 4)), s)
		var first []float32
		for _, procs := range []int{1, 2, 5} {
			old := runtime.GOMAXPROCS(procs)
			got := slices.Clone(tr.run(t))
			runtime.GOMAXPROCS(old)
			if first == nil {
				first = got
			}
			if i := differ(first, got); i >= 0 {
				t.Errorf("%s: %d cores give %g at %d, one %g", name, procs, got[i], i, first[i])
			}
		}
	}
}

// The residual may lie where the output goes.
func TestResidualInPlace(t *testing.T) {
	tr := newTrial(rand.New(rand.NewPCG(5, 6)), shapes["images"])
	tr.e.Residual = true
	want := slices.Clone(tr.run(t))
	l, err := New(tr.s, tr.w, tr.e)
	if err != nil {
		t.Fatal(err)
	}
	var ws Workspace
	y := tr.residual
	y.Scale = tr.y.Scale
	l.Forward(&ws, tr.s.N, tr.x, y, tr.residual)
	if i := differ(want, y.values()); i >= 0 {
		t.Errorf("in place value %d differs", i)
	}
}

func TestNewRefuses(t *testing.T) {
	deep := conv.Shape{H: 1, W: 1, C: qgemm.MaxDepth + 1, K: 1, R: 1, S: 1, StrideH: 1, StrideW: 1, Groups: 1}
	if _, err := New(deep, make([]float32, deep.C), Epilogue{}); err == nil {
		t.Error("a sum that may overflow passes")
	}
	s := shapes["pointwise"]
	if _, err := New(s, make([]float32, 3), Epilogue{}); err == nil {
		t.Error("filters of another size pass")
	}
	s.StrideH = 0
	if _, err := New(s, make([]float32, s.C*s.K), Epilogue{}); err == nil {
		t.Error("a stride of 0 passes")
	}
	d := shapes["depthwise"]
	if _, err := New(d, make([]float32, 9*d.C), Epilogue{Residual: true}); err == nil {
		t.Error("a depthwise convolution with a residual passes")
	}
}
