//go:build !amd64 || noasm

package dot16

func countRow(v []float32, lo, hi float32, open []uint32) (above int, left bool) {
	return countRowGeneric(v, lo, hi, open)
}

func countColumns(above []int32, v []float32, less float32, lo, hi []float32, open []uint32) (left bool) {
	return countColumnsGeneric(above, v, less, lo, hi, open)
}
