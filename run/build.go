package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/nn"

	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/train"
)

// trainingStage is the last stage before training. It has all that steps need, and its configuration is complete.
type trainingStage struct {
	*recipe

	feed            *feed                 // reads the training samples
	scored          []*scoredSet          // the sets that evaluations score
	memory          MemoryPlan            // planned memory of the run
	net             *nn.Net               // the network that is saved
	imported        *zoo.ImportReport     // of pretrained weights
	initialFeatures *startFeatures        // nil if no decision needs them, and after the decisions
	adapterBase     string                // a digest of what adapters are added to; "" without adapters
	features        *featureCache         // features of a frozen body; nil without one
	trainedNet      train.Network         // net, or its part that is not frozen
	device          train.OptimizerDevice // holds the parameters; nil if this process does
	positivesReason string                // why the positives were chosen; "" if a note says it
	// most labels fall into groups, but there are too few labels to call the groups sub-classes
	unclearGroups bool
	objective     train.Objective
	optimizer     *train.Optimizer
	untrained     *untrainedNet // the pretrained network at its own image size; nil if training uses that size
}

// newTrainingStage makes the network, the objective and the optimizer, and settles the keys that the network decides.
func newTrainingStage(ctx context.Context, r *recipe) (*trainingStage, error) {
	b := &trainingStage{recipe: r}
	if err := b.readSamples(ctx); err != nil {
		return nil, err
	}
	spec, err := b.describeNetwork()
	if err != nil {
		return nil, err
	}
	if err := b.fitMemory(spec); err != nil {
		return nil, err
	}
	if b.cfg.Network.Precision == string(nn.BFloat16) && !nn.BFloat16.IsFast() && b.opts.Engine == nil {
		b.addNote("network.precision=bfloat16: this processor lacks the instructions (AMX, AVX512_BF16), so the " +
			"rounding is emulated, which is much slower than float32")
	}
	if b.net, b.imported, err = newNetwork(&b.cfg, b.file, b.weights.Path, spec); err != nil {
		return nil, err
	}
	if err := b.freezeBody(); err != nil {
		return nil, err
	}
	if err := b.chooseByFeatures(ctx); err != nil {
		return nil, err
	}
	if b.objective, err = b.newObjective(); err != nil {
		return nil, err
	}
	b.initialFeatures = nil
	if err := b.useEngine(); err != nil {
		return nil, err
	}
	b.optimizer, err = newOptimizer(&b.cfg.Train, b.sampler.Batches(), b.trainedNet, b.objective, b.device)
	if err != nil {
		return nil, err
	}
	b.untrained, err = b.newUntrained()
	return b, err
}

// readSamples prepares reading the samples for training and evaluations.
func (t *trainingStage) readSamples(ctx context.Context) (err error) {
	if t.cfg.Data.Cache {
		if err := t.cacheImages(ctx); err != nil {
			return err
		}
	}
	if t.feed, err = newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, true, t.passesBytes()); err != nil {
		return err
	}
	if t.scored, err = newScoredSets(t.sel, &t.cfg, t.passesBytes()); err != nil {
		return err
	}
	shareEvaluation(t.opts.Ranks, t.scored)
	return nil
}

// cacheImages makes the selected samples read their decoded images from a cache. The images
// are no larger than the run can use: twice the final size if random crops are taken. Without
// a folder for the cache, images are decoded in every epoch.
func (t *trainingStage) cacheImages(ctx context.Context) error {
	cfg := &t.cfg.Data
	dir, err := data.CacheHome()
	if err != nil {
		if t.opts.Resume { // cached images may be smaller and differ in bits
			return fmt.Errorf("the run was started with data.cache: %w; set $HOME or $XDG_CACHE_HOME", err)
		}
		cfg.Cache = false
		t.addNote("data.cache is off, so images are decoded in every epoch: %v", err)
		return nil
	}
	a, err := imaging.ParseAugment(cfg.Augment)
	if err != nil {
		return err
	}
	side := max(cfg.Size, cfg.Shorter)
	if a.CropArea[1] > 0 {
		side *= 2
	}
	if cfg.resampleFilter() != "" {
		side = 0 // resizing twice is not Pillow's resizing
	}
	err = t.sel.Cache(ctx, data.CacheOptions{Dir: dir, Side: side, Strict: cfg.Strict,
		Smooth: cfg.Chroma == smoothChroma, RawColours: cfg.Colours == rawColours})
	if t.toClose != nil {
		t.toClose = t.sel.Train.Data // closes the cache too
	}
	return err
}

// describeNetwork describes the network for the samples as they are fed. It settles the head of a frozen
// body (identity unless the configuration names another) and of the default loss.
func (t *trainingStage) describeNetwork() (*nn.Spec, error) {
	h, w, c := t.feed.shape()
	n := &t.cfg.Network
	if n.hasFrozenBody() || n.Head == wccnHead && n.Dim == 0 || t.startsHeadAsWCCN() {
		features, err := t.cfg.numFeatures(t.file, h, w, c)
		if err != nil {
			return nil, err
		}
		if t.startsHeadAsWCCN() && features <= maxWCCNFeatures {
			n.Head = wccnHead
		}
		if n.hasFrozenBody() || n.Head == wccnHead {
			n.Dim = cmp.Or(n.Dim, features)
		}
		if n.hasFrozenBody() && n.Dim == features {
			n.Head = cmp.Or(n.Head, identityHead)
		}
	}
	return networkSpec(&t.cfg, t.file, h, w, c)
}

// numFeatures returns the number of features before the embedding layer, for samples of the given shape.
func (c *Config) numFeatures(file *onnxnet.Network, h, w, ch int) (int, error) {
	if h*w == 1 && c.Network.hasFrozenBody() {
		return 0, fmt.Errorf("network.freeze=%s: a data set of ready features has no body to freeze", wholeBody)
	}
	bare := *c
	bare.Network.Dim, bare.Network.Normalize, bare.Network.HeadNorm = 0, Off, false
	spec, err := networkSpec(&bare, file, h, w, ch)
	if err != nil {
		return 0, err
	}
	return spec.OutDim(), nil
}

// minChunk is the smallest piece, in samples, that a batch is cut into to fit the memory.
const minChunk = 8

// fitMemory plans the memory of the run and compares it with the limit. If a batch is too large
// and batch norm is frozen, as from a pretrained start, the batch goes through the network in
// pieces (train.chunk), which changes the step only by rounding. This lets a small machine
// train at the image size that was measured to be best.
func (t *trainingStage) fitMemory(spec *nn.Spec) (err error) {
	if t.memory, err = t.plan(spec); err != nil {
		return err
	}
	tooLarge := t.memory.check()
	c := &t.cfg.Train
	if tooLarge == nil || c.Chunk > 0 || t.cfg.Network.FrozenNorm != On || t.cfg.Network.hasFrozenBody() ||
		t.opts.Resume || t.opts.Engine != nil {
		return tooLarge
	}
	for c.Chunk = t.sampler.BatchSize() / 2; c.Chunk >= minChunk; c.Chunk /= 2 {
		smaller, err := t.plan(spec)
		if err != nil {
			return err
		}
		if smaller.check() == nil {
			t.memory = smaller
			t.addNote("train.chunk is %d: batches go through the network in pieces, because whole batches would "+
				"exceed the memory limit; results differ from those of whole batches by rounding", c.Chunk)
			return nil
		}
	}
	c.Chunk = 0
	return tooLarge
}

// networkSpec describes the network of cfg for samples of the given shape. file is the
// network that network.pretrained includes, or nil.
func networkSpec(cfg *Config, file *onnxnet.Network, h, w, ch int) (*nn.Spec, error) {
	spec, err := plainSpec(cfg, file, h, w, ch)
	if l := cfg.Network.LoRA; err == nil && l.Rank > 0 {
		if spec, err = spec.WithLoRA(l.Rank, l.Alpha); err != nil {
			err = fmt.Errorf("network.lora: %w", err)
		}
	}
	return spec, err
}

// plainSpec is networkSpec without adapters.
func plainSpec(cfg *Config, file *onnxnet.Network, h, w, ch int) (*nn.Spec, error) {
	n := &cfg.Network
	if file != nil {
		return fileSpec(cfg, file, h, w, ch)
	}
	input := nn.Shape{H: h, W: w, C: ch}
	spec, err := n.spec(input)
	if err != nil {
		return nil, fmt.Errorf("network %s on samples of %d x %d x %d: %w", n.Name, h, w, ch, err)
	}
	for i := range table.Keys {
		k := &table.Keys[i]
		if k.AllowUnused == nil || table.Unset(cfg, k) || k.AllowUnused(cfg) {
			continue
		}
		without := *cfg
		table.Set(&without, k, nil)
		if other, err := without.Network.spec(input); err == nil && reflect.DeepEqual(other, spec) {
			return nil, fmt.Errorf("%s: network %s does not have this setting; leave it out", k.Name, n.Name)
		}
	}
	return spec, nil
}

// spec returns the network by its name.
func (n *NetworkConfig) spec(input nn.Shape) (*nn.Spec, error) {
	return zoo.Network(n.Name, zoo.Options{
		Input: input, Dim: n.Dim, Normalize: n.Normalize == On, HeadNorm: n.HeadNorm,
		Width: n.Width, Multiple: n.Multiple, Stem: zoo.Stem(n.Stem), Dropout: n.Dropout, NoHead: n.Dim == 0,
		Pool: zoo.Pool(n.Pool), Patch: n.Patch, Registers: n.Registers, DropPath: n.DropPath, Depth: n.Depth,
		Heads: n.Heads, Hidden: n.Hidden, Act: nn.Kind(n.Act), Eps: n.Eps, Padding: zoo.Padding(n.Padding),
	})
}

// defaultPositionResampling is the default of network.resample.
const defaultPositionResampling = "timm"

// positionResampling returns how tables of position embeddings are resampled.
func (n *NetworkConfig) positionResampling() zoo.Resample {
	if n.Resample == defaultPositionResampling {
		return zoo.ResampleTimm
	}
	return zoo.Resample(n.Resample)
}

// newNetwork makes the network that spec describes, with the start that cfg asks for.
// The report says how pretrained weights fit, and is nil without pretrained weights.
func newNetwork(cfg *Config, file *onnxnet.Network, path string, spec *nn.Spec) (*nn.Net, *zoo.ImportReport, error) {
	n := &cfg.Network
	net, err := nn.New(spec, nn.Options{Seed: cfg.Train.Seed, Freeze: n.frozenPrefixes(),
		FreezeBody: n.hasFrozenBody() || n.LoRA.Rank > 0,
		FrozenNorm: n.FrozenNorm == On, Precision: nn.Precision(n.Precision)})
	if err != nil {
		return nil, nil, err
	}
	if !n.isPretrained() {
		return net, nil, nil
	}
	if file != nil {
		report, err := zoo.Import(net, file.Weights, zoo.ImportOptions{})
		if err != nil {
			err = fmt.Errorf("network.pretrained: %s: %w", n.Pretrained, err)
		}
		return net, report, err
	}
	own := "" // a layer that is computed
	if n.Head == wccnHead {
		own = spec.Head()
	}
	report, err := importWeights(net, path, n.positionResampling(), own)
	return net, report, err
}

// importWeights starts the network from a file of weights. Parameters that the file lacks,
// such as the embedding layer, keep their random values. So do those of the layer own.
func importWeights(net *nn.Net, path string, how zoo.Resample, own string) (*zoo.ImportReport, error) {
	f, err := zoo.ReadWeights(path)
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %w", err)
	}
	report, err := zoo.Import(net, f, zoo.ImportOptions{AdaptInput: true, Positions: how, KeepLayer: own})
	if err != nil {
		return nil, fmt.Errorf("network.pretrained: %s: %w", path, err)
	}
	return report, nil
}

// newObjective completes the options of the loss by the classes and the network, and makes the objective.
func (t *trainingStage) newObjective() (train.Objective, error) {
	o := &t.lossOptions
	o.Classes, o.Relate = t.population.lossClasses, t.population.relate
	o.Dim, o.Seed = t.net.Dim(), t.cfg.Train.Seed
	o.Mine.Seed = t.cfg.Train.Seed
	made, err := objective.New(*o)
	if err != nil {
		return nil, err
	}
	if err := t.initProxies(made); err != nil || t.opts.Miner == nil {
		return made, err
	}
	return customMining{made, t.opts.Miner}, nil
}

// Engine runs a network and updates its parameters in place of package nn, for example on a
// GPU. *xla.Net is an Engine. Checkpoints and the files of a run are written from the nn.Net
// that the engine was made from, which holds copies of the parameters.
type Engine interface {
	train.Remote
	train.OptimizerDevice
}

// passesBytes reports whether images are passed on as bytes, which an engine normalises.
func (t *trainingStage) passesBytes() bool { return t.opts.Engine != nil }

// useEngine makes the engine compute the trained network.
func (t *trainingStage) useEngine() error {
	if t.opts.Engine == nil {
		return nil
	}
	switch {
	case t.features != nil:
		return fmt.Errorf("network.freeze=%s: only the embedding layer is trained, and this engine trains whole "+
			"networks: use kindred train", wholeBody)
	case t.cfg.Network.LoRA.Rank > 0:
		return errors.New("network.lora: this engine trains whole networks: use kindred train")
	case t.opts.Ranks != nil:
		return errors.New("run.Options has both Engine and Ranks: only one is allowed")
	case t.cfg.Train.Chunk > 0:
		return errors.New("train.chunk: this engine takes whole batches only; leave the key out, or use kindred train")
	}
	e, err := t.opts.Engine(t.net, &t.cfg)
	if err != nil {
		return err
	}
	t.trainedNet, t.device = e, e
	if l := t.feed.loader; l != nil && !l.Bytes() {
		t.addNote("images are sent to the device as float32, because they are augmented or resized; " +
			"data.rounded=true sends bytes, a quarter of the data")
	}
	return nil
}

// newOptimizer makes one optimizer for the parameters of the network and of the loss. The
// loss's parameters have their own learning rate and no weight decay. device, if not nil,
// updates the parameters that it holds.
func newOptimizer(cfg *TrainConfig, batches int, net train.Network, obj train.Objective, device train.OptimizerDevice) (
	*train.Optimizer, error) {
	o := train.OptimizerConfig{
		Method: train.OptimizerMethod(cfg.Optimizer), Rate: cfg.LR, WeightDecay: cfg.WeightDecay, ClipNorm: cfg.Clip,
		Schedule: train.RateSchedule{
			Kind:   train.RateScheduleKind(cfg.Schedule),
			Warmup: int(math.Round(cfg.Warmup * float64(batches))),
			Gamma:  cfg.Gamma,
		},
	}
	if o.Method == train.SGD {
		o.Momentum = cfg.Momentum
	}
	if o.WeightDecay == 0 {
		o.WeightDecay = -1 // none, also for AdamW
	}
	if o.Schedule.Kind == train.CosineRate {
		o.Schedule.Total = cfg.Epochs * batches
		if o.Schedule.Total <= o.Schedule.Warmup {
			return nil, fmt.Errorf("train.warmup: %v epochs leave none of %d (train.epochs) in which the rate falls "+
				"(train.schedule=cosine): give a shorter warm-up, or more epochs", cfg.Warmup, cfg.Epochs)
		}
	}
	for _, e := range cfg.Steps {
		o.Schedule.Milestones = append(o.Schedule.Milestones, e*batches-o.Schedule.Warmup)
	}
	for _, g := range cfg.Groups {
		o.Groups = append(o.Groups, train.ParamGroup{Prefix: g.Prefix, Scale: g.Scale, NoDecay: g.NoDecay})
	}
	o.Groups = append(o.Groups, layerDecayGroups(cfg.Depth, net.Params())...)
	all, ofLoss := train.Params(net, obj), obj.Params()
	for i, p := range ofLoss {
		rate := cfg.LR
		if p.Rate > 0 {
			rate = p.Rate
		}
		if cfg.LossLR > 0 {
			rate = cfg.LossLR
		}
		name := all[len(all)-len(ofLoss)+i].Name
		o.Groups = append(o.Groups, train.ParamGroup{Prefix: name, Scale: rate / cfg.LR, NoDecay: true})
	}
	opt, err := train.NewDeviceOptimizer(o, all, device)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return opt, nil
}

// layerDecayGroups scales learning rates from first at the first parameter to 1 at the last, in equal
// ratios. It counts parameters, not layers: with many parameters the difference is negligible.
func layerDecayGroups(first float64, params []*nn.Param) []train.ParamGroup {
	if first == 0 || first == 1 || len(params) < 2 {
		return nil
	}
	var out []train.ParamGroup
	for i, p := range params {
		out = append(out, train.ParamGroup{Prefix: p.Name, Scale: math.Pow(first, 1-float64(i)/float64(len(params)-1))})
	}
	return out
}
