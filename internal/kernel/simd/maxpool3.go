package simd

import (
	"fmt"
	"unsafe"
)

// MaxPool3 describes a row of 3 x 3 windows, two pixels apart, of a picture with an even
// number of columns that is padded by one: the windows of output q cover the columns from
// 2q-1 to 2q+1. X begins with the windows' first row that lies in the picture, Line values
// from one row to the next. A window is the union of the 2 x 2 windows that start at its
// first two rows and columns. One call of the kernel for these finds the maxima of all
// windows of a row that start alike; a fifth, over those four, the maximum of the union.
// Where the first row or column lies outside the picture, its neighbour stands in.
type MaxPool3 struct {
	X    []float32
	Line int
	C    int  // channels of a pixel
	Top  bool // the windows' first row lies outside the picture: X has two rows of them
	// Index, unless it is nil, receives where in its window (row*3 + column) each maximum
	// is. The first of equals counts, and NaN is larger than any number.
	Index []uint8
}

// ScratchLen is the number of values that Max needs to work in.
func (t *MaxPool3) ScratchLen() int { return 3 * t.Line }

// Max sets y, a row of Line/2 values, to the maxima.
func (t *MaxPool3) Max(y, room []float32) {
	c, n, rows := t.C, t.Line/2, 3
	if t.Top {
		rows = 2
	}
	if len(y) != n || t.Line%(2*c) != 0 || len(t.X) < rows*t.Line || len(room) < t.ScratchLen() {
		panic(fmt.Sprintf("simd: %d maxima of lines of %d values, %d channels, %d values, room for %d", len(y), t.Line,
			c, len(t.X), len(room)))
	}
	if t.Index == nil {
		t.max(y, room[:t.Line])
		return
	}
	vals, places := room[:4*n], unsafe.Slice((*uint8)(unsafe.Pointer(&room[4*n])), 5*n)
	for i := range 4 {
		start := i / 2
		if t.Top {
			start = 0
		}
		v, at := vals[i*n:(i+1)*n], places[i*n:(i+1)*n]
		x0, x1 := t.X[start*t.Line:][:t.Line], t.X[(start+1)*t.Line:][:t.Line]
		if i%2 == 1 {
			w := Pool{X0: x0, X1: x1, Index: at, C: c}
			w.Max(v)
			continue
		}
		// Windows that start at odd columns, except the first.
		w := Pool{X0: x0, X1: x1, Index: at[:c], C: c}
		w.Max(v[:c])
		w = Pool{X0: x0[c:], X1: x1[c:], Index: at[c:], C: c}
		w.Max(v[c:])
	}
	which := places[4*n:]
	w := Pool{X0: vals[:2*n], X1: vals[2*n:], Index: which, C: n}
	w.Max(y)
	t.index(which, places)
}

// max is Max where places do not matter: of the rows, then of neighbouring pixels.
func (t *MaxPool3) max(y, room []float32) {
	c, line := t.C, t.Line
	Larger(room, t.X[:line], t.X[line:2*line])
	if !t.Top {
		Larger(room, room, t.X[2*line:3*line])
	}
	for q := 0; q < len(y); q += c {
		to := y[q : q+c]
		Larger(to, room[2*q:2*q+c], room[2*q+c:2*q+2*c])
		if q > 0 {
			Larger(to, to, room[2*q-c:2*q])
		}
	}
}

// index fills in Index: which of the four windows, and places in these.
func (t *MaxPool3) index(which, places []uint8) {
	top := uint8(0)
	if t.Top {
		top = 1
	}
	taps := [16]uint8{}
	for w := range uint8(4) {
		r0 := top
		if w >= 2 {
			r0 = 1
		}
		for at := range uint8(4) {
			taps[w*4+at] = (r0+at/2)*3 + w%2 + at%2
		}
	}
	n := len(which)
	for i, w := range which {
		tap := taps[w*4+places[int(w)*n+i]]
		if i < t.C && w%2 == 0 {
			tap++ // the first window starts at column 0
		}
		t.Index[i] = tap
	}
}
