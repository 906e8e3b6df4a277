package work

import (
	"math"
	"reflect"
	"testing"
)

// TestPositions: the ranges of a shard lead back to its samples, and ranges that are none of a set's are refused before
// they are counted out.
func TestPositions(t *testing.T) {
	for _, at := range [][]int{{0}, {3, 4, 5}, {0, 2, 3, 9}, {1, 3, 5, 7, 9}} {
		s := embedSpec{At: ranges(at)}
		if have, err := s.positions(10); err != nil || !reflect.DeepEqual(have, at) {
			t.Errorf("%v: %v, %v", at, have, err)
		}
	}
	if have := ranges([]int{0, 1, 2, 7, 8}); !reflect.DeepEqual(have, [][2]int{{0, 3}, {7, 9}}) {
		t.Error(have)
	}
	for _, at := range [][][2]int{{{-1, 2}}, {{0, 11}}, {{5, 5}}, {{5, 4}}, {{0, 5}, {4, 6}}, {{5, 6}, {0, 1}},
		{{0, math.MaxInt}}, {{math.MinInt, 0}}} {
		s := embedSpec{At: at}
		if have, err := s.positions(10); err == nil {
			t.Errorf("%v: %v", at, have)
		}
	}
}
