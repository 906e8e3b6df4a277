package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/feed"
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

// fingerprint identifies the training samples and, of a network with adapters, the weights that
// these are added to.
func (p *plan) fingerprint() string {
	text := fingerprint(p.split.Train)
	if p.network.adapterBase != "" {
		text += "+" + p.network.adapterBase
	}
	return text
}

// feeds read the samples of a run.
type feeds struct {
	training *feed.Feed
	scored   []*scoredSet // the sets that evaluations score
	features *feed.Cache  // features of a frozen body; nil without one
}

// untrainedNet is the pretrained network at its own image size. Training has to beat its score,
// whatever size the run trains at.
type untrainedNet struct {
	*bareNet
	scored []*scoredSet
}

// newUntrained makes the untrained network. It returns nil if training uses the same image size
// and adds no embedding layer, because epoch 0 of the run is then the same network.
func (p *plan) newUntrained() (u *untrainedNet, err error) {
	if !p.scoresUntrained() || p.start.side == 0 || p.cfg.Data.Size == p.start.side && p.cfg.Network.Dim == 0 {
		return nil, nil
	}
	u = &untrainedNet{}
	if u.bareNet, err = p.start.newBareNet(&p.cfg, p.start.side); err != nil {
		return nil, err
	}
	if u.scored, err = newScoredSets(p.split, u.cfg, false); err != nil {
		return nil, err
	}
	shareEvaluation(p.opts.Ranks, u.scored)
	return u, nil
}

// mayKeep reports whether the run may end with the untrained network. It may not if the
// configuration asks for an embedding layer, which the untrained network lacks, unless that layer starts as wccn.
func (u *untrainedNet) mayKeep(c *Config) bool {
	return c.Network.Dim == 0 || c.Network.Head == wccnHead && c.Network.Dim == u.net.Dim()
}

// scoresUntrained reports whether the network before training is scored.
func (p *plan) scoresUntrained() bool {
	return p.cfg.Eval.Keep || p.cfg.Network.isPretrained() && !(p.opts.SkipUntrainedScores && p.cfg.Train.Best == none)
}

// MemoryPlan is the memory that a run needs, in bytes. It is computed from the settings before
// anything is allocated. It counts what grows with the settings. The samples, which are read
// earlier, and the program itself are not included.
type MemoryPlan struct {
	Network     int64 // values, running statistics and gradients
	Optimizer   int64 // moments of the parameters of the network and the loss
	Loss        int64 // proxies with their gradients, and the cross-batch memory
	Activations int64 // outputs of all layers for the largest batch or piece, with gradients
	Batches     int64 // samples of the batches in preparation, and the epoch's list
	Pairs       int64 // similarities of a batch, their distances and gradients
	Embeddings  int64 // embeddings of the scored sets
	Features    int64 // features of a frozen body, with their file
}

// memoryPart is a part of a plan with the name under which it is shown.
type memoryPart struct {
	name  string
	bytes int64
}

// parts returns the parts of the plan, largest first.
func (p MemoryPlan) parts() []memoryPart {
	parts := []memoryPart{
		{"network", p.Network}, {"loss", p.Loss}, {"optimizer", p.Optimizer}, {"activations", p.Activations},
		{"batches", p.Batches}, {"pairs", p.Pairs}, {"embeddings", p.Embeddings},
		{"features", p.Features},
	}
	slices.SortStableFunc(parts, func(a, b memoryPart) int { return cmp.Compare(b.bytes, a.bytes) })
	return parts
}

// Total is the sum of the parts.
func (p MemoryPlan) Total() int64 {
	return budget.Sum(p.Network, p.Optimizer, p.Loss, p.Activations, p.Batches, p.Pairs, p.Embeddings, p.Features)
}

// String returns the total and the largest parts: 1.2 GiB (activations 1 GiB, network 120
// MiB).
func (p MemoryPlan) String() string {
	return fmt.Sprintf("%s (%s)", budget.Format(p.Total()), p.describeLargest())
}

// describeLargest names the parts that make up most of the plan.
func (p MemoryPlan) describeLargest() string {
	var out []string
	for _, part := range p.parts() {
		if len(out) > 0 && part.bytes < p.Total()/16 {
			break
		}
		out = append(out, part.name+" "+budget.Format(part.bytes))
	}
	return strings.Join(out, ", ")
}

// check compares the plan with the limit of package budget.
func (p MemoryPlan) check() error {
	return budget.Check("the run ("+p.describeLargest()+")", p.Total())
}

// pairTables is the number of tables of batch x references that a step needs at once:
// similarities, distances, and the weights of both.
const pairTables = 4

// planInput holds the numbers that the plan needs besides the configuration.
type planInput struct {
	spec      *nn.Spec
	objective *objective.Options
	classes   int   // training labels
	batch     int   // samples
	batches   int   // of an epoch
	scored    int64 // samples that are embedded for evaluations
	largest   int   // of them, the samples of the largest set
	samples   int   // to train on
}

// planMemory plans the memory of a run. It returns an error if the network cannot be
// described.
func planMemory(cfg *Config, p planInput) (MemoryPlan, error) {
	net, err := p.spec.Memory()
	if err != nil {
		return MemoryPlan{}, err
	}
	batch, dim := int64(p.batch), int64(p.spec.OutDim())
	eval := min(int64(cfg.Eval.Batch), int64(p.largest))
	atOnce, gradients := batch, net.Trained
	if c := int64(cfg.Train.Chunk); c > 0 && c < batch {
		// Gradients of pieces are added in a tree, which needs one sum for each level at a time.
		atOnce, gradients = c, budget.Product(net.Trained, int64(2+bits.Len64(uint64((batch-1)/c))))
	}
	var proxies, queue, pairs int64
	for _, o := range append([]objective.Options{*p.objective}, furtherLosses(p.objective)...) {
		memory := min(int64(o.Memory), budget.Product(int64(cfg.Train.Epochs), int64(p.batches), batch))
		r := budget.Sum(batch, memory)
		traits := o.Traits()
		if traits.Proxies > 0 {
			r = budget.Product(int64(p.classes), int64(traits.Proxies))
			proxies = budget.Sum(proxies, budget.Product(r, dim))
		}
		pairs = max(pairs, numHeldPairs(traits, batch, r))
		queue = budget.Sum(queue, budget.Product(memory, dim))
	}
	moments := int64(2)
	if cfg.Train.Optimizer == string(train.SGD) {
		moments = 1
	}
	input := int64(p.spec.Input.Len())
	frozen, err := p.frozenFeatureBytes(cfg)
	if err != nil {
		return MemoryPlan{}, err
	}
	if cfg.Network.hasFrozenBody() {
		net.Image = 0 // no gradient goes back through it
	}
	return MemoryPlan{
		Features:  frozen,
		Network:   budget.Product(4, budget.Sum(net.Params, gradients)),
		Optimizer: budget.Product(4, moments, budget.Sum(net.Trained, proxies)),
		// with gradients; as kept and laid beside the batch
		Loss:  budget.Product(4, 2, budget.Sum(proxies, queue)),
		Pairs: budget.Product(4, pairTables, pairs),

		Activations: budget.Product(4, max(atOnce, eval), max(net.Image, net.Infer)),
		Batches: budget.Sum(budget.Product(4, feed.BufferedBatches, max(batch, eval), input),
			// the list has a slice and the indices of each batch
			budget.Product(8, budget.Sum(3, batch), int64(p.batches))),
		Embeddings: budget.Product(4, p.scored, dim),
	}, nil
}

// frozenFeatureBytes returns the memory of a frozen body's features: all rows, and the rows of one view
// while they are read or written.
func (p *planInput) frozenFeatureBytes(cfg *Config) (int64, error) {
	if !cfg.Network.hasFrozenBody() {
		return 0, nil
	}
	body, err := p.spec.Body()
	if err != nil {
		return 0, err
	}
	views := int64(max(cfg.Data.Views, 1))
	rows := budget.Sum(budget.Product(views, int64(p.samples)), p.scored)
	once := budget.Product(3, budget.Sum(int64(p.samples), p.scored))
	return budget.Product(4, int64(body.OutDim()), budget.Sum(rows, once)), nil
}

// numHeldPairs returns how many pairs of a batch and its references are held at a time. Large
// batches are processed in blocks, except by losses that need all anchors at once.
func numHeldPairs(t loss.Traits, batch, refs int64) int64 {
	all := budget.Product(batch, refs)
	if t.CrossRows || t.Passes > 0 {
		return all
	}
	return min(all, max(objective.MatrixRows*objective.MatrixRows, budget.Product(pair.Grain, refs)))
}

// furtherLosses returns the options of the losses in loss.plus.
func furtherLosses(o *objective.Options) []objective.Options {
	var out []objective.Options
	for _, w := range o.Plus {
		out = append(out, w.Options)
	}
	return out
}

// planMemory plans the memory of the run, before the network is made.
func (p *plan) planMemory(spec *nn.Spec) (MemoryPlan, error) {
	b := &p.batches
	in := planInput{
		spec: spec, objective: &p.loss.options, classes: b.population.classes,
		batch: b.sampler.BatchSize(), batches: b.sampler.Batches(), samples: b.population.part.Len(),
	}
	for _, s := range p.feeds.scored {
		parts := []*data.Part{s.query}
		if s.gallery != nil {
			parts = append(parts, s.gallery)
		}
		for _, part := range parts {
			in.scored += int64(part.Len())
			in.largest = max(in.largest, part.Len())
		}
	}
	return planMemory(&p.cfg, in)
}
