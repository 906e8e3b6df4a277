package sweep

import (
	"slices"
	"testing"
)

// The last score is that of the network that was kept, at the run's last epoch and, of a run that
// ended early, at the one it was to reach.
func TestClosed(t *testing.T) {
	for _, c := range []struct {
		scores        []Score
		epochs, until int
		want          []Score
	}{
		{nil, 3, 3, []Score{{3, 7}}},
		{nil, 3, 4, []Score{{3, 7}, {4, 7}}},
		{[]Score{{1, 5}, {2, 6}}, 3, 3, []Score{{1, 5}, {2, 6}, {3, 7}}},
		{[]Score{{1, 5}, {3, 6}}, 3, 3, []Score{{1, 5}, {3, 7}}},
		{[]Score{{3, 6}}, 3, 9, []Score{{3, 7}, {9, 7}}},
	} {
		if got := fillScores(slices.Clone(c.scores), c.epochs, c.until, 7); !slices.Equal(got, c.want) {
			t.Errorf("%v after %d epochs of %d: %v, want %v", c.scores, c.epochs, c.until, got, c.want)
		}
	}
}
