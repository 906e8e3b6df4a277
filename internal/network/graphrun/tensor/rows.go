package tensor

// Rows goes through the values of a shape row by row: rows are its last axis, after axes were
// joined that every operand goes through as through one.
type Rows struct {
	Sides []int
	Steps [][]int // of each operand, along each axis
}

// NewRows prepares operands with the given strides.
func NewRows(shape []int, strides ...[]int) *Rows {
	r := &Rows{Steps: make([][]int, len(strides))}
	for i, d := range shape {
		if d == 1 {
			continue
		}
		k := len(r.Sides) - 1
		joins := k >= 0
		for o := range strides {
			joins = joins && r.Steps[o][k] == strides[o][i]*d
		}
		if joins {
			r.Sides[k] *= d
			for o := range strides {
				r.Steps[o][k] = strides[o][i]
			}
			continue
		}
		r.Sides = append(r.Sides, d)
		for o := range strides {
			r.Steps[o] = append(r.Steps[o], strides[o][i])
		}
	}
	if len(r.Sides) == 0 {
		r.Sides = []int{1}
		for o := range r.Steps {
			r.Steps[o] = []int{0}
		}
	}
	return r
}

// Width is the length of a row.
func (r *Rows) Width() int { return r.Sides[len(r.Sides)-1] }

// Count is how many rows there are.
func (r *Rows) Count() int { return Size(r.Sides[:len(r.Sides)-1]) }

// Stride is that of an operand within a row.
func (r *Rows) Stride(operand int) int { return r.Steps[operand][len(r.Sides)-1] }

// Walk calls body for rows lo to hi-1 with the offset of each operand.
func (r *Rows) Walk(lo, hi int, body func(row int, at []int)) {
	outer := r.Sides[:len(r.Sides)-1]
	place := make([]int, len(outer))
	at := make([]int, len(r.Steps))
	rest := lo
	for i := len(outer) - 1; i >= 0; i-- {
		place[i] = rest % outer[i]
		rest /= outer[i]
		for o := range at {
			at[o] += place[i] * r.Steps[o][i]
		}
	}
	for row := lo; row < hi; row++ {
		body(row, at)
		for i := len(outer) - 1; i >= 0; i-- {
			place[i]++
			for o := range at {
				at[o] += r.Steps[o][i]
			}
			if place[i] < outer[i] {
				break
			}
			for o := range at {
				at[o] -= place[i] * r.Steps[o][i]
			}
			place[i] = 0
		}
	}
}
