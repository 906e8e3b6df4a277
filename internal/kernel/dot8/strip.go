package dot8

import "fmt"

// The kernel multiplies panels of RowPanel rows with panels of ColPanel rows (the
// columns of the product).
const (
	RowPanel = 32
	ColPanel = 32
)

// MaxDim is the largest number of coordinates whose products cannot leave 32 bits.
const MaxDim = 1 << 17

// fewest is the number of coordinates from which on products of 8 bits cost less than
// what they leave open.
const fewest = 48

// IsSuited reports whether rows of d coordinates are worth coding in 8 bits where products of
// these are fast. What is kept in files depends on it.
func IsSuited(d int) bool { return d >= fewest && d <= MaxDim }

// IsWorthwhile reports whether it is worth multiplying rows of d coordinates by this package here.
func IsWorthwhile(d int) bool { return IsFast() && IsSuited(d) }

// step is how many coordinates the kernel takes at a time: packed rows are as long as
// a whole number of steps.
const step = 64

// tile is the bytes of a step of 16 rows.
const tile = 16 * step

// Depth returns the number of bytes that d coordinates are packed into.
func Depth(d int) int { return (d + step - 1) / step * step }

// PackedLen returns the number of bytes that n rows of d coordinates take in panels of
// the given size.
func PackedLen(n, d, panel int) int { return (n + panel - 1) / panel * panel * Depth(d) }

// PackRow copies q, of Depth bytes, into place r of panels of RowPanel rows.
func PackRow(panels []int8, r int, q []int8) {
	// Tiles of 16 rows; in each, one step of all rows after the other.
	at := r/16*16*len(q) + r%16*step
	for ; len(q) > 0; q = q[step:] {
		copy(panels[at:at+step], q[:step])
		at += tile
	}
}

// PackColumn copies q, of Depth bytes, into place r of panels of ColPanel rows, raised
// by 128 to be unsigned.
func PackColumn(panels []uint8, r int, q []int8) {
	// Groups of four coordinates of all rows, one after the other.
	at := r/ColPanel*ColPanel*len(q) + r%ColPanel*4
	for ; len(q) >= 4; q = q[4:] {
		p := panels[at : at+4 : at+4]
		p[0], p[1], p[2], p[3] = uint8(q[0])^128, uint8(q[1])^128, uint8(q[2])^128, uint8(q[3])^128
		at += 4 * ColPanel
	}
}

// Bias is what the sum of a row's integers adds to its products because columns are
// raised by 128, with the sign turned: Strip takes it off.
func Bias(sum int32) int32 { return -128 * sum }

// Strip computes the products of one panel of RowPanel rows with all rows in panels of
// ColPanel: c[i*stride+j] is the product of row i and column j, where stride =
// len(c)/RowPanel is a multiple of ColPanel. a and b are packed rows of the given depth,
// bias holds the Bias of each row of a. It panics on other lengths.
func Strip(c []int32, a []int8, bias []int32, b []uint8, depth int) {
	panels := len(c) / (RowPanel * ColPanel)
	if len(c) != panels*RowPanel*ColPanel || len(a) != RowPanel*depth || len(b) != panels*ColPanel*depth ||
		len(bias) != RowPanel || depth%step != 0 {
		panic(fmt.Sprintf("dot8: %d products of %d by %d values of depth %d, %d biases", len(c), len(a), len(b), depth,
			len(bias)))
	}
	if panels == 0 || depth == 0 {
		clear(c)
		return
	}
	strip(c, a, bias, b, depth/step, panels)
}

// Fetch asks for columns that will be multiplied soon, in whole lines of 64 bytes, so
// that they come from memory while other work goes on. It may be of memory that is no
// longer mapped.
func Fetch(b []uint8) { fetch(b) }

// stripGeneric is what Strip means.
func stripGeneric(c []int32, a []int8, bias []int32, b []uint8, steps, panels int) {
	stride := panels * ColPanel
	for i := range RowPanel {
		row := a[i/16*steps*tile+i%16*step:]
		for j := range stride {
			col := b[j/ColPanel*ColPanel*steps*step+j%ColPanel*4:]
			s := bias[i]
			for k := range steps * step {
				s += int32(row[k/step*tile+k%step]) * int32(col[k/4*4*ColPanel+k%4])
			}
			c[i*stride+j] = s
		}
	}
}
