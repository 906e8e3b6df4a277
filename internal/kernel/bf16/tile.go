package bf16

import (
	"fmt"
	"math"
	"unsafe"
)

// The block that Tile computes at a time, and the depth of a step.
const (
	BlockRows = 32
	BlockCols = 32
	StepDepth = 32
)

// Tile describes a column of matrix-product blocks of 32 rows by at most 32
// columns:
//
//	C[i][j] = clamp(Scale[j] * sum over k of A[i][k] B[k][j] + Shift[j] + Add[i][j])
//
// for i < Rows and j < Cols, with the sum's terms as the package's comment has
// them. The depth is cut into Steps of 32 values, zeros at the end of the last.
// Values 32 s.. of row i of A lie at byte
//
//	A + KOff[s] + i/16*ATile + i%16*AStep
//
// so that rows may lie side by side or overlap, as the positions of an image do
// under a filter. Rows up to the next multiple of 16 must be readable. B holds, for
// each step and each of the 16 pairs of its values, 16 columns: [step][pair][column].
// The same for columns 16 and more lies BTile bytes behind. Add and C are found at
// COff[i] values from their start (a negative offset: the row is dropped), as bfloat16
// or float32.
type Tile struct {
	A, B, C      unsafe.Pointer
	Add          unsafe.Pointer // nil: nothing is added
	KOff         *int64         // of each step, in bytes
	COff         *int64         // of each row, in values
	Scale, Shift *float32       // nil, or one value a column
	sum          *float32       // a block's sums
	Steps        int
	AStep, ATile int // in bytes
	Rows         int
	maskBits     uint64
	HalfC        bool // C is bfloat16
	_            [7]byte
	HalfAdd      bool // Add is bfloat16
	_            [7]byte
	lo, hi       float32
	BTile        int // from the first 16 columns of B to the others, in bytes
	// Next is where in memory the kernel of AVX-512 asks for a line at each of the 16 pairs
	// of a step, for every 8 rows, NextStep bytes further each time: what later tiles need.
	// It stays where it stopped, which can be behind what was allocated: so it is no
	// pointer. Both 0: nothing is asked for.
	Next     uintptr
	NextStep int
	rowsAt   uintptr // in COff: the block's first
	Cols     int
	// ReLU says how results are clamped. 1: at least 0; 6: to 0..6.
	ReLU int
}

// SumLen is the room for the sums of a block.
const SumLen = BlockRows * BlockCols

// Run computes the tiles, with sums, of SumLen values, as room to work in. Nothing is
// done if Rows or Cols is 0.
func (t *Tile) Run(sums []float32) {
	if t.Rows <= 0 || t.Cols <= 0 {
		return
	}
	if t.Steps < 1 || t.Cols > BlockCols || len(sums) < SumLen {
		panic(fmt.Sprintf("bf16: tile of %d steps and %d columns, room for %d sums", t.Steps, t.Cols, len(sums)))
	}
	t.sum, t.maskBits = &sums[0], 1<<t.Cols-1
	if t.Next == 0 {
		t.Next = uintptr(t.A)
	}
	t.lo, t.hi = float32(math.Inf(-1)), float32(math.Inf(1))
	if t.ReLU != 0 {
		t.lo = 0
	}
	if t.ReLU == 6 {
		t.hi = 6
	}
	switch Active() {
	case AMX:
		tileMatrix(t)
	case AVX512:
		tileVector(t)
	default:
		t.runGeneric()
	}
	t.sum = nil
}

func addOffset[T any](p *T, off int) *T { return (*T)(unsafe.Add(unsafe.Pointer(p), off)) }

// runGeneric is what Run means.
func (t *Tile) runGeneric() {
	for i := range t.Rows {
		to := int(*addOffset(t.COff, 8*i))
		if to < 0 {
			continue
		}
		row := unsafe.Add(t.A, i/16*t.ATile+i%16*t.AStep)
		for j := range t.Cols {
			var sum float32
			for s := range t.Steps {
				a := unsafe.Slice((*uint16)(unsafe.Add(row, *addOffset(t.KOff, 8*s))), StepDepth)
				b := unsafe.Slice((*uint16)(unsafe.Add(t.B, j/16*t.BTile+4*(s*256+j%16))), 512-2*(j%16))
				sum = flush(sum + stepSum(a, b))
			}
			t.storeGeneric(to+j, j, sum)
		}
	}
}

// stepSum is the sum of a step's products; b's pairs are 32 values apart.
func stepSum(a, b []uint16) float32 {
	var even, odd float32
	for k := range 16 {
		even = addProduct(even, load(a[2*k]), load(b[32*k]))
		odd = addProduct(odd, load(a[2*k+1]), load(b[32*k+1]))
	}
	return flush(even + odd)
}

// addProduct is sum + a b, rounded once. The product of two bfloat16 is exact in
// float32, unless it leaves the range.
func addProduct(sum, a, b float32) float32 {
	p := a * b
	if e := math.Float32bits(p) & 0x7f800000; e == 0 || e == 0x7f800000 {
		return flush(float32(float64(sum) + float64(a)*float64(b)))
	}
	return flush(sum + p)
}

// load is ToFloat with subnormal values taken as zero.
func load(h uint16) float32 {
	if h&0x7f80 == 0 {
		h &= 0x8000
	}
	return ToFloat(h)
}

// flush takes a subnormal value to zero.
func flush(x float32) float32 {
	if b := math.Float32bits(x); b&0x7f800000 == 0 {
		return math.Float32frombits(b & 0x80000000)
	}
	return x
}

func (t *Tile) storeGeneric(to, j int, v float32) {
	scale, shift := float32(1), float32(0)
	if t.Scale != nil {
		scale = *addOffset(t.Scale, 4*j)
	}
	if t.Shift != nil {
		shift = *addOffset(t.Shift, 4*j)
	}
	v = float32(math.FMA(float64(scale), float64(v), float64(shift)))
	switch {
	case t.Add != nil && t.HalfAdd:
		v += ToFloat(*(*uint16)(unsafe.Add(t.Add, 2*to)))
	case t.Add != nil:
		v += *(*float32)(unsafe.Add(t.Add, 4*to))
	}
	v = min(max(v, t.lo), t.hi)
	if t.HalfC {
		*(*uint16)(unsafe.Add(t.C, 2*to)) = FromFloat(v)
		return
	}
	*(*float32)(unsafe.Add(t.C, 4*to)) = v
}
