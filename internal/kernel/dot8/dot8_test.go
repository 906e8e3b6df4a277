package dot8

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// lengths of rows: around the ends of lanes, groups, steps.
var lengths = []int{1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 129, 191, 192, 193, 511, 512,
	513, 768, 1000}

// strips are the kernels that this machine has.
func strips() map[string]func(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
	all := map[string]func(c []int32, a []int8, bias []int32, b []uint8, steps, panels int){"go": stripGeneric}
	fast(all)
	return all
}

// ints are integers that no kernel may saturate: the largest there are, or random.
func ints(rng *rand.Rand, d int, extreme bool) []int8 {
	q := make([]int8, Depth(d))
	for i := range d {
		q[i] = int8(rng.IntN(255) - 127)
		if extreme {
			q[i] = 127
			if rng.IntN(9) == 0 {
				q[i] = -127
			}
		}
	}
	return q
}

func TestStripIsTheExactProductAtEveryLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	levels := strips()
	t.Logf("%d levels", len(levels))
	for _, d := range lengths {
		for _, n := range []int{1, 31, 32, 33, 97, 448} {
			if n == 448 && d != 512 {
				continue
			}
			a, b := make([]int8, PackedLen(1, d, RowPanel)), make([]uint8, PackedLen(n, d, ColPanel))
			var rows, cols [][]int8
			bias := make([]int32, RowPanel)
			for r := range RowPanel {
				q := ints(rng, d, r < 3)
				rows = append(rows, q)
				PackRow(a, r, q)
				var sum int32
				for _, v := range q {
					sum += int32(v)
				}
				bias[r] = Bias(sum)
			}
			for r := range n {
				q := ints(rng, d, r < 3)
				cols = append(cols, q)
				PackColumn(b, r, q)
			}
			panels := (n + ColPanel - 1) / ColPanel
			for name, f := range levels {
				const guard = 0x5a5a5a5a
				c := slices.Repeat([]int32{guard}, RowPanel*ColPanel*panels+32)
				f(c[16:len(c)-16], a, bias, b, Depth(d)/step, panels)
				for i := range rows {
					for j := range cols {
						var want int64
						for k := range d {
							want += int64(rows[i][k]) * int64(cols[j][k])
						}
						if got := c[16+i*panels*ColPanel+j]; int64(got) != want {
							t.Fatalf("%s, d %d, n %d: product %d,%d is %d, want %d", name, d, n, i, j, got, want)
						}
					}
				}
				for _, g := range slices.Concat(c[:16], c[len(c)-16:]) {
					if g != guard {
						t.Fatalf("%s, d %d, n %d: wrote outside", name, d, n)
					}
				}
			}
		}
	}
}

// The longest rows there may be, of the largest values, with themselves.
func TestStripDoesNotOverflow(t *testing.T) {
	q := slices.Repeat([]int8{127}, MaxDim)
	a, b := make([]int8, PackedLen(1, MaxDim, RowPanel)), make([]uint8, PackedLen(1, MaxDim, ColPanel))
	bias := make([]int32, RowPanel)
	PackRow(a, 0, q)
	PackColumn(b, 0, q)
	bias[0] = Bias(127 * MaxDim)
	for name, f := range strips() {
		if name == "go" && testing.Short() {
			continue
		}
		c := make([]int32, RowPanel*ColPanel)
		f(c, a, bias, b, MaxDim/step, 1)
		if want := int32(127 * 127 * MaxDim); c[0] != want {
			t.Errorf("%s: %d, want %d", name, c[0], want)
		}
	}
}

func TestStripOfNothing(t *testing.T) {
	c := slices.Repeat([]int32{7}, RowPanel*ColPanel)
	Strip(c, nil, make([]int32, RowPanel), nil, 0)
	if slices.Max(c) != 0 || slices.Min(c) != 0 {
		t.Error("products of rows of no coordinates")
	}
	Strip(nil, make([]int8, RowPanel*64), make([]int32, RowPanel), nil, 64)
	defer func() {
		if recover() == nil {
			t.Error("wrong lengths were taken")
		}
	}()
	Strip(c, make([]int8, RowPanel*64), make([]int32, RowPanel), nil, 64)
}

// Rows in float64, what rounding makes of their products, and the bound that Code gives.
func TestQuantizeBoundsItsLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range lengths {
		for _, size := range []float64{1e-12, 1, 1e12} {
			for _, shift := range []float64{0, 1, 100} {
				x, y, m := make([]float32, d), make([]float32, d), make([]float32, d)
				var length float64
				for i := range x {
					m[i] = float32(shift * rng.NormFloat64())
					x[i] = float32(size * (rng.NormFloat64() + float64(m[i])))
					y[i] = float32(size * (rng.NormFloat64() + float64(m[i])))
					length += float64(m[i]) * float64(m[i])
				}
				length = math.Sqrt(length)
				f := float32(1 / size)
				p, cp := code(x, m, f, length)
				q, cq := code(y, m, f, length)
				var xy, xx, yy, lost, square, dot float64
				var s, sum int64
				for i := range d {
					u := float64(x[i])*float64(f) - float64(m[i])
					v := float64(y[i])*float64(f) - float64(m[i])
					e := u - float64(p[i])*float64(cp.Unit)
					xy, xx, yy, lost = xy+u*v, xx+u*u, yy+v*v, lost+e*e
					square, dot = square+u*u, dot+u*float64(m[i])
					s += int64(p[i]) * int64(q[i])
					sum += int64(p[i])
				}
				if cp.Norm < math.Sqrt(xx) || cp.Loss < math.Sqrt(lost) || cp.Norm > 1.001*math.Sqrt(xx)+1e-3*length {
					t.Errorf("d %d, size %g, shift %g: norm %g of %g, loss %g of %g", d, size, shift, cp.Norm,
						math.Sqrt(xx), cp.Loss, math.Sqrt(lost))
				}
				if int64(cp.Sum) != sum || slices.ContainsFunc(p[d:], func(v int8) bool { return v != 0 }) {
					t.Errorf("d %d: sum %d, want %d", d, cp.Sum, sum)
				}
				bound := cp.Loss*math.Sqrt(yy) + (math.Sqrt(xx)+cp.Loss)*cq.Loss
				if e := math.Abs(float64(s)*float64(cp.Unit)*float64(cq.Unit) - xy); e > bound*(1+1e-6) {
					t.Errorf("d %d, size %g: product off by %g, bound %g", d, size, e, bound)
				}
				if limit := 0.03 * math.Sqrt(xx*yy); d >= 64 && shift < 100 && bound > limit {
					t.Errorf("d %d: bound %g is above %g: too coarse to be of use", d, bound, limit)
				}
			}
		}
	}
}

func code(x, m []float32, f float32, length float64) ([]int8, Code) {
	w, q := make([]float32, len(x)), make([]int8, max(Depth(len(x)), 1))
	p := Place(w, x, m, f)
	return q, Quantize(q, w, p, length)
}

func TestRowsThatCannotBeRounded(t *testing.T) {
	for _, d := range []int{1, 16, 20} {
		m := make([]float32, d)
		q, c := code(make([]float32, d), m, 1, 0)
		if c.Unit != 0 || c.Norm != 0 || c.Loss > 1e-30 || slices.Max(q) != 0 {
			t.Errorf("zeros: %+v", c)
		}
		for _, v := range []float32{math.MaxFloat32, 1e-40, 1e25} {
			if _, c := code(slices.Repeat([]float32{v}, d), m, 1, 0); !math.IsInf(c.Loss, 1) {
				t.Errorf("values of %g: %+v", v, c)
			}
		}
		if _, c := code(slices.Repeat([]float32{1e20}, d), m, 1e30, 0); !math.IsInf(c.Loss, 1) {
			t.Errorf("a product that overflows: %+v", c)
		}
	}
}

// Stored codes are the same on every machine.
func TestCodesHaveTheSameBitsAtEveryLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for d := range 200 {
		x, m := make([]float32, d+1), make([]float32, d+1)
		for i := range x {
			x[i], m[i] = float32(rng.NormFloat64()*1e3), float32(rng.NormFloat64()/7)
		}
		q, c := code(x, m, 1e-3, 2)
		restore := simd.Force(simd.Generic)
		r, e := code(x, m, 1e-3, 2)
		restore()
		if !slices.Equal(q, r) || c != e {
			t.Fatalf("d %d: %+v and in plain Go %+v", d+1, c, e)
		}
	}
}

func TestSquaredDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, d := range append(lengths, 0) {
		x, y := make([]float32, d), make([]float32, d+3)
		var want float64
		for i := range x {
			x[i], y[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
			want += (float64(x[i]) - float64(y[i])) * (float64(x[i]) - float64(y[i]))
		}
		got := float64(SquaredDistance(x, y))
		if math.Abs(got-want) > DistanceError(d)*want {
			t.Errorf("d %d: %g, want %g", d, got, want)
		}
		restore := simd.Force(simd.Generic)
		got = float64(SquaredDistance(x, y))
		restore()
		if math.Abs(got-want) > DistanceError(d)*want {
			t.Errorf("d %d in plain Go: %g, want %g", d, got, want)
		}
	}
}

// Many distances come to what each does by itself, at all levels, for any number of rows,
// which may repeat, and write nothing else.
func TestSquaredDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, level := range []simd.Level{simd.Active(), simd.AVX2, simd.Generic} {
		restore := simd.Force(level)
		for _, d := range []int{0, 1, 7, 31, 32, 64, 96, 100, 128, 320} {
			stride := d + rng.IntN(3)
			x, y := make([]float32, d), make([]float32, 8*stride+d) // 9 rows
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			for i := range y {
				y[i] = float32(rng.NormFloat64())
			}
			for n := range 14 {
				at := make([]int32, n)
				for k := range at {
					at[k] = int32(rng.IntN(9))
				}
				dst := slices.Repeat([]float32{-7}, n+2)
				SquaredDistances(dst[1:n+1], x, y, stride, at)
				if dst[0] != -7 || dst[n+1] != -7 {
					t.Fatalf("level %v, d %d, %d rows: it wrote beyond its end", level, d, n)
				}
				for k, r := range at {
					var want float64
					for i, v := range x {
						e := float64(v) - float64(y[int(r)*stride+i])
						want += e * e
					}
					if got := float64(dst[k+1]); !(math.Abs(got-want) <= DistanceError(d)*want) {
						t.Errorf("level %v, d %d, row %d of %d: %g, want %g", level, d, k, n, got, want)
					}
				}
			}
		}
		restore()
	}
	for _, bad := range [][]int32{{9}, {0, -1}, {1, 2, 12}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("rows %v of 9: no panic", bad)
				}
			}()
			SquaredDistances(make([]float32, 3), make([]float32, 32), make([]float32, 9*32), 32, bad)
		}()
	}
}

// Fetch changes nothing and takes any length.
func TestFetch(t *testing.T) {
	b := make([]uint8, 300)
	for n := range b {
		Fetch(b[:n])
	}
	if !bytes.Equal(b, make([]uint8, 300)) {
		t.Error("it wrote")
	}
}

// What was taken on amd64, whose compiler fuses nothing, is the same everywhere.
func TestCodesHaveTheSameBitsOnEveryMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	h := fnv.New64a()
	for d := 1; d < 400; d++ {
		x, m := make([]float32, d), make([]float32, d)
		for i := range x {
			x[i], m[i] = rng.Float32()-0.375, rng.Float32()/8
		}
		q, c := code(x, m, 0.8, 2)
		binary.Write(h, binary.LittleEndian, q)
		binary.Write(h, binary.LittleEndian, c)
	}
	if got, want := h.Sum64(), uint64(0x525e47cb3f040aa6); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
}
