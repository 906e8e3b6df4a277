package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/within"
	"github.com/kindred-ml/kindred/nn/onnxnet"
	"github.com/kindred-ml/kindred/objective"
)

// Start is a network to start from.
type Start struct {
	// Name is the network's name, and Path the file of its weights.
	Name, Path string
	// Network is the architecture of the weights, as zoo.Network names it; "" for a file
	// that includes its own network.
	Network string
	// Size is the side in pixels of the images it was trained on, and Pixels the
	// range of their values, as data.pixels names it; 0 and "" if unknown.
	Size   int
	Pixels string
}

// started is the second stage of a run: it is known where the network begins. That decides the
// loss and the recipe of training.
type started struct {
	*opened
	weights Start            // zero without any
	file    *onnxnet.Network // of weights in a file that includes its network, else nil
	// side is that of the images which the pretrained network was made for; 0 if that is
	// unknown, or if samples are no images.
	side int
	// missed is the pretrained network that photographs would have started from, if it could not be had.
	missed  string
	options objective.Options // of the loss, as far as they need no network
}

// newStart finds the start, and settles which loss and which recipe follow from it.
func newStart(ctx context.Context, o *opened) (*started, error) {
	s := &started{opened: o}
	look := sync.OnceValue(func() shape { return lookAt(ctx, o.data) })
	if err := s.find(ctx, look); err != nil {
		return nil, err
	}
	// Where grey images are learned from scratch and nobody says by which loss, it is SupCon with
	// spread between two views of each image (Chen et al. 2022): SupCon tells the labels
	// apart, and spread keeps the images of a label from falling together, each near its own
	// other view, whether the label names one kind of thing or several. docs/design/scratch.md has
	// the measurements, and why colour images keep the triplet loss.
	spread := !s.opts.Resume && !s.cfg.Network.pretrained() && s.cfg.leavesLoss() &&
		cmp.Or(s.cfg.Data.Channels, look().channels) == 1 && s.data.Features == nil
	s.settleLoss(spread)
	s.settleRecipe(spread)
	var err error
	if s.options, err = s.cfg.objective(); err != nil {
		return nil, err
	}
	return s, bringLoss(&s.options, s.cfg.Mine, &s.opts)
}

// find finds the network that a run starts from, which the configuration may leave open.
// The configuration of a resumed run names it. look says what the images are like.
func (s *started) find(ctx context.Context, look func() shape) error {
	n, opts := &s.cfg.Network, &s.opts
	var missing error // why no weights were found
	if n.Pretrained == "" && n.Name == "" && opts.Weights != nil && !opts.Resume && look().photographs() {
		p, err := opts.Weights(ctx, "")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			n.Pretrained, missing, s.missed = none, err, cmp.Or(p.Name, "NAME")
			s.note("photographs are trained from random weights, which ends well "+
				"behind a pretrained start: %v; network.pretrained=model.onnx starts from a network of your own, and "+
				"network.pretrained=%s says that random weights are meant", err, none)
		default:
			n.Pretrained, s.weights = p.Name, p
			s.note("starts from the pretrained network %s (network.pretrained=%s starts from scratch)", p.Name, none)
		}
	}
	open := n.Pretrained == "" || missing != nil // nobody asked for random weights
	if n.frozenBody() && open && s.data.Features == nil && !opts.Resume {
		err := fmt.Errorf("network.freeze=%s: the body would stay random; name a network to start "+
			"from by network.pretrained, or ask for random features by network.pretrained=%s", wholeBody, none)
		if missing != nil {
			err = fmt.Errorf("%w; %w", err, missing)
		}
		return err
	}
	var err error
	if n.pretrained() && s.weights.Path == "" {
		if s.weights, err = findWeights(ctx, n, opts); err != nil {
			return err
		}
	}
	if s.file, err = s.cfg.fileNetwork(s.weights.Path, s.cfg.Data.Size); err != nil {
		return err
	}
	switch {
	case s.file != nil:
		s.weights = Start{Path: s.weights.Path} // the file says the rest
		s.side, err = s.fileSide()
	case s.data.Features == nil:
		s.side = s.weights.Size
	}
	return err
}

// findWeights looks for the weights that the configuration names: a file, or a name that
// Options.Weights knows.
func findWeights(ctx context.Context, n *NetworkConfig, opts *Options) (Start, error) {
	if n.PretrainedFile() || opts.Weights == nil {
		path, err := within.Local(ctx, n.Pretrained)
		if err != nil {
			return Start{}, fmt.Errorf("network.pretrained: %w", err)
		}
		return Start{Name: n.Pretrained, Path: path}, nil
	}
	s, err := opts.Weights(ctx, n.Pretrained)
	if err != nil {
		return Start{}, fmt.Errorf("network.pretrained: %w", err)
	}
	return s, nil
}

// fileSide is the side of the images that the network of a file was made for, whatever size
// the configuration asks for; 0 if they are not square.
func (s *started) fileSide() (int, error) {
	net := s.file
	if s.cfg.Data.Size > 0 {
		var err error
		if net, err = s.cfg.fileNetwork(s.weights.Path, 0); err != nil {
			return 0, err
		}
	}
	if in := net.Spec.Input; in.H == in.W && in.H > 1 {
		return in.H, nil
	}
	return 0, nil
}

// tunes tells whether the run is a new one from a pretrained start, which is trained by a
// recipe of its own. docs/design/finetune.md has the measurements.
//
// A resumed run whose configuration leaves the recipe open was begun without one: it is
// from an earlier version.
func (s *started) tunes() bool { return s.cfg.Network.pretrained() && !s.opts.Resume }

// leavesLoss tells whether a configuration leaves open by which loss images are learned, and
// nothing that it sets keeps batches from having two views of each.
func (c *Config) leavesLoss() bool {
	return len(c.Loss) == 0 && len(c.Mine) == 0 && c.Sample.Views != 1 && c.Sample.PerClass != 1 &&
		c.Data.Augment != none
}

// settleLoss settles by which loss the run learns, from how many views of a sample.
func (s *started) settleLoss(spread bool) {
	c := &s.cfg
	name, views := "triplet", 1
	_, nested := c.Loss["nested"] // which every loss takes
	switch {
	case spread:
		name, views = "supcon", 2
		c.Loss["plus"] = []any{map[string]any{"name": "spread", "weight": 1}}
	case c.Network.pretrained() && (len(c.Loss) == 0 || len(c.Loss) == 1 && nested):
		name = "multisimilarity"
	}
	if v := c.Loss["name"]; v == nil || v == "" {
		c.Loss["name"] = name
	}
	c.Sample.Views = cmp.Or(c.Sample.Views, views)
}

// settleRecipe settles how the run is trained, as far as the start alone decides it. A frozen
// body has norms that stay as they are, and features that are computed once.
func (s *started) settleRecipe(spread bool) {
	d, n, t := &s.cfg.Data, &s.cfg.Network, &s.cfg.Train
	augment, validation, average, norm, depth := none, none, none, Off, 1.0
	if spread {
		augment = "characters"
	}
	if s.tunes() {
		validation = "as-test:0.2"
		if s.opts.Engine == nil { // whose weights change elsewhere
			average = fmt.Sprint(averagedSteps, stepsWord)
		}
		if !n.frozenBody() {
			augment, norm, depth = "light", On, 0.1
		}
	}
	d.Augment, d.Validation = cmp.Or(d.Augment, augment), cmp.Or(d.Validation, validation)
	t.Average, t.Depth = cmp.Or(t.Average, average), cmp.Or(t.Depth, depth)
	n.FrozenNorm = cmp.Or(n.FrozenNorm, norm)
	if n.frozenBody() && d.Augment != none {
		d.Views = cmp.Or(d.Views, 4)
	}
	if s.file != nil || s.tunes() {
		d.Chroma = cmp.Or(d.Chroma, smoothChroma)
	}
}

// shape is what some images are like: the median of their shorter sides, and 3
// channels if one of them has so many; the zero value if there are none.
type shape struct{ side, channels int }

// photographs tells whether these are colour images of more than thumbnail size.
func (s shape) photographs() bool { return s.channels == 3 && s.side >= 64 }

// looked is how many images lookAt decodes.
const looked = 24

func lookAt(ctx context.Context, d *data.Dataset) shape {
	if d.Features != nil || d.Source == nil {
		return shape{}
	}
	if w, h, c := d.Source.Shape(); w > 0 && h > 0 {
		return shape{min(w, h), c}
	}
	channels := 0
	var sides []int
	var img imaging.Image
	var dec imaging.Decoder
	for k := range looked {
		if d.Source.Read(ctx, k*d.Len()/looked, &img, &dec) != nil { // said where it is trained on
			continue
		}
		sides, channels = append(sides, min(img.W, img.H)), max(channels, img.C)
	}
	if len(sides) == 0 {
		return shape{}
	}
	slices.Sort(sides)
	return shape{sides[len(sides)/2], channels}
}
