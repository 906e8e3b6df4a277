package run

import (
	"cmp"
	"context"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/nn/onnxnet"
)

// recipe is the fourth stage of a run: all that is known without making the network. Images
// have their size, and batches are drawn.
type recipe struct {
	*divided
	sampler sampler // of batches
}

// newRecipe settles what the images, the training samples and the steps of an epoch decide.
func newRecipe(ctx context.Context, d *divided) (*recipe, error) {
	r := &recipe{divided: d}
	measured := r.cfg.Data.Size == 0 && !r.opts.Resume
	if err := r.settleImages(); err != nil {
		return nil, r.explained(err)
	}
	r.settleNetwork()
	if measured {
		if err := r.measureSize(ctx); err != nil {
			return nil, err
		}
	}
	var err error
	if r.sampler, err = r.newSampler(); err != nil {
		return nil, r.explained(err)
	}
	r.settleLength()
	if err := r.shareable(); err != nil {
		return nil, err
	}
	return r, checkPairs(&r.cfg, &r.options, r.from)
}

// settleImages settles how images become the network's input, by its start and by the images.
func (r *recipe) settleImages() error {
	c, d, n := &r.cfg, &r.cfg.Data, &r.cfg.Network
	var said onnxnet.Preparation
	if r.file != nil {
		var notes []string
		var err error
		if said, notes, err = c.adopt(r.file); err != nil {
			return err
		}
		r.notes = append(r.notes, notes...)
	}
	if r.data.Features == nil {
		if side := r.weights.Size; side > 0 {
			d.Size, d.Channels = cmp.Or(d.Size, side), cmp.Or(d.Channels, 3)
		}
		w, h, channels := r.data.Source.Shape()
		if r.data.Boxes != nil { // which are cut out
			w, h = 0, 0
		}
		d.Channels = cmp.Or(d.Channels, channels, 3)
		d.Size = cmp.Or(d.Size, usualSize(w, h, d.Channels))
		said.Fit = cmp.Or(said.Fit, fitFor(d.Channels))
		if d.Pixels == "" && r.weights.Pixels == "" && n.pretrained() &&
			cmp.Or(n.Name, r.weights.Network) == caffeNetwork {
			d.Pixels = caffeNetwork
			r.note("data.pixels is %s, as the published weights of that network take them", caffeNetwork)
		}
	}
	said.Pixels = cmp.Or(r.weights.Pixels, said.Pixels)
	d.prepareAs(said)
	return nil
}

// prepareAs settles how pictures are prepared, by what is said about the network.
func (d *DataConfig) prepareAs(said onnxnet.Preparation) {
	d.Fit = cmp.Or(d.Fit, said.Fit)
	d.Shorter = cmp.Or(d.Shorter, said.Shorter)
	d.Pixels = cmp.Or(d.Pixels, said.Pixels, usualPixels)
}

// usualPixels is the range of pixel values that nothing else is said about.
const usualPixels = "unit"

// caffeNetwork is a network whose published weights all come from Caffe, and the pixels
// that they take.
const caffeNetwork = "bn_inception"

// usualSize is the side that images are brought to unless the user says: their
// own if they are small and square, 40 for line drawings, 64 for photographs.
func usualSize(w, h, channels int) int {
	switch {
	case w == h && w > 0 && w <= 64:
		return w
	case channels == 1:
		return 40
	}
	return 64
}

// fitFor says how images of so many channels are made square.
func fitFor(channels int) string {
	if channels == 3 {
		return imaging.Cover.String()
	}
	return imaging.Stretch.String()
}

// settleNetwork settles which network is trained, and the length of its embeddings, unless it
// has a pretrained one's.
func (r *recipe) settleNetwork() {
	n := &r.cfg.Network
	if r.file == nil {
		n.Name = cmp.Or(n.Name, r.weights.Network, r.usualNetwork())
	}
	if !n.pretrained() {
		n.Dim = cmp.Or(n.Dim, 128)
	}
	normalize := On
	if n.Dim > 0 && n.Dim < 4 {
		normalize = Off
	}
	n.Normalize = cmp.Or(n.Normalize, normalize)
}

// usualNetwork is the network for samples of this kind.
func (r *recipe) usualNetwork() string {
	switch d := &r.cfg.Data; {
	case r.data.Features != nil:
		return "mlp"
	case d.Size == 28 && d.Channels == 1:
		return "mnist"
	}
	return "conv4"
}

// newSampler draws batches, as the configuration or a program says.
func (r *recipe) newSampler() (sampler, error) {
	if r.opts.Sampler != nil {
		return bringSampler(r.opts.Sampler, r.from.part)
	}
	s, err := newSampler(&r.cfg, r.from)
	if b := &r.cfg.Sample.Batches; err == nil && *b == 0 && r.tunes() && s.Batches() < leastSteps {
		*b = leastSteps
		return newSampler(&r.cfg, r.from)
	}
	return s, err
}

// settleLength settles how long the run is, by the steps of an epoch.
func (r *recipe) settleLength() {
	t, steps := &r.cfg.Train, r.sampler.Batches()
	epochs := scratchEpochs
	if r.cfg.Network.pretrained() {
		epochs = epochsFor(steps*r.sampler.BatchSize(), r.sel.Train.Len())
	}
	t.Epochs = cmp.Or(t.Epochs, epochs)
	if r.tunes() {
		t.Patience = cmp.Or(t.Patience, patienceFor(steps*r.cfg.Eval.Every))
	}
}
