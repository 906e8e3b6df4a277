package objective

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
)

// Part is the K-th, from 1, of N equal parts of an embedding, or its First numbers if that is
// not 0. The zero value is the whole embedding.
type Part struct {
	K, N  int
	First int
}

// isWhole reports whether p is all of an embedding.
func (p Part) isWhole() bool { return p == Part{} }

// check compares p with an embedding of dim numbers; 0: not known yet.
func (p Part) check(dim int) error {
	switch {
	case p.isWhole():
	case p.First < 0 || p.First > 0 && dim > 0 && p.First > dim:
		return fmt.Errorf("the first %d numbers of an embedding of %d: choose another network.dim, or shorter parts "+
			"(loss.nested)", p.First, dim)
	case p.First > 0:
	case p.K < 1 || p.K > p.N:
		return fmt.Errorf("part %d/%d: there are parts 1/%d to %d/%d", p.K, p.N, p.N, p.N, p.N)
	case dim%p.N != 0:
		return fmt.Errorf("part %d/%d: an embedding of %d numbers has no %d equal parts: choose another network.dim",
			p.K, p.N, dim, p.N)
	}
	return nil
}

// numDims is how many of an embedding's dim numbers p has.
func (p Part) numDims(numDims int) int {
	switch {
	case p.isWhole():
		return numDims
	case p.First > 0:
		return p.First
	}
	return numDims / p.N
}

// columns returns the part of m, which may be nil, with view as its memory.
func (p Part) columns(m, view *matrix.Dense) *matrix.Dense {
	if m == nil || p.isWhole() {
		return m
	}
	n := p.numDims(m.Cols)
	*view = matrix.Dense{Rows: m.Rows, Cols: n, Stride: m.Stride}
	if m.Rows > 0 {
		view.Data = m.Data[max(p.K-1, 0)*n:]
	}
	return view
}
