package bench

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/objective"
)

// lossCases time one batch of a loss: normalisation, similarities, mining, loss
// and gradient with respect to the raw embeddings.
func lossCases() []Case {
	losses := []struct {
		name, about string
		mine, loss  map[string]any
	}{
		{
			"triplet", "triplet loss, easy positives, semi-hard negatives",
			map[string]any{"positives": "easy", "negatives": "semihard"},
			map[string]any{"name": "triplet", "margin": 0.2, "distance": "squared", "normalize": true},
		},
		{
			"margin", "margin loss, easy positives, distance-weighted negatives",
			map[string]any{"positives": "easy", "negatives": "distance"},
			map[string]any{"name": "margin", "margin": 0.2, "beta": 1.2, "normalize": true},
		},
		{
			"ms", "multi-similarity loss and mining",
			map[string]any{"positives": "ms", "negatives": "ms"},
			map[string]any{"name": "multisimilarity", "alpha": 2.0, "beta": 50.0, "lambda": 0.5, "epsilon": 0.1,
				"normalize": true},
		},
	}
	sizes := []struct{ n, dim, classes int }{{128, 128, 16}, {512, 128, 64}, {2048, 512, 256}}
	var cases []Case
	for _, l := range losses {
		for _, s := range sizes {
			cases = append(cases, Case{
				Name: fmt.Sprintf("%s-n%d-d%d", l.name, s.n, s.dim),
				About: fmt.Sprintf("%s: %d embeddings of %d numbers in %d classes, with gradient", l.about, s.n, s.dim,
					s.classes),
				Items: 1,
				Setup: func() (func() error, float64, error) {
					opts, err := objective.Parse(l.mine, l.loss)
					if err != nil {
						return nil, 0, err
					}
					opts.Classes, opts.Dim = s.classes, s.dim
					obj, err := objective.New(opts)
					if err != nil {
						return nil, 0, err
					}
					e, grad := normalMatrix(s.n, s.dim, 1), matrix.New(s.n, s.dim)
					labels := make([]int64, s.n)
					for i := range labels {
						labels[i] = int64(i % s.classes)
					}
					return func() error {
						_, err := obj.Step(context.Background(), e, objective.Batch{Labels: labels}, grad)
						return err
					}, 0, nil
				},
			})
		}
	}
	return cases
}
