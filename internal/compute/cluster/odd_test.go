package cluster

import (
	"math"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

func TestKMeansRefuses(t *testing.T) {
	x := matrix.FromSlice(3, 2, []float32{0, 0, 1, 0, 0, 1})
	for name, c := range map[string]struct {
		x    *matrix.Dense
		cfg  Config
		want string
	}{
		"nil":      {nil, Config{K: 1}, "at least one row"},
		"no rows":  {matrix.New(0, 2), Config{K: 1}, "at least one row"},
		"K 0":      {x, Config{}, "must be 1 to 3"},
		"K below":  {x, Config{K: -1}, "must be 1 to 3"},
		"K above":  {x, Config{K: 4}, "must be 1 to 3"},
		"start":    {x, Config{K: 2, Init: 2}, "Init(2)"},
		"restarts": {x, Config{K: 2, Restarts: -1}, "-1 restarts"},
		"batch":    {x, Config{K: 2, BatchSize: -1}, "batches of -1"},
		"NaN":      {matrix.FromSlice(2, 2, []float32{0, 1, 2, float32(math.NaN())}), Config{K: 1}, "row 1 holds NaN"},
		"infinity": {matrix.FromSlice(2, 2, []float32{float32(math.Inf(-1)), 1, 2, 3}), Config{K: 2},
			"row 0 holds -Inf"},
		"minibatch": {matrix.FromSlice(2, 1, []float32{1, float32(math.Inf(1))}), Config{K: 2, BatchSize: 2},
			"row 1 holds +Inf"},
	} {
		if _, err := KMeans(t.Context(), c.x, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
