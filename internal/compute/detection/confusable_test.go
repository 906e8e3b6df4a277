package detection

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func TestLookAlikes(t *testing.T) {
	line := func(at ...float32) *matrix.Dense {
		x := matrix.New(len(at), 1)
		copy(x.Data, at)
		return x
	}
	for _, c := range []struct {
		x             *matrix.Dense
		y             []int
		classes, most int
		want          [][]int
	}{
		{line(0, 2, 10, 11.5), []int{0, 1, 2, 3}, 4, 2, [][]int{{1, 2}, {0, 2}, {3, 1}, {2, 1}}},
		{line(0, 4, 10, 10), []int{0, 0, 1, 2}, 3, 3, [][]int{{1, 2}, {2, 0}, {1, 0}}}, // a mean, and equal ones
		{line(5, 6), []int{0, 2}, 3, 1, [][]int{{2}, {0}, {0}}},                        // one has no rows
		{line(5), []int{0}, 1, 2, [][]int{nil}},
		{matrix.New(0, 3), nil, 0, 2, [][]int{}},
	} {
		if got := ConfusableClasses(c.x, c.y, c.classes, c.most); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v of %v: %v, want %v", c.y, c.x.Data, got, c.want)
		}
	}
	// Against all distances, sorted.
	rng := rand.New(rand.NewPCG(1, 2))
	const classes = 12
	x, y := matrix.New(classes, 5), make([]int, classes)
	for i := range x.Data {
		x.Data[i] = rng.Float32()
	}
	for i := range y {
		y[i] = i
	}
	d := matrix.New(classes, classes)
	matrix.SquaredDistances(x, x, d)
	for c, got := range ConfusableClasses(x, y, classes, classes) {
		if len(got) != classes-1 || slices.Contains(got, c) ||
			!slices.IsSortedFunc(got, func(a, b int) int { return int(1e6 * (d.At(c, a) - d.At(c, b))) }) {
			t.Errorf("class %d: %v", c, got)
		}
	}
}
