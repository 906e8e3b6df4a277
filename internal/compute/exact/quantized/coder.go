package quantized

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
)

// Code is the result of coding a row.
type Code struct {
	// Unit is the factor of the integers; 1 for Float32, 0 for a row of zeros in
	// integers.
	Unit float32
	// Loss is at least the length of the coding error, +Inf for a row that 8
	// bits cannot hold. Such a row is coded as zeros.
	Loss float64
}

// Row is a coded row by itself.
type Row struct {
	bytes  []int8 // of Depth(d); one of these three
	ints   []int16
	floats []float32
	bias   int32 // of bytes
}

// Clone returns a copy that the Coder does not overwrite.
func (r *Row) Clone() Row {
	return Row{slices.Clone(r.bytes), slices.Clone(r.ints), slices.Clone(r.floats), r.bias}
}

// Coder codes rows, one at a time. The same row gives the same code on every machine.
type Coder struct {
	Row // the one that was coded last

	kind  Kind
	w     []float32 // the placed row, for Bits8
	zeros []float32
	u     []float64 // and for the others
}

// NewCoder makes a Coder for rows of d coordinates.
func NewCoder(k Kind, d int) *Coder {
	c := &Coder{kind: k}
	switch k {
	case Bits8:
		c.bytes, c.w, c.zeros = make([]int8, dot8.Depth(d)), make([]float32, d), make([]float32, d)
	case Bits16:
		c.ints, c.u = make([]int16, d), make([]float64, d)
	default:
		c.floats, c.u = make([]float32, d), make([]float64, d)
	}
	return c
}

// Zeros codes a row of zeros.
func (c *Coder) Zeros() {
	clear(c.bytes)
	clear(c.ints)
	clear(c.floats)
	c.bias = 0
}

// Float32 codes a row that is placed already.
func (c *Coder) Float32(x []float32) Code {
	switch c.kind {
	case Bits8:
		code, _ := c.place(x, c.zeros, 1, 0)
		return code
	case Bits16:
		u := c.u[:len(x)]
		for j, v := range x {
			u[j] = float64(v)
		}
		return c.Float64(u)
	}
	copy(c.floats, x)
	return Code{Unit: 1}
}

// Float64 codes a row that is placed already. Bits8 takes it as float32.
func (c *Coder) Float64(u []float64) Code {
	switch c.kind {
	case Bits8:
		w := c.w[:len(u)]
		for j, v := range u {
			w[j] = float32(v)
		}
		code, _ := c.place(w, c.zeros, 1, 0)
		return code
	case Bits16:
		unit, loss := dot16.Quantize(c.ints, u)
		return Code{float32(unit), loss}
	}
	var lost float64
	floats := c.floats[:len(u)]
	for j, v := range u {
		floats[j] = float32(v)
		e := v - float64(floats[j])
		lost += float64(e * e)
	}
	return Code{1, math.Sqrt(lost)}
}

// Placed is what the half of a row depends on.
type Placed struct {
	Norm   float64 // at least the row's length
	Square float64 // of that
	Dot    float64 // the product with what the row was placed about
}

// Shifted places a row, x f - m, and codes it. length is the length of m. Bits8 computes in
// float32. That error is in the loss; it does not affect Square and Dot.
func (c *Coder) Shifted(x, m []float32, f, length float64) (Code, Placed) {
	if c.kind == Bits8 {
		return c.place(x, m, float32(f), length)
	}
	u := c.u[:len(x)]
	m = m[:len(x)]
	var square, dot float64
	for j, v := range x {
		w := float64(float64(v)*f) - float64(m[j])
		u[j] = w
		square += float64(w * w)
		dot += float64(w * float64(m[j]))
	}
	return c.Float64(u), Placed{math.Sqrt(square), square, dot}
}

// place is Shifted for Bits8.
func (c *Coder) place(x, m []float32, f float32, length float64) (Code, Placed) {
	p := dot8.Place(c.w, x, m, f)
	q := dot8.Quantize(c.bytes, c.w, p, length)
	c.bias = dot8.Bias(q.Sum)
	return Code{q.Unit, q.Loss}, Placed{q.Norm, p.Square, p.Dot}
}
