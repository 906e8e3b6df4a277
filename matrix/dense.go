package matrix

import "fmt"

// Dense is a float32 matrix in row-major order: element (i, j) is
// Data[i*Stride+j]. A Dense may be a view into another's storage; functions of
// this package do not keep references to their arguments.
type Dense struct {
	Rows, Cols, Stride int
	Data               []float32
}

// New returns an r x c matrix of zeros.
func New(r, c int) *Dense {
	return &Dense{Rows: r, Cols: c, Stride: c, Data: make([]float32, r*c)}
}

// FromSlice wraps data, r*c values in row-major order, without copying it.
// It panics if the length does not match.
func FromSlice(r, c int, data []float32) *Dense {
	if len(data) != r*c {
		panic(fmt.Sprintf("matrix: %d values for a %d x %d matrix", len(data), r, c))
	}
	return &Dense{Rows: r, Cols: c, Stride: c, Data: data}
}

// Row returns row i as a slice that shares the matrix's storage.
func (m *Dense) Row(i int) []float32 {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols : i*m.Stride+m.Cols]
}

// At returns element (i, j).
func (m *Dense) At(i, j int) float32 { return m.Row(i)[j] }

// RowsAt returns copies of the rows at the given places.
func (m *Dense) RowsAt(places []int) *Dense {
	out := New(len(places), m.Cols)
	for k, i := range places {
		copy(out.Row(k), m.Row(i))
	}
	return out
}

// RowRange returns rows lo..hi-1 as a view.
func (m *Dense) RowRange(lo, hi int) *Dense {
	if lo < 0 || hi < lo || hi > m.Rows {
		panic(fmt.Sprintf("matrix: rows %d..%d of a matrix with %d", lo, hi, m.Rows))
	}
	v := &Dense{Rows: hi - lo, Cols: m.Cols, Stride: m.Stride}
	if hi > lo {
		v.Data = m.Data[lo*m.Stride : (hi-1)*m.Stride+m.Cols]
	}
	return v
}
