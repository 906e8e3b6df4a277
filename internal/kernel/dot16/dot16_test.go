package dot16

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// packed quantizes random rows and packs them.
func packed(rng *rand.Rand, n, d, panel int) (rows [][]int16, panels []int16) {
	panels = make([]int16, PackedLen(n, d, panel))
	for r := range n {
		x := make([]float64, d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		q := make([]int16, d)
		Quantize(q, x)
		rows = append(rows, q)
		Pack(panels, panel, r, q)
	}
	return rows, panels
}

func TestStripIsTheExactProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{1, 2, 3, 7, 16, 33, 128, 511} {
		for _, n := range []int{1, 31, 32, 33, 97} {
			rowsA, a := packed(rng, RowPanel, d, RowPanel)
			rowsB, b := packed(rng, n, d, ColPanel)
			panels := (n + ColPanel - 1) / ColPanel
			const guard = 0x5a5a5a5a
			c := slices.Repeat([]int32{guard}, RowPanel*ColPanel*panels+16)
			Strip(c[:len(c)-16], a, b, Pairs(d))
			for i := range rowsA {
				for j := range panels * ColPanel {
					var want int64
					if j < n {
						for k := range d {
							want += int64(rowsA[i][k]) * int64(rowsB[j][k])
						}
					}
					if got := c[i*panels*ColPanel+j]; int64(got) != want {
						t.Fatalf("d %d, n %d: product %d,%d is %d, want %d", d, n, i, j, got, want)
					}
				}
			}
			for _, g := range c[len(c)-16:] {
				if g != guard {
					t.Fatal("wrote past the end")
				}
			}
		}
	}
}

// The longest rows there can be, with themselves: the sum comes closest to 2^31.
func TestStripDoesNotOverflow(t *testing.T) {
	for _, d := range []int{1, 2, 3, 64, 4096} {
		x := slices.Repeat([]float64{-3}, d)
		q := make([]int16, d)
		unit, loss := Quantize(q, x)
		a, b := make([]int16, PackedLen(1, d, RowPanel)), make([]int16, PackedLen(1, d, ColPanel))
		Pack(a, RowPanel, 0, q)
		Pack(b, ColPanel, 0, q)
		c := make([]int32, RowPanel*ColPanel)
		Strip(c, a, b, Pairs(d))
		norm := 3 * math.Sqrt(float64(d))
		bound := loss*(2*norm+loss) + 1e-12*norm*norm
		if got := float64(c[0]) * unit * unit; math.Abs(got-norm*norm) > bound {
			t.Errorf("d %d: square of the length %g, want %g within %g", d, got, norm*norm, bound)
		}
	}
}

func TestQuantizeBoundsItsLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range []int{1, 2, 5, 128, 512} {
		for _, size := range []float64{1e-30, 1, 1e30} {
			x, y := make([]float64, d), make([]float64, d)
			var xy, xx, yy float64
			for i := range x {
				x[i], y[i] = size*rng.NormFloat64(), rng.NormFloat64()
				xy += x[i] * y[i]
				xx += x[i] * x[i]
				yy += y[i] * y[i]
			}
			p, q := make([]int16, d), make([]int16, d)
			ux, lx := Quantize(p, x)
			uy, ly := Quantize(q, y)
			var s int64
			for i := range p {
				s += int64(p[i]) * int64(q[i])
			}
			bound := lx*math.Sqrt(yy) + (math.Sqrt(xx)+lx)*ly
			if e := math.Abs(float64(s)*ux*uy - xy); e > bound+1e-12*math.Sqrt(xx*yy) {
				t.Errorf("d %d: product off by %g, bound %g", d, e, bound)
			}
			if limit := 1e-3 * math.Sqrt(xx*yy); bound > limit {
				t.Errorf("d %d: bound %g is above %g: too coarse to be of use", d, bound, limit)
			}
		}
	}
	q := []int16{7, 7}
	if unit, loss := Quantize(q, []float64{0, 0}); unit != 0 || loss != 0 || q[0] != 0 || q[1] != 0 {
		t.Errorf("row of zeros: unit %g, loss %g, values %v", unit, loss, q)
	}
}

func TestFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{16, 32, 48, 448} {
		c := make([]int32, n)
		cols := Columns{Scale: make([]float32, n), Half: make([]float32, n), Lo: make([]float32, n)}
		for j := range c {
			c[j] = rng.Int32() - 1<<30
			cols.Scale[j], cols.Half[j] = rng.Float32()*1e-4, rng.Float32()
			cols.Lo[j] = rng.Float32()*4 - 2
			if j%7 == 0 {
				cols.Lo[j] = float32(math.Inf(1))
			}
		}
		row := Row{Scale: 3e-5, Half: 0.25, Lo: 0.125}
		v, w := make([]float32, n), make([]float32, n)
		mask, want := make([]uint32, n/16), make([]uint32, n/16)
		Filter(v, mask, c, row, &cols)
		filterGeneric(w, want, c, row, &cols)
		set := 0
		for j := range v {
			if math.Abs(float64(v[j]-w[j])) > 1e-6 {
				t.Errorf("n %d: score %d is %g, want %g", n, j, v[j], w[j])
			}
			for _, bit := range []int{j % 16, 16 + j%16} {
				got, ok := mask[j/16]>>bit&1, want[j/16]>>bit&1
				near := math.Abs(float64(v[j]-row.Lo)) < 1e-6 || math.Abs(float64(v[j]-row.Half-cols.Lo[j])) < 1e-6
				if got != ok && !near {
					t.Errorf("n %d: bit %d of column %d is %d, want %d", n, bit, j, got, ok)
				}
				set += int(got)
			}
		}
		if set == 0 || set == 2*n {
			t.Errorf("n %d: %d bits set: the case tells nothing apart", n, set)
		}
	}
}

func TestExactSumsHaveTheSameBitsOnEveryMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 200 {
		x, y := make([]float32, n), make([]float32, n)
		var dd, xy, abs float64
		for i := range x {
			x[i], y[i] = float32(rng.NormFloat64()*1e3), float32(rng.NormFloat64()/7)
			dd += (float64(x[i]) - float64(y[i])) * (float64(x[i]) - float64(y[i]))
			xy += float64(x[i]) * float64(y[i])
			abs += math.Abs(float64(x[i]) * float64(y[i]))
		}
		var a, b [16]float64
		m := n &^ 15
		squaredDistanceGeneric(x[:m], y[:m], &a)
		dotGeneric(x[:m], y[:m], &b)
		for i := m; i < n; i++ {
			d := float64(x[i]) - float64(y[i])
			a[i-m] += float64(d * d)
			b[i-m] += float64(float64(x[i]) * float64(y[i]))
		}
		if got, want := SquaredDistance(x, y), sumLanes(&a); got != want || math.Abs(got-dd) > 1e-12*dd {
			t.Errorf("%d values: squared distance %v, in plain Go %v, in one sum %v", n, got, want, dd)
		}
		if got, want := Dot(x, y), sumLanes(&b); got != want || math.Abs(got-xy) > 1e-12*abs {
			t.Errorf("%d values: product %v, in plain Go %v, in one sum %v", n, got, want, xy)
		}
	}
}

func TestAccumulate(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for n := range 200 {
		x, got := make([]float32, n), make([]float64, n+1)
		for i := range x {
			x[i], got[i] = float32(rng.NormFloat64()*1e3), rng.NormFloat64()
		}
		want := slices.Clone(got)
		Accumulate(got, x)
		accumulateGeneric(want, x)
		if !slices.Equal(got, want) {
			t.Errorf("%d values: %v, want %v", n, got, want)
		}
	}
}

func TestBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{16, 64, 448} {
		for round := range 50 {
			c := make([]int32, n)
			cols := Columns{Scale: make([]float32, n), Half: make([]float32, n)}
			for j := range c {
				c[j] = rng.Int32() - 1<<30
				cols.Scale[j], cols.Half[j] = 1e-9, rng.Float32()
				if round%2 == 0 { // ties
					c[j], cols.Half[j] = int32(rng.IntN(4)), 0
				}
			}
			v := make([]float32, n)
			var got, want Top
			got.Reset()
			want.Reset()
			Best(v[:n/16/2*16], c[:n/16/2*16], 2, &Columns{Scale: cols.Scale[:n/16/2*16], Half: cols.Half[:n/16/2*16]},
				0, &got)
			h := n / 16 / 2 * 16
			Best(v[h:], c[h:], 2, &Columns{Scale: cols.Scale[h:], Half: cols.Half[h:]}, int32(h), &got)
			for j := range v {
				want.Take(v[j], int32(j))
			}
			f, at, s := got.Result()
			wantAt := 0
			for j := range v {
				if v[j] > v[wantAt] {
					wantAt = j
				}
			}
			sorted := slices.Sorted(slices.Values(v))
			if f != v[wantAt] || int(at) != wantAt || s != sorted[n-2] {
				t.Fatalf("%d columns: best %g at %d, then %g; want %g at %d, then %g", n, f, at, s, v[wantAt], wantAt,
					sorted[n-2])
			}
			if got != want {
				t.Fatalf("%d columns: lanes differ from taking one by one", n)
			}
		}
	}
}

// Codes are stored, and read on other machines: what Quantize makes of these rows was
// taken on amd64, whose compiler fuses nothing.
func TestQuantizeHasTheSameBitsOnEveryMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	h := fnv.New64a()
	for d := 1; d < 400; d++ {
		x, q := make([]float64, d), make([]int16, d)
		for i := range x {
			x[i] = float64(rng.Float32()) - 0.375
		}
		unit, loss := Quantize(q, x)
		binary.Write(h, binary.LittleEndian, q)
		binary.Write(h, binary.LittleEndian, []float64{unit, loss})
	}
	if got, want := h.Sum64(), uint64(0x31b9f24ba0fbce82); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
}
