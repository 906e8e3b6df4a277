package run

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// choosePreprocessing settles how images become the network's input. This depends on the start and on the images.
func choosePreprocessing(c *Config, set *data.Dataset, start *networkStart, notes *notes) error {
	d, n := &c.Data, &c.Network
	var said onnxnet.Preparation
	if start.file != nil {
		var remarks []string
		var err error
		if said, remarks, err = c.adoptNetworkInput(start.file); err != nil {
			return err
		}
		*notes = append(*notes, remarks...)
	}
	if set.Features == nil {
		if side := start.weights.Size; side > 0 {
			d.Size, d.Channels = cmp.Or(d.Size, side), cmp.Or(d.Channels, 3)
		}
		w, h, channels := set.Source.Shape()
		if set.Boxes != nil { // the boxes are cut out
			w, h = 0, 0
		}
		d.Channels = cmp.Or(d.Channels, channels, 3)
		d.Size = cmp.Or(d.Size, defaultSize(w, h, d.Channels))
		if start.file == nil {
			said = start.preprocessing.ForSide(d.Size)
			*notes = append(*notes, d.describePixelRange(&said)...)
		}
		if said.Unfit == "" {
			said.Fit = cmp.Or(said.Fit, defaultFit(d.Channels))
		}
		if d.Pixels == "" && said.Pixels == "" && start.weights.Pixels == "" && n.isPretrained() &&
			cmp.Or(n.Name, start.weights.Network) == caffeNetwork {
			d.Pixels = caffeNetwork
			notes.add("data.pixels is %s, the range of the network's published weights", caffeNetwork)
		}
	}
	said.Pixels = cmp.Or(start.weights.Pixels, said.Pixels)
	// Training adapts the network to the default, which is bilinear too, up to the rounding, and reads JPEG files
	// faster.
	if said.Resample = cmp.Or(start.weights.Resample, said.Resample); said.Resample == prepare.Bilinear.String() {
		said.Resample = ""
	}
	return d.usePreparation(said)
}

// caffeNetwork is the name of a network whose published weights all come from Caffe, and of the
// range of pixel values that they take.
const caffeNetwork = "bn_inception"

// defaultSize returns the default of data.size: the images' own side if they are small and
// square, 40 for line drawings, 64 for photographs.
func defaultSize(w, h, channels int) int {
	switch {
	case w == h && w > 0 && w <= 64:
		return w
	case channels == 1:
		return 40
	}
	return 64
}

// chooseNetwork settles which network is trained, and the length of its embeddings unless a
// pretrained network decides it.
func chooseNetwork(c *Config, set *data.Dataset, start *networkStart) {
	n := &c.Network
	if start.file == nil {
		n.Name = cmp.Or(n.Name, start.weights.Network, defaultNetwork(&c.Data, set.Features != nil))
	}
	if !n.isPretrained() {
		n.Dim = cmp.Or(n.Dim, 128)
	}
	normalize := On
	if n.Dim > 0 && n.Dim < 4 {
		normalize = Off
	}
	n.Normalize = cmp.Or(n.Normalize, normalize)
}

// defaultNetwork returns the default network for the samples.
func defaultNetwork(d *DataConfig, hasFeatures bool) string {
	switch {
	case hasFeatures:
		return "mlp"
	case d.Size == 28 && d.Channels == 1:
		return "mnist"
	}
	return "conv4"
}

const (
	// sizeImages is the approximate number of images on which sizes are compared.
	sizeImages = 2000
	// minSizeImages is the least number of images that a comparison needs. With fewer, half a
	// point is less than one image.
	minSizeImages = 100
	// sizeSlack is the Recall@1 that a size may lose against the best size.
	sizeSlack = 0.005
	// manySizeImages is the number of images from which a difference of sizeSlack is measured
	// well enough to choose the smaller size, which saves time. With fewer images the larger size
	// is chosen: nearly all find their class, and one image should not decide against detail.
	manySizeImages = 1000
	// maxSizeLoss is the loss against the best size from which smaller sizes are not tried.
	maxSizeLoss = 0.05
	// minSize is the smallest side that is tried.
	minSize = 64
	// sizeBatch is the number of images in a batch through the untrained network.
	sizeBatch = 32
)

// sizeCandidates returns the sizes to compare: the network's own and about six smaller ones. They are
// multiples of 32, which the strides of most networks divide.
func sizeCandidates(full int) []int {
	out := []int{full}
	step := max(32, (full/7+16)/32*32)
	for s := (full - 1) / 32 * 32; s >= minSize; s -= step {
		out = append(out, s)
	}
	return out
}

// measureSize chooses the size of the images by the Recall@1 of the untrained network on the
// training and validation samples. Of the sizes within half a point of the best it takes the
// smallest, or the largest if there are fewer than a thousand samples. Photographs smaller than
// the network's images gain by being enlarged, and only a measurement shows to which size.
//
// A frozen body keeps its own size, because its features are computed once. A network whose
// parameters depend on the size keeps its size too, as does any network if fewer than a hundred
// samples have another sample of their class.
func measureSize(ctx context.Context, c *Config, opts *Options, start *networkStart, parts *split.Parts,
	notes *notes) error {
	candidates := sizeCandidates(start.side)
	if c.Network.hasFrozenBody() || len(candidates) < 2 {
		return nil
	}
	part := sizeSample(parts, c.Train.Seed)
	if part == nil || part.Len() < minSizeImages {
		return nil
	}
	ends := start.firstAndLastNets(c, candidates)
	if ends == nil {
		return nil
	}
	var tried []int
	var recalls []float64
	for k, side := range candidates {
		b := ends[side]
		if b == nil {
			var err error
			if b, err = start.newBareNet(c, side); err != nil {
				return err
			}
		}
		delete(ends, side) // it is not needed any more
		recall, err := measureRecall(ctx, b, part, opts.FeatureProgress, k*part.Len(), len(candidates)*part.Len())
		if err != nil {
			return err
		}
		tried, recalls = append(tried, side), append(recalls, recall)
		if recall < slices.Max(recalls)-maxSizeLoss {
			break
		}
	}
	chosen, which := chooseSize(recalls, part.Len())
	var said []string
	for k, recall := range recalls {
		said = append(said, fmt.Sprintf("%d px %.1f", tried[k], 100*recall))
	}
	notes.add("data.size is %d, the %[4]s size within half a point of the best: Recall@1 of the untrained network on "+
		"%[2]d training images, in per cent: %[3]s", tried[chosen], part.Len(), strings.Join(said, ", "), which)
	file, cfg, err := start.withSize(c, tried[chosen])
	if err != nil {
		return err
	}
	start.file, c.Data = file, cfg.Data
	return nil
}

// chooseSize returns the index of the size to take, given the Recall@1 of sizes from large to
// small on the given number of images. which is "smallest" or "largest".
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

// sizeSample draws the samples on which sizes are compared from the training and validation
// parts. Each drawn class gives its share, at least two samples. It returns nil if no class has
// two samples.
func sizeSample(sel *split.Parts, seed uint64) *data.Part {
	all := *sel.Train
	if v := sel.Validation; v != nil {
		all.Index = slices.Concat(all.Index, v.Index)
		all.Label, all.Fine = slices.Concat(all.Label, v.Label), slices.Concat(all.Fine, v.Fine)
	}
	_, members := lists.Group(all.Fine)
	rng := rand.New(rand.NewPCG(seed, 0x512e))
	rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var taken []int
	for _, m := range members {
		if len(m) < 2 || len(taken) >= sizeImages {
			continue
		}
		n := max(2, (len(m)*sizeImages+len(all.Index)-1)/len(all.Index))
		taken = append(taken, lists.At(m, rng.Perm(len(m))[:min(n, len(m))])...)
	}
	if len(taken) == 0 {
		return nil
	}
	slices.Sort(taken)
	return all.Subset(taken)
}

// withSize returns the configuration with images of another size, and the network of a file for
// that size.
func (s *networkStart) withSize(c *Config, size int) (*onnxnet.Network, *Config, error) {
	cfg := c.clone()
	file, err := cfg.importFileNetwork(s.weights.Path, size)
	if side := cfg.Data.Shorter; side > 0 {
		cfg.Data.Shorter = max(size, (side*size+cfg.Data.Size/2)/cfg.Data.Size)
	}
	cfg.Data.Size = size
	return file, &cfg, err
}

// bareNet is the pretrained network without an embedding layer, for images of one size, with
// its configuration.
type bareNet struct {
	net *nn.Net
	cfg *Config
}

// newBareNet makes the bareNet for images of the given size.
func (s *networkStart) newBareNet(c *Config, size int) (*bareNet, error) {
	file, cfg, err := s.withSize(c, size)
	if err != nil {
		return nil, err
	}
	n := &cfg.Network
	n.Dim, n.HeadNorm, n.Dropout, n.Freeze, n.LoRA = 0, false, 0, nil, LoRA{}
	spec, err := networkSpec(cfg, file, size, size, cfg.Data.Channels)
	if err != nil {
		return nil, err
	}
	net, _, err := newNetwork(cfg, file, s.weights.Path, spec)
	return &bareNet{net, cfg}, err
}

// firstAndLastNets makes the networks for the first and the last size. It returns nil if the network's
// parameters do not fit images of both sizes.
func (s *networkStart) firstAndLastNets(c *Config, candidates []int) map[int]*bareNet {
	out := map[int]*bareNet{}
	first, last := candidates[0], candidates[len(candidates)-1]
	for _, side := range []int{first, last} {
		b, err := s.newBareNet(c, side)
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

// embedBare computes the embeddings of images by an untrained network, prepared as cfg says. done and
// total are for progress, which may be nil.
func embedBare(ctx context.Context, cfg *Config, net train.Network, part *data.Part, progress func(done, total int),
	done, total int) (*Embeddings, error) {
	f, err := newFeed(part, cfg.Data, cfg.Train.Seed, false, false)
	if err != nil {
		return nil, err
	}
	if progress != nil {
		f.ReportProgress(func(n int) { progress(done+n, total) })
	}
	return embedFeed(ctx, net, f, sizeBatch)
}

// measureRecall returns the Recall@1 of an untrained network on images of its size, with each sample
// searched among the others.
func measureRecall(ctx context.Context, b *bareNet, part *data.Part, progress func(done, total int), done, total int) (
	float64, error) {
	e, err := embedBare(ctx, b.cfg, b.net, part, progress, done, total)
	if err != nil {
		return 0, err
	}
	recall := eval.Metric{Kind: eval.Recall, K: 1}
	rep, err := eval.Evaluate(ctx, eval.Set{X: eval.NormalizeRows(e.X), Labels: [][]int64{e.FineLabels()}}, nil,
		eval.Config{Metrics: []eval.Metric{recall}, Columns: []string{fineColumn}})
	if err != nil {
		return 0, fmt.Errorf("comparing image sizes: %w", err)
	}
	return rep.Columns[0].Values[0].Value, nil
}
