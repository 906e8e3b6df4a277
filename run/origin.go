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

// origin is where a run's network starts.
type origin struct {
	pretrained string           // what network.pretrained comes to
	start      Start            // the weights; zero without any
	own        *onnxnet.Network // of a file that brings one
	// side is that of the images which the pretrained network was made for; 0 if that is
	// unknown, or if samples are no images.
	side  int
	notes []string // for the user
	// missed is the pretrained network that photographs would have started from, if it could not be had.
	missed string
}

// findOrigin finds the network that a run starts from, which the configuration may leave
// open. The configuration of a resumed run names it. look says what the images are like.
func findOrigin(ctx context.Context, c Config, d *data.Dataset, opts *Options, look func() shape) (*origin, error) {
	o := &origin{}
	n := &c.Network
	var missing error // why no weights were found
	if n.Pretrained == "" && n.Name == "" && opts.Weights != nil && !opts.Resume && look().photographs() {
		p, err := opts.Weights(ctx, "")
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			n.Pretrained, missing, o.missed = none, err, cmp.Or(p.Name, "NAME")
			o.notes = append(o.notes, fmt.Sprintf("photographs are trained from random weights, which ends well "+
				"behind a pretrained start: %v; network.pretrained=model.onnx starts from a network of your own, and "+
				"network.pretrained=%s says that random weights are meant", err, none))
		default:
			n.Pretrained, o.start = p.Name, p
			o.notes = append(o.notes, fmt.Sprintf("starts from the pretrained network %s (network.pretrained=%s "+
				"starts from scratch)", p.Name, none))
		}
	}
	open := n.Pretrained == "" || missing != nil // nobody asked for random weights
	if n.frozenBody() && open && d.Features == nil && !opts.Resume {
		err := fmt.Errorf("network.freeze=%s: the body would stay random; name a network to start "+
			"from by network.pretrained, or ask for random features by network.pretrained=%s", wholeBody, none)
		if missing != nil {
			err = fmt.Errorf("%w; %w", err, missing)
		}
		return nil, err
	}
	o.pretrained = n.Pretrained
	var err error
	if n.pretrained() && o.start.Path == "" {
		if o.start, err = findWeights(ctx, n, opts); err != nil {
			return nil, err
		}
	}
	if o.own, err = c.readOwn(o.start.Path, c.Data.Size); err != nil {
		return nil, err
	}
	switch {
	case o.own != nil:
		o.side, err = ownSide(&c, o)
	case d.Features == nil:
		o.side = o.start.Size
	}
	return o, err
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

// ownSide is the side of the images that the network of a file was made for, whatever size
// the configuration asks for; 0 if they are not square.
func ownSide(c *Config, o *origin) (int, error) {
	own := o.own
	if c.Data.Size > 0 {
		var err error
		if own, err = c.readOwn(o.start.Path, 0); err != nil {
			return 0, err
		}
	}
	if in := own.Spec.Input; in.H == in.W && in.H > 1 {
		return in.H, nil
	}
	return 0, nil
}

// choose decides what the network starts from and by which recipe it is trained, unless the
// configuration says so.
func (t *resolved) choose(ctx context.Context, d *data.Dataset) error {
	look := sync.OnceValue(func() shape { return lookAt(ctx, d) })
	o, err := findOrigin(ctx, t.cfg, d, &t.opts, look)
	if err != nil {
		return err
	}
	t.origin = o
	t.notes = append(t.notes, o.notes...)
	t.cfg.Network.Pretrained = o.pretrained
	k := &t.known
	k.resumed, k.device, k.features, k.note = t.opts.Resume, t.opts.Engine != nil, d.Features != nil, t.note
	if o.own == nil {
		k.start = o.start
	}
	k.spread = !k.resumed && !t.cfg.Network.pretrained() && t.cfg.leavesLoss() &&
		cmp.Or(t.cfg.Data.Channels, look().channels) == 1 && !k.features
	t.cfg.settle(k)
	return nil
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
