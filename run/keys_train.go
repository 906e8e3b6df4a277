package run

import (
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/objective"
)

// The names that train.optimizer, train.schedule and eval.distance take.
var (
	optimizers = []string{string(optim.Adam), string(optim.AdamW), string(optim.SGD)}
	schedules  = []string{string(optim.Constant), string(optim.StepDown), string(optim.Cosine)}
	scoredBy   = []string{rank.Euclidean.String(), rank.Cosine.String()}
)

// sampleKeys describe batches.
var sampleKeys = []key{
	{
		name: "sample.name", at: func(c *Config) any { return &c.Sample.Name },
		help: "balanced: a number of classes and of samples of each; hierarchical: a number of coarse classes, of " +
			"fine classes of each, and of samples of each of these",
		def: balanced, values: samplers,
		checks: []check{func(k *key, c *Config, bad report) {
			if c.Sample.Name != brought {
				anyOf("sampler")(k, c, bad)
			}
		}},
	},
	{
		name: "sample.classes", at: func(c *Config) any { return &c.Sample.Classes },
		help:   "training labels in a batch; 0: enough for a batch of about 128",
		checks: []check{atLeast(0)}, begun: sameSampler,
		only: func(c *Config) string {
			if c.Sample.Name == hierarchical {
				return "hierarchical batches have sample.coarse classes, and sample.fine of each"
			}
			return ""
		},
	},
	{
		name: "sample.per_class", at: func(c *Config) any { return &c.Sample.PerClass },
		help: "samples of each; 0: as many as most classes have, 2 to 16, or more if there are few labels; " +
			"hierarchical: 4",
		checks: []check{atLeast(0)}, begun: sameSampler,
	},
	{
		name: "sample.coarse", at: func(c *Config) any { return &c.Sample.Coarse },
		help:   "hierarchical: coarse classes in a batch; 0: up to 4",
		checks: []check{atLeast(0)}, begun: sameSampler, only: ofHierarchies,
	},
	{
		name: "sample.fine", at: func(c *Config) any { return &c.Sample.Fine },
		help:   "hierarchical: fine classes of each; 0: 2",
		checks: []check{atLeast(0)}, begun: sameSampler, only: ofHierarchies,
	},
	{
		name: "sample.views", at: func(c *Config) any { return &c.Sample.Views },
		help: "how often each sample appears in its batch, augmented differently each time (data.augment); losses " +
			"between views compare these rows, other losses do not; 0: 2 where nothing is set of the loss and " +
			"grey images are learned from scratch, else 1",
		checks: []check{atLeast(0)}, begun: always,
	},
	{
		name: "sample.batches", at: func(c *Config) any { return &c.Sample.Batches },
		help: "batches in an epoch, each a step of training; 0: enough to draw about as many samples as there are, " +
			"from a pretrained start at least 8",
		checks: []check{atLeast(0)}, begun: sameSampler,
	},
}

// objectiveKeys are those of mine and loss that the start decides about.
var objectiveKeys = []key{
	{
		name: "mine.positives", help: "which positives of an anchor count: see docs/policies",
		values: mine.PositiveNames(), begun: always,
	},
	{name: "mine.negatives", help: "and which negatives", values: mine.NegativeNames(), begun: always},
	{
		name: "loss.name", help: "the loss", values: objective.LossNames(), begun: always,
	},
	{
		name: "loss.plus", help: "a list of further losses: each a section like this one with a weight",
		begun: always,
	},
}

// trainKeys describe the optimization.
var trainKeys = []key{
	{
		name: "train.epochs", at: func(c *Config) any { return &c.Train.Epochs },
		help: "epochs (of sample.batches steps), at most; 0: 10, from a pretrained start as many as draw 100,000 " +
			"samples or each of them 32 times, at least 4",
		checks: []check{atLeast(0)}, begun: always,
	},
	{
		name: "train.budget", at: func(c *Config) any { return &c.Train.Budget },
		help: "end after the epoch in which training has taken this long, such as 10m; how many epochs that are " +
			"depends on the machine; empty: no limit",
		checks: []check{func(_ *key, c *Config, bad report) {
			if _, err := c.Train.budget(); err != nil {
				bad("%v", err)
			}
		}},
	},
	{
		name: "train.optimizer", at: func(c *Config) any { return &c.Train.Optimizer },
		help: strings.Join(optimizers, ", "),
		def:  string(optim.Adam), values: optimizers, checks: []check{anyOf("optimizer")},
	},
	{
		name: "train.lr", at: func(c *Config) any { return &c.Train.LR },
		help: "learning rate; 0: 0.001, from a pretrained start 0.0001, or 0.00003 if fewer than 10 labels train and " +
			"the test has other classes, of a head on a frozen one 0.0003",
		checks: []check{notNegative}, begun: always,
	},
	{
		name: "train.loss_lr", at: func(c *Config) any { return &c.Train.LossLR },
		help:   "learning rate of the loss's own parameters; 0: the loss's default, else lr",
		checks: []check{notNegative},
	},
	{
		name: "train.momentum", at: func(c *Config) any { return &c.Train.Momentum },
		help: "momentum of sgd",
		def:  0.9, checks: []check{share},
	},
	{
		name: "train.weight_decay", at: func(c *Config) any { return &c.Train.WeightDecay },
		help:   "weight decay",
		checks: []check{notNegative},
	},
	{
		name: "train.depth", at: func(c *Config) any { return &c.Train.Depth },
		help: "factor for the learning rate of the first layer, with equal steps up to 1 for the last; 0: 1, from a " +
			"pretrained start 0.1 unless its body is frozen",
		begun: always,
		checks: []check{notNegative, func(_ *key, c *Config, bad report) {
			if c.Train.Depth > 1 {
				bad("%v is more than 1", c.Train.Depth)
			}
		}},
	},
	{
		name: "train.clip", at: func(c *Config) any { return &c.Train.Clip },
		help:   "largest norm of the gradient; 0: no limit",
		checks: []check{notNegative},
	},
	{
		name: "train.schedule", at: func(c *Config) any { return &c.Train.Schedule },
		help: strings.Join(schedules, ", "),
		def:  string(optim.Constant), values: schedules, checks: []check{anyOf("schedule")},
	},
	{
		name: "train.steps", at: func(c *Config) any { return &c.Train.Steps },
		help: "schedule step: epochs after which the rate is multiplied by gamma",
		checks: []check{func(_ *key, c *Config, bad report) {
			steps := c.Train.Steps
			if c.Train.Schedule == string(optim.StepDown) && len(steps) == 0 {
				bad("schedule step needs the epochs at which the rate falls")
			}
			if !slices.IsSorted(steps) || len(steps) > 0 && steps[0] < 1 {
				bad("%v are not epochs in ascending order", steps)
			}
		}},
	},
	{
		name: "train.gamma", at: func(c *Config) any { return &c.Train.Gamma },
		help: "schedule step: the factor gamma",
		def:  0.1, checks: []check{positive},
	},
	{
		name: "train.warmup", at: func(c *Config) any { return &c.Train.Warmup },
		help:   "epochs over which the rate grows linearly at the start",
		checks: []check{notNegative},
	},
	{
		name: "train.groups", at: func(c *Config) any { return &c.Train.Groups },
		help: "learning rates by parameter name: [{prefix: fc, scale: 10, no_decay: true}]",
		checks: []check{func(_ *key, c *Config, bad report) {
			for _, g := range c.Train.Groups {
				if g.Prefix == "" {
					bad("a group without a prefix")
				}
				if !(g.Scale >= 0) {
					bad("group %q: scale %v is negative", g.Prefix, g.Scale)
				}
			}
		}},
	},
	{
		name: "train.seed", at: func(c *Config) any { return &c.Train.Seed },
		help: "seed for everything random",
		def:  uint64(1),
	},
	{
		name: "train.best", at: func(c *Config) any { return &c.Train.Best },
		help: "keep the epoch with the highest value of this metric, such as validation_recall@1; none: keep the " +
			"last; empty: validation_margin+distractors (how much nearer the nearest sample of its class is than any " +
			"other, for validation samples among each other and training samples of other classes) or, where they " +
			"are searched among training samples of their own classes, validation_margin; without a validation part " +
			"none",
		begun: always,
	},
	{
		name: "train.smooth", at: func(c *Config) any { return &c.Train.Smooth },
		help: "with best, number of evaluations, the epoch's own and those before it, whose mean is its score; 0, 1: " +
			"its own alone",
		checks: []check{atLeast(0)}, begun: fromWeights,
	},
	{
		name: "train.patience", at: func(c *Config) any { return &c.Train.Patience },
		help: "with best, end after this many evaluations without a higher score; 0: never, from a pretrained start " +
			"as many as make 96 steps, at least 4",
		checks: []check{atLeast(0)}, begun: fromWeights,
	},
	{
		name: "train.average", at: func(c *Config) any { return &c.Train.Average },
		help: "number of epochs over which weights are averaged, or of steps (\"48 steps\"); the average is scored " +
			"and kept in place of the last weights; none: without; empty: none, from a pretrained start 48 steps",
		begun: always,
		checks: []check{func(_ *key, c *Config, bad report) {
			if _, err := c.Train.average(1); err != nil {
				bad("%v", err)
			}
		}},
	},
	{
		name: "train.line", at: func(c *Config) any { return &c.Train.Line },
		help: "with best, number of parts of the straight line from the starting weights to the best epoch's; the " +
			"place between them that scores best is kept; 0, 1: the best epoch as it is",
		checks: []check{atLeast(0), atMost(100, " parts")}, begun: fromWeights,
	},
	{
		name: "train.chunk", at: func(c *Config) any { return &c.Train.Chunk }, begun: fromWeights,
		help: "largest number of samples in the network at a time; a larger batch goes through it in pieces, " +
			"twice, with the memory of a piece; 0: whole batches; from a pretrained start, if these do not fit " +
			"the memory, the largest pieces that do",
		checks: []check{atLeast(0)},
	},
	{
		name: "train.tensorboard", at: func(c *Config) any { return &c.Train.TensorBoard },
		help: "also write the numbers of every epoch for TensorBoard, as events.out.tfevents.kindred in the run " +
			"folder",
	},
	{
		name: "train.checkpoint", at: func(c *Config) any { return &c.Train.Checkpoint },
		help:   "also write the checkpoint every n steps; 0: only after each epoch",
		checks: []check{atLeast(0)},
	},
}

// evalKeys describe the evaluation.
var evalKeys = []key{
	{
		name: "eval.recall", at: func(c *Config) any { return &c.Eval.Recall },
		help: "k of Recall@k",
		def:  []int{1, 5, 10},
		checks: []check{func(_ *key, c *Config, bad report) {
			if len(c.Eval.Recall) == 0 {
				bad("at least one k is needed")
			}
			for _, n := range c.Eval.Recall {
				if n < 1 {
					bad("%d is less than 1", n)
				}
			}
		}},
	},
	{
		name: "eval.every", at: func(c *Config) any { return &c.Eval.Every },
		help: "evaluate after every n-th epoch, and after the last",
		def:  1, checks: []check{atLeast(1)},
	},
	{
		name: "eval.metrics", at: func(c *Config) any { return &c.Eval.Metrics },
		help: "further metrics after the last epoch, named as in kindred eval; fine:nmi or label:nmi+30 for one " +
			"column of labels",
		checks: []check{func(_ *key, c *Config, bad report) {
			for _, m := range c.Eval.Metrics {
				if _, _, err := parseMetric(m); err != nil {
					bad("%v", err)
				}
			}
		}},
	},
	{
		name: "eval.distance", at: func(c *Config) any { return &c.Eval.Distance },
		help: strings.Join(scoredBy, ", "),
		def:  rank.Euclidean.String(), values: scoredBy,
		checks: []check{readBy(func(s string) error { _, err := rank.ParseDistance(s); return err })},
	},
	{
		name: "eval.train", at: func(c *Config) any { return &c.Eval.Train },
		help:   "also score the first n training samples; 0: none, -1: all",
		checks: []check{atLeast(-1)},
	},
	{
		name: "eval.keep", at: func(c *Config) any { return &c.Eval.Keep },
		help: "keep the embeddings of every evaluation in snapshots/, the first of them before training",
	},
	{
		name: "eval.batch", at: func(c *Config) any { return &c.Eval.Batch },
		help: "images per batch in evaluation",
		def:  256, checks: []check{atLeast(1)},
	},
}

// ofHierarchies refuses what only hierarchical batches have.
func ofHierarchies(c *Config) string {
	if c.Sample.Name == balanced {
		return "only for sample.name=" + hierarchical
	}
	return ""
}
