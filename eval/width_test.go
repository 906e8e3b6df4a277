package eval

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/matrix"
)

// Two vectors of millions of numbers fit in memory, but a tile of such vectors does not.
func TestWidthWithinMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(16 << 20))
	var over *budget.Error
	for _, c := range []struct {
		cols    int
		refused bool
	}{{128, false}, {1 << 17, true}} {
		x := matrix.New(2, c.cols)
		if _, err := Nearest(t.Context(), x, nil, 1, RankOptions{Distance: Euclidean}); errors.As(err,
			&over) != c.refused {
			t.Errorf("the nearest of 2 vectors of %d numbers: %v", c.cols, err)
		}
		set := Set{X: x, Labels: [][]int64{{1, 1}}}
		err := RankPositives(t.Context(), set, nil, RankOptions{Distance: Euclidean}, func(RankedQuery) {})
		if errors.As(err, &over) != c.refused {
			t.Errorf("the ranks of 2 vectors of %d numbers: %v", c.cols, err)
		}
	}
}
