package run

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/compute/pair"
	"github.com/kindred-ml/kindred/loss"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/feed"
	"github.com/kindred-ml/kindred/train"
)

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
	return budget.Sum(p.Network, p.Optimizer, p.Loss, p.Activations, p.Batches, p.Pairs, p.Embeddings,
		p.Features)
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
