package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"

	dense "github.com/kindred-ml/kindred/mat"
)

// Start is a network to start from.
type Start struct {
	// Name is what it is called, and Path where its weights are.
	Name, Path string
	// Network is what they are for, as nn.Network names it; "" for a file that
	// brings its own network.
	Network string
	// Size is the side in pixels of the images it was trained on, and Pixels the
	// range of their values, as data.pixels names it; 0 and "" if unknown.
	Size   int
	Pixels string
}

// caffeNetwork is a network whose published weights all come from Caffe, and the pixels
// that they take.
const caffeNetwork = "bn_inception"

// noWeights is the value of network.pretrained that refuses any.
const noWeights = "none"

// lastEpoch is the value of train.best that keeps the last epoch.
const lastEpoch = "none"

// Values of train.best_margin.
const (
	noMargin    = "none"
	errorMargin = "error"
)

// best is which epoch is kept.
func (c *Config) best() train.Best {
	if c.Train.Best == lastEpoch {
		return train.Best{}
	}
	return train.Best{Metric: c.Train.Best, Patience: c.Train.Patience}
}

// best is which epoch is kept, and by how much another must be better.
func (t *trainer) best() train.Best {
	b := t.cfg.best()
	if v := t.sel.Validation; v != nil && t.cfg.Train.BestMargin == errorMargin {
		b.Margin = func(p float64) float64 { return standardError(p, v.Len()) }
	}
	return b
}

// settleMargin fills in train.best_margin once train.best is known.
func (t *TrainConfig) settleMargin() error {
	t.BestMargin = cmp.Or(t.BestMargin, noMargin)
	if t.Best == lastEpoch {
		t.BestMargin = noMargin
	}
	if t.BestMargin == errorMargin && !strings.HasPrefix(t.Best, ValidationSet.prefix()) {
		return fmt.Errorf("train.best_margin=%s is about scores of the validation part, and train.best is %s: set "+
			"train.best to one of them, such as validation_recall@1, or train.best_margin to %s", errorMargin, t.Best,
			noMargin)
	}
	return nil
}

// standardError is the largest that the mean p of n values between 0 and 1 can have,
//
//	sqrt(p (1 - p) / n)
//
// which is that of a share. The validation samples are a sample themselves, and a score
// within its error of another is not better for all that is known.
func standardError(p float64, n int) float64 { return math.Sqrt(max(p*(1-p), 0) / float64(n)) }

// choose decides what the network starts from, and by which recipe it is trained,
// where the configuration leaves that open. What a resumed run began with stands
// in its configuration.
func (t *trainer) choose(ctx context.Context, d *data.Dataset) error {
	n := &t.cfg.Network
	var missing error // why no weights were found
	if n.Pretrained == "" && n.Name == "" && t.opts.Weights != nil && !t.opts.Resume && photographs(ctx, d) {
		p, err := t.opts.Weights(ctx, "")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			n.Pretrained, missing = noWeights, err
			t.note("photographs are trained from scratch, which ends well behind a pretrained start: %v; "+
				"network.pretrained=%s asks for this", err, noWeights)
		default:
			n.Pretrained, t.begin = p.Name, p
			t.note("starts from the pretrained network %s (network.pretrained=%s starts from scratch)", p.Name,
				noWeights)
		}
	}
	open := n.Pretrained == "" || missing != nil // nobody asked for random weights
	if n.frozenBody() && open && d.Features == nil && !t.opts.Resume {
		err := fmt.Errorf("network.freeze=%s: the body would stay as random as it starts; name a network to start "+
			"from by network.pretrained, or ask for random features by network.pretrained=%s", wholeBody, noWeights)
		if missing != nil {
			err = fmt.Errorf("%w; %w", err, missing)
		}
		return err
	}
	if n.pretrained() && t.begin.Path == "" {
		if err := t.find(ctx); err != nil {
			return err
		}
	}
	if err := t.readOwn(); err != nil {
		return err
	}
	if n.pretrained() && t.own == nil {
		n.Name = cmp.Or(n.Name, t.begin.Network)
		t.cfg.Data.Pixels = cmp.Or(t.cfg.Data.Pixels, t.begin.Pixels)
		if t.cfg.Data.Pixels == "" && n.Name == caffeNetwork && d.Features == nil {
			t.cfg.Data.Pixels = caffeNetwork
			t.note("data.pixels is %s, as the published weights of that network take them", caffeNetwork)
		}
		if !t.opts.Resume {
			t.cfg.Data.Chroma = cmp.Or(t.cfg.Data.Chroma, smoothChroma)
		}
		if t.begin.Size > 0 && d.Features == nil {
			t.openSize(t.begin.Size)
			t.cfg.Data.Size = cmp.Or(t.cfg.Data.Size, t.begin.Size)
			t.cfg.Data.Channels = cmp.Or(t.cfg.Data.Channels, 3)
		}
	}
	if t.opts.Engine != nil { // whose weights change elsewhere
		t.cfg.Train.Average = cmp.Or(t.cfg.Train.Average, noAverage)
	}
	t.cfg.recipe(t.opts.Resume)
	return nil
}

// find looks for the weights that the configuration names: a file, or a name that
// Options.Weights knows.
func (t *trainer) find(ctx context.Context) error {
	name := t.cfg.Network.Pretrained
	if t.cfg.Network.PretrainedFile() || t.opts.Weights == nil {
		t.begin = Start{Name: name, Path: name}
		return nil
	}
	var err error
	if t.begin, err = t.opts.Weights(ctx, name); err != nil {
		return fmt.Errorf("network.pretrained: %w", err)
	}
	return nil
}

// Losses that are trained with if none is named.
const (
	scratchLoss = "triplet"
	tunedLoss   = "multisimilarity"
)

// What a head on a frozen body is trained with if nothing is said.
const (
	headRate   = 3e-4
	usualViews = 4
)

// Values of network.head.
const (
	randomHead   = "random"
	pcaHead      = "pca"
	identityHead = "identity"
)

// recipe fills in what differs between training from scratch and from pretrained
// weights. docs/design/finetune.md has the measurements.
//
// What a run that is resumed leaves open it was begun without: it is of an earlier
// version.
func (c *Config) recipe(resumed bool) {
	d, n, t := &c.Data, &c.Network, &c.Train
	if !n.pretrained() || resumed {
		d.Augment, d.Validation = cmp.Or(d.Augment, "none"), cmp.Or(d.Validation, "none")
		t.LR, t.Depth = cmp.Or(t.LR, 1e-3), cmp.Or(t.Depth, 1)
	} else {
		rate, depth := 1e-4, 0.1
		if n.frozenBody() {
			rate, depth = headRate, 1
			d.Augment = cmp.Or(d.Augment, "none")
		}
		d.Augment, d.Validation = cmp.Or(d.Augment, "light"), cmp.Or(d.Validation, "as-test:0.2")
		t.LR, t.Depth = cmp.Or(t.LR, rate), cmp.Or(t.Depth, depth)
		t.Patience, t.Average = cmp.Or(t.Patience, usualPatience), cmp.Or(t.Average, usualAverage)
	}
	t.Average = cmp.Or(t.Average, noAverage)
	if n.frozenBody() && d.Augment != "none" {
		d.Views = cmp.Or(d.Views, usualViews)
	}
	if c.Loss["name"] == nil {
		l := scratchLoss
		if n.pretrained() && len(c.Loss) == 0 {
			l = tunedLoss
		}
		c.Loss["name"] = l
	}
	if n.FrozenNorm == Auto {
		n.FrozenNorm = Off
		if n.pretrained() && !resumed && !n.frozenBody() { // whose norms are never anything else
			n.FrozenNorm = On
		}
	}
}

// photographs tells whether the samples are colour images of more than thumbnail
// size.
func photographs(ctx context.Context, d *data.Dataset) bool {
	u := lookAt(ctx, d)
	return u.channels == 3 && u.side >= 64
}

// shape is what some images are like: the median of their shorter sides, and 3
// channels if one of them has so many; the zero value if there are none.
type shape struct{ side, channels int }

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

// readOwn imports the network of a file that brings one, at its own image size
// unless the configuration says another.
func (t *trainer) readOwn() (err error) {
	size := t.cfg.Data.Size
	if t.own, err = t.cfg.readOwn(size); err != nil || t.own == nil {
		return err
	}
	own := t.own
	if size > 0 {
		if own, err = t.cfg.readOwn(0); err != nil {
			return err
		}
	}
	if in := own.Spec.Input; in.H == in.W && in.H > 1 {
		t.openSize(in.H)
	}
	return nil
}

// prepare decides, by the features that training starts from, what the
// configuration leaves open: which positives to train with, and the start of the
// embedding layer.
func (t *trainer) prepare(ctx context.Context, o *objective.Options) error {
	if t.opts.Resume {
		return nil
	}
	if t.cfg.Network.Head == identityHead {
		if err := t.identityHead(); err != nil {
			return err
		}
	}
	if !t.cfg.Network.pretrained() {
		return nil
	}
	// A loss that is defined for all pairs leaves nothing to decide.
	traits := o.Traits()
	open := t.mineOpen && !traits.AllPairs && traits.Proxies == 0
	head := t.cfg.Network.Dim > 0 && (t.cfg.Network.Head == "" || t.cfg.Network.Head == pcaHead)
	if !open && !head {
		return nil
	}
	x, labels, err := t.startFeatures(ctx)
	if err != nil {
		return err
	}
	if head {
		if err := t.startHead(x); err != nil {
			return err
		}
	}
	if !open {
		return nil
	}
	k, err := discover.Judge(ctx, rank.Normalized(x), labels, discover.Options{Seed: t.cfg.Train.Seed})
	if err != nil {
		return err
	}
	why := "a label is one kind of thing"
	switch {
	case 2*k.Several >= k.Tested && k.Several > 0:
		why = "of so few labels series of photos cannot be told from kinds; if labels are coarse, " +
			"mine.positives=easy keeps the kinds within them apart"
	case k.Several > 0:
		why = "most labels are one kind of thing"
	}
	if k.Coarse() {
		o.Mine.Positives = mine.EasyPositive
		why = "labels are coarse, and easy positives keep the kinds within them apart"
	} else if o.Mine.Positives == mine.EasyPositive {
		o.Mine.Positives = mine.RandomPositive
	}
	t.cfg.Mine["positives"], t.mined = o.Mine.Positives.String(), ""
	t.note("mine.positives is %v: by the pretrained features, %v: %s", o.Mine.Positives, k, why)
	return nil
}

// startFeatures are those of the training samples before training, with their labels.
func (t *trainer) startFeatures(ctx context.Context) (*dense.Dense, []int64, error) {
	feed, err := newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, false, false)
	if err != nil {
		return nil, nil, err
	}
	if t.features != nil {
		x, pos, err := t.features.all(ctx, feed)
		return x, pick(t.sel.Train.Label, pos), err
	}
	body, err := t.net.Body()
	if err != nil {
		return nil, nil, err
	}
	if t.opts.Features != nil {
		feed.data = watched{feed.data, func(done int) { t.opts.Features(done, feed.part.Len()) }}
	}
	e, err := embed(ctx, body, feed, t.cfg.Eval.Batch)
	if err != nil {
		return nil, nil, err
	}
	return e.X, pick(t.sel.Train.Label, e.Pos), nil
}

// identityHead makes the embedding layer pass the features on.
func (t *trainer) identityHead() error {
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	n := t.cfg.Network.Dim
	if w == nil || len(w.Value) != n*n {
		return fmt.Errorf("network.head: %s needs as many values as there are features; leave network.dim out, or "+
			"choose %s", identityHead, pcaHead)
	}
	clear(w.Value)
	for i := range n {
		w.Value[i*n+i] = 1
	}
	if b := t.net.Param(layer + ".bias"); b != nil {
		clear(b.Value)
	}
	return nil
}

// startHead makes the embedding layer project onto the directions that hold most
// of the features' length, so that training starts from what the features know.
func (t *trainer) startHead(x *dense.Dense) error {
	n := &t.cfg.Network
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	if w == nil || min(x.Rows, x.Cols) < n.Dim || len(w.Value) != n.Dim*x.Cols {
		if n.Head == pcaHead {
			return fmt.Errorf("network.head: %d principal components cannot be had from %d samples of %d features",
				n.Dim, x.Rows, x.Cols)
		}
		n.Head = randomHead
		return nil
	}
	n.Head = pcaHead
	axes, err := principal(x, n.Dim)
	if err != nil {
		return err
	}
	copy(w.Value, axes) // features come in the engine's order, as the weights lie there
	if b := t.net.Param(layer + ".bias"); b != nil {
		clear(b.Value)
	}
	return nil
}

// principal returns the k eigenvectors of X'X with the largest eigenvalues, one
// after the other. The rows are not centred: cosines are about the origin.
func principal(x *dense.Dense, k int) ([]float32, error) {
	c := mat.NewSymDense(x.Cols, nil)
	row := mat.NewVecDense(x.Cols, nil)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			row.SetVec(j, float64(v))
		}
		c.SymRankOne(c, 1, row)
	}
	var e mat.EigenSym
	if !e.Factorize(c, true) {
		return nil, errors.New("network.head: the features have no principal components")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	var out []float32
	for j := range k {
		col := x.Cols - 1 - j
		for i := range x.Cols {
			out = append(out, float32(v.At(i, col)))
		}
	}
	return out, nil
}

// byDepth scales rates from first at the first layer to 1 at the last, in equal
// ratios. A layer's weight and bias, and a norm behind it, are steps of their own:
// there are enough of them for that to make no difference.
func byDepth(first float64, params []*nn.Param) []optim.Group {
	if first == 0 || first == 1 || len(params) < 2 {
		return nil
	}
	var out []optim.Group
	for i, p := range params {
		out = append(out, optim.Group{Prefix: p.Name, Scale: math.Pow(first, 1-float64(i)/float64(len(params)-1))})
	}
	return out
}
