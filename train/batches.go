package train

import (
	"fmt"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/sample"
)

// population is what batches are drawn from.
type population struct {
	labels  []int64 // of the training part, 0..classes-1
	ids     []int64 // which samples are the same picture
	classes int
	single  int // classes with one picture only
}

func newPopulation(p *data.Part) *population {
	labels, names := p.Dense()
	out := &population{labels: labels, ids: p.Identities(), classes: len(names)}
	first := make([]int64, len(names)) // a picture of each class, complemented
	several := make([]bool, len(names))
	for i, y := range labels {
		if first[y] == 0 {
			first[y] = ^out.ids[i]
		} else if first[y] != ^out.ids[i] {
			several[y] = true
		}
	}
	for _, s := range several {
		if !s {
			out.single++
		}
	}
	return out
}

// notes are remarks about the classes.
func (p *population) notes() []string {
	switch {
	case p.single == 1:
		return []string{"1 training class has one picture only: it serves as a negative"}
	case p.single > 1:
		return []string{fmt.Sprintf("%d of %d training classes have one picture only: they serve as negatives", p.single, p.classes)}
	}
	return nil
}

// batch says what the samples at the given positions are.
func (p *population) batch(dst objective.Batch, pos []int) objective.Batch {
	dst.Labels, dst.IDs = dst.Labels[:0], dst.IDs[:0]
	for _, i := range pos {
		dst.Labels = append(dst.Labels, p.labels[i])
		dst.IDs = append(dst.IDs, p.ids[i])
	}
	return dst
}

// newSampler draws batches, and fills in what cfg leaves to the classes.
func newSampler(cfg *Config, p *population) (*sample.Balanced, error) {
	s, err := sample.New(p.labels, sample.Config{
		Classes: cfg.Sample.Classes, PerClass: cfg.Sample.PerClass, Batches: cfg.Sample.Batches, Seed: cfg.Train.Seed,
	})
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	cfg.Sample.Classes, cfg.Sample.PerClass = s.Config().Classes, s.Config().PerClass
	return s, nil
}

// checkPairs reports a run whose batches can hold no pairs for its loss. Losses
// with proxies compare samples with those.
func checkPairs(cfg *Config, o *objective.Options, p *population) error {
	if _, proxied := o.Loss.(loss.Proxied); proxied {
		return nil
	}
	switch {
	case p.single == p.classes:
		return fmt.Errorf("each of the %d training classes has one picture only: no sample has a positive; label more, or use a loss with proxies", p.classes)
	case cfg.Sample.Classes == 1 && o.Memory == 0:
		return fmt.Errorf("sample.classes: in a batch of one class no sample has a negative; take 2 or more, or loss.memory")
	case cfg.Sample.PerClass == 1 && o.Memory == 0:
		return fmt.Errorf("sample.per_class: in a batch with one sample of each class none has a positive; take 2 or more, or loss.memory")
	}
	return nil
}
