package dot16

import (
	"fmt"
	"math"
)

// KeyRows and KeyColumns are the numbers of rows and of columns whose products Keys computes at a time.
const (
	KeyRows    = 8
	KeyColumns = 16
)

// MostKey is the largest key. The bits of a float32 value hold a key, and such values have the order of their keys.
const MostKey = 0x7f000000

// KeySpace says how products of KeyRows rows become keys.
type KeySpace struct {
	// Factor and Less are of each column.
	Factor, Less []float64
	// Lo and Scale are of each row.
	Lo, Scale [KeyRows]float64
}

// Keys computes the products in float64 of KeyRows rows with all columns, and their keys:
//
//	s = (x.y Factor - Less - Lo) Scale
//	key = 0 if s < 1, MostKey if s > MostKey, else the whole part of s
//
// The keys of row i begin at dst[i*stride]. rows holds the d values of the rows in turn, the first value of each row
// first. cols holds panels of KeyColumns columns, each in the same order. Bits depend on the machine. It panics if the
// lengths do not fit.
func Keys(dst []float32, stride int, rows []float64, cols []float32, d int, space *KeySpace) {
	n := len(space.Factor)
	if d < 1 || n%KeyColumns != 0 || len(space.Less) != n || len(rows) != KeyRows*d || len(cols) != n*d ||
		stride < n || len(dst) < (KeyRows-1)*stride+n {
		panic(fmt.Sprintf("dot16: keys of %d and %d values, %d columns of %d", len(rows), len(cols), n, d))
	}
	if n > 0 {
		keys(dst, stride, rows, cols, d, space)
	}
}

// keysGeneric is what Keys means.
func keysGeneric(dst []float32, stride int, rows []float64, cols []float32, d int, space *KeySpace) {
	for j, factor := range space.Factor {
		var dots [KeyRows]float64
		panel := cols[j/KeyColumns*KeyColumns*d:]
		for k := range d {
			v := float64(panel[k*KeyColumns+j%KeyColumns])
			for i, x := range rows[k*KeyRows : (k+1)*KeyRows] {
				dots[i] += x * v
			}
		}
		for i, dot := range dots {
			s := (dot*factor - space.Less[j] - space.Lo[i]) * space.Scale[i]
			dst[i*stride+j] = math.Float32frombits(uint32(min(max(s, 0), MostKey)))
		}
	}
}
