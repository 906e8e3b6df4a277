package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/network/onnxnet"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/wccn"
	"github.com/kindred-ml/kindred/train"
)

// networks are the network of a run and what computes it.
type networks struct {
	net         *nn.Net               // the network that is saved
	imported    *zoo.ImportReport     // of pretrained weights
	adapterBase string                // a digest of what adapters are added to; "" without adapters
	trained     train.Network         // net, or its part that is not frozen
	device      train.OptimizerDevice // holds the parameters; nil if this process does
}

// buildNetwork makes the network, the objective and the optimizer, and settles the keys that the network decides.
func (p *plan) buildNetwork(ctx context.Context) error {
	if err := p.openFeeds(ctx); err != nil {
		return err
	}
	spec, err := p.describeNetwork()
	if err != nil {
		return err
	}
	if err := p.fitMemory(spec); err != nil {
		return err
	}
	if p.cfg.Network.Precision == string(nn.BFloat16) && !nn.BFloat16.IsFast() && p.opts.Engine == nil {
		p.notes.add("network.precision=bfloat16: this processor lacks the instructions (AMX, AVX512_BF16), so the " +
			"rounding is emulated, which is much slower than float32")
	}
	p.network.net, p.network.imported, err = newNetwork(&p.cfg, p.start.file, p.start.weights.Path, spec)
	if err != nil {
		return err
	}
	if err := p.freezeBody(); err != nil {
		return err
	}
	features, err := p.chooseByFeatures(ctx)
	if err != nil {
		return err
	}
	if p.objective, err = p.newObjective(features); err != nil {
		return err
	}
	if err := p.useEngine(); err != nil {
		return err
	}
	if p.optimizer, err = newOptimizer(&p.cfg.Train, p.schedule.steps, &p.network, p.objective); err != nil {
		return err
	}
	p.untrained, err = p.newUntrained()
	return err
}

// openFeeds prepares reading the samples for training and evaluations.
func (p *plan) openFeeds(ctx context.Context) (err error) {
	if p.cfg.Data.Cache {
		if err := p.cacheImages(ctx); err != nil {
			return err
		}
	}
	if p.feeds.training, err = newFeed(p.split.Train, p.cfg.Data, p.cfg.Train.Seed, true, p.passesBytes()); err != nil {
		return err
	}
	if p.feeds.scored, err = newScoredSets(p.split, &p.cfg, p.passesBytes()); err != nil {
		return err
	}
	shareEvaluation(p.opts.Ranks, p.feeds.scored)
	return nil
}

// cacheImages makes the selected samples read their decoded images from a cache. The images
// are no larger than the run can use: twice the final size if random crops are taken. Without
// a folder for the cache, images are decoded in every epoch.
func (p *plan) cacheImages(ctx context.Context) error {
	cfg := &p.cfg.Data
	dir, err := data.CacheHome()
	if err != nil {
		if p.opts.Resume { // cached images may be smaller and differ in bits
			return fmt.Errorf("the run was started with data.cache: %w; set $HOME or $XDG_CACHE_HOME", err)
		}
		cfg.Cache = false
		p.notes.add("data.cache is off, so images are decoded in every epoch: %v", err)
		return nil
	}
	a, err := prepare.ParseAugment(cfg.Augment)
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
	err = p.split.Cache(ctx, data.CacheOptions{Dir: dir, Side: side, Strict: cfg.Strict,
		Smooth: cfg.Chroma == smoothChroma, RawColours: cfg.Colours == rawColours})
	if p.toClose != nil {
		p.toClose = p.split.Train.Data // closes the cache too
	}
	return err
}

// describeNetwork describes the network for the samples as they are fed. It settles the head of a frozen
// body (identity unless the configuration names another) and of the default loss: wccn, unless there are too few
// samples to compute it or too many features.
func (p *plan) describeNetwork() (*nn.Spec, error) {
	h, w, c := p.feeds.training.Shape()
	n := &p.cfg.Network
	startsAsWCCN := p.loss.isDefault && n.Dim == 0 && n.Head == "" &&
		p.split.Train.Len()-p.batches.population.classes >= wccn.MinFreedom
	if n.hasFrozenBody() || n.Head == wccnHead && n.Dim == 0 || startsAsWCCN {
		features, err := p.cfg.numFeatures(p.start.file, h, w, c)
		if err != nil {
			return nil, err
		}
		if startsAsWCCN && features <= maxWCCNFeatures {
			n.Head = wccnHead
		}
		if n.hasFrozenBody() || n.Head == wccnHead {
			n.Dim = cmp.Or(n.Dim, features)
		}
		if n.hasFrozenBody() && n.Dim == features {
			n.Head = cmp.Or(n.Head, identityHead)
		}
	}
	return networkSpec(&p.cfg, p.start.file, h, w, c)
}

// maxWCCNFeatures is the largest number of features for which an embedding layer starts as wccn by default.
// Twice as many take four times the memory and eight times the time.
const maxWCCNFeatures = 4096

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
func (p *plan) fitMemory(spec *nn.Spec) (err error) {
	if p.memory, err = p.planMemory(spec); err != nil {
		return err
	}
	tooLarge := p.memory.check()
	c := &p.cfg.Train
	if tooLarge == nil || c.Chunk > 0 || p.cfg.Network.FrozenNorm != On || p.cfg.Network.hasFrozenBody() ||
		p.opts.Resume || p.opts.Engine != nil {
		return tooLarge
	}
	for c.Chunk = p.batches.sampler.BatchSize() / 2; c.Chunk >= minChunk; c.Chunk /= 2 {
		smaller, err := p.planMemory(spec)
		if err != nil {
			return err
		}
		if smaller.check() == nil {
			p.memory = smaller
			p.notes.add("train.chunk is %d: batches go through the network in pieces, because whole batches would "+
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
func (p *plan) newObjective(features *startFeatures) (train.Objective, error) {
	o := &p.loss.options
	o.Classes, o.Relate = p.batches.population.lossClasses, p.batches.population.relate
	o.Dim, o.Seed = p.network.net.Dim(), p.cfg.Train.Seed
	o.Mine.Seed = p.cfg.Train.Seed
	made, err := objective.New(*o)
	if err != nil {
		return nil, err
	}
	if err := p.initProxies(made, features); err != nil || p.opts.Miner == nil {
		return made, err
	}
	return customMining{made, p.opts.Miner}, nil
}

// Engine runs a network and updates its parameters in place of package nn, for example on a
// GPU. *xla.Net is an Engine. Checkpoints and the files of a run are written from the nn.Net
// that the engine was made from, which holds copies of the parameters.
type Engine interface {
	train.Remote
	train.OptimizerDevice
}

// passesBytes reports whether images are passed on as bytes, which an engine normalises.
func (p *plan) passesBytes() bool { return p.opts.Engine != nil }

// useEngine makes the engine compute the trained network.
func (p *plan) useEngine() error {
	if p.opts.Engine == nil {
		return nil
	}
	switch {
	case p.feeds.features != nil:
		return fmt.Errorf("network.freeze=%s: only the embedding layer is trained, and this engine trains whole "+
			"networks: use kindred train", wholeBody)
	case p.cfg.Network.LoRA.Rank > 0:
		return errors.New("network.lora: this engine trains whole networks: use kindred train")
	case p.opts.Ranks != nil:
		return errors.New("run.Options has both Engine and Ranks: only one is allowed")
	case p.cfg.Train.Chunk > 0:
		return errors.New("train.chunk: this engine takes whole batches only; leave the key out, or use kindred train")
	}
	e, err := p.opts.Engine(p.network.net, &p.cfg)
	if err != nil {
		return err
	}
	p.network.trained, p.network.device = e, e
	if l := p.feeds.training.Loader; l != nil && !l.Bytes() {
		p.notes.add("images are sent to the device as float32, because they are augmented or resized; " +
			"data.rounded=true sends bytes, a quarter of the data")
	}
	return nil
}

// newOptimizer makes one optimizer for the parameters of the network and of the loss. The
// loss's parameters have their own learning rate and no weight decay. The device, if there is one, updates the
// parameters that it holds.
func newOptimizer(cfg *TrainConfig, batches int, net *networks, obj train.Objective) (*train.Optimizer, error) {
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
	o.Groups = append(o.Groups, layerDecayGroups(cfg.Depth, net.trained.Params())...)
	all, ofLoss := train.Params(net.trained, obj), obj.Params()
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
	opt, err := train.NewDeviceOptimizer(o, all, net.device)
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

// adapterNet is a network of which only adapters and the head are trained (network.lora).
//
// Checkpoints hold these alone. What they are added to comes from network.pretrained, or is
// drawn again from train.seed, when a run is resumed; base tells whether it is the same. The
// network that a run saves has the adapters merged, so that nothing else needs to know them.
type adapterNet struct{ *nn.Net }

// Params returns the parameters that training changes.
func (a *adapterNet) Params() []*nn.Param {
	var out []*nn.Param
	for _, p := range a.Net.Params() {
		if p.Grad != nil || p.Buffer {
			out = append(out, p)
		}
	}
	return out
}

// baseDigest is a digest of the other parameters.
func (a *adapterNet) baseDigest() string {
	sum := sha256.New()
	var b []byte
	for _, p := range a.Net.Params() {
		if p.Grad != nil || p.Buffer {
			continue
		}
		sum.Write([]byte(p.Name))
		b = b[:0]
		for _, v := range p.Value {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// fingerprint identifies the training samples and, of a network with adapters, the weights that
// these are added to.
func (p *plan) fingerprint() string {
	text := fingerprint(p.split.Train)
	if p.network.adapterBase != "" {
		text += "+" + p.network.adapterBase
	}
	return text
}
