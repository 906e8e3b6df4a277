package qgemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// eachLevel runs f at every level; those that the machine lacks are skipped by name.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	best := simd.Active()
	for level, isa := range []simd.Level{Generic: simd.Generic, SDOT: simd.NEON, AVX2: simd.AVX2, AVXVNNI: simd.AVX2,
		VNNI: simd.AVX512} {
		level := Level(level)
		t.Run(level.String(), func(t *testing.T) {
			if isa > best && level != Generic {
				t.Skipf("the machine, or KINDRED_ISA=%s, has no %v", os.Getenv("KINDRED_ISA"), level)
			}
			defer simd.Force(isa)()
			defer func(old Level) { ceiling = old }(ceiling)
			if ceiling = level; Active() != level {
				t.Skipf("the machine has no %v", level)
			}
			f(t)
		})
	}
}

func TestFieldsAreWhereTheKernelsLook(t *testing.T) {
	var x Tile
	for i, off := range []uintptr{unsafe.Offsetof(x.A), unsafe.Offsetof(x.B), unsafe.Offsetof(x.C),
		unsafe.Offsetof(x.Add), unsafe.Offsetof(x.AOff), unsafe.Offsetof(x.COff), unsafe.Offsetof(x.KOff),
		unsafe.Offsetof(x.Scale), unsafe.Offsetof(x.Shift), unsafe.Offsetof(x.Runs), unsafe.Offsetof(x.Quads),
		unsafe.Offsetof(x.blocks), unsafe.Offsetof(x.vectors), unsafe.Offsetof(x.mask), unsafe.Offsetof(x.AddKind),
		unsafe.Offsetof(x.FloatC), unsafe.Offsetof(x.sum), unsafe.Offsetof(x.Lo)} {
		if off != uintptr(8*i) {
			t.Errorf("field %d lies at %d", i, off)
		}
	}
	if unsafe.Offsetof(x.Hi) != unsafe.Offsetof(x.Lo)+4 || unsafe.Offsetof(x.AddScale) != unsafe.Offsetof(x.Lo)+8 {
		t.Error("bounds and the factor of what is added do not lie side by side")
	}
	if unsafe.Offsetof(x.Cols) != unsafe.Offsetof(x.Lo)+24 {
		t.Errorf("the columns lie at %d", unsafe.Offsetof(x.Cols))
	}
}

// problem is a tile with all that it points to.
type problem struct {
	Tile
	a, add8, c8      []uint8
	b                []int8
	addF, cF         []float32
	aoff, coff, koff []int64
	scale, shift     []float32
	stride, depth    int
}

const guard = 32

// newProblem draws rows of runs of n values, which overlap as those of an image do.
func newProblem(rnd *rand.Rand, rows, cols, runs, n int, extreme bool) *problem {
	quads := (n + 3) / 4
	p := &problem{stride: cols + 3, depth: runs * n}
	p.a = make([]uint8, (rows+runs)*n+4*quads)
	for i := range p.a {
		if p.a[i] = uint8(rnd.Uint32()); extreme {
			p.a[i] = 255
		}
	}
	wide := Columns(cols)
	p.b = make([]int8, runs*quads*4*wide)
	for i := range p.b {
		k := i/(4*wide)%quads*4 + i%4
		switch {
		case k >= n:
		case extreme && i/4%wide%2 == 0:
			p.b[i] = -127
		case extreme:
			p.b[i] = 127
		default:
			p.b[i] = int8(rnd.IntN(255) - 127)
		}
	}
	for i := range Padded(rows) {
		p.aoff, p.coff = append(p.aoff, int64(min(i, rows-1)*n)), append(p.coff, int64(i*p.stride))
		if i >= rows || i%7 == 5 {
			p.coff[i] = -1
		}
	}
	for r := range runs {
		p.koff = append(p.koff, int64(r*n))
	}
	p.scale, p.shift = make([]float32, wide), make([]float32, wide)
	for j := range wide {
		p.scale[j], p.shift[j] = float32(rnd.NormFloat64())/float32(p.depth)/127, 128*rnd.Float32()
		if j%8 == 3 { // beyond 32 bits, of either sign
			p.scale[j] *= 1e10
		}
	}
	size := rows*p.stride + 2*guard
	p.add8, p.c8 = make([]uint8, size), make([]uint8, size)
	p.addF, p.cF = make([]float32, size), make([]float32, size)
	for i := range size {
		p.add8[i], p.addF[i], p.c8[i], p.cF[i] = uint8(rnd.Uint32()), float32(rnd.NormFloat64())*100, 0x5a, -7.25
	}
	p.Tile = Tile{A: unsafe.Pointer(&p.a[0]), B: unsafe.Pointer(&p.b[0]), AOff: &p.aoff[0], COff: &p.coff[0],
		KOff: &p.koff[0], Scale: &p.scale[0], Shift: &p.shift[0], Runs: runs, Quads: quads, Rows: rows, Cols: cols,
		Lo: 0, Hi: 255, AddScale: 0.37}
	return p
}

// kinds has the tile read and write bytes or floats.
func (p *problem) kinds(add int, float bool) {
	p.AddKind, p.FloatC = add, float
	p.Add = []unsafe.Pointer{nil, unsafe.Pointer(&p.add8[guard]), unsafe.Pointer(&p.addF[guard])}[add]
	p.C = unsafe.Pointer(&p.c8[guard])
	if float {
		p.C = unsafe.Pointer(&p.cF[guard])
	}
}

// want is C[i][j] as the comment of Tile has it, the sum in 64 bits.
func (p *problem) want(i, j int) float32 {
	var sum int64
	quads := p.Quads
	for r := range p.Runs {
		for k := range 4 * quads {
			sum += int64(p.a[int(p.aoff[i]+p.koff[r])+k]) * int64(p.b[((r*quads+k/4)*Columns(p.Cols)+j)*4+k%4])
		}
	}
	if sum != int64(int32(sum)) {
		panic("a sum that does not fit")
	}
	v := float32(float32(sum)*p.scale[j]) + p.shift[j]
	at := guard + int(p.coff[i]) + j
	switch p.AddKind {
	case AddBytes:
		v += float32(float32(p.add8[at]) * p.AddScale)
	case AddFloats:
		v += float32(p.addF[at] * p.AddScale)
	}
	v = min(max(v, p.Lo), p.Hi)
	if !p.FloatC {
		v = float32(math.RoundToEven(float64(v)))
	}
	return v
}

func (p *problem) check(t *testing.T, what string) {
	t.Helper()
	expected := map[int][2]int{}
	for i := range p.Rows {
		for j := range p.Cols {
			if p.coff[i] >= 0 {
				expected[guard+int(p.coff[i])+j] = [2]int{i, j}
			}
		}
	}
	for at := range p.c8 {
		got, want := float32(p.c8[at]), float32(0x5a)
		if p.FloatC {
			got, want = p.cF[at], -7.25
		}
		if ij, ok := expected[at]; ok {
			want = p.want(ij[0], ij[1])
		}
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%s: value %d %v is %g, want %g", what, at, expected[at], got, want)
		}
	}
}

func TestTileIsExactAtEveryLevel(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(1, 2))
		for _, rows := range []int{1, 5, 6, 7, 13} {
			for _, cols := range []int{1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64} {
				for _, depth := range [][2]int{{1, 1}, {1, 3}, {1, 4}, {3, 9}, {2, 64}, {7, 21}} {
					for add := AddNone; add <= AddFloats; add++ {
						p := newProblem(rnd, rows, cols, depth[0], depth[1], rnd.IntN(4) == 0)
						for _, float := range []bool{false, true} {
							p.kinds(add, float)
							if p.Lo, p.Hi = 7.25*float32(add), 255-31.5*float32(add); float {
								p.Lo, p.Hi = -20, float32(math.Inf(1))
							}
							p.Run()
							p.check(t, fmt.Sprint(rows, cols, depth, add, float))
						}
					}
				}
			}
		}
	})
}

// The largest sum that there may be, of either sign: neither 16 nor 32 bits may saturate.
func TestTileOfTheLargestDepth(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(3, 4))
		p := newProblem(rnd, 2, 3, 1, MaxDepth, true)
		p.kinds(AddNone, true)
		p.Lo, p.Hi = float32(math.Inf(-1)), float32(math.Inf(1))
		p.scale, p.shift = []float32{15: 0}, []float32{15: 0}
		p.scale[0], p.scale[1], p.scale[2] = 1, 1, 1
		p.Scale, p.Shift = &p.scale[0], &p.shift[0]
		p.Run()
		p.check(t, "largest")
		if v := p.cF[guard]; v != -float32(255*127*MaxDepth) {
			t.Errorf("the sum is %g", v)
		}
	})
}

func TestTileRefuses(t *testing.T) {
	for what, spoil := range map[string]func(*problem){
		"too deep":     func(p *problem) { p.Quads = MaxDepth/4 + 2 },
		"too wide":     func(p *problem) { p.Cols = BlockCols + 1 },
		"no depth":     func(p *problem) { p.Quads = 0 },
		"beyond bytes": func(p *problem) { p.Hi = 256 },
		"below bytes":  func(p *problem) { p.Lo = -1 },
	} {
		p := newProblem(rand.New(rand.NewPCG(3, 4)), 1, 1, 1, 4, false)
		p.kinds(AddNone, false)
		spoil(p)
		if func() (r any) { defer func() { r = recover() }(); p.Run(); return nil }() == nil {
			t.Errorf("%s passes", what)
		}
	}
	p := newProblem(rand.New(rand.NewPCG(3, 4)), 1, 1, 1, 4, false)
	p.kinds(AddNone, false)
	p.Rows = 0
	p.Run()
	if p.c8[guard] != 0x5a {
		t.Error("no rows write something")
	}
}

// NaN can come from float32 that is added. 19 columns are some that a vector unit stores and some
// that it leaves.
func TestTileOfNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		p := newProblem(rand.New(rand.NewPCG(5, 6)), 1, 19, 1, 4, false)
		p.kinds(AddFloats, true)
		for _, j := range []int{0, 7, 18} {
			p.addF[guard+j] = float32(math.NaN())
		}
		p.Run()
		for _, j := range []int{0, 7, 18} {
			if v := p.cF[guard+j]; v == v {
				t.Errorf("column %d: NaN becomes %g", j, v)
			}
		}
		if v := p.cF[guard+1]; v != p.want(0, 1) {
			t.Errorf("beside NaN: %g, want %g", v, p.want(0, 1))
		}
		p.kinds(AddFloats, false)
		p.Lo = 5
		p.Run()
		for _, j := range []int{0, 7, 18} {
			if q := p.c8[guard+j]; q != 0 {
				t.Errorf("column %d: NaN becomes byte %d", j, q)
			}
		}
	})
}

// A bound of 0 leaves -0 as it is.
func TestTileKeepsTheSignOfZero(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		p := newProblem(rand.New(rand.NewPCG(5, 6)), 1, 19, 1, 4, false)
		p.kinds(AddNone, true)
		clear(p.a)
		for j := range p.scale {
			p.scale[j], p.shift[j] = -1, float32(math.Copysign(0, -1))
		}
		p.Run()
		for j := range 19 {
			if v := p.cF[guard+j]; v != 0 || !math.Signbit(float64(v)) {
				t.Errorf("column %d: -0 becomes %g", j, v)
			}
		}
	})
}

// special draws values around the halves between bytes, NaN and infinities among them.
func special(rnd *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		switch rnd.IntN(4) {
		case 0:
			v[i] = math.Float32frombits(rnd.Uint32())
		case 1:
			v[i] = (float32(rnd.IntN(300)) - 20 + 0.5 - 8) * 4
		default:
			v[i] = float32(rnd.NormFloat64()) * 400
		}
	}
	return v
}

func TestRowsAtEveryLength(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(7, 8))
		for n := range 300 {
			off := rnd.IntN(5)
			src := special(rnd, n)
			q := make([]uint8, n+2*guard)
			for i := range q {
				q[i] = 0x5a
			}
			Quantize(q[guard+off:][:n], src, 0.25, 8)
			wide := make([]float32, n+2*guard)
			Dequantize(wide[guard+off:][:n], q[guard+off:][:n], 8, 4)
			for i := range q {
				k := i - guard - off
				if k < 0 || k >= n {
					if q[i] != 0x5a || wide[i] != 0 {
						t.Fatalf("n %d: writes at %d", n, k)
					}
					continue
				}
				want := math.RoundToEven(min(max(float64(src[k])/4+8, 0), 255))
				if src[k] != src[k] {
					want = 0
				}
				if math.Abs(float64(q[i])-want) > 0 {
					t.Fatalf("n %d: %g becomes %d, want %g", n, src[k], q[i], want)
				}
				if v := 4 * float32(int(q[i])-8); wide[i] != v {
					t.Fatalf("n %d: %d becomes %g, want %g", n, q[i], wide[i], v)
				}
			}
		}
	})
}

func TestColumnSumsAtEveryLength(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(9, 10))
		for n := range 70 {
			for _, rows := range []int{0, 1, 2, 49} {
				src := make([]uint8, rows*n)
				for i := range src {
					src[i] = uint8(rnd.Uint32())
				}
				dst := make([]int32, n+2*guard)
				for i := range dst {
					dst[i] = -5
				}
				ColumnSums(dst[guard:guard+n], src)
				for i, got := range dst {
					want := int32(-5)
					if j := i - guard; j >= 0 && j < n {
						want = 0
						for r := range rows {
							want += int32(src[r*n+j])
						}
					}
					if got != want {
						t.Fatalf("%d rows of %d: sum %d is %d, want %d", rows, n, i-guard, got, want)
					}
				}
			}
		}
	})
}

func BenchmarkTile(b *testing.B) {
	for _, cols := range []int{16, 32, 48, 64} {
		p := newProblem(rand.New(rand.NewPCG(1, 1)), 192, cols, 1, 256, false)
		p.kinds(AddNone, false)
		b.Run(fmt.Sprintf("%v/192x256x%d", Active(), cols), func(b *testing.B) {
			for b.Loop() {
				p.Run()
			}
			b.ReportMetric(2*192*256*float64(cols)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
		})
	}
}
