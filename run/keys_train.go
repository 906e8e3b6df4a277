package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/keys"
	"github.com/kindred-ml/kindred/train"
)

// The names that train.optimizer, train.schedule and eval.distance take.
var (
	optimizers = []string{string(train.Adam), string(train.AdamW), string(train.SGD)}
	schedules  = []string{string(train.ConstantRate), string(train.StepDown), string(train.CosineRate)}
	distances  = []string{eval.Euclidean.String(), eval.Cosine.String()}
)

// sampleKeys are the keys of section sample, which describe batches.
var sampleKeys = []key{
	{Name: "sample.name",
		Help: "balanced: batches of classes x per_class samples; hierarchical: batches of coarse x fine x per_class " +
			"samples",
		Default: balanced, Values: samplers,
		Checks: []check{func(v any, words []string, bad report) {
			if v != customValue {
				keys.OneOfNames("sampler")(v, words, bad)
			}
		}}},
	{Name: "sample.classes", Help: "training labels in a batch; 0: enough for a batch of about 128",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: hasSameSampler,
		Inapplicable: func(c *Config) string {
			if c.Sample.Name == hierarchical {
				return "hierarchical batches take sample.coarse and sample.fine instead"
			}
			return ""
		}},
	{Name: "sample.per_class",
		Help: "samples of each label in a batch; 0: the number that most labels have, 2 to 16, or more if there are " +
			"few labels; hierarchical: 4",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: hasSameSampler},
	{Name: "sample.coarse", Help: "hierarchical: coarse classes in a batch; 0: up to 4",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: hasSameSampler, Inapplicable: checkHierarchicalKey},
	{Name: "sample.fine", Help: "hierarchical: fine classes of each coarse class in a batch; 0: 2",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: hasSameSampler, Inapplicable: checkHierarchicalKey},
	{Name: "sample.views",
		Help: "views of each sample in a batch, with different random changes (data.augment), for losses between " +
			"views; 0: 2 for grey images from scratch with the default loss, else 1",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: alwaysRecorded},
	{Name: "sample.batches",
		Help: "steps in an epoch; 0: enough to draw about as many samples as the training part has, at least 1024 " +
			"from a pretrained start",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: hasSameSampler},
}

// objectiveKeys are the keys of mine and loss that the start may decide.
var objectiveKeys = []key{
	{Name: "mine.positives", Help: "policy that chooses the positives of an anchor; see docs/policies",
		Values: objective.PositivePolicyNames(), UseRecorded: alwaysRecorded},
	{Name: "mine.negatives", Help: "policy that chooses the negatives of an anchor; see docs/policies",
		Values: objective.NegativePolicyNames(), UseRecorded: alwaysRecorded},
	{Name: "loss.name", Help: "the loss", Values: objective.LossNames(), UseRecorded: alwaysRecorded},
	{Name: "loss.plus", Help: "list of further losses: each is a section like this one, with a weight",
		UseRecorded: alwaysRecorded},
}

// trainKeys are the keys of section train, which describe the optimization.
var trainKeys = []key{
	{Name: "train.epochs",
		Help: "most epochs of sample.batches steps; 0: 10, or from a pretrained start enough to draw 100,000 " +
			"samples or each sample 32 times (12 times with schedule cosine, but at least 12,288 samples), at least 4",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: alwaysRecorded},
	{Name: "train.minutes",
		Help: "minutes from the start of the run to its end: the pace is measured, and config.yaml then has the " +
			"number of epochs that fits, in place of the minutes; 0: the length is train.epochs",
		Checks: []check{keys.NonNegative, func(v any, _ []string, bad report) {
			if v.(float64) > maxMinutes {
				bad("%v: must be at most %d", v, maxMinutes)
			}
		}},
		Inapplicable: func(c *Config) string {
			switch {
			case c.Train.Epochs > 0:
				return "it decides the number of epochs: leave train.epochs out (train.epochs=0)"
			case c.Train.Budget != "":
				return "it limits the time too: leave train.budget out"
			}
			return ""
		}},
	{Name: "train.budget",
		Help: "end after the epoch in which training has taken this long, such as 10m; the number of epochs then " +
			"depends on the machine; empty: no limit",
		Checks: []check{func(v any, _ []string, bad report) {
			if _, err := parseBudget(v.(string)); err != nil {
				bad("%v", err)
			}
		}}},
	{Name: "train.optimizer", Help: strings.Join(optimizers, ", "),
		Default: string(train.Adam), Values: optimizers, Checks: []check{keys.OneOfNames("optimizer")}},
	{Name: "train.lr",
		Help: "learning rate; 0: 0.001; from a pretrained start 0.0003 with the default loss or a frozen body, else " +
			"0.0001; with a trained body 0.0001 and 0.00003 if fewer than 10 labels train and the test has other " +
			"classes",
		Checks: []check{keys.NonNegative}, UseRecorded: alwaysRecorded},
	{Name: "train.loss_lr", Help: "learning rate of the loss's own parameters; 0: the loss's default, else lr",
		Checks: []check{keys.NonNegative}},
	{Name: "train.proxies",
		Help: "start of a loss's proxies: random, or means (of the embeddings of each class before training); empty: " +
			"means from a pretrained start, else random",
		Values: []string{randomProxies, meanProxies}, Checks: []check{keys.OneOf}, UseRecorded: startedPretrained},
	{Name: "train.momentum", Help: "momentum of sgd", Default: 0.9, Checks: []check{keys.Fraction}},
	{Name: "train.weight_decay", Help: "weight decay", Checks: []check{keys.NonNegative}},
	{Name: "train.depth",
		Help: "factor for the learning rate of the first layer, with equal steps up to 1 for the last; 0: 0.1 from " +
			"a pretrained start with a trained body, else 1",
		UseRecorded: alwaysRecorded,
		Checks: []check{keys.NonNegative, func(v any, _ []string, bad report) {
			if v.(float64) > 1 {
				bad("%v: must be at most 1", v)
			}
		}}},
	{Name: "train.clip", Help: "largest norm of the gradient; 0: no limit", Checks: []check{keys.NonNegative}},
	{Name: "train.schedule",
		Help: strings.Join(schedules, ", ") + "; empty: cosine with the default loss of a pretrained start and " +
			"with train.minutes, else constant",
		Values: schedules, UseRecorded: alwaysRecorded,
		Checks: []check{func(v any, words []string, bad report) {
			if v != "" {
				keys.OneOfNames("schedule")(v, words, bad)
			}
		}}},
	{Name: "train.steps", Help: "epochs after which schedule step multiplies the rate by gamma",
		CheckOthers: func(c *Config, bad report) {
			steps := c.Train.Steps
			if c.Train.Schedule == string(train.StepDown) && len(steps) == 0 {
				bad("empty: schedule step needs the epochs at which the rate falls")
			}
			if !slices.IsSorted(steps) || len(steps) > 0 && steps[0] < 1 {
				bad("%v: must be epochs in ascending order", steps)
			}
		}},
	{Name: "train.gamma", Help: "factor of schedule step", Default: 0.1, Checks: []check{keys.Positive}},
	{Name: "train.warmup",
		Help: "epochs over which the rate grows linearly at the start; 0: none, or 2,048 samples with the default " +
			"loss of a pretrained start, at most half of the run",
		Checks: []check{keys.NonNegative}, UseRecorded: startedPretrained},
	{Name: "train.groups", Help: "learning rates by parameter name: [{prefix: fc, scale: 10, no_decay: true}]",
		Checks: []check{func(v any, _ []string, bad report) {
			for _, g := range v.([]Group) {
				if g.Prefix == "" {
					bad("a group has no prefix: add prefix: NAME")
				}
				if !(g.Scale >= 0) {
					bad("group %q: scale is %v: must not be negative", g.Prefix, g.Scale)
				}
			}
		}}},
	{Name: "train.seed", Help: "seed for everything random", Default: uint64(1)},
	{Name: "train.best",
		Help: "keep the epoch with the highest value of this metric, such as validation_recall@1; none: keep the " +
			"last; empty: validation_margin if the gallery is training samples of the same classes, validation_map@r " +
			"with the default loss of a pretrained start, else validation_margin+distractors; none without validation",
		UseRecorded: alwaysRecorded},
	{Name: "train.smooth",
		Help:   "number of evaluations whose mean is the score of an epoch for train.best; 0, 1: only the epoch's own",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: startedPretrained},
	{Name: "train.patience",
		Help: "end after this many evaluations without a higher score of train.best; 0: never, or from a pretrained " +
			"start as many as draw 12,288 samples, at least 4, unless train.minutes is set",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: startedPretrained},
	{Name: "train.average",
		Help: "number of epochs, or of steps (\"48 steps\"), over which weights are averaged; the average is scored " +
			"and kept; none: no average; empty: the steps that draw 6,144 samples from a pretrained start, else none",
		UseRecorded: alwaysRecorded,
		Checks: []check{func(v any, _ []string, bad report) {
			if _, err := parseAverage(v.(string), 1); err != nil {
				bad("%v", err)
			}
		}}},
	{Name: "train.line",
		Help: "number of points on the straight line from the starting weights to the best epoch's; the best point " +
			"is kept; 0, 1: the best epoch itself",
		Checks: []check{keys.AtLeast(0), keys.AtMost(100, " points")}, UseRecorded: startedPretrained},
	{Name: "train.chunk", UseRecorded: startedPretrained,
		Help: "most samples in the network at a time; a larger batch goes through it in pieces, twice; 0: whole " +
			"batches, or from a pretrained start the largest pieces that fit the memory",
		Checks: []check{keys.AtLeast(0)}},
	{Name: "train.tensorboard",
		Help: "also write every epoch for TensorBoard, as events.out.tfevents.kindred in the run folder"},
	{Name: "train.checkpoint", Help: "also write the checkpoint every n steps; 0: only after each epoch",
		Checks: []check{keys.AtLeast(0)}},
}

// evalKeys are the keys of section eval.
var evalKeys = []key{
	{Name: "eval.recall", Help: "k of Recall@k", Default: []int{1, 5, 10},
		Checks: []check{func(v any, _ []string, bad report) {
			if len(v.([]int)) == 0 {
				bad("empty: give at least one k")
			}
			for _, n := range v.([]int) {
				if n < 1 {
					bad("%d: must be 1 or more", n)
				}
			}
		}}},
	{Name: "eval.every", Help: "evaluate after every n-th epoch, and after the last",
		Default: 1, Checks: []check{keys.AtLeast(1)}},
	{Name: "eval.metrics",
		Help: "further metrics after the last epoch, with the names of kindred eval; fine:nmi or label:nmi+30 for " +
			"one column of labels",
		Checks: []check{func(v any, _ []string, bad report) {
			for _, m := range v.([]string) {
				if _, _, err := parseMetric(m); err != nil {
					bad("%v", err)
				}
			}
		}}},
	{Name: "eval.distance", Help: strings.Join(distances, ", "), Default: eval.Euclidean.String(), Values: distances,
		Checks: []check{keys.ParsedBy(func(s string) error { _, err := eval.ParseDistance(s); return err })}},
	{Name: "eval.train", Help: "also score the first n training samples; 0: none, -1: all",
		Checks: []check{keys.AtLeast(-1)}},
	{Name: "eval.keep", Help: "keep the embeddings of every evaluation, and those before training, in snapshots/"},
	{Name: "eval.batch", Help: "images per batch in evaluation", Default: 64, Checks: []check{keys.AtLeast(1)}},
}

// checkHierarchicalKey refuses a key that only hierarchical batches use.
func checkHierarchicalKey(c *Config) string {
	if c.Sample.Name == balanced {
		return "only for sample.name=" + hierarchical
	}
	return ""
}

// NumEpochs returns Epochs or, if that is 0, the number of epochs of a run from scratch.
func (t *TrainConfig) NumEpochs() int { return cmp.Or(t.Epochs, scratchEpochs) }

// parseBudget reads train.budget, the time that training may take. It returns 0 for no limit.
func parseBudget(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q: must be a length of time, such as 90s, 10m or 1h30m", text)
	}
	return d, nil
}

// stepsWord ends a train.weightAverage that is a number of steps.
const stepsWord = " steps"

// parseAverage reads train.weightAverage and returns the number of epochs over which weights are
// averaged, or 0. steps is the number of steps in an epoch.
func parseAverage(text string, steps int) (float64, error) {
	if text == "" || text == none {
		return 0, nil
	}
	number, inSteps := strings.CutSuffix(text, stepsWord)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("%q: must be a positive number of epochs, such as 3, or of steps, such as \"48 "+
			"steps\", or %s", text, none)
	}
	if inSteps {
		v /= float64(steps)
	}
	return v, nil
}

// alwaysRecorded is the Begun of keys for which zero means that the data or the start decides.
func alwaysRecorded(_, _ *Config) bool { return true }

// hasSameSampler is the Begun of keys that the sampler fills in.
func hasSameSampler(now, was *Config) bool { return now.Sample.Name == was.Sample.Name }

// startedPretrained is the Begun of keys for which zero is a value in a run from scratch, such as no
// limit.
func startedPretrained(_, was *Config) bool { return was.Network.isPretrained() }
