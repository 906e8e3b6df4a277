package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/keys"
	"github.com/kindred-ml/kindred/train"
)

// dataKeys are the keys of section data: what to train and test on.
var dataKeys = []key{
	{Name: "data.name", Help: "data set in the data folder, such as mnist", Inapplicable: checkNameNotPath},
	{Name: "data.path", Help: "folder, manifest, benchmark root or file of features (.npy), in place of a name"},
	{Name: "data.labels",
		Help: "file of labels for ready features (.npy, .csv); empty: the labels in or beside the file of features"},
	{Name: "data.crop", Help: "cut images to the bounding boxes of CUB and Cars"},
	{Name: "data.size", Help: "side of the images in pixels; 0: chosen from the data",
		Checks: []check{keys.AtLeast(0), keys.AtMost(4096, "")}, UseRecorded: alwaysRecorded},
	{Name: "data.channels", Help: "1 (grey) or 3 (colour); 0: as in the images",
		Values: []string{"1", "3"}, UseRecorded: alwaysRecorded,
		Checks: []check{func(v any, _ []string, bad report) {
			if n := v.(int); n != 0 && n != 1 && n != 3 {
				bad("%d: must be 0, 1 or 3", n)
			}
		}}},
	{Name: "data.label",
		Help: "column or rule that gives the training label: fine, coarse, parity, mod:3, groups:0-4|5-9; empty: the " +
			"set's own; of two levels of folders chosen by their sizes",
		UseRecorded: alwaysRecorded},
	{Name: "data.fine",
		Help: "column that scores retrieval; empty: the set's fine labels, or coarse if folders in class folders are " +
			"no classes",
		UseRecorded: alwaysRecorded},
	{Name: "data.split",
		Help: "official, images:0.2, classes, both:0.2, fold:1/4, benchmark; empty: the set's own split, else " +
			"images:0.2, or classes if most classes are small",
		Values:      []string{"official", "images:0.2", "classes", "both:0.2", "fold:1/4", "benchmark"},
		UseRecorded: alwaysRecorded},
	{Name: "data.train_classes",
		Help: "fine classes to train on, such as 0-5; empty: all classes of the training side"},
	{Name: "data.test_classes", Help: "fine classes to test on; empty: all classes of the test side"},
	{Name: "data.train_limit", Help: "use only the first n training samples of each fine class; 0: all",
		Checks: []check{keys.AtLeast(0)}},
	{Name: "data.test_limit", Help: "use only the first n test samples of each fine class; 0: all",
		Checks: []check{keys.AtLeast(0)}},
	{Name: "data.fit",
		Help:   "how images are made square: stretch, cover (cut out the middle); empty: cover for colour images",
		Values: []string{prepare.Stretch.String(), prepare.Cover.String()}, Checks: []check{keys.OneOf},
		UseRecorded: alwaysRecorded},
	{Name: "data.shorter",
		Help:   "length of the shorter side before the middle is cut out, with stretch of both sides; 0: size",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: alwaysRecorded},
	{Name: "data.resample",
		Help: "resize images exactly as Pillow does, by one of its filters; empty: the pretrained network's, else " +
			"bilinear without rounding in between, from JPEG files that are reduced while they are decoded",
		Values: prepare.Filters(), Checks: []check{keys.OneOf}, UseRecorded: alwaysRecorded},
	{Name: "data.augment",
		Help: "random changes to training images: none, characters, light, standard, strong; empty: light from a " +
			"pretrained start with a trained body, characters if the default loss compares views, else none",
		Values: prepare.Augmentations(), UseRecorded: alwaysRecorded,
		Checks: []check{keys.ParsedBy(func(s string) error { _, err := prepare.ParseAugment(s); return err })}},
	{Name: "data.views",
		Help: "number of augmented views of each training image with network.freeze=body; 0: 4, or none without " +
			"augmentation",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: alwaysRecorded,
		Inapplicable: keys.Unless(func(c *Config) bool { return c.Network.hasFrozenBody() },
			"only with network.freeze="+wholeBody)},
	{Name: "data.pixels",
		Help: "range of pixel values: unit, symmetric, inverted, byte, imagenet, clip, bn_inception; empty: " +
			"the pretrained network's, else unit",
		Values: prepare.Normalizations(), UseRecorded: alwaysRecorded,
		Checks: []check{keys.ParsedBy(func(s string) error { _, err := prepare.ParseNormalization(s); return err })}},
	{Name: "data.chroma",
		Help: "how colours of JPEG and AVIF files are enlarged: repeat, or smooth as in libjpeg; empty: smooth for a " +
			"pretrained network, else repeat",
		Values: []string{repeatChroma, smoothChroma}, Checks: []check{keys.OneOf}, UseRecorded: alwaysRecorded},
	{Name: "data.colours",
		Help: "what becomes of colours of another space than sRGB that a file declares (ICC, gAMA, cICP, nclx): srgb " +
			"(converted), or raw as in Pillow and torchvision; empty: srgb",
		Values: []string{srgbColours, rawColours}, Checks: []check{keys.OneOf}, UseRecorded: alwaysRecorded},
	{Name: "data.rounded",
		Help: "data.resample=bilinear where data.resample is empty; with either, kindred-gpu sends bytes, a quarter " +
			"of the data"},
	{Name: "data.validation",
		Help: "part of the training images that chooses the best epoch: none, classes:0.2, images:0.1, or " +
			"as-test:0.2 (classes if the test has other classes, else images); empty: as-test:0.2 from a pretrained " +
			"start, else none",
		Values: []string{none, "classes:0.2", "images:0.1", "as-test:0.2"}, UseRecorded: alwaysRecorded},
	{Name: "data.fold",
		Help: "test on a part of the training images, to choose settings: K/N, fold K of N of the classes; " +
			"images:K/N, of the images of every class; empty: the test itself"},
	{Name: "data.group",
		Help: "what keeps photos that were taken together on one side of a split: found (bursts and copies), " +
			"folder, taken (one day), camera, place (about 100 m), a manifest's column, none; empty: found for " +
			"photographs from a pretrained start, else none",
		Values: []string{split.GroupFound, split.GroupFolder, split.GroupTaken, split.GroupCamera, split.GroupPlace,
			split.GroupNone},
		UseRecorded: alwaysRecorded},
	{Name: "data.cache", Help: "decode image files once, into a file in the user's cache folder"},
	{Name: "data.outside", Help: "let manifests and lists name images outside their folder"},
	{Name: "data.strict", Opposite: "data.skip_corrupt",
		Help: "end at the first image that cannot be read or has no label; otherwise such images are left out, " +
			"counted and named at the end"},
}

// checkNameNotPath refuses a data.name that is a path and differs from data.path.
func checkNameNotPath(c *Config) string {
	d := &c.Data
	if d.Path != "" && d.Path != d.Name && strings.ContainsAny(d.Name, "/\\") {
		return fmt.Sprintf("%q is a path: give it as data.path", d.Name)
	}
	return ""
}

// networkKeys describe the network and its start.
var networkKeys = []key{
	{Name: "network.name",
		Help: "network: conv4, resnet50, mobilenet_v2, vit_s16 and others (a wrong name prints the list); empty: " +
			"chosen from the data",
		Values: zoo.Networks(), UseRecorded: alwaysRecorded,
		Inapplicable: func(c *Config) string {
			if c.Network.includesNetwork() {
				return c.Network.Pretrained + " includes its own network: leave network.name out"
			}
			return ""
		}},
	{Name: "network.dim",
		Help:   "length of the embedding; 0: the features of a pretrained network or a frozen body, else 128",
		Checks: []check{keys.AtLeast(0)}, UseRecorded: alwaysRecorded},
	{Name: "network.normalize", Help: "divide embeddings by their length; auto: yes, except below 4 dimensions",
		Values: switches, UseRecorded: alwaysRecorded},
	{Name: "network.pretrained",
		Help: "weights to start from: a name of 'kindred weights list', a file (.safetensors, .pth, or .onnx with " +
			"its network), a folder with model.safetensors, or none; of several, with commas between, the best " +
			"is kept; empty: for photographs without network.name a network of the weights folder or a fetched one, " +
			"else none",
		UseRecorded: alwaysRecorded},
	{Name: "network.cut", Help: "last node or tensor to use of an .onnx file; empty: the one before the classifier",
		Inapplicable: keys.Unless(func(c *Config) bool { return c.Network.includesNetwork() },
			"only with an ONNX file as network.pretrained")},
	{Name: "network.head",
		Help: "start of the embedding layer: random, pca (principal components of the training features), identity " +
			"(the features); empty: identity on a frozen body of the same length, pca from a pretrained start with " +
			"enough samples and features, else random",
		Values: []string{randomHead, pcaHead, identityHead, wccnHead}, Checks: []check{keys.OneOf},
		UseRecorded: alwaysRecorded},
	{Name: "network.head_norm", Help: "batch norm on the embedding"},
	{Name: "network.width",
		Help:   "filters of conv4 (0: 64), hidden units of mlp (0: 512), channels of a transformer (0: as in its name)",
		Checks: []check{keys.AtLeast(0)}},
	{Name: "network.multiple",
		Help:   "width multiplier of resnet*, mobilenet_*, efficientnet_b0, convnext_tiny, bn_inception; 0: 1",
		Checks: []check{keys.NonNegative}},
	{Name: "network.stem", Help: "stem of residual networks: large, small; empty: chosen from the image size",
		Values: []string{string(zoo.StemLarge), string(zoo.StemSmall)}},
	{Name: "network.pool",
		Help: "how positions become one vector: mean, gem (generalised mean with a trained power; not for " +
			"transformers), cls (a transformer's class token); empty: the network's own",
		Values: []string{string(zoo.PoolMean), string(zoo.PoolGEM), string(zoo.PoolClass)},
		Checks: []check{keys.OneOf}, Inapplicable: checkNamedNetwork,
		AllowUnused: func(c *Config) bool { return c.Network.Pool != string(zoo.PoolGEM) }},
	{Name: "network.patch", Help: "side in pixels of a transformer's patches; 0: as in its name",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork},
	{Name: "network.registers", Help: "tokens of a transformer besides the class token",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork, AllowUnused: neverIdle},
	{Name: "network.depth", Help: "blocks of a transformer; 0: the pretrained network's, else as in its name",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork},
	{Name: "network.heads",
		Help:   "heads of a transformer's attention; 0: the pretrained network's, else as in its name",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork},
	{Name: "network.hidden",
		Help:   "units of a transformer's perceptrons; 0: the pretrained network's, else four for each channel",
		Checks: []check{keys.AtLeast(0)}, Inapplicable: checkNamedNetwork},
	{Name: "network.act",
		Help: "activation of a transformer or of convnext_tiny: gelu, gelu_tanh, quick_gelu and others; empty: the " +
			"pretrained network's, else as in its name",
		Values: activations(), Checks: []check{keys.OneOf}, Inapplicable: checkNamedNetwork},
	{Name: "network.eps",
		Help:   "epsilon of norms (convnext_tiny: of the last norm); 0: the pretrained network's, else as in its name",
		Checks: []check{keys.Fraction}, Inapplicable: checkNamedNetwork},
	{Name: "network.padding",
		Help: "padding of mobilenet_* and efficientnet_b0: symmetric, same (TensorFlow's); empty: the pretrained " +
			"network's, else as in its name",
		Values: []string{string(zoo.PaddingSymmetric), string(zoo.PaddingSame)}, Checks: []check{keys.OneOf},
		Inapplicable: checkNamedNetwork},
	{Name: "network.resample",
		Help: "how pretrained position embeddings are fitted to data.size: timm, dino, torch (as Hugging Face); " +
			"empty: the pretrained network's, else timm",
		Values: []string{defaultPositionResampling, string(zoo.ResampleDINO), string(zoo.ResampleTorch)},
		Checks: []check{keys.OneOf}},
	{Name: "network.drop_path",
		Help: "probability that training skips the last block's branches for an image (stochastic depth), growing " +
			"from 0 at the first block; transformers, convnext_tiny, efficientnet_b0",
		Checks: []check{keys.Fraction}, Inapplicable: checkNamedNetwork, AllowUnused: neverIdle},
	{Name: "network.dropout", Help: "share of values dropped before the embedding layer",
		Checks: []check{keys.Fraction}},
	{Name: "network.freeze",
		Help: "prefixes of names of parameters that are not trained; body: all before the embedding layer, whose " +
			"features are computed once and kept",
		Values: []string{wholeBody}},
	{Name: "network.lora",
		Help: "adapters of a transformer's linear layers (LoRA), such as {rank: 8}: only these and the embedding " +
			"layer are trained; alpha 0: 2 rank; rank 0: none",
		Checks: []check{func(v any, _ []string, bad report) {
			if l := v.(LoRA); l != (LoRA{}) && l.Rank < 1 {
				bad("rank is %d: must be at least 1", l.Rank)
			} else if l.Alpha < 0 {
				bad("alpha is %v: must not be negative", l.Alpha)
			}
		}},
		Inapplicable: keys.Unless(func(c *Config) bool { return len(c.Network.Freeze) == 0 },
			"adapters leave all layers before the embedding layer as they are: leave network.freeze out")},
	{Name: "network.precision",
		Help: "arithmetic of products: float32, bfloat16 (faster with AMX or AVX512_BF16, two or three digits); " +
			"empty: float32. kindred quantize writes int8",
		Values: []string{"float32", string(nn.BFloat16), string(nn.Int8)}, Checks: []check{keys.OneOf}},
	{Name: "network.frozen_norm",
		Help:   "batch norm keeps its running statistics fixed in training; auto: true from a pretrained start",
		Values: switches, UseRecorded: alwaysRecorded},
}

// activations lists the values of network.act.
func activations() (names []string) {
	for _, kind := range zoo.Activations() {
		names = append(names, string(kind))
	}
	return names
}

// checkNamedNetwork refuses settings of a network by name if a file includes its own network.
func checkNamedNetwork(c *Config) string {
	if c.Network.includesNetwork() {
		return fmt.Sprintf("only for networks by name: %s includes its own network", c.Network.Pretrained)
	}
	return ""
}

// neverIdle is the AllowUnused of a key whose value is an error for networks that do not use it.
func neverIdle(*Config) bool { return false }

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
		Inapplicable: keys.Unless(func(c *Config) bool { return c.Sample.Name != hierarchical },
			"hierarchical batches take sample.coarse and sample.fine instead")},
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
var checkHierarchicalKey = keys.Unless(func(c *Config) bool { return c.Sample.Name != balanced },
	"only for sample.name="+hierarchical)

// alwaysRecorded is the UseRecorded of keys for which zero means that the data or the start decides.
func alwaysRecorded(_, _ *Config) bool { return true }

// hasSameSampler is the UseRecorded of keys that the sampler fills in.
func hasSameSampler(now, was *Config) bool { return now.Sample.Name == was.Sample.Name }

// startedPretrained is the UseRecorded of keys for which zero is a value in a run from scratch, such as no
// limit.
func startedPretrained(_, was *Config) bool { return was.Network.isPretrained() }
