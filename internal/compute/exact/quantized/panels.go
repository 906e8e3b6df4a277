package quantized

import (
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/kernel/dot8"
	"github.com/kindred-ml/kindred/matrix"
)

// Rows are coded rows as the left factor of products. Different rows may be put at the
// same time if no panel is shared.
type Rows struct {
	kind   Kind
	d      int
	bytes  []int8
	bias   []int32
	ints   []int16
	floats *matrix.Dense
}

// NewRows makes room for n rows of d coordinates.
func NewRows(k Kind, n, d int) *Rows {
	r := &Rows{kind: k, d: d}
	r.Resize(n)
	return r
}

// Resize makes room for n rows, in place of those that were put before.
func (r *Rows) Resize(n int) {
	switch r.kind {
	case Bits8:
		r.bytes = resize(r.bytes, dot8.PackedLen(n, r.d, dot8.RowPanel))
		r.bias = resize(r.bias, padTo(n, dot8.RowPanel))
	case Bits16:
		r.ints = resize(r.ints, dot16.PackedLen(n, r.d, dot16.RowPanel))
	default:
		var data []float32
		if r.floats != nil {
			data = r.floats.Data
		}
		r.floats = &matrix.Dense{Rows: n, Cols: r.d, Stride: r.d, Data: resize(data, n*r.d)}
	}
}

// resize returns s with room for n values, whatever they are.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// FloatRows are the rows of x, of the kind Float32, without a copy.
func FloatRows(x *matrix.Dense) *Rows { return &Rows{kind: Float32, d: x.Cols, floats: x} }

// Put puts a row at place i.
func (r *Rows) Put(i int, row *Row) {
	switch r.kind {
	case Bits8:
		dot8.PackRow(r.bytes, i, row.bytes)
		r.bias[i] = row.bias
	case Bits16:
		dot16.Pack(r.ints, dot16.RowPanel, i, row.ints)
	default:
		copy(r.floats.Row(i), row.floats)
	}
}

// Columns are coded rows as the right factor of products. Different ones may be put at
// the same time if no panel of 32 is shared.
type Columns struct {
	kind Kind
	d    int
	// Bytes are the panels of Bits8 and Ints those of Bits16: the same on every machine,
	// so that they may be kept in files.
	Bytes  []uint8
	Ints   []int16
	floats *matrix.Dense
}

// NewColumns makes room for n rows of d coordinates.
func NewColumns(k Kind, n, d int) *Columns {
	c := &Columns{kind: k, d: d}
	switch k {
	case Bits8:
		c.Bytes = make([]uint8, dot8.PackedLen(n, d, dot8.ColPanel))
	case Bits16:
		c.Ints = make([]int16, dot16.PackedLen(n, d, dot16.ColPanel))
	default:
		c.floats = matrix.New(n, d)
	}
	return c
}

// StoredColumns returns columns from a file: of Bits8 if bytes is not nil, otherwise of
// Bits16.
func StoredColumns(d int, bytes []uint8, ints []int16) *Columns {
	if bytes != nil {
		return &Columns{kind: Bits8, d: d, Bytes: bytes}
	}
	return &Columns{kind: Bits16, d: d, Ints: ints}
}

// FloatColumns are the rows of x, of the kind Float32, without a copy.
func FloatColumns(x *matrix.Dense) *Columns { return &Columns{kind: Float32, d: x.Cols, floats: x} }

// Put puts a row at place i.
func (c *Columns) Put(i int, row *Row) {
	switch c.kind {
	case Bits8:
		dot8.PackColumn(c.Bytes, i, row.bytes)
	case Bits16:
		dot16.Pack(c.Ints, dot16.ColPanel, i, row.ints)
	default:
		copy(c.floats.Row(i), row.floats)
	}
}

// Prefetch prefetches part of columns lo..hi-1, the lines of memory that are the k-th of n
// equal shares, while other work goes on. The columns may be no longer
// mapped. Only Bits8 makes use of it.
func (c *Columns) Prefetch(lo, hi, k, n int) {
	if c.kind != Bits8 {
		return
	}
	depth := dot8.Depth(c.d)
	b := c.Bytes[min(lo*depth, len(c.Bytes)):min(hi*depth, len(c.Bytes))]
	share := (len(b)/n + 63) &^ 63
	dot8.Fetch(b[min(k*share, len(b)):min((k+1)*share, len(b))])
}
