package suspects

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/clean"
	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/run"
)

// CrossFit trains cfg n times on the items of set that s lists, each time without one part
// of every class, and embeds all items. A network that was trained on a wrong label would
// confirm it. begin is called with the number of the next fold, from 1. Folds sets
// opts.Dataset.
func CrossFit(ctx context.Context, s *review.Subjects, set *data.Dataset, cfg run.Config, n int, seed uint64,
	opts run.Options, begin func(k int)) ([]clean.Fold, error) {
	held := assignFolds(s.Labels, n, seed)
	cfg.Data.Split, cfg.Data.TrainClasses, cfg.Data.TestClasses, cfg.Data.Validation = "official", "", "", "none"
	cfg.Train.Best, cfg.Eval.Every, cfg.Eval.Train, cfg.Eval.Keep = "none", cfg.Train.Epochs, 0, false
	var out []clean.Fold
	for k := range n {
		d := *set
		d.Splits, d.Disjoint = make([]data.Split, d.Len()), false
		for p, i := range s.Index {
			d.Splits[i] = data.Train
			if held[p] == k {
				d.Splits[i] = data.Test
			}
		}
		begin(k + 1)
		opts.Dataset = &d
		res, err := run.Train(ctx, cfg, opts)
		if err != nil {
			return nil, fmt.Errorf("training without fold %d: %w", k+1, err)
		}
		m := &run.Model{Config: res.Config, Net: res.Net}
		e, err := m.EmbedPart(ctx, &data.Part{Data: &d, Index: s.Index, Label: s.Labels, Fine: s.Labels})
		if err != nil {
			return nil, err
		}
		if len(e.Pos) != len(s.Index) {
			return nil, fmt.Errorf("%d of %d pictures could not be read again", len(s.Index)-len(e.Pos), len(s.Index))
		}
		fold := clean.Fold{X: e.X}
		for p, h := range held {
			if h == k {
				fold.HeldOut = append(fold.HeldOut, p)
			}
		}
		out = append(out, fold)
	}
	return out, nil
}

// assignFolds gives every item one of n folds and divides each class as evenly as possible.
func assignFolds(labels []int64, n int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0xf01d))
	next := map[int64]int{}
	out := make([]int, len(labels))
	for _, i := range rng.Perm(len(labels)) {
		y := labels[i]
		if _, ok := next[y]; !ok {
			next[y] = rng.IntN(n)
		}
		out[i] = next[y] % n
		next[y]++
	}
	return out
}
