package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/run/internal/validation"
	"github.com/kindred-ml/kindred/train"
)

// encoder is a pretrained network that a run may start from, with the score of the untrained network at its own image
// size and preparation.
type encoder struct {
	name          string
	size          int                     // side of the images
	hits          map[int]float64         // 1 if the nearest other image of a position has its class, else 0
	inferenceTime time.Duration           // of an image in the network, in the fastest batch
	comparison    *train.PairedComparison // the best encoder compared with this one
}

// significanceLevel is the level of the t-test below which a difference between encoders counts.
const significanceLevel = 0.05

// encoderCandidates lists the networks that the run has to choose from; nil if the configuration names one
// or none. A list in network.pretrained has commas, but a file with that name comes first.
func encoderCandidates(ctx context.Context, n *NetworkConfig, opts *Options, d *data.Dataset) (
	names []string, err error) {
	names, key := opts.Encoders, optEncoders
	if _, err := rootfs.FromContext(ctx).Stat(n.Pretrained); strings.Contains(n.Pretrained, ",") && err != nil &&
		names == nil {
		key = "network.pretrained"
		for name := range strings.SplitSeq(n.Pretrained, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	switch {
	case names == nil:
		return nil, nil
	case key == optEncoders && n.Pretrained != "":
		err = fmt.Errorf("network.pretrained is %s: set only one of them", n.Pretrained)
	case slices.Contains(names, "") || slices.Contains(names, none):
		err = fmt.Errorf("%q: a list has names, files and folders of networks, with a comma between", n.Pretrained)
	case len(names) > maxEncoders:
		err = fmt.Errorf("%d networks: at most %d are compared: list these in network.pretrained", len(names),
			maxEncoders)
	case opts.Resume:
		err = errors.New("a run that has begun has its network: leave the list out")
	case opts.Ranks != nil || rootfs.FromContext(ctx) != nil:
		err = errors.New("machines differ in their speeds: name one network")
	case d.Features != nil:
		err = fmt.Errorf("data set %s holds ready features, which no network computes: leave the list out", d.Name)
	case n.Name != "":
		err = fmt.Errorf("network.name is %s, but a list has networks of its own: leave network.name out", n.Name)
	}
	if err != nil {
		return nil, option.Errorf("%s: %w", key, err)
	}
	return names, nil
}

// maxEncoders is the largest number of networks that are compared.
const maxEncoders = 8

// chooseEncoder replaces a list of networks by the one to start from. It compares the Recall@1 of the untrained
// networks on training and validation images, as measureSize does. Among those that are not worse than the best one by
// a paired t-test it takes the fastest.
func chooseEncoder(ctx context.Context, c *Config, opts *Options, d *data.Dataset, notes *notes) error {
	names, err := encoderCandidates(ctx, &c.Network, opts, d)
	if err != nil || names == nil {
		return err
	}
	var part *data.Part
	var tried []*encoder
	for k, name := range names {
		e, err := scoreEncoder(ctx, c, opts, d, name, &part, k, len(names))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			tried = append(tried, e)
		case opts.Encoders == nil:
			return fmt.Errorf("network %s of the list in network.pretrained: %w", name, err)
		default:
			notes.add("network %s is not tried: %v", name, err)
		}
	}
	if len(tried) == 0 {
		return option.Errorf("%s: none of the networks can be tried:\n%s", optEncoders, strings.Join(*notes, "\n"))
	}
	kept := selectEncoder(tried)
	c.Network.Pretrained = kept.name
	notes.add("%s", describeEncoders(tried, kept, part.Len()))
	return nil
}

// scoreEncoder scores a network on part, which the first call draws. k of n networks have been scored before.
func scoreEncoder(ctx context.Context, given *Config, opts *Options, d *data.Dataset, name string, part **data.Part,
	k, n int) (*encoder, error) {
	c := given.clone()
	c.Network.Pretrained = name
	if err := firstProblem(&c); err != nil {
		return nil, err
	}
	ignored := new(notes)
	look := func() imageShape { return measureShape(ctx, d) }
	start, err := findStart(ctx, &c, opts, d, look, ignored)
	if err != nil {
		return nil, err
	}
	loss, err := settleLoss(&c, opts, d, &start, look)
	if err != nil {
		return nil, err
	}
	if *part == nil {
		parts, _, err := splitDataset(ctx, &c, d, loss.options.Rule, ignored)
		if err != nil {
			return nil, withNotes(err, d)
		}
		if *part = sizeSample(parts, c.Train.Seed); *part == nil {
			return nil, errors.New("no class has two training images by which networks could be compared: name one " +
				"network")
		}
	}
	if err := choosePreprocessing(&c, d, &start, ignored); err != nil {
		return nil, err
	}
	chooseNetwork(&c, d, &start)
	b, err := start.newBareNet(&c, c.Data.Size)
	if err != nil {
		return nil, err
	}
	e := &encoder{name: name, size: c.Data.Size, hits: map[int]float64{}}
	images := (*part).Len()
	x, err := embedBare(ctx, b.cfg, timedNetwork{b.net, &e.inferenceTime}, *part, opts.FeatureProgress,
		k*images, n*images)
	if err != nil {
		return nil, err
	}
	found, _, err := validation.Search(ctx, &validation.Rows{X: eval.NormalizeRows(x.X), Labels: x.FineLabels()},
		eval.Euclidean)
	if err != nil {
		return nil, err
	}
	for row, f := range found {
		if f != validation.NotSearched {
			e.hits[x.Pos[row]] = float64(f - validation.Miss)
		}
	}
	return e, nil
}

// timedNetwork is a network that keeps the shortest time of an image in its evaluations.
type timedNetwork struct {
	train.Network
	shortest *time.Duration
}

func (t timedNetwork) Infer(x []float32, n int) *matrix.Dense {
	start := time.Now()
	y := t.Network.Infer(x, n)
	if took := time.Since(start) / time.Duration(n); *t.shortest == 0 || took < *t.shortest {
		*t.shortest = took
	}
	return y
}

// recall returns the Recall@1 of the network with its standard error.
func (e *encoder) recall() (value, spread float64) {
	n := float64(max(len(e.hits), 1))
	for _, f := range e.hits {
		value += f / n
	}
	return value, math.Sqrt(value * (1 - value) / n)
}

// selectEncoder returns the fastest of the encoders that are not worse than the one of the highest Recall@1, or are so
// by no more than chance explains. It sets the comparison of each.
func selectEncoder(tried []*encoder) *encoder {
	best := slices.MaxFunc(tried, func(a, b *encoder) int {
		x, _ := a.recall()
		y, _ := b.recall()
		return cmp.Compare(x, y)
	})
	kept := best
	for _, e := range tried {
		var its, bests []float64
		for pos, f := range e.hits {
			if g, ok := best.hits[pos]; ok {
				its, bests = append(its, f), append(bests, g)
			}
		}
		e.comparison = train.ComparePairs(its, bests)
		if e.comparison.P > significanceLevel && e.inferenceTime < kept.inferenceTime {
			kept = e
		}
	}
	return kept
}

// describeEncoders says how the encoders scored and why one is kept.
func describeEncoders(tried []*encoder, kept *encoder, images int) string {
	var said []string
	alike := 0
	for _, e := range tried {
		value, spread := e.recall()
		said = append(said, fmt.Sprintf("%s %.1f ± %.1f (%d px, %.2g ms an image)", e.name, 100*value, 100*spread,
			e.size, 1000*e.inferenceTime.Seconds()))
		if e.comparison.P > significanceLevel {
			alike++
		}
	}
	why := "the best one"
	if alike > 1 {
		why = fmt.Sprintf("the fastest of the %d best, which differ by no more than chance explains,", alike)
	}
	return fmt.Sprintf("network.pretrained is %s, %s by Recall@1 of the untrained networks on %d training images, in "+
		"per cent: %s; network.pretrained=NAME starts from another one", kept.name, why, images,
		strings.Join(said, ", "))
}
