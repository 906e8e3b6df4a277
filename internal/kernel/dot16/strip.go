package dot16

import "fmt"

// Strip computes the products of one panel of RowPanel rows with all rows in
// panels of ColPanel: c[i*stride+j] is the product of row i and column j, where
// stride = len(c)/RowPanel is a multiple of ColPanel. a and b are packed rows of
// the given number of pairs. It panics on other lengths.
func Strip(c []int32, a, b []int16, pairs int) {
	panels := len(c) / (RowPanel * ColPanel)
	if len(c) != panels*RowPanel*ColPanel || len(a) != RowPanel*2*pairs || len(b) != panels*ColPanel*2*pairs {
		panic(fmt.Sprintf("dot16: %d products of %d by %d values in %d pairs", len(c), len(a), len(b), pairs))
	}
	if panels == 0 || pairs == 0 {
		clear(c)
		return
	}
	strip(c, a, b, pairs, panels)
}

// stripGeneric is what Strip means.
func stripGeneric(c []int32, a, b []int16, pairs, panels int) {
	stride := panels * ColPanel
	for i := range RowPanel {
		for j := range stride {
			col := b[j/ColPanel*pairs*ColPanel*2:]
			var s int32
			for p := range pairs {
				x, y := 2*(p*RowPanel+i), 2*(p*ColPanel+j%ColPanel)
				s += int32(a[x])*int32(col[y]) + int32(a[x+1])*int32(col[y+1])
			}
			c[i*stride+j] = s
		}
	}
}

// Columns holds what Filter needs to know of the columns of a strip, a value for
// each, all of the same length.
type Columns struct {
	Scale []float32 // length of a unit
	Half  []float32 // subtracted from the scaled product
	Lo    []float32 // threshold of the column's own
}

// Row holds the same of the row.
type Row struct {
	Scale, Half, Lo float32
}

// Filter scores one row of products and compares the scores with thresholds:
//
//	v[j]    = c[j] cols.Scale[j] row.Scale - cols.Half[j]
//	bit j%16 of mask[j/16] is set if v[j] >= row.Lo
//	bit 16 + j%16 if v[j] - row.Half >= cols.Lo[j]
//
// in float32, with one rounding less where the processor fuses the product and
// the difference. The number of columns must be a multiple of 16.
func Filter(v []float32, mask []uint32, c []int32, row Row, cols *Columns) {
	n := len(c)
	if n%16 != 0 || len(v) != n || len(mask) != n/16 || len(cols.Scale) != n || len(cols.Half) != n ||
		len(cols.Lo) != n {
		panic(fmt.Sprintf("dot16: filter of %d products", n))
	}
	if n > 0 {
		filter(v, mask, c, row, cols)
	}
}

// filterGeneric is what Filter means.
func filterGeneric(v []float32, mask []uint32, c []int32, row Row, cols *Columns) {
	clear(mask)
	for j, p := range c {
		s := float32(p)*cols.Scale[j]*row.Scale - cols.Half[j]
		v[j] = s
		if s >= row.Lo {
			mask[j/16] |= 1 << (j % 16)
		}
		if s-row.Half >= cols.Lo[j] {
			mask[j/16] |= 1 << (16 + j%16)
		}
	}
}
