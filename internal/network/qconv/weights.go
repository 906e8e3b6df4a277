package qconv

import "math"

// quantizeFilters returns the filters w, of so many each, as signed bytes, symmetric
// about zero, and what one unit of each filter is: w = unit[k] q. A filter of zeros has
// the unit 0.
func quantizeFilters(w []float32, filters int) (q []int8, unit []float64) {
	q, unit = make([]int8, len(w)), make([]float64, filters)
	depth := len(w) / filters
	for k := range filters {
		row, to := w[k*depth:(k+1)*depth], q[k*depth:(k+1)*depth]
		var largest float32
		for _, v := range row {
			largest = max(largest, v, -v)
		}
		if !(largest > 0) || math.IsInf(float64(largest), 0) {
			continue
		}
		unit[k] = float64(largest) / 127
		for i, v := range row {
			to[i] = int8(math.RoundToEven(float64(v) / unit[k]))
		}
	}
	return q, unit
}

// sumOf adds up a filter's bytes.
func sumOf(q []int8) (sum int64) {
	for _, v := range q {
		sum += int64(v)
	}
	return sum
}
