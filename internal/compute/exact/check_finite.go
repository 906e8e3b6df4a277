package exact

import (
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
)

// CheckFinite returns an error that names the first row of x with a NaN or an infinity,
// and the number of such rows, or nil if all rows are finite.
func CheckFinite(x *matrix.Dense, what string) error {
	bad, first, col := Finite(x)
	if bad == 0 {
		return nil
	}
	return fmt.Errorf("row %d of the %s embeddings holds %v (in dimension %d); %d of %d rows are not finite",
		first, what, x.At(first, col), col, bad, x.Rows)
}
