package data

import "testing"

func TestSamePartition(t *testing.T) {
	for _, c := range []struct {
		a, b []int64
		want bool
	}{
		{nil, nil, true},
		{[]int64{0, 1, 0}, []int64{5, 6, 5}, true},
		{[]int64{0, 1, 0}, []int64{5, 5, 5}, false},
		{[]int64{0, 0, 0}, []int64{5, 6, 5}, false},
		{[]int64{0, 1, 2}, []int64{2, 0, 1}, true},
		{[]int64{0, 1, 1}, []int64{0, 1, 0}, false},
	} {
		if got := samePartition(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}
