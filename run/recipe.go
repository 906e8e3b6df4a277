package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/data"
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

// adopt settles the size and the channels of images by the network of a file. It returns how the
// file says that they are prepared, and remarks for the user.
func (c *Config) adopt(net *onnxnet.Network) (onnxnet.Preparation, []string, error) {
	in, said := net.Spec.Input, net.Preparation
	notes := net.Notes
	if c.Data.Size == 0 && in.H != in.W {
		return said, nil, fmt.Errorf("network.pretrained: %s takes images of %d x %d, and data.size makes square "+
			"ones: set it", c.Network.Pretrained, in.H, in.W)
	}
	if c.Data.Channels != 0 && c.Data.Channels != in.C {
		return said, nil, fmt.Errorf("data.channels is %d, but %s takes %d", c.Data.Channels, c.Network.Pretrained,
			in.C)
	}
	if said.Pixels == "" && c.Data.Pixels == "" {
		said.Pixels = "imagenet"
		notes = append(notes, "the model does not say what range of pixel values it takes: imagenet is assumed; "+
			"set data.pixels if that is wrong")
	} else if c.Data.Pixels == "" && said.Source != "" {
		notes = append(notes, fmt.Sprintf("data.pixels is %s, by %s", said.Pixels, said.Source))
	}
	c.Data.Size, c.Data.Channels = in.H, in.C
	return said, notes, nil
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

// newSampler draws batches, and fills in what cfg leaves to the classes.
func newSampler(cfg *Config, p *population) (sampler, error) {
	c := &cfg.Sample
	if c.Name == hierarchical {
		coarse, err := coarseLabels(p.part)
		if err != nil {
			return nil, fmt.Errorf("sample.name: %s: %w", hierarchical, err)
		}
		s, err := data.NewHierarchical(coarse, p.part.Fine, data.HierarchyConfig{
			Coarse: c.Coarse, Fine: c.Fine, PerClass: c.PerClass, Batches: c.Batches, Views: c.Views,
			Seed: cfg.Train.Seed,
		})
		if err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
		c.Coarse, c.Fine, c.PerClass = s.Config().Coarse, s.Config().Fine, s.Config().PerClass
		return s, nil
	}
	s, err := data.NewBalanced(p.labels, data.BalancedConfig{Classes: c.Classes, PerClass: c.PerClass,
		Batches: c.Batches, Views: c.Views, Seed: cfg.Train.Seed})
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	c.Classes, c.PerClass = s.Config().Classes, s.Config().PerClass
	return s, nil
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

// scratchEpochs is how many epochs a run from scratch has unless the configuration
// says.
const scratchEpochs = 10

// From a pretrained start the length of a run is counted in steps: an epoch of a small set is
// few of them, and a step does the same work whatever the set. docs/design/finetune.md has the
// measurements.
const (
	// fewClasses is below how many labels to train with the rate is lower if the test has
	// other classes: they are soon told apart, and what is learned then is of no use for others.
	fewClasses = 10
	// leastSteps is the number of steps that an epoch has at least.
	leastSteps = 8
	// averagedSteps is over how many steps weights are averaged.
	averagedSteps = 48
	// patientSteps and patientEvaluations are after how many steps, and evaluations, without
	// a higher score a run ends.
	patientSteps, patientEvaluations = 96, 4
	// At the latest a run ends after drawing a number of samples, about a quarter of an hour
	// for a small network on two cores, or after drawing each sample a number of times: from
	// then on a small set is learned by heart, which validation images of the same
	// classes do not show.
	drawnSamples = 100_000
	drawnTimes   = 32
	fewestEpochs = 4
	// usualLeast and usualMost are between how many steps patience has ended most runs on the
	// sets of docs/reproduction/defaults.md.
	usualLeast, usualMost = 104, 400
)

// epochsFor is train.epochs, where it is open, from a pretrained start: for epochs that draw so
// many of a number of samples.
func epochsFor(drawn, samples int) int {
	return max(min(drawnSamples, drawnTimes*samples)/max(drawn, 1), fewestEpochs)
}

// patienceFor is train.patience, where it is open, from a pretrained start: for evaluations
// that are so many steps apart.
func patienceFor(steps int) int {
	return max((patientSteps+steps-1)/max(steps, 1), patientEvaluations)
}
