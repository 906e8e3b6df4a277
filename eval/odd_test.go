package eval

import (
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func TestNearestRefuses(t *testing.T) {
	x := matrix.FromSlice(3, 1, []float32{0, 1, 2})
	bad := matrix.FromSlice(2, 1, []float32{0, float32(math.NaN())})
	for name, c := range map[string]struct {
		q, g *matrix.Dense
		k    int
		opt  RankOptions
		want string
	}{
		"nil":        {nil, x, 1, RankOptions{}, "there are no query embeddings"},
		"no rows":    {matrix.New(0, 1), nil, 1, RankOptions{}, "1 nearest of -1 items: must be 1 to 0"},
		"k 0":        {x, nil, 0, RankOptions{}, "must be 1 to 2"},
		"k below":    {x, x, -1, RankOptions{}, "must be 1 to 3"},
		"k above":    {x, nil, 3, RankOptions{}, "must be 1 to 2"},
		"dimensions": {x, matrix.New(3, 2), 1, RankOptions{}, "the queries have 1 dimensions, but the gallery has 2"},
		"query":      {bad, x, 1, RankOptions{}, "row 1 of the query embeddings holds NaN"},
		"gallery":    {x, bad, 1, RankOptions{}, "row 1 of the gallery embeddings holds NaN"},
		"distance":   {x, nil, 1, RankOptions{Distance: 3}, "unknown distance Distance(3)"},
	} {
		if _, err := Nearest(t.Context(), c.q, c.g, c.k, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	n, err := Nearest(t.Context(), matrix.New(0, 1), x, 2, RankOptions{})
	if err != nil || len(n.Row) != 0 {
		t.Errorf("no queries: %+v, %v", n, err)
	}
}
