package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/sample"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/train"
)

// recipe is the fourth stage of a run: all that is known before the network is made. It has the
// size of images and the sampler of batches.
type recipe struct {
	*splitStage
	sampler       sampler // of batches
	choosesWarmup bool    // the recipe chooses the warm-up
	choosesSteps  bool    // the configuration leaves the number of steps in an epoch open
}

// newRecipe settles the keys that depend on the images, the training samples and the steps of an epoch.
func newRecipe(ctx context.Context, d *splitStage) (*recipe, error) {
	r := &recipe{splitStage: d}
	measured := r.cfg.Data.Size == 0 && !r.opts.Resume
	if err := r.choosePreprocessing(); err != nil {
		return nil, r.withDataNotes(err)
	}
	r.chooseNetwork()
	if measured {
		if err := r.measureSize(ctx); err != nil {
			return nil, err
		}
	}
	t := &r.cfg.Train
	t.LR, t.Best = cmp.Or(t.LR, r.defaultLR()), cmp.Or(t.Best, r.defaultBest())
	var err error
	r.choosesSteps = r.cfg.Sample.Batches == 0 && r.opts.Sampler == nil
	if r.sampler, err = r.newSampler(); err != nil {
		return nil, r.withDataNotes(err)
	}
	r.chooseLength()
	if err := r.checkShareable(); err != nil {
		return nil, err
	}
	return r, checkPairs(&r.cfg, &r.lossOptions, r.population)
}

// choosePreprocessing settles how images become the network's input. This depends on the start and on the images.
func (r *recipe) choosePreprocessing() error {
	c, d, n := &r.cfg, &r.cfg.Data, &r.cfg.Network
	var said onnxnet.Preparation
	if r.file != nil {
		var notes []string
		var err error
		if said, notes, err = c.adoptNetworkInput(r.file); err != nil {
			return err
		}
		r.notes = append(r.notes, notes...)
	}
	if r.data.Features == nil {
		if side := r.weights.Size; side > 0 {
			d.Size, d.Channels = cmp.Or(d.Size, side), cmp.Or(d.Channels, 3)
		}
		w, h, channels := r.data.Source.Shape()
		if r.data.Boxes != nil { // the boxes are cut out
			w, h = 0, 0
		}
		d.Channels = cmp.Or(d.Channels, channels, 3)
		d.Size = cmp.Or(d.Size, defaultSize(w, h, d.Channels))
		if r.file == nil {
			said = r.preprocessing.ForSide(d.Size)
			r.notes = append(r.notes, d.describePixelRange(&said)...)
		}
		if said.Unfit == "" {
			said.Fit = cmp.Or(said.Fit, defaultFit(d.Channels))
		}
		if d.Pixels == "" && said.Pixels == "" && r.weights.Pixels == "" && n.isPretrained() &&
			cmp.Or(n.Name, r.weights.Network) == caffeNetwork {
			d.Pixels = caffeNetwork
			r.addNote("data.pixels is %s, the range of the network's published weights", caffeNetwork)
		}
	}
	said.Pixels = cmp.Or(r.weights.Pixels, said.Pixels)
	// Training adapts the network to the default, which is bilinear too, up to the rounding, and reads JPEG files
	// faster.
	if said.Resample = cmp.Or(r.weights.Resample, said.Resample); said.Resample == imaging.Bilinear.String() {
		said.Resample = ""
	}
	return d.usePreparation(said)
}

// adoptNetworkInput settles the size and the channels of images by the network of a file. It returns the
// preparation that the file states, and remarks for the user.
func (c *Config) adoptNetworkInput(net *onnxnet.Network) (onnxnet.Preparation, []string, error) {
	in, said := net.Spec.Input, net.Preparation
	notes := net.Notes
	if c.Data.Size == 0 && in.H != in.W {
		return said, nil, fmt.Errorf("network.pretrained: %s takes images of %d x %d, which are not square: set "+
			"data.size to the side of square images", c.Network.Pretrained, in.H, in.W)
	}
	if c.Data.Channels != 0 && c.Data.Channels != in.C {
		return said, nil, fmt.Errorf("data.channels is %d, but %s takes %d", c.Data.Channels, c.Network.Pretrained,
			in.C)
	}
	if said.Pixels == "" && c.Data.Pixels == "" {
		said.Pixels = "imagenet"
		notes = append(notes, "the model does not state its range of pixel values: imagenet is assumed; "+
			"set data.pixels if that is wrong")
	} else {
		notes = append(notes, c.Data.describePixelRange(&said)...)
	}
	c.Data.Size, c.Data.Channels = in.H, in.C
	return said, notes, nil
}

// describePixelRange gives the range of pixel values its name, if it has one, and tells which evidence decided.
func (d *DataConfig) describePixelRange(said *onnxnet.Preparation) []string {
	if n, err := imaging.ParseNormalization(said.Pixels); err == nil && said.Pixels != "" {
		said.Pixels = n.String()
	}
	if d.Pixels != "" || said.Pixels == "" || said.Source == "" {
		return nil
	}
	return []string{fmt.Sprintf("data.pixels is %s, from %s", said.Pixels, said.Source)}
}

// usePreparation settles how pictures are prepared, by the preparation that the network's file states.
func (d *DataConfig) usePreparation(said onnxnet.Preparation) error {
	if d.Fit == "" && said.Unfit != "" {
		return fmt.Errorf("%s: set data.fit to stretch or cover to make images square in another way", said.Unfit)
	}
	if d.Fit == "" || d.Fit == said.Fit {
		d.Fit, d.Shorter = said.Fit, cmp.Or(d.Shorter, said.Shorter)
	}
	d.Pixels = cmp.Or(d.Pixels, said.Pixels, defaultPixels)
	d.Resample = cmp.Or(d.Resample, said.Resample)
	if d.Colours == "" && said.RawColours {
		d.Colours = rawColours
	}
	return nil
}

// defaultPixels is the default range of pixel values.
const defaultPixels = "unit"

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

// defaultFit returns how images with this number of channels are made square.
func defaultFit(channels int) string {
	if channels == 3 {
		return imaging.Cover.String()
	}
	return imaging.Stretch.String()
}

// chooseNetwork settles which network is trained, and the length of its embeddings unless a
// pretrained network decides it.
func (r *recipe) chooseNetwork() {
	n := &r.cfg.Network
	if r.file == nil {
		n.Name = cmp.Or(n.Name, r.weights.Network, r.defaultNetwork())
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
func (r *recipe) defaultNetwork() string {
	switch d := &r.cfg.Data; {
	case r.data.Features != nil:
		return "mlp"
	case d.Size == 28 && d.Channels == 1:
		return "mnist"
	}
	return "conv4"
}

// newSampler makes the sampler of batches: the program's own or the configuration's.
func (r *recipe) newSampler() (sampler, error) {
	if r.opts.Sampler != nil {
		return newCustomSampler(r.opts.Sampler, r.population.part)
	}
	if r.isFineTuning() && r.lossOptions.Traits().Proxies > 0 {
		r.chooseProxyBatch()
	}
	s, err := newSampler(&r.cfg, r.population)
	if b := &r.cfg.Sample.Batches; err == nil && *b == 0 && r.isFineTuning() &&
		s.Batches() < numSteps(minEpochSamples, s) {
		*b = numSteps(minEpochSamples, s)
		return newSampler(&r.cfg, r.population)
	}
	return s, err
}

// newSampler makes the sampler of batches, and fills in the keys of cfg that depend on the classes.
func newSampler(cfg *Config, p *population) (sampler, error) {
	c := &cfg.Sample
	if c.Name == hierarchical {
		coarse, _, err := p.part.Coarse()
		if err != nil {
			return nil, fmt.Errorf("sample.name: %s: %w", hierarchical, err)
		}
		s, err := sample.NewHierarchical(coarse, p.part.Fine, sample.HierarchyConfig{
			Coarse: c.Coarse, Fine: c.Fine, PerClass: c.PerClass, Batches: c.Batches, Views: c.Views,
			Seed: cfg.Train.Seed,
		})
		if err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
		c.Coarse, c.Fine, c.PerClass = s.Config().Coarse, s.Config().Fine, s.Config().PerClass
		return s, nil
	}
	s, err := sample.NewBalanced(p.labels, sample.BalancedConfig{Classes: c.Classes, PerClass: c.PerClass,
		Batches: c.Batches, Views: c.Views, Seed: cfg.Train.Seed})
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	c.Classes, c.PerClass = s.Config().Classes, s.Config().PerClass
	return s, nil
}

// chooseLength settles the length of the run, given the steps of an epoch.
func (r *recipe) chooseLength() {
	t, steps := &r.cfg.Train, r.sampler.Batches()
	warmer := t.Epochs > 0 && t.Warmup >= float64(t.Epochs) // the rate would not begin to fall
	if t.Schedule == "" && (t.Minutes > 0 || r.choosesLoss && !warmer) {
		t.Schedule = string(train.CosineRate)
	}
	t.Schedule = cmp.Or(t.Schedule, string(train.ConstantRate))
	epochs := scratchEpochs
	if r.cfg.Network.isPretrained() {
		epochs = r.defaultEpochs()
	}
	t.Epochs = cmp.Or(t.Epochs, epochs)
	if r.isFineTuning() && t.Minutes == 0 {
		t.Patience = cmp.Or(t.Patience, defaultPatience(steps*r.sampler.BatchSize()*r.cfg.Eval.Every))
	}
	if r.choosesWarmup = r.choosesLoss && t.Warmup == 0; r.choosesWarmup {
		t.Warmup = r.defaultWarmup(t.Epochs)
	}
	average := none
	if r.isFineTuning() && r.opts.Engine == nil { // an engine changes the weights elsewhere
		average = fmt.Sprint(numSteps(averageSamples, r.sampler), stepsWord)
	}
	t.Average = cmp.Or(t.Average, average)
}

// defaultEpochs returns the default of train.epochs from a pretrained start, for the settled schedule of the rate.
func (r *recipe) defaultEpochs() int {
	drawn := r.sampler.Batches() * r.sampler.BatchSize()
	return epochsForSamples(drawn, defaultSamples(r.cfg.Train.Schedule, r.sel.Train.Len()))
}

// defaultWarmup returns the epochs of warm-up of the default loss in a run of the given epochs: at most half of its
// steps.
func (r *recipe) defaultWarmup(epochs int) float64 {
	steps := r.sampler.Batches()
	return float64(min(numSteps(warmupSamples, r.sampler), epochs*steps/2)) / float64(steps)
}

// scratchEpochs is the default number of epochs of a run from scratch.
const scratchEpochs = 10

// From a pretrained start the length of a run is counted in drawn samples, because an epoch of a small
// set draws few, and drawing as many takes as long on every set. docs/design/finetune.md has
// the measurements.
const (
	// fewClasses is the number of training labels below which the learning rate is lower if the
	// test has other classes. Few classes are soon told apart, and learning more about them does
	// not help with other classes.
	fewClasses = 10
	// minEpochSamples is the least number of samples that an epoch draws.
	minEpochSamples = 1024
	// warmupSamples is the number of samples over which the rate of the default loss grows. The first steps of Adam
	// have the full length of the rate in every weight, which a pretrained network loses its features by.
	warmupSamples = 2048
	// averageSamples is the number of samples over whose steps weights are averaged.
	averageSamples = 6144
	// A run ends after patienceSamples and patienceEvaluations without a higher score.
	patienceSamples, patienceEvaluations = 12288, 4
	// A run ends at the latest after drawing maxDrawnSamples, about a quarter of an hour for a small
	// network on two cores, or after drawing each sample a number of times: maxDrawnTimes, because from then on a small
	// set is learned by heart, which validation images of the same classes do not show, or decayDrawnTimes with a rate
	// that falls to 0, but then at least decayDrawnSamples.
	maxDrawnSamples                    = 100_000
	maxDrawnTimes                      = 32
	decayDrawnTimes, decayDrawnSamples = 12, 12288
	minEpochs                          = 4
	// usualMinSamples and usualMaxSamples are the range of samples after which patience has ended most runs
	// at a constant rate on the sets of docs/reproduction/defaults.md.
	usualMinSamples, usualMaxSamples = 13_300, 51_200
)

// numSteps returns the number of batches of s that draw about as many samples, at least one.
func numSteps(samples int, s sampler) int {
	n := max(s.BatchSize(), 1)
	return max((samples+n/2)/n, 1)
}

// defaultSamples returns the number of samples that a run from a pretrained start draws by default, with a
// schedule of the rate and a training part of the given size.
func defaultSamples(schedule string, samples int) int {
	most := min(maxDrawnSamples, maxDrawnTimes*samples)
	if schedule == string(train.CosineRate) {
		most = min(most, max(decayDrawnTimes*samples, decayDrawnSamples))
	}
	return most
}

// epochsForSamples returns the default of train.epochs from a pretrained start: as many as draw about the
// given number of samples. An epoch draws drawn samples.
func epochsForSamples(drawn, samples int) int {
	return max(samples/max(drawn, 1), minEpochs)
}

// defaultPatience returns the default of train.patience from a pretrained start, for evaluations
// between which the given number of samples is drawn.
func defaultPatience(drawn int) int {
	return max((patienceSamples+drawn-1)/max(drawn, 1), patienceEvaluations)
}
