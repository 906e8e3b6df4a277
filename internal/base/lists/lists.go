// Package lists has the loops over lists that many packages need.
package lists

import (
	"cmp"
	"slices"
)

// Indices returns the numbers from 0 to n-1.
func Indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// At returns the elements of a list at the given places; nil for a nil list.
func At[E any](list []E, places []int) []E {
	if list == nil {
		return nil
	}
	out := make([]E, len(places))
	for k, i := range places {
		out[k] = list[i]
	}
	return out
}

// Set returns the different elements of a list.
func Set[E comparable](list []E) map[E]bool {
	out := make(map[E]bool, len(list))
	for _, e := range list {
		out[e] = true
	}
	return out
}

// Count returns how often each element occurs in a list.
func Count[E comparable](list []E) map[E]int {
	out := make(map[E]int)
	for _, e := range list {
		out[e]++
	}
	return out
}

// Group returns the different elements of a list, in the order in which they first occur, and the places of each.
func Group[E comparable](list []E) (elements []E, places [][]int) {
	number := make(map[E]int)
	for i, e := range list {
		k, ok := number[e]
		if !ok {
			k = len(elements)
			number[e] = k
			elements, places = append(elements, e), append(places, nil)
		}
		places[k] = append(places[k], i)
	}
	return elements, places
}

// Rank numbers the different elements of a list in ascending order. It returns the number of each element, and the
// different elements.
func Rank[N int | int64, E cmp.Ordered](list []E) (numbers []N, elements []E) {
	elements = slices.Compact(slices.Sorted(slices.Values(list)))
	numbers = make([]N, len(list))
	for i, e := range list {
		at, _ := slices.BinarySearch(elements, e)
		numbers[i] = N(at)
	}
	return numbers, elements
}

// Places returns the places of each number from 0 to n-1 in a list of numbers.
func Places[N int | int64](numbers []N, n int) [][]int {
	out := make([][]int, n)
	for i, k := range numbers {
		out[k] = append(out[k], i)
	}
	return out
}
