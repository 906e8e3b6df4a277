package tensor

import (
	"slices"
	"testing"
)

// Sequences that grow from the same one do not share what was appended.
func TestSequencesThatGrowFromOne(t *testing.T) {
	at := func(v int64) *Tensor { return Integers([]int{}, []int64{v}) }
	values := func(s *Tensor) (out []int64) {
		for _, t := range s.List {
			out = append(out, t.Ints[0])
		}
		return out
	}
	grow := func(s *Tensor, v int64) *Tensor {
		longer, _ := s.Append(at(v))
		return longer
	}
	first := grow(grow(&Tensor{List: []*Tensor{}}, 1), 2)
	left, right := grow(first, 3), grow(first, 4)
	left2 := grow(left, 5)
	for _, x := range []struct {
		s    *Tensor
		want []int64
	}{{first, []int64{1, 2}}, {left, []int64{1, 2, 3}}, {right, []int64{1, 2, 4}}, {left2, []int64{1, 2, 3, 5}}} {
		if got := values(x.s); !slices.Equal(got, x.want) {
			t.Errorf("%d, want %d", got, x.want)
		}
	}
}
