package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/nn"
)

// problem is what is wrong with the value of a key.
type problem struct{ key, text string }

// problems checks what can be checked without the data.
//
// Long: a line for each setting.
func (c *Config) problems() []problem {
	var out []problem
	bad := func(wrong bool, key, format string, args ...any) {
		if wrong {
			out = append(out, problem{key, fmt.Sprintf(format, args...)})
		}
	}
	atLeast := func(key string, v, least int) { bad(v < least, key, "%d is less than %d", v, least) }
	positive := func(key string, v float64) { bad(!(v > 0), key, "%v is not positive", v) }
	share := func(key string, v float64) { bad(!(v >= 0 && v < 1), key, "%v is not in [0, 1)", v) }
	notNegative := func(key string, v float64) { bad(!(v >= 0), key, "%v is negative", v) }

	bad(c.Data.Name != "" && c.Data.Path != "" && c.Data.Path != c.Data.Name && strings.ContainsAny(c.Data.Name, "/\\"),
		"data.name", "%q is a path: give it as data.path", c.Data.Name)
	atLeast("data.size", c.Data.Size, 0)
	bad(c.Data.Size > 4096, "data.size", "%d is more than 4096", c.Data.Size)
	bad(!slices.Contains([]int{0, 1, 3}, c.Data.Channels), "data.channels", "%d is none of 0, 1, 3", c.Data.Channels)
	bad(!slices.Contains([]string{"", "stretch", "cover"}, c.Data.Fit), "data.fit", "%q is neither stretch nor cover",
		c.Data.Fit)
	bad(!slices.Contains([]string{"", repeatChroma, smoothChroma}, c.Data.Chroma), "data.chroma",
		"%q is neither %s nor %s", c.Data.Chroma, repeatChroma, smoothChroma)
	atLeast("data.shorter", c.Data.Shorter, 0)
	if _, err := imaging.ParseAugment(c.Data.Augment); err != nil {
		bad(true, "data.augment", "%v", err)
	}
	if _, err := imaging.ParseNormalization(c.Data.Pixels); err != nil {
		bad(true, "data.pixels", "%v", err)
	}
	atLeast("data.views", c.Data.Views, 0)
	bad(c.Data.Views > 0 && !c.Network.frozenBody(), "data.views", "only with network.freeze=%s", wholeBody)
	atLeast("data.train_limit", c.Data.TrainLimit, 0)
	atLeast("data.test_limit", c.Data.TestLimit, 0)
	bad(c.Network.own() && c.Network.Name != "", "network.name",
		"%s brings its own network: leave the name out", c.Network.Pretrained)
	bad(!c.Network.own() && c.Network.Cut != "", "network.cut", "only for a network.pretrained that is a file of ONNX")
	atLeast("network.dim", c.Network.Dim, 0)
	bad(!slices.Contains([]string{"", randomHead, pcaHead, identityHead}, c.Network.Head), "network.head",
		"%q is none of %s, %s, %s", c.Network.Head, randomHead, pcaHead, identityHead)
	if _, err := nn.ParsePrecision(c.Network.Precision); err != nil {
		bad(true, "network.precision", "%q is neither float32 nor bfloat16", c.Network.Precision)
	}
	for _, k := range c.Network.shaping() {
		bad(c.Network.own() && k.set, k.key, "only for networks by name: %s brings its own", c.Network.Pretrained)
	}
	bad(!slices.Contains([]string{"", timmPositions, string(nn.ResampleDINO)}, c.Network.Resample), "network.resample",
		"%q is neither %s nor %s", c.Network.Resample, timmPositions, nn.ResampleDINO)
	bad(!slices.Contains([]string{"", string(nn.PoolMean), string(nn.PoolGEM), string(nn.PoolClass)}, c.Network.Pool),
		"network.pool", "%q is none of %s, %s, %s", c.Network.Pool, nn.PoolMean, nn.PoolGEM, nn.PoolClass)
	atLeast("network.patch", c.Network.Patch, 0)
	atLeast("network.registers", c.Network.Registers, 0)
	share("network.drop_path", c.Network.DropPath)
	atLeast("network.width", c.Network.Width, 0)
	notNegative("network.multiple", c.Network.Multiple)
	share("network.dropout", c.Network.Dropout)
	atLeast("sample.classes", c.Sample.Classes, 0)
	atLeast("sample.per_class", c.Sample.PerClass, 0)
	atLeast("sample.batches", c.Sample.Batches, 0)
	atLeast("sample.views", c.Sample.Views, 1)
	atLeast("sample.coarse", c.Sample.Coarse, 0)
	atLeast("sample.fine", c.Sample.Fine, 0)
	bad(!slices.Contains(samplers, c.Sample.Name), "sample.name", "unknown sampler %q%s; there are %s", c.Sample.Name,
		suggest(c.Sample.Name, samplers), strings.Join(samplers, ", "))
	bad(c.Sample.Name == hierarchical && c.Sample.Classes > 0, "sample.classes",
		"hierarchical batches have sample.coarse classes, and sample.fine of each")
	bad(c.Sample.Name == balanced && c.Sample.Coarse > 0, "sample.coarse", "only for sample.name=hierarchical")
	bad(c.Sample.Name == balanced && c.Sample.Fine > 0, "sample.fine", "only for sample.name=hierarchical")
	atLeast("train.epochs", c.Train.Epochs, 0)
	if _, err := c.Train.budget(); err != nil {
		bad(true, "train.budget", "%v", err)
	}
	if _, err := c.Train.average(); err != nil {
		bad(true, "train.average", "%v", err)
	}
	bad(!slices.Contains([]string{"", noMargin, errorMargin}, c.Train.BestMargin), "train.best_margin",
		"%q is neither %s nor %s", c.Train.BestMargin, errorMargin, noMargin)
	atLeast("train.line", c.Train.Line, 0)
	bad(c.Train.Line > 100, "train.line", "%d is more than 100 parts", c.Train.Line)
	bad(!slices.Contains(optimizers, c.Train.Optimizer), "train.optimizer", "unknown optimizer %q%s; there are %s",
		c.Train.Optimizer, suggest(c.Train.Optimizer, optimizers), strings.Join(optimizers, ", "))
	bad(!slices.Contains(schedules, c.Train.Schedule), "train.schedule", "unknown schedule %q%s; there are %s",
		c.Train.Schedule, suggest(c.Train.Schedule, schedules), strings.Join(schedules, ", "))
	notNegative("train.lr", c.Train.LR)
	notNegative("train.depth", c.Train.Depth)
	bad(c.Train.Depth > 1, "train.depth", "%v is more than 1", c.Train.Depth)
	atLeast("train.patience", c.Train.Patience, 0)
	notNegative("train.loss_lr", c.Train.LossLR)
	share("train.momentum", c.Train.Momentum)
	notNegative("train.weight_decay", c.Train.WeightDecay)
	notNegative("train.clip", c.Train.Clip)
	bad(c.Train.Schedule == "step" && len(c.Train.Steps) == 0, "train.steps",
		"schedule step needs the epochs at which the rate falls")
	bad(!slices.IsSorted(c.Train.Steps) || len(c.Train.Steps) > 0 && c.Train.Steps[0] < 1, "train.steps",
		"%v are not epochs in ascending order", c.Train.Steps)
	positive("train.gamma", c.Train.Gamma)
	notNegative("train.warmup", c.Train.Warmup)
	atLeast("train.chunk", c.Train.Chunk, 0)
	atLeast("train.checkpoint", c.Train.Checkpoint, 0)
	for _, g := range c.Train.Groups {
		bad(g.Prefix == "", "train.groups", "a group without a prefix")
		bad(!(g.Scale >= 0), "train.groups", "group %q: scale %v is negative", g.Prefix, g.Scale)
	}
	bad(len(c.Eval.Recall) == 0, "eval.recall", "at least one k is needed")
	for _, k := range c.Eval.Recall {
		atLeast("eval.recall", k, 1)
	}
	atLeast("eval.every", c.Eval.Every, 1)
	atLeast("eval.train", c.Eval.Train, -1)
	atLeast("eval.batch", c.Eval.Batch, 1)
	if _, err := rank.ParseDistance(c.Eval.Distance); err != nil {
		bad(true, "eval.distance", "%v", err)
	}
	for _, m := range c.Eval.Metrics {
		if _, _, err := parseMetric(m); err != nil {
			bad(true, "eval.metrics", "%v", err)
		}
	}
	return out
}
