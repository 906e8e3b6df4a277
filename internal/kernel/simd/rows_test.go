package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// operands are what a row kernel is given: up to four matrices, four vectors,
// two results by column, and an activation.
type operands struct {
	m   [4][]float32
	v   [4][]float32
	sum [2][]float32
	act Bounds
}

// element is one position's operands, in float64, for the definition.
type element struct {
	m, v   [4]float64
	lo, hi float64
}

func (e element) clamp(v float64) float64 {
	if v < e.lo {
		return e.lo
	}
	if v > e.hi {
		return e.hi
	}
	return v
}

func (e element) flat(v float64) bool { return v <= e.lo || v >= e.hi }

// rowCases define each row kernel: run calls it, and want gives, for one
// position, the new values of the matrices it writes and its terms of the sums.
var rowCases = []struct {
	name string
	run  func(o *operands)
	want func(e element) (m [4]float64, sum [2]float64)
}{
	{"ScaleShift", func(o *operands) { ScaleShift(o.m[0], o.m[1], o.v[0], o.v[1], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.clamp(e.m[1]*e.v[0] + e.v[1])
			return e.m, s
		}},
	{"ScaleShiftAdd", func(o *operands) { ScaleShiftAdd(o.m[0], o.m[1], o.m[2], o.v[0], o.v[1], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.clamp(e.m[1]*e.v[0] + e.v[1] + e.m[2])
			return e.m, s
		}},
	{"Shift", func(o *operands) { Shift(o.m[0], o.m[1], o.v[0], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.clamp(e.m[1] + e.v[0])
			return e.m, s
		}},
	{"Clamp", func(o *operands) { Clamp(o.m[0], o.m[1], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.clamp(e.m[1])
			return e.m, s
		}},
	{"AddClamp", func(o *operands) { AddClamp(o.m[0], o.m[1], o.m[2], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.clamp(e.m[1] + e.m[2])
			return e.m, s
		}},
	{"Larger", func(o *operands) { Larger(o.m[0], o.m[1], o.m[2]) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = max(e.m[1], e.m[2])
			return e.m, s
		}},
	{"Mask", func(o *operands) { Mask(o.m[0], o.m[1], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			if e.flat(e.m[1]) {
				e.m[0] = 0
			}
			return e.m, s
		}},
	{"NormGrad", func(o *operands) { NormGrad(o.m[0], o.m[1], o.m[2], o.v[0], o.v[1], o.v[2], o.v[3], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.v[0]*e.m[1] + e.v[1]*(e.m[2]-e.v[3]) + e.v[2]
			if e.flat(e.m[2]) {
				e.m[0] = 0
			}
			return e.m, s
		}},
	{"ColumnSums", func(o *operands) { ColumnSums(o.sum[0], o.m[0], len(o.m[0])/max(1, len(o.sum[0])), len(o.sum[0])) },
		func(e element) (m [4]float64, s [2]float64) { return e.m, [2]float64{e.m[0], math.NaN()} }},
	{"ColumnMoments", func(o *operands) {
		ColumnMoments(o.sum[0], o.sum[1], o.m[0], o.v[0], len(o.m[0])/max(1, len(o.sum[0])), len(o.sum[0]))
	},
		func(e element) (m [4]float64, s [2]float64) {
			d := e.m[0] - e.v[0]
			return e.m, [2]float64{d, d * d}
		}},
	{"NormSums", func(o *operands) { NormSums(o.sum[0], o.sum[1], o.m[0], o.m[1], o.m[2], o.v[0], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			if e.flat(e.m[1]) {
				e.m[0] = 0
			}
			return e.m, [2]float64{e.m[0], e.m[0] * (e.m[2] - e.v[0])}
		}},
	{"NormGradOf", func(o *operands) {
		NormGradOf(o.m[0], o.m[1], o.m[2], o.v[0], o.v[1], o.v[2], o.v[3], slices.Repeat([]float32{2}, len(o.v[0])),
			slices.Repeat([]float32{0.5}, len(o.v[0])), o.act)
	},
		func(e element) (m [4]float64, s [2]float64) {
			g := e.m[1]
			if e.flat(2*e.m[2] + 0.5) {
				g = 0
			}
			e.m[0] = e.v[0]*g + e.v[1]*(e.m[2]-e.v[3]) + e.v[2]
			return e.m, s
		}},
	{"NormSumsOf", func(o *operands) { NormSumsOf(o.sum[0], o.sum[1], o.m[0], o.m[1], o.v[0], o.v[1], o.v[2], o.act) },
		func(e element) (m [4]float64, s [2]float64) {
			g := e.m[0]
			if e.flat(float64(float32(e.v[1]*e.m[1] + e.v[2]))) {
				g = 0
			}
			return e.m, [2]float64{g, g * (e.m[1] - e.v[0])}
		}},
	{"Axpy", func(o *operands) { Axpy(-1.5, o.m[1], o.m[0]) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] -= 1.5 * e.m[1]
			return e.m, s
		}},
	{"Scale", func(o *operands) { Scale(o.m[0], -1.5, o.m[1]) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = -1.5 * e.m[1]
			return e.m, s
		}},
	{"Gate", func(o *operands) { Gate(o.m[0], o.m[1], 1.5, 0.25) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.m[1] / (1 + math.Exp(-e.m[1]*(1.5+0.25*e.m[1]*e.m[1])))
			return e.m, s
		}},
	{"GateGrad", func(o *operands) { GateGrad(o.m[0], o.m[0], o.m[1], 1.5, 0.25) },
		func(e element) (m [4]float64, s [2]float64) {
			x := e.m[1]
			g := 1 / (1 + math.Exp(-x*(1.5+0.25*x*x)))
			e.m[0] *= g + x*(1.5+0.75*x*x)*g*(1-g)
			return e.m, s
		}},
	{"GELU", func(o *operands) { GELU(o.m[0], o.m[1]) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.m[1] * math.Erfc(-e.m[1]/math.Sqrt2) / 2
			return e.m, s
		}},
	{"GELUGrad", func(o *operands) { GELUGrad(o.m[0], o.m[0], o.m[1]) },
		func(e element) (m [4]float64, s [2]float64) {
			x := e.m[1]
			e.m[0] *= math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
			return e.m, s
		}},
	{"HardSwish", func(o *operands) { HardSwish(o.m[0], o.m[1]) },
		func(e element) (m [4]float64, s [2]float64) {
			e.m[0] = e.m[1] * min(max(e.m[1]+3, 0), 6) / 6
			return e.m, s
		}},
	{"HardSwishGrad", func(o *operands) { HardSwishGrad(o.m[0], o.m[0], o.m[1]) },
		func(e element) (m [4]float64, s [2]float64) {
			switch x := e.m[1]; {
			case x <= -3:
				e.m[0] = 0
			case x < 3:
				e.m[0] *= x/3 + 0.5
			}
			return e.m, s
		}},
	{"AdamStep", func(o *operands) {
		for i, v := range o.m[3] { // second moments are not negative
			o.m[3][i] = float32(math.Abs(float64(v)))
		}
		AdamStep(o.m[0], o.m[1], o.m[2], o.m[3],
			Adam{Decay: 0.5, Shrink: 0.75, B1: 0.25, B2: 0.125, Root: 2, Eps: 0.5, Step: 0.5})
	},
		func(e element) (m [4]float64, s [2]float64) {
			g, v := e.m[1]+0.5*e.m[0], math.Abs(e.m[3])
			e.m[2] += 0.25 * (g - e.m[2])
			e.m[3] = v + 0.125*(g*g-v)
			e.m[0] = 0.75*e.m[0] - 0.5*e.m[2]/(2*math.Sqrt(e.m[3])+0.5)
			return e.m, s
		}},
}

const guardLen = 40

// guardedCopy returns n values at an odd offset within guards, and a check that
// the guards are as they were.
func guardedCopy(rnd *rand.Rand, n int) (v []float32, intact func() bool) {
	off := guardLen + rnd.IntN(5)
	all := normals(rnd, n+2*guardLen+8)
	old := append([]float32(nil), all...)
	return all[off : off+n : off+n], func() bool {
		for i, x := range all {
			if (i < off || i >= off+n) && x != old[i] {
				return false
			}
		}
		return true
	}
}

func TestRowKernels(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(11, 11))
		for _, c := range rowCases {
			t.Run(c.name, func(t *testing.T) {
				for cols := 1; cols < 1000; cols++ { // a row of every length
					checkRows(t, rnd, 1, cols, c.run, c.want)
				}
				for cols := 1; cols < 140; cols += 1 + cols/20 {
					for _, rows := range []int{2, 3, 17} {
						checkRows(t, rnd, rows, cols, c.run, c.want)
					}
				}
				c.run(&operands{}) // empty: nothing happens
			})
		}
	})
}

func checkRows(t *testing.T, rnd *rand.Rand, rows, cols int, run func(o *operands),
	want func(e element) ([4]float64, [2]float64)) {
	t.Helper()
	var o operands
	var intact []func() bool
	make1 := func(n int) []float32 {
		v, ok := guardedCopy(rnd, n)
		intact = append(intact, ok)
		return v
	}
	for i := range 4 {
		o.m[i], o.v[i] = make1(rows*cols), make1(cols)
	}
	o.sum[0], o.sum[1] = make1(cols), make1(cols)
	o.act = []Bounds{Linear(), ReLU(), {-0.5, 0.5}}[rnd.IntN(3)]
	if n := rows * cols; n > 3 { // values at the bounds
		o.m[1][n/2], o.m[2][n/3] = o.act.Lo, o.act.Hi
		if o.act.Lo != o.act.Lo {
			o.m[1][n/2] = 0
		}
		if o.act.Hi != o.act.Hi {
			o.m[2][n/3] = 0
		}
	}
	var before operands
	for i := range 4 {
		before.m[i] = append([]float32(nil), o.m[i]...)
	}
	run(&o)
	sums, sizes := make([][2]float64, cols), make([][2]float64, cols)
	for i := range rows * cols {
		e := element{lo: float64(o.act.Lo), hi: float64(o.act.Hi)}
		for k := range 4 {
			e.m[k], e.v[k] = float64(before.m[k][i]), float64(o.v[k][i%cols])
		}
		m, s := want(e)
		for k := range 4 {
			if got := float64(o.m[k][i]); !(math.Abs(got-m[k]) <= 2e-6*(1+math.Abs(m[k]))) {
				t.Fatalf("%d x %d, act %v: matrix %d at %d is %g, want %g", rows, cols, o.act, k, i, got, m[k])
			}
		}
		for k := range 2 {
			sums[i%cols][k] += s[k]
			sizes[i%cols][k] += math.Abs(s[k]) + 1
		}
	}
	for j := range sums {
		for k, w := range sums[j] {
			if w != w || sums[j] == [2]float64{} {
				continue
			}
			if got := float64(o.sum[k][j]); !(math.Abs(got-w) <= 1e-6*sizes[j][k]) {
				t.Fatalf("%d x %d: sum %d of column %d is %g, want %g", rows, cols, k, j, got, w)
			}
		}
	}
	for _, ok := range intact {
		if !ok() {
			t.Fatalf("%d x %d: wrote outside", rows, cols)
		}
	}
}

// Rows of a reduction may be part of longer ones.
func TestColumnSumsStride(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(12, 12))
		for cols := 1; cols < 90; cols++ {
			x, sum, sq, zero := normals(rnd, 7*100), make([]float32, cols), make([]float32, cols), make([]float32, cols)
			ColumnMoments(sum, sq, x, zero, 7, 100)
			again := make([]float32, cols)
			ColumnSums(again, x, 7, 100)
			for j := range cols {
				var s, q float64
				for i := range 7 {
					v := float64(x[i*100+j])
					s, q = s+v, q+v*v
				}
				if math.Abs(float64(sum[j])-s) > 1e-5 || math.Abs(float64(sq[j])-q) > 1e-5 ||
					math.Abs(float64(again[j])-s) > 1e-5 {
					t.Fatalf("column %d of %d: sums %g %g and %g, want %g %g", j, cols, sum[j], sq[j], again[j], s, q)
				}
			}
		}
	})
}

func TestNaNPasses(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		nan := float32(math.NaN())
		x := make([]float32, 40)
		for i := range x {
			x[i] = nan
		}
		y := make([]float32, 40)
		for _, act := range []Bounds{Linear(), ReLU(), ReLU6()} {
			Clamp(y, x, act)
			for i, v := range y {
				if v == v {
					t.Fatalf("act %v: NaN became %g at %d", act, v, i)
				}
			}
		}
	})
}

func TestMismatchPanics(t *testing.T) {
	for i, f := range []func(){
		func() { Dot(make([]float32, 3), make([]float32, 4)) },
		func() {
			ScaleShift(make([]float32, 6), make([]float32, 6), make([]float32, 3), make([]float32, 2), Linear())
		},
		func() {
			ScaleShift(make([]float32, 7), make([]float32, 7), make([]float32, 3), make([]float32, 3), Linear())
		},
		func() { ColumnSums(make([]float32, 4), make([]float32, 10), 3, 4) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("case %d: no panic", i)
				}
			}()
			f()
		}()
	}
}

func TestDot(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(13, 13))
		for n := range 1000 {
			x, _ := guardedCopy(rnd, n)
			y, _ := guardedCopy(rnd, n)
			var want, size float64
			for i := range x {
				p := float64(x[i]) * float64(y[i])
				want, size = want+p, size+math.Abs(p)
			}
			if got := float64(Dot(x, y)); math.Abs(got-want) > 3e-6*size {
				t.Fatalf("n %d: the product is %g, want %g", n, got, want)
			}
		}
	})
}

func TestMax(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(16, 16))
		for n := range 1000 {
			x, _ := guardedCopy(rnd, n)
			want := math.Inf(-1)
			for i := range x {
				x[i] -= 10 // so that a zero would show
				if rnd.IntN(9) == 0 {
					x[i] = float32(math.NaN())
				}
				if v := float64(x[i]); v > want {
					want = v
				}
			}
			if got := Max(x); float64(got) != want {
				t.Fatalf("n %d: maximum %g, want %g", n, got, want)
			}
		}
	})
}

func FuzzRowKernels(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(3), uint16(17))
	f.Add(uint64(2), uint8(6), uint8(1), uint16(64))
	f.Fuzz(func(t *testing.T, seed uint64, which, rows uint8, cols uint16) {
		c := rowCases[int(which)%len(rowCases)]
		checkRows(t, rand.New(rand.NewPCG(seed, 0)), 1+int(rows%8), 1+int(cols%300), c.run, c.want)
	})
}
