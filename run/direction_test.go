package run

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/mat"
)

// hidden makes ready features of two coarse classes, the labels of training, with
// four finer classes in each, which training is never told. Coarse classes differ
// along one axis, finer ones along others. Half of the rows are for testing.
func hidden(seed uint64) *data.Dataset {
	const coarse, fine, per, dim = 2, 4, 40, 10
	rng := rand.New(rand.NewPCG(seed, 77))
	n := coarse * fine * per
	d := &data.Dataset{Name: "hidden", Layout: "test", Fine: "fine", Train: "coarse", Coarse: "coarse",
		Features: mat.New(n, dim)}
	kinds, classes := data.Column{Name: "fine"}, data.Column{Name: "coarse"}
	for c := range coarse {
		classes.Classes, classes.Numbers = append(classes.Classes, fmt.Sprint(c)), append(classes.Numbers, int64(c))
	}
	for f := range coarse * fine {
		kinds.Classes, kinds.Numbers = append(kinds.Classes, fmt.Sprint(f)), append(kinds.Numbers, int64(f))
	}
	for i := range n {
		f := i % (coarse * fine)
		c := f / fine
		row := d.Features.Row(i)
		for j := range row {
			row[j] = float32(0.5 * rng.NormFloat64())
		}
		row[0] += float32(3*c) - 1.5
		row[1+f%fine] += 2
		kinds.IDs, classes.IDs = append(kinds.IDs, int64(f)), append(classes.IDs, int64(c))
		d.Names = append(d.Names, fmt.Sprintf("row/%d", i))
		d.Splits = append(d.Splits, []data.Split{data.Train, data.Test}[i/(coarse*fine)%2])
	}
	d.Columns = []data.Column{kinds, classes}
	return d
}

// TestEasyPositivesKeepHiddenClasses is the main claim in small, with no data from
// elsewhere: a network that is told coarse labels only forgets the finer classes
// under random positives, and keeps them under easy ones, whatever the seed (Levi
// et al. 2021, section 5.1).
func TestEasyPositivesKeepHiddenClasses(t *testing.T) {
	recall := func(positives string, seed uint64) (fine, coarse float64) {
		cfg, err := Parse("test", nil,
			"network.name=mlp", "network.width=32", "network.dim=2", "sample.per_class=32", "sample.classes=2",
			"mine.positives="+positives, "mine.negatives=facenet", "train.epochs=30", "train.lr=0.01",
			"sample.batches=5",
			"eval.recall=1", "eval.every=30", fmt.Sprintf("train.seed=%d", seed))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Train(t.Context(), cfg, Options{Dataset: hidden(seed)})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Last().Metrics {
			switch m.Key() {
			case "test_recall@1":
				fine = m.Value
			case "test_label_recall@1":
				coarse = m.Value
			}
		}
		return fine, coarse
	}
	const seeds = 6
	var gain float64
	for seed := range uint64(seeds) {
		easy, easyCoarse := recall("easy", seed+1)
		random, randomCoarse := recall("random", seed+1)
		t.Logf("seed %d: finer classes %.3f with easy positives, %.3f with random ones; coarse %.3f and %.3f", seed+1,
			easy, random, easyCoarse, randomCoarse)
		gain += (easy - random) / seeds
		if easy <= random {
			t.Errorf("seed %d: easy positives find %.3f of the finer classes, random ones %.3f", seed+1, easy, random)
		}
		if easyCoarse < 0.9 || randomCoarse < 0.9 {
			t.Errorf("seed %d: the labels of training were not learnt: %.3f and %.3f", seed+1, easyCoarse, randomCoarse)
		}
	}
	if gain < 0.1 {
		t.Errorf("easy positives gain %.3f on average, want 0.1", gain)
	}
}
