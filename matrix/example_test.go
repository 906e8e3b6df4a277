package matrix_test

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
)

// Similarities and squared distances of all pairs of rows.
func Example() {
	x := matrix.FromSlice(3, 2, []float32{1, 0, 0, 2, 3, 4})
	s, d := matrix.New(3, 3), matrix.New(3, 3)
	matrix.Gemm(false, true, 1, x, x, 0, s)
	matrix.SquaredDistances(x, x, d)
	for i := range x.Rows {
		fmt.Println(s.Row(i), d.Row(i))
	}
	// Output:
	// [1 0 3] [0 5 20]
	// [0 4 8] [5 0 13]
	// [3 8 25] [20 13 0]
}
