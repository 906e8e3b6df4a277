package bf16

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// The order in which a step's products are summed in plain Go: those of even and of odd
// places, each rounded once, then both, then the steps. What rounding takes shows the order.
func TestStepSum(t *testing.T) {
	step := func(products map[int]float32) float32 {
		a, b := make([]uint16, 32), make([]uint16, 2*(15*16+1))
		for k, v := range products {
			a[k], b[32*(k/2)+k%2] = FromFloat(v), FromFloat(1)
		}
		return stepSum(a, b)
	}
	for _, c := range []struct {
		name     string
		products map[int]float32
		want     float32
	}{
		{"every place", map[int]float32{0: 1, 1: 2, 2: 4, 3: 8, 15: 16, 16: 32, 30: 64, 31: 128}, 255},
		// One is lost beside 2^25, unless it is of the other half.
		{"both even", map[int]float32{0: 0x1p25, 2: 1, 4: -0x1p25}, 0},
		{"even and odd", map[int]float32{0: 0x1p25, 1: 1, 2: -0x1p25}, 1},
		{"even before the last", map[int]float32{0: 0x1p25, 28: -0x1p25, 30: 1}, 1},
		{"what is subnormal in the end", map[int]float32{0: 0x1p-126, 1: -0x1.8p-126}, 0},
	} {
		if got := step(c.products); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

// A product beyond the range of float32, or below it, is added as if exact.
func TestAddProduct(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ sum, a, b, want float32 }{
		{1, 2, 3, 7},
		{0x1p24, 1, 1, 0x1p24},                               // rounded to even
		{0x1p24, 3, 1, 0x1p24 + 4},                           // three is half way between
		{-0x1p127, 0x1p64, 0x1p64, 0x1p127},                  // 2^128 does not fit
		{0, 0x1p64, 0x1p64, inf},                             // nor does the sum
		{0x1p-126, 0x1p-80, -0x1p-80, 0x1p-126},              // 2^-160 is no float32
		{0x1p-126, -0x1p-64, 0x1p-63, 0},                     // what is left is subnormal
		{0x1.8p-126, -0x1p-64, 0x1p-63, 0x1p-126},            // and here it is not
		{0x1p-103, 0x1p-64, 0x1.8p-63, 0x1.000002p-103},      // half a unit and a quarter more
		{0, 0x1p-64, 0x1p-64, 0},                             // a subnormal sum
		{0x1.000002p-126, 0x1p-75, 0x1p-75, 0x1.000004p-126}, // 2^-150 is half a unit, not nothing
	} {
		if got := addProduct(c.sum, c.a, c.b); got != c.want {
			t.Errorf("%g + %g * %g: %g, want %g", c.sum, c.a, c.b, got, c.want)
		}
	}
	if got := load(0x807f); got != 0 || !math.Signbit(float64(got)) {
		t.Errorf("a negative subnormal is loaded as %g", got)
	}
	if got := load(0x0080); got != 0x1p-126 {
		t.Errorf("the least normal value is loaded as %g", got)
	}
	if got := flush(math.Float32frombits(0x807fffff)); got != 0 || !math.Signbit(float64(got)) {
		t.Errorf("a negative subnormal becomes %g", got)
	}
}

// Scale, shift, what is added and bounds, to the bit: the product and the shift are rounded
// once, and the sum with what is added again.
func TestStoreGeneric(t *testing.T) {
	scale, shift, add, half := float32(3), float32(0x1p-19), []float32{0, 10}, []uint16{0, FromFloat(2)}
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name string
		tile Tile
		v    float32
		want float32
	}{
		{"as it is", Tile{lo: -inf, hi: inf}, 1.5, 1.5},
		{"scaled", Tile{Scale: &scale, lo: -inf, hi: inf}, 1.5, 4.5},
		{"shifted", Tile{Shift: &shift, lo: -inf, hi: inf}, 1.5, 1.5 + 0x1p-19},
		{"both, rounded once", Tile{Scale: &scale, Shift: &shift, lo: -inf, hi: inf}, 0x1.555556p3, 0x1p5 + 0x1p-18},
		{"added", Tile{Add: unsafe.Pointer(&add[0]), lo: -inf, hi: inf}, 1.5, 11.5},
		{"half added", Tile{Add: unsafe.Pointer(&half[0]), HalfAdd: true, lo: -inf, hi: inf}, 1.5, 3.5},
		{"at least 0", Tile{lo: 0, hi: inf}, -1, 0},
		{"at most 6", Tile{lo: 0, hi: 6, Add: unsafe.Pointer(&add[0])}, 1.5, 6},
	} {
		out := []float32{7, 7, 7}
		c.tile.C = unsafe.Pointer(&out[0])
		if c.tile.storeGeneric(1, 0, c.v); out[1] != c.want || out[0] != 7 || out[2] != 7 {
			t.Errorf("%s: %v, want %v", c.name, out, c.want)
		}
		halves := []uint16{7, 7, 7}
		c.tile.C, c.tile.HalfC = unsafe.Pointer(&halves[0]), true
		if c.tile.storeGeneric(1, 0, c.v); halves[1] != FromFloat(c.want) || halves[0] != 7 || halves[2] != 7 {
			t.Errorf("%s: halves %v, want %#x", c.name, halves, FromFloat(c.want))
		}
	}
}

// Tiles of nothing are left alone, and those that cannot be are refused with their sizes.
func TestTileSizes(t *testing.T) {
	p := newProblem(rand.New(rand.NewPCG(9, 9)), 3, 5, 1)
	for name, change := range map[string]func(x *Tile){"rows": func(x *Tile) { x.Rows = 0 },
		"columns": func(x *Tile) { x.Cols = 0 }, "fewer": func(x *Tile) { x.Rows = -1 }} {
		x := p.tile
		if change(&x); x.Rows > 0 && x.Cols > 0 {
			t.Fatal(name)
		}
		x.Run(nil)
	}
	for name, run := range map[string]func(x *Tile){
		"0 steps":          func(x *Tile) { x.Steps = 0; x.Run(make([]float32, SumLen)) },
		"33 columns":       func(x *Tile) { x.Cols = 33; x.Run(make([]float32, SumLen)) },
		"for 1023 sums":    func(x *Tile) { x.Run(make([]float32, SumLen-1)) },
		"2 values for 3":   func(*Tile) { Round(make([]uint16, 3), make([]float32, 2)) },
		"1 values for 3":   func(*Tile) { Widen(make([]float32, 3), make([]uint16, 1)) },
		"2 and 3 values":   func(*Tile) { Pairs(make([]uint32, 16), 16, make([]float32, 2), make([]float32, 3), 3) },
		"3 and 2 values":   func(*Tile) { Pairs(make([]uint32, 16), 16, make([]float32, 3), make([]float32, 2), 3) },
		"4 and 3 values":   func(*Tile) { PairHalves(make([]uint32, 16), 16, make([]uint16, 4), make([]uint16, 3), 4) },
		"out of range [15": func(*Tile) { Pairs(make([]uint32, 15), 16, nil, nil, 1) },
		"out of range [39": func(*Tile) { PairHalves(make([]uint32, 39), 24, nil, nil, 17) },
		"out of range [4]": func(*Tile) { RoundSteps(make([]uint16, 64), 64, make([]float32, 4), 3, 2, 2) },
		"out of range [5]": func(*Tile) { CopySteps(make([]uint16, 64), 64, make([]uint16, 5), 3, 2, 3) },
		"range [63":        func(*Tile) { CopySteps(make([]uint16, 63), 64, make([]uint16, 6), 3, 2, 3) },
		"range [127":       func(*Tile) { RoundSteps(make([]uint16, 127), 64, make([]float32, 99), 33, 2, 33) },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, name) {
					t.Errorf("%s: %s", name, said)
				}
			}()
			x := p.tile
			run(&x)
		}()
	}
	// Nothing is done of nothing.
	Round(nil, nil)
	Widen(nil, nil)
	Pairs(nil, 16, nil, nil, 0)
	PairHalves(nil, 16, nil, nil, 0)
	for _, rows := range []int{0, -1} {
		RoundSteps(nil, 64, nil, 3, rows, 3)
		CopySteps(nil, 64, nil, 3, rows, 3)
		RoundSteps(nil, 64, nil, 3, 3, rows)
		CopySteps(nil, 64, nil, 3, 3, rows)
	}
	if View(nil) != nil || Words(nil) != nil {
		t.Error("views of nothing")
	}
	v := []float32{ToFloat(0x3f80), 2}
	if h, w := View(v), Words(v); len(h) != 4 || h[1] != 0x3f80 || len(w) != 2 || w[0] != 0x3f800000 {
		t.Errorf("%x, %x", h, w)
	}
}

// Rows of several steps whose last is not full, in a room that ends with them.
func TestStepsFitExactly(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		src := make([]float32, 3*40+33)
		for i := range src {
			src[i] = float32(i + 1)
		}
		halves := make([]uint16, len(src))
		Round(halves, src)
		for _, n := range []int{31, 32, 33} {
			room := (n-1)/32*200 + 32*4
			dst, again := make([]uint16, room), make([]uint16, room)
			RoundSteps(dst, 200, src[:3*40+n], 40, 4, n)
			CopySteps(again, 200, halves[:3*40+n], 40, 4, n)
			for i := range 4 {
				for j := range n {
					at := j/32*200 + 32*i + j%32
					if want := halves[40*i+j]; dst[at] != want || again[at] != want {
						t.Errorf("%d values: %#x and %#x at %d, want %#x", n, dst[at], again[at], at, want)
					}
				}
			}
		}
		pairs, same := make([]uint32, 24+16), make([]uint32, 24+16)
		Pairs(pairs, 24, src, src[1:], 17)
		PairHalves(same, 24, halves, halves[1:], 17)
		if want := uint32(halves[16]) | uint32(halves[17])<<16; pairs[24] != want || same[24] != want {
			t.Errorf("%#x and %#x, want %#x", pairs[24], same[24], want)
		}
	})
}
