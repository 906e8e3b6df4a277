package clean

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/compute/detection"
	"github.com/kindred-ml/kindred/matrix"
)

// TestMislabels changes labels and looks for them, for docs/discover.md, beside the share
// of the neighbours with another label and confident learning (Northcutt, Jiang and
// Chuang 2021) on the same embedding. $KINDRED_MISLABELS lists embeddings as FILE:LABELS:COLUMN,
// divided by commas.
func TestMislabels(t *testing.T) {
	list := os.Getenv("KINDRED_MISLABELS")
	if list == "" {
		t.Skip("KINDRED_MISLABELS names no embeddings")
	}
	for _, entry := range strings.Split(list, ",") {
		part := strings.Split(entry, ":")
		tab, err := embedding.Load(part[0], part[1], []string{part[2]})
		if err != nil {
			t.Fatal(err)
		}
		x, labels := tab.X, tab.Labels()[0]
		if x.Rows > 6000 { // by a sample: the peers take n^2
			at := rand.New(rand.NewPCG(0, 0)).Perm(x.Rows)[:6000]
			few := make([]int64, len(at))
			for k, i := range at {
				few[k] = labels[i]
			}
			x, labels = x.RowsAt(at), few
		}
		fmt.Println(part[0], part[2], x.Rows, "items")
		for _, kind := range []string{"random", "look-alike"} {
			for _, rate := range []float64{0.02, 0.05, 0.1, 0.2} {
				var sum [3][2]float64
				var share, there, sure, hit, nearly, right float64
				const seeds = 3
				for seed := range uint64(seeds) {
					noisy, wrong := changeLabels(x, labels, kind, rate, seed)
					j := findErrors(t, noisy, Fold{X: x})
					neighbours, err := Disagreement(t.Context(), noisy, 0, Fold{X: x})
					if err != nil {
						t.Fatal(err)
					}
					confident, err := ConfidentLearning(t.Context(), noisy, Fold{X: x})
					if err != nil {
						t.Fatal(err)
					}
					for k, score := range [][]float64{j.Raw, neighbours, confident} {
						p, a := detection.PrecisionAndArea(score, wrong)
						sum[k][0] += p / seeds
						sum[k][1] += a / seeds
					}
					share += j.WrongShare / seeds
					for i, w := range wrong {
						if w {
							there += 1 / float64(len(wrong)) / seeds
						}
						if j.Score[i] >= 0.9 {
							if nearly++; w {
								right++
							}
						}
						if j.Score[i] >= 0.5 {
							if sure++; w {
								hit++
							}
						}
					}
				}
				changes := there * seeds * float64(len(labels))
				fmt.Printf("%-10s %2.0f %%: clean %.3f %.4f  neighbours %.3f %.4f  confident %.3f %.4f  "+
					"estimated share %.3f of %.3f, right and found from 0.9 on %.2f, %.2f, from 0.5 on %.2f, %.2f\n",
					kind, 100*rate, sum[0][0], sum[0][1], sum[1][0], sum[1][1], sum[2][0], sum[2][1], share, there,
					right/max(nearly, 1), right/changes, hit/max(sure, 1), hit/changes)
			}
		}
	}
}

// changeLabels changes labels: to any other, or to one of the two nearest classes.
func changeLabels(x *matrix.Dense, labels []int64, kind string, rate float64, seed uint64) (noisy []int64,
	wrong []bool) {
	y, ids := lists.Rank[int](labels)
	alike := detection.ConfusableClasses(x, y, len(ids), maxLookAlikes)
	rng := rand.New(rand.NewPCG(seed, 77))
	noisy, wrong = slices.Clone(labels), make([]bool, len(labels))
	for i := range noisy {
		if rng.Float64() >= rate {
			continue
		}
		c := rng.IntN(len(ids))
		if kind == "look-alike" {
			c = alike[y[i]][rng.IntN(min(2, len(alike[y[i]])))]
		}
		noisy[i], wrong[i] = ids[c], c != y[i]
	}
	return noisy, wrong
}
