package discover

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/matrix"
)

// TestSlicesOfRuns asks whether kinds in a plane are more than slices of it. All classes of
// the runs that match $KINDRED_KINDS, patterns divided by commas, are divided, and beside the NMI of the division stand
// those of 200 others, into slices of the same sizes across a random direction.
// $KINDRED_KINDS_SET is as in TestKindsOfRuns.
func TestSlicesOfRuns(t *testing.T) {
	var dirs []string
	for _, pattern := range strings.Split(os.Getenv("KINDRED_KINDS"), ",") {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, some...)
	}
	if len(dirs) == 0 {
		t.Skip("KINDRED_KINDS names no runs")
	}
	for _, dir := range dirs {
		stem := filepath.Join(dir, os.Getenv("KINDRED_KINDS_SET"))
		if os.Getenv("KINDRED_KINDS_SET") == "" {
			stem += string(filepath.Separator)
		}
		tab, err := embedding.Load(stem+"embeddings.npy", stem+"labels.csv", []string{"label", "coarse"})
		if err != nil {
			t.Fatal(err)
		}
		labels := tab.Labels()
		for k, c := range findSubClasses(t, tab.X, labels[1], Options{Level: 1, Resamples: -1}).Classes {
			var rows, sizes []int
			var truth, kind []int64
			for g, of := range c.SubClasses {
				rows, sizes = append(rows, of.Rows...), append(sizes, len(of.Rows))
				for _, i := range of.Rows {
					truth, kind = append(truth, labels[0][i]), append(kind, int64(g))
				}
			}
			rng := rand.New(rand.NewPCG(1, uint64(k)))
			var others []float64
			for range 200 {
				others = append(others, agreement(t, truth, sliceRows(tab.X.RowsAt(rows), sizes, rng)))
			}
			slices.Sort(others)
			fmt.Printf("%s, class %d: %d kinds, NMI %.3f; of slices: median %.3f, one in twenty from %.3f\n",
				filepath.Base(dir), k, len(c.SubClasses), agreement(t, truth, kind), others[100], others[190])
		}
	}
}

// sliceRows cuts rows across a random direction into groups of those sizes, in random order.
func sliceRows(x *matrix.Dense, sizes []int, rng *rand.Rand) []int64 {
	direction := drawNormal(rng, x.Cols, 1)
	place := make([]float64, x.Rows)
	order := make([]int, x.Rows)
	for i := range order {
		order[i] = i
		for j, v := range x.Row(i) {
			place[i] += float64(v) * float64(direction[j])
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if place[a] < place[b] {
			return -1
		}
		return 1
	})
	out := make([]int64, x.Rows)
	for _, g := range rng.Perm(len(sizes)) {
		for _, i := range order[:sizes[g]] {
			out[i] = int64(g)
		}
		order = order[sizes[g]:]
	}
	return out
}

func agreement(t *testing.T, truth, kind []int64) float64 {
	table, err := cluster.NewTable(truth, kind)
	if err != nil {
		t.Fatal(err)
	}
	return table.NMI(cluster.Arithmetic)
}
