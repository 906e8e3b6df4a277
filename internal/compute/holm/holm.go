// Package holm corrects p-values for their number.
package holm

import (
	"cmp"
	"slices"
)

// Correct corrects p for their number (Holm 1979): the i-th smallest of n is multiplied by n - i + 1, and is at least
// as large as the smaller ones, at most 1.
func Correct(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out, least := make([]float64, len(p)), 0.0
	for i, at := range order {
		least = max(least, min(1, p[at]*float64(len(p)-i)))
		out[at] = least
	}
	return out
}
