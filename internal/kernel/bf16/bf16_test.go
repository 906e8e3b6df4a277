package bf16

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// eachLevel runs f at every level; those that the machine lacks are skipped by name.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for l := Generic; l <= AMX; l++ {
		t.Run(l.String(), func(t *testing.T) {
			defer Force(l)()
			if Active() != l {
				t.Skipf("the machine, or KINDRED_ISA=%s, has no %v", os.Getenv("KINDRED_ISA"), l)
			}
			f(t)
		})
	}
}

func TestFieldsAreWhereTheKernelsLook(t *testing.T) {
	var x Tile
	for i, off := range []uintptr{unsafe.Offsetof(x.A), unsafe.Offsetof(x.B), unsafe.Offsetof(x.C),
		unsafe.Offsetof(x.Add), unsafe.Offsetof(x.KOff), unsafe.Offsetof(x.COff), unsafe.Offsetof(x.Scale),
		unsafe.Offsetof(x.Shift), unsafe.Offsetof(x.sum), unsafe.Offsetof(x.Steps), unsafe.Offsetof(x.AStep),
		unsafe.Offsetof(x.ATile), unsafe.Offsetof(x.Rows), unsafe.Offsetof(x.maskBits), unsafe.Offsetof(x.HalfC),
		unsafe.Offsetof(x.HalfAdd), unsafe.Offsetof(x.lo),
		unsafe.Offsetof(x.BTile), unsafe.Offsetof(x.Next), unsafe.Offsetof(x.NextStep), unsafe.Offsetof(x.rowsAt)} {
		if off != uintptr(8*i) {
			t.Errorf("field %d lies at %d", i, off)
		}
	}
	if unsafe.Offsetof(x.hi) != unsafe.Offsetof(x.lo)+4 {
		t.Error("bounds do not lie side by side")
	}
}

func TestRounding(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ in, want float32 }{
		{1, 1}, {-2.5, -2.5}, {0, 0}, {inf, inf}, {-inf, -inf},
		{1 + 1.0/256, 1}, {1 + 3.0/256, 1 + 4.0/256}, {1 + 1.001/256, 1 + 2.0/256}, // halves go to even
		{math.MaxFloat32, inf}, {1e-39, 0}, {0x1p-126, 0x1p-126},
	} {
		if got := ToFloat(FromFloat(c.in)); got != c.want {
			t.Errorf("%g becomes %g, want %g", c.in, got, c.want)
		}
	}
	if got := ToFloat(FromFloat(nan)); got == got {
		t.Errorf("NaN becomes %g", got)
	}
	if FromFloat(float32(math.Copysign(1e-40, -1))) != 0x8000 {
		t.Error("a negative subnormal loses its sign")
	}
}

// bits draws float32 of all kinds: infinities, NaN, subnormals among them.
func bits(rnd *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		switch rnd.IntN(4) {
		case 0:
			v[i] = math.Float32frombits(rnd.Uint32())
		case 1:
			v[i] = math.Float32frombits(rnd.Uint32() & 0x807fffff) // zero, subnormal
		case 2:
			v[i] = math.Float32frombits(rnd.Uint32()<<16 | 0x8000) // half way
		default:
			v[i] = float32(rnd.NormFloat64())
		}
	}
	return v
}

func TestConversions(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(1, 2))
		for n := range 200 {
			a, b := bits(rnd, n), bits(rnd, n)
			dst := make([]uint16, n+2)
			dst[0], dst[n+1] = 7, 7
			Round(dst[1:n+1], a)
			if dst[0] != 7 || dst[n+1] != 7 {
				t.Fatalf("%d values: wrote outside", n)
			}
			for i, v := range a {
				if dst[i+1] != FromFloat(v) {
					t.Fatalf("%g becomes %#x, want %#x", v, dst[i+1], FromFloat(v))
				}
			}
			back := make([]float32, n+1)
			back[n] = 7
			Widen(back[:n], dst[1:n+1])
			for i := range n {
				if math.Float32bits(back[i]) != uint32(dst[i+1])<<16 {
					t.Fatalf("%#x becomes %g", dst[i+1], back[i])
				}
			}
			if back[n] != 7 {
				t.Fatalf("%d values: wrote outside", n)
			}
			checkSteps(t, a, n)
			for mode := range 3 {
				checkPairs(t, a, b, n, mode)
			}
		}
	})
}

func checkSteps(t *testing.T, src []float32, n int) {
	t.Helper()
	const rows, step = 3, 32*3 + 5
	if n < rows {
		return
	}
	n /= 2
	dst := make([]uint16, (n+31)/32*step)
	for i := range dst {
		dst[i] = 7
	}
	halves := make([]uint16, len(src))
	Round(halves, src)
	RoundSteps(dst, step, src, n/2, rows, n)
	again := make([]uint16, len(dst))
	for i := range again {
		again[i] = 7
	}
	if CopySteps(again, step, halves, n/2, rows, n); !slices.Equal(dst, again) {
		t.Fatalf("%d values: copied otherwise than rounded", n)
	}
	for i, got := range dst {
		row := i % step / 32
		if i%step >= 32*rows {
			if got != 7 {
				t.Fatalf("%d values: wrote outside, at %d", n, i)
			}
			continue
		}
		var want uint16
		if col := i/step*32 + i%step%32; col < n {
			want = FromFloat(src[row*(n/2)+col])
		}
		if got != want {
			t.Fatalf("%d values: %#x at %d, want %#x", n, got, i, want)
		}
	}
}

func checkPairs(t *testing.T, a, b []float32, n, mode int) {
	t.Helper()
	const step = 24
	blocks := (n + 15) / 16
	dst := make([]uint32, blocks*step+1)
	for i := range dst {
		dst[i] = 7
	}
	if mode == 1 {
		a = nil
	}
	if mode == 2 {
		b = nil
	}
	again := slices.Clone(dst)
	Pairs(dst, step, a, b, n)
	halves := func(v []float32) []uint16 {
		if v == nil {
			return nil
		}
		h := make([]uint16, len(v))
		Round(h, v)
		return h
	}
	if PairHalves(again, step, halves(a), halves(b), n); !slices.Equal(dst, again) {
		t.Fatalf("%d pairs, mode %d: halves are laid out otherwise", n, mode)
	}
	for i, got := range dst {
		var want uint32
		at := i/step*16 + i%step
		if i%step >= 16 || i/step >= blocks {
			want = 7
		} else if at < n {
			if a != nil {
				want = uint32(FromFloat(a[at]))
			}
			if b != nil {
				want |= uint32(FromFloat(b[at])) << 16
			}
		}
		if got != want {
			t.Fatalf("%d pairs, mode %d: %#x at %d, want %#x", n, mode, got, i, want)
		}
	}
}

// problem is a Tile with its operands.
type problem struct {
	tile       Tile
	a          []uint16
	b          []uint32
	c, add     []float32
	koff, coff []int64
	size       []float64 // sums of magnitudes
	want       []float64
}

// newProblem draws a product. Rows of A overlap, as those of convolutions do, steps
// lie anywhere and every seventh row is dropped.
func newProblem(rnd *rand.Rand, rows, cols, steps int) *problem {
	p := &problem{koff: make([]int64, steps), coff: make([]int64, rows)}
	const pixel = 5
	p.a = make([]uint16, (rows+48)*pixel+steps*40+64)
	for i := range p.a {
		p.a[i] = FromFloat(float32(rnd.NormFloat64()))
	}
	p.b = make([]uint32, (cols+15)/16*steps*256)
	for i := range p.b {
		if i%16+i/(256*steps)*16 < cols {
			p.b[i] = uint32(FromFloat(float32(rnd.NormFloat64()))) | uint32(FromFloat(float32(rnd.NormFloat64())))<<16
		}
	}
	for s := range p.koff {
		p.koff[s] = int64(2 * (40 * (steps - 1 - s)))
	}
	stride := cols + 3
	p.c, p.add = make([]float32, rows*stride), make([]float32, rows*stride)
	for i := range p.c {
		p.c[i], p.add[i] = 7, ToFloat(FromFloat(float32(rnd.NormFloat64())))
	}
	p.want, p.size = make([]float64, len(p.c)), make([]float64, len(p.c))
	for i := range rows {
		p.coff[i] = int64((rows - 1 - i) * stride)
		if i%7 == 3 {
			p.coff[i] = -1
			continue
		}
		for j := range cols {
			for k := range 32 * steps {
				s, d := k/32, k%32
				pair := p.b[(j/16*steps+s)*256+d/2*16+j%16]
				v := float64(ToFloat(p.a[int(p.koff[s])/2+i*pixel+d])) * float64(ToFloat(uint16(pair>>(16*(d%2)))))
				p.want[int(p.coff[i])+j] += v
				p.size[int(p.coff[i])+j] += math.Abs(v)
			}
		}
	}
	p.tile = Tile{A: unsafe.Pointer(&p.a[0]), B: unsafe.Pointer(&p.b[0]), C: unsafe.Pointer(&p.c[0]),
		KOff: &p.koff[0], COff: &p.coff[0], Steps: steps, AStep: 2 * pixel, ATile: 32 * pixel, BTile: 1024 * steps,
		Rows: rows, Cols: cols}
	return p
}

func TestTile(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(3, 4))
		sums := make([]float32, SumLen)
		for _, rows := range []int{1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 64, 71} {
			for _, cols := range []int{1, 3, 15, 16, 17, 31, 32} {
				for _, steps := range []int{1, 2, 5} {
					p := newProblem(rnd, rows, cols, steps)
					p.tile.Run(sums)
					for i, got := range p.c {
						if p.size[i] == 0 {
							if got != 7 {
								t.Fatalf("%d x %d x %d: wrote %g at %d", rows, cols, steps, got, i)
							}
						} else if !(math.Abs(float64(got)-p.want[i]) <= 1e-6*p.size[i]) {
							t.Fatalf("%d x %d x %d: %g at %d, want %g", rows, cols, steps, got, i, p.want[i])
						}
					}
				}
			}
		}
	})
}

// What follows a product is the same at every level, bfloat16 operands and results
// among it.
func TestTileStores(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(5, 6))
		for mode := range 64 {
			p := newProblem(rnd, 37, 16*(mode%2)+9, 2)
			x := &p.tile
			scale, shift := make([]float32, x.Cols), make([]float32, x.Cols)
			for j := range scale {
				scale[j], shift[j] = float32(rnd.NormFloat64()), float32(rnd.NormFloat64())
			}
			if mode&1 != 0 {
				x.Scale = &scale[0]
			}
			if mode&2 != 0 {
				x.Shift = &shift[0]
			}
			addHalf, half := make([]uint16, len(p.add)), make([]uint16, len(p.c))
			Round(addHalf, p.add)
			if mode&4 != 0 {
				x.Add = unsafe.Pointer(&p.add[0])
				if mode&8 != 0 {
					x.Add, x.HalfAdd = unsafe.Pointer(&addHalf[0]), true
				}
			}
			if x.HalfC = mode&16 != 0; x.HalfC {
				x.C = unsafe.Pointer(&half[0])
			}
			if mode&32 != 0 {
				x.ReLU = 1 + 5*(mode&1)
			}
			x.Run(make([]float32, SumLen))
			for i, want := range p.want {
				if p.size[i] == 0 {
					continue
				}
				j := i % (x.Cols + 3)
				if x.Scale != nil {
					want *= float64(scale[j])
				}
				if x.Shift != nil {
					want += float64(shift[j])
				}
				if x.Add != nil {
					want += float64(p.add[i])
				}
				if x.ReLU != 0 {
					want = max(want, 0)
				}
				if x.ReLU == 6 {
					want = min(want, 6)
				}
				got, bound := float64(p.c[i]), 1e-5
				if x.HalfC {
					got, bound = float64(ToFloat(half[i])), 0.005
				}
				if !(math.Abs(got-want) <= bound*(math.Abs(want)+0.1*p.size[i])) {
					t.Fatalf("mode %d: %g at %d, want %g", mode, got, i, want)
				}
			}
		}
	})
}

// The matrix unit and its twin agree to the bit, whatever the operands.
func TestTwin(t *testing.T) {
	defer Force(AMX)()
	if Active() != AMX {
		t.Skip("the machine has no matrix unit")
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for trial := range 60 {
		p := newProblem(rnd, 40, 29, 3)
		if trial >= 20 { // values whose products end near the subnormal ones, or beyond the largest
			for i := range p.a {
				p.a[i] = p.a[i]&0x807f | uint16(rnd.IntN(1+254*(trial/40)+40*(trial%2)))<<7
			}
		}
		if trial >= 50 {
			for i := range p.b {
				p.b[i] = rnd.Uint32()
			}
		}
		p.tile.Run(make([]float32, SumLen))
		amx := append([]float32(nil), p.c...)
		restore := Force(Generic)
		p.tile.Run(make([]float32, SumLen))
		restore()
		for i, want := range p.c {
			if got := amx[i]; math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
				t.Fatalf("trial %d: %g (%#x) at %d, plain Go has %g (%#x)", trial, got, math.Float32bits(got), i, want,
					math.Float32bits(want))
			}
		}
	}
}

func TestKnownAnswer(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		a, b, c := make([]uint16, 16*32), make([]uint32, 256), make([]float32, 256)
		koff, coff := []int64{0}, make([]int64, 16)
		for i := range a {
			a[i] = FromFloat(1.5)
		}
		for i := range b {
			b[i] = uint32(FromFloat(2)) | uint32(FromFloat(2))<<16
		}
		for i := range coff {
			coff[i] = int64(16 * i)
		}
		tile := Tile{A: unsafe.Pointer(&a[0]), B: unsafe.Pointer(&b[0]), C: unsafe.Pointer(&c[0]), KOff: &koff[0],
			COff: &coff[0], Steps: 1, AStep: 64, ATile: 1024, Rows: 16, Cols: 16}
		tile.Run(make([]float32, SumLen))
		for i, v := range c {
			if v != 96 {
				t.Fatalf("%g at %d, want 96", v, i)
			}
		}
	})
}

// Tiles are the thread's, not the goroutine's: goroutines that are moved between
// threads and interrupted by signals must not find another's.
func TestTilesUnderPreemption(t *testing.T) {
	defer Force(AMX)()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	want := map[int][]float32{}
	problemOf := func(seed int) *problem { return newProblem(rand.New(rand.NewPCG(uint64(seed), 1)), 64, 32, 40) }
	for g := range 8 {
		p := problemOf(g)
		p.tile.Run(make([]float32, SumLen))
		want[g] = p.c
	}
	stop := make(chan struct{})
	go func() { // stacks are scanned, and threads signalled for it
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			p, sums := problemOf(g), make([]float32, SumLen)
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
				clear(p.c)
				p.tile.Run(sums)
				for i, v := range want[g] {
					if p.coffHas(i) && p.c[i] != v {
						t.Errorf("goroutine %d: %g at %d, alone %g", g, p.c[i], i, v)
						return
					}
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	close(stop)
}

func (p *problem) coffHas(i int) bool { return p.size[i] > 0 }

func BenchmarkTile(b *testing.B) {
	for l := AVX512; l <= AMX; l++ {
		for _, steps := range []int{2, 18, 72} {
			b.Run(fmt.Sprintf("%v-%d", l, 32*steps), func(b *testing.B) {
				defer Force(l)()
				if Active() != l {
					b.Skipf("the machine has no %v", l)
				}
				const rows = 256
				p := newProblem(rand.New(rand.NewPCG(1, 1)), rows, 32, steps)
				a := make([]uint16, rows*32*steps) // tiles one after another
				for i := range p.koff {
					p.koff[i] = int64(1024 * i)
				}
				p.tile.A, p.tile.AStep, p.tile.ATile = unsafe.Pointer(&a[0]), 64, 1024*steps
				sums := make([]float32, SumLen)
				for b.Loop() {
					p.tile.Run(sums)
				}
				b.ReportMetric(2*rows*32*32*float64(steps*b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// A level that is forced is the one in use, if the machine has it, until that is undone.
func TestForce(t *testing.T) {
	before := Active()
	if simd.Active() < simd.AVX512 {
		t.Skip("plain Go alone")
	}
	for l := Generic; l <= AMX; l++ {
		restore := Force(l)
		if have, want := Active(), min(l, available()); have != want || hasVector() != (want != Generic) {
			t.Errorf("%v forced is %v, want %v; its kernels convert: %v", l, have, want, hasVector())
		}
		inner := Force(Generic)
		if Active() != Generic {
			t.Errorf("plain Go forced is %v", Active())
		}
		inner()
		if have, want := Active(), min(l, available()); have != want {
			t.Errorf("%v, forced again, is %v, want %v", l, have, want)
		}
		restore()
	}
	if Active() != before {
		t.Errorf("%v is in use, and was %v before", Active(), before)
	}
	defer simd.Force(simd.AVX2)()
	if Active() != Generic || hasVector() {
		t.Errorf("%v without AVX-512", Active())
	}
}
