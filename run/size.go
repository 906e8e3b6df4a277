package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
)

const (
	// sizeImages is about how many training images sizes are compared on.
	sizeImages = 2000
	// fewestSizeImages is the least number of images that a comparison needs: of fewer,
	// half a point is less than one image.
	fewestSizeImages = 100
	// sizeSlack is how much Recall@1 a size may lose against the best one.
	sizeSlack = 0.005
	// manySizeImages is from how many images a difference of sizeSlack is known well enough
	// to take the smaller size, which saves time. Of fewer, the larger size is taken: all of
	// them find their class, and what one image decides is no reason to give up detail.
	manySizeImages = 1000
	// sizeLost is how far behind the best a size is when smaller ones are not tried.
	sizeLost = 0.05
	// leastSize is the smallest side that is tried.
	leastSize = 64
	// sizeBatch is how many images go through the untrained network at a time.
	sizeBatch = 32
)

// sizes are those that are compared: the network's own and about six smaller ones, in
// multiples of 32, which the strides of most networks divide.
func sizes(full int) []int {
	out := []int{full}
	step := max(32, (full/7+16)/32*32)
	for s := (full - 1) / 32 * 32; s >= leastSize; s -= step {
		out = append(out, s)
	}
	return out
}

// measureSize chooses the size of the images by the untrained network, among those whose
// Recall@1 on the training and validation samples is within half a point of the best: the
// smallest, or the largest where there are fewer than a thousand samples.
// Photographs smaller than the images of the network gain by being enlarged, and only a
// measurement tells how far.
//
// A frozen body keeps its own size, because its features are computed once. So does a
// network whose parameters depend on the size, and any network where fewer than a hundred
// samples have another of their class.
func (r *recipe) measureSize(ctx context.Context) error {
	candidates := sizes(r.side)
	if r.cfg.Network.frozenBody() || len(candidates) < 2 {
		return nil
	}
	part := sizeSample(r.sel, r.cfg.Train.Seed)
	if part == nil || part.Len() < fewestSizeImages {
		return nil
	}
	ends := r.ends(candidates)
	if ends == nil {
		return nil
	}
	var tried []int
	var recalls []float64
	for k, side := range candidates {
		b := ends[side]
		if b == nil {
			var err error
			if b, err = r.bare(side); err != nil {
				return err
			}
		}
		delete(ends, side) // which is needed no longer
		recall, err := r.recallOf(ctx, b, part, k*part.Len(), len(candidates)*part.Len())
		if err != nil {
			return err
		}
		tried, recalls = append(tried, side), append(recalls, recall)
		if recall < slices.Max(recalls)-sizeLost {
			break
		}
	}
	chosen, which := chooseSize(recalls, part.Len())
	var said []string
	for k, recall := range recalls {
		said = append(said, fmt.Sprintf("%d px %.1f", tried[k], 100*recall))
	}
	r.note("data.size is %d: Recall@1 of the untrained network on %d training images, in per cent: %s; the %s "+
		"within half a point of the best", tried[chosen], part.Len(), strings.Join(said, ", "), which)
	file, cfg, err := r.resized(tried[chosen])
	if err != nil {
		return err
	}
	r.file, r.cfg.Data = file, cfg.Data
	return nil
}

// chooseSize is the place of the size to take, given the Recall@1 of sizes from large to small
// on so many images, and says which of those near the best it is.
func chooseSize(recalls []float64, images int) (k int, which string) {
	near := func(r float64) bool { return r >= slices.Max(recalls)-sizeSlack }
	if images < manySizeImages {
		return slices.IndexFunc(recalls, near), "largest"
	}
	for i, r := range recalls {
		if near(r) {
			k = i
		}
	}
	return k, "smallest"
}

// sizeSample draws the samples to compare sizes on from those that train and validate;
// nil if no class has two. Each class that is drawn gives its share, two at least.
func sizeSample(sel *data.Selected, seed uint64) *data.Part {
	all := *sel.Train
	if v := sel.Validation; v != nil {
		all.Index = slices.Concat(all.Index, v.Index)
		all.Label, all.Fine = slices.Concat(all.Label, v.Label), slices.Concat(all.Fine, v.Fine)
	}
	members := map[int64][]int{}
	var ids []int64
	for pos, id := range all.Fine {
		if members[id] == nil {
			ids = append(ids, id)
		}
		members[id] = append(members[id], pos)
	}
	rng := rand.New(rand.NewPCG(seed, 0x512e))
	rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	var taken []int
	for _, id := range ids {
		m := members[id]
		if len(m) < 2 || len(taken) >= sizeImages {
			continue
		}
		n := max(2, (len(m)*sizeImages+len(all.Index)-1)/len(all.Index))
		for _, k := range rng.Perm(len(m))[:min(n, len(m))] {
			taken = append(taken, m[k])
		}
	}
	if len(taken) == 0 {
		return nil
	}
	slices.Sort(taken)
	return all.Subset(taken)
}

// resized is the configuration with images of another size, and the network of a file
// made for them.
func (s *started) resized(size int) (*onnxnet.Network, *Config, error) {
	cfg := s.cfg.clone()
	file, err := cfg.fileNetwork(s.weights.Path, size)
	if side := cfg.Data.Shorter; side > 0 {
		cfg.Data.Shorter = max(size, (side*size+cfg.Data.Size/2)/cfg.Data.Size)
	}
	cfg.Data.Size = size
	return file, &cfg, err
}

// bareNet is the pretrained network without an embedding layer, for images of one size,
// with the configuration that goes with it.
type bareNet struct {
	net *nn.Net
	cfg *Config
}

// bare makes it for images of the given size.
func (s *started) bare(size int) (*bareNet, error) {
	file, cfg, err := s.resized(size)
	if err != nil {
		return nil, err
	}
	n := &cfg.Network
	n.Dim, n.HeadNorm, n.Dropout, n.Freeze = 0, false, 0, nil
	spec, err := networkSpec(cfg, file, size, size, cfg.Data.Channels)
	if err != nil {
		return nil, err
	}
	net, _, err := newNetwork(cfg, file, s.weights.Path, spec)
	return &bareNet{net, cfg}, err
}

// ends makes the networks of the first and the last of some sizes; nil if the network
// does not take images of both with the parameters that it has.
func (s *started) ends(candidates []int) map[int]*bareNet {
	out := map[int]*bareNet{}
	first, last := candidates[0], candidates[len(candidates)-1]
	for _, side := range []int{first, last} {
		b, err := s.bare(side)
		if err != nil {
			return nil
		}
		out[side] = b
	}
	same := func(p, q *nn.Param) bool { return slices.Equal(p.Shape, q.Shape) }
	if !slices.EqualFunc(out[first].net.Params(), out[last].net.Params(), same) {
		return nil
	}
	return out
}

// recallOf is the Recall@1 of an untrained network on images of its size, each sample's
// neighbour being one of the others. done and total are for the meter.
func (s *started) recallOf(ctx context.Context, b *bareNet, part *data.Part, done, total int) (float64, error) {
	f, err := newFeed(part, b.cfg.Data, b.cfg.Train.Seed, false, false)
	if err != nil {
		return 0, err
	}
	if s.opts.Features != nil {
		f.data = watched{f.data, func(n int) { s.opts.Features(done+n, total) }}
	}
	e, err := embed(ctx, b.net, f, sizeBatch)
	if err != nil {
		return 0, err
	}
	recall := eval.Metric{Kind: eval.Recall, K: 1}
	rep, err := eval.Evaluate(ctx, eval.Set{X: rank.Normalized(e.X), Labels: [][]int64{e.Fine()}}, nil,
		eval.Config{Metrics: []eval.Metric{recall}, Columns: []string{fineColumn}})
	if err != nil {
		return 0, fmt.Errorf("comparing image sizes: %w", err)
	}
	return rep.Columns[0].Values[0].Value, nil
}
