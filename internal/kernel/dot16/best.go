package dot16

import (
	"fmt"
	"math"
)

// Top is the best two scores of a row so far, in 16 lanes: lane l has seen the
// columns l, l+16, ...
type Top struct {
	first  [16]float32
	at     [16]int32
	second [16]float32
}

// Reset forgets all scores.
func (t *Top) Reset() {
	for l := range t.first {
		t.first[l], t.second[l], t.at[l] = float32(math.Inf(-1)), float32(math.Inf(-1)), 0
	}
}

// Result returns the best score, the lowest column that has it, and the best
// score of any other column.
func (t *Top) Result() (first float32, at int32, second float32) {
	first, second = float32(math.Inf(-1)), float32(math.Inf(-1))
	for l, v := range t.first {
		switch {
		case v > first || v == first && t.at[l] < at:
			second = max(second, first)
			first, at = v, t.at[l]
		default:
			second = max(second, v)
		}
		second = max(second, t.second[l])
	}
	return first, at, second
}

// Best scores one row of products as Filter does, of columns base, base+1, ...,
// and takes them into top. cols.Lo is not used. The number of columns must be a
// multiple of 16.
func Best(v []float32, c []int32, rowScale float32, cols *Columns, base int32, top *Top) {
	n := len(c)
	if n%16 != 0 || len(v) != n || len(cols.Scale) != n || len(cols.Half) != n {
		panic(fmt.Sprintf("dot16: best of %d products", n))
	}
	if n > 0 {
		best(v, c, rowScale, cols, base, top)
	}
}

// bestGeneric is what Best means.
func bestGeneric(v []float32, c []int32, rowScale float32, cols *Columns, base int32, top *Top) {
	for j, p := range c {
		s := float32(p)*cols.Scale[j]*rowScale - cols.Half[j]
		v[j] = s
		top.Take(s, base+int32(j))
	}
}

// Take takes in the score of one column.
func (t *Top) Take(score float32, column int32) {
	l := column % 16
	t.second[l] = max(t.second[l], min(score, t.first[l]))
	if score > t.first[l] {
		t.first[l], t.at[l] = score, column
	}
}
