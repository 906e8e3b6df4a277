package run

// Config describes a run. Start from Default; Parse reads it from YAML.
//
// Fields described as "chosen from the data" are filled in when the data set is
// known; the run folder's config.yaml contains the values chosen.
type Config struct {
	Data    DataConfig    `yaml:"data"`
	Network NetworkConfig `yaml:"network"`
	Sample  SampleConfig  `yaml:"sample"`
	// Mine and Loss are read by objective.Parse, which knows the keys of every
	// loss. Without a name the loss is triplet, or, from a pretrained start and if
	// nothing else of it is set either, multisimilarity.
	Mine  Section     `yaml:"mine"`
	Loss  Section     `yaml:"loss"`
	Train TrainConfig `yaml:"train"`
	Eval  EvalConfig  `yaml:"eval"`
}

// Section is a part of a configuration whose keys depend on its content.
type Section map[string]any

// Switch is a choice that may be left to the data. It reads and writes its text.
type Switch string

// Values of a Switch.
const (
	Auto Switch = "auto"
	On   Switch = "true"
	Off  Switch = "false"
)

// DataConfig says what to train and test on.
type DataConfig struct {
	Name         string `yaml:"name" help:"data set in the data folder, such as mnist"`
	Path         string `yaml:"path" help:"folder, manifest, benchmark root or file of features (.npy), instead of a name"`
	Labels       string `yaml:"labels" help:"file of labels for ready features (.npy, .csv); empty: those in or beside the file of features"`
	Crop         bool   `yaml:"crop" help:"cut images to the bounding boxes that CUB and Cars come with"`
	Size         int    `yaml:"size" help:"side of the images in pixels; 0: chosen from the data"`
	Channels     int    `yaml:"channels" help:"1 (grey) or 3 (colour); 0: as in the images"`
	Label        string `yaml:"label" help:"column or rule to train with: coarse, parity, mod:3, groups:0-4|5-9; empty: the set's own"`
	Fine         string `yaml:"fine" help:"column to score retrieval by; empty: the set's fine one"`
	Split        string `yaml:"split" help:"official, images:0.2, classes, both:0.2, fold:1/4, benchmark; empty: the set's own, else images:0.2 or what the sizes of the classes allow"`
	TrainClasses string `yaml:"train_classes" help:"fine classes to train on, such as 0-5; empty: all that the split leaves"`
	TestClasses  string `yaml:"test_classes" help:"fine classes to test on; empty: all that the split leaves"`
	TrainLimit   int    `yaml:"train_limit" help:"use only the first n training samples of each fine class; 0: all"`
	TestLimit    int    `yaml:"test_limit" help:"use only the first n test samples of each fine class; 0: all"`
	Fit          string `yaml:"fit" help:"how images are made square: stretch, cover (cut out the middle); empty: cover for colour images"`
	Shorter      int    `yaml:"shorter" help:"with cover, the length of the shorter side before cutting; 0: size"`
	Augment      string `yaml:"augment" help:"random changes to training images: none, characters, light, standard, strong; empty: none, from a pretrained start light unless its body is frozen"`
	Views        int    `yaml:"views" help:"with network.freeze=body, augmented views of each training image, whose features are kept; 0: 4, without augmentation none"`
	Pixels       string `yaml:"pixels" help:"range of pixel values: unit, symmetric, inverted, imagenet, clip, bn_inception; empty: the pretrained network's, else unit"`
	Chroma       string `yaml:"chroma" help:"how the colours of JPEG files are enlarged: repeat; smooth, as by libjpeg; empty: smooth for a pretrained network, else repeat"`
	Rounded      bool   `yaml:"rounded" help:"round pixels to 8 bits again before they are normalised, as PIL does: kindred-gpu then sends a quarter of the bytes"`
	Validation   string `yaml:"validation" help:"what is cut off the training part to choose the best epoch: none, classes:0.2, images:0.1, or as-test:0.2, classes if the test is on classes that do not train and else images; empty: none, from a pretrained start as-test:0.2"`
	Fold         string `yaml:"fold" help:"put a part of the training part in the place of the test, to choose settings by: K/N, fold K of N of its classes; images:K/N, of the images of every class; empty: the test is the test"`
	Group        string `yaml:"group" help:"what was taken together and stays on one side of every division by images, validation and folds included: found (bursts and copies), folder, a column of a manifest, none; empty: found for photographs from a pretrained start, else none"`
	Cache        bool   `yaml:"cache" help:"decode image files once, into a file in the user's cache folder"`
	Outside      bool   `yaml:"outside" help:"let manifests and lists name images outside their folder"`
	Strict       bool   `yaml:"strict" help:"end at the first image that cannot be read; otherwise such images are left out, counted and named at the end"`
}

// NetworkConfig describes the network.
type NetworkConfig struct {
	Name       string   `yaml:"name" help:"a network by name: conv4, resnet50, mobilenet_v2, vit_s16 and others, which a wrong name lists; empty: chosen from the data"`
	Dim        int      `yaml:"dim" help:"length of the embedding; 0: 128, or the features of a pretrained network as they are; on a frozen body as many as it has features"`
	Normalize  Switch   `yaml:"normalize" help:"divide embeddings by their length; auto: yes, but not for fewer than 4 dimensions"`
	Pretrained string   `yaml:"pretrained" help:"weights to start from: a name of 'kindred weights list', a file (.safetensors, .pth as PyTorch saves it, or .onnx, which brings its network with it) or none; empty: for photographs, if network.name is not set, what is in the weights folder or can be fetched, else none"`
	Cut        string   `yaml:"cut" help:"of an .onnx file: the node or tensor that the network ends with; empty: before the classifier"`
	Head       string   `yaml:"head" help:"how the embedding layer starts: random, pca (the principal components of the training samples' features), identity (the features themselves); empty: identity on a frozen body whose features are as many as the embedding has values, pca from a pretrained start, where there are enough of both, else random"`
	HeadNorm   bool     `yaml:"head_norm" help:"batch norm on the embedding"`
	Width      int      `yaml:"width" help:"filters of conv4 (0: 64), hidden units of mlp (0: 512)"`
	Multiple   float64  `yaml:"multiple" help:"width multiplier of resnet*, mobilenet_*, efficientnet_b0, convnext_tiny, bn_inception; 0: 1"`
	Stem       string   `yaml:"stem" help:"stem of residual networks: large, small; empty: chosen from the image size"`
	Pool       string   `yaml:"pool" help:"how positions become one vector: mean, gem (generalised mean of a trained power; not transformers), cls (a transformer's class token); empty: the network's own"`
	Patch      int      `yaml:"patch" help:"side in pixels of a transformer's patches; 0: by its name"`
	Registers  int      `yaml:"registers" help:"tokens of a transformer beside the class token"`
	Resample   string   `yaml:"resample" help:"how pretrained position embeddings are made to fit data.size: timm, dino; empty: timm"`
	DropPath   float64  `yaml:"drop_path" help:"probability with which the last block's branches are left out of an image in training (stochastic depth), growing to that from 0 at the first; transformers, convnext_tiny, efficientnet_b0"`
	Dropout    float64  `yaml:"dropout" help:"share of values dropped before the embedding layer"`
	Freeze     []string `yaml:"freeze" help:"prefixes of the names of parameters that are not trained; body: all before the embedding layer, whose features are then computed once and kept"`
	Precision  string   `yaml:"precision" help:"arithmetic of convolutions, dense and linear layers and attention: float32, bfloat16 (faster on processors with AMX or AVX512_BF16, to two or three digits); empty: float32"`
	FrozenNorm Switch   `yaml:"frozen_norm" help:"batch norm keeps its running statistics fixed in training; auto: from a pretrained start"`
}

// SampleConfig describes batches of Classes x PerClass samples, or hierarchical
// ones of Coarse x Fine x PerClass, each of them in Views rows.
type SampleConfig struct {
	Name     string `yaml:"name" help:"balanced: a number of classes and of samples of each; hierarchical: a number of coarse classes, of fine classes of each, and of samples of each of these"`
	Classes  int    `yaml:"classes" help:"training labels in a batch; 0: enough for a batch of about 128"`
	PerClass int    `yaml:"per_class" help:"samples of each; 0: as many as most classes have, 2 to 16, or more if there are few labels; hierarchical: 4"`
	Coarse   int    `yaml:"coarse" help:"hierarchical: coarse classes in a batch; 0: up to 4"`
	Fine     int    `yaml:"fine" help:"hierarchical: fine classes of each; 0: 2"`
	Views    int    `yaml:"views" help:"augmentations in which each sample of a batch appears in it, each time another (data.augment); such rows are one sample, which losses between views compare with each other and others do not"`
	Batches  int    `yaml:"batches" help:"batches in an epoch; 0: enough to draw about as many samples as there are"`
}

// TrainConfig describes the optimization.
type TrainConfig struct {
	Epochs      int       `yaml:"epochs" help:"passes over the training set, at most; 0: 10, from a pretrained start as many as draw 100,000 samples, 10 to 100"`
	Budget      string    `yaml:"budget" help:"end after the epoch in which training has taken so long, such as 10m; how many epochs that are depends on the machine; empty: no limit"`
	Optimizer   string    `yaml:"optimizer" help:"adam, adamw, sgd"`
	LR          float64   `yaml:"lr" help:"learning rate; 0: 0.001, from a pretrained start 0.0001, of a head on a frozen one 0.0003"`
	LossLR      float64   `yaml:"loss_lr" help:"learning rate of the loss's own parameters; 0: the loss's default, else lr"`
	Momentum    float64   `yaml:"momentum" help:"momentum of sgd"`
	WeightDecay float64   `yaml:"weight_decay" help:"weight decay"`
	Depth       float64   `yaml:"depth" help:"factor for the learning rate of the first layer, with equal steps up to 1 for the last; 0: 1, from a pretrained start 0.1 unless its body is frozen"`
	Clip        float64   `yaml:"clip" help:"largest norm of the gradient; 0: no limit"`
	Schedule    string    `yaml:"schedule" help:"constant, step, cosine"`
	Steps       []int     `yaml:"steps" help:"schedule step: epochs after which the rate is multiplied by gamma"`
	Gamma       float64   `yaml:"gamma" help:"schedule step: the factor gamma"`
	Warmup      float64   `yaml:"warmup" help:"epochs over which the rate grows linearly at the start"`
	Groups      GroupList `yaml:"groups" help:"learning rates by parameter name: [{prefix: fc, scale: 10, no_decay: true}]"`
	Seed        uint64    `yaml:"seed" help:"seed for everything random"`
	Best        string    `yaml:"best" help:"keep the epoch with the highest value of this metric, such as validation_recall@1; none: keep the last; empty: validation_recall@1+distractors (the validation samples searched among each other and training samples of other classes) or, where they are searched among training samples of their own classes, validation_map@r; without a validation part none"`
	BestMargin  string    `yaml:"best_margin" help:"with best, by how much an epoch must exceed the kept one: error, the standard error of a share p of n validation samples, sqrt(p (1 - p) / n); none: at all; empty: error where best is left open, else none"`
	Patience    int       `yaml:"patience" help:"with best, end after so many evaluations without a better one; 0: never, from a pretrained start 5"`
	Average     string    `yaml:"average" help:"score and keep the average of the weights over about so many epochs of steps instead of the last ones: a number, or none; empty: none, from a pretrained start 3"`
	Line        int       `yaml:"line" help:"with best, cut the straight line from the starting weights to those of the best epoch into so many parts, and keep the place between them that scores best; 0, 1: the best epoch as it is"`
	Chunk       int       `yaml:"chunk" help:"most samples that go through the network at a time; a larger batch goes in pieces, twice: memory is that of a piece; 0: batches at once, from a pretrained start the largest pieces that fit the memory if they do not"`
	TensorBoard bool      `yaml:"tensorboard" help:"also write the numbers of every epoch for TensorBoard, as events.out.tfevents.kindred in the run folder"`
	Checkpoint  int       `yaml:"checkpoint" help:"also write the checkpoint every n steps; 0: only after each epoch"`
}

// Group gives the parameters whose names start with Prefix their own rate.
type Group struct {
	Prefix  string  `yaml:"prefix" help:"start of the parameters' names"`
	Scale   float64 `yaml:"scale" help:"factor for the learning rate"`
	NoDecay bool    `yaml:"no_decay" help:"no weight decay"`
}

// GroupList is a list of groups; the first that matches a parameter applies.
type GroupList []Group

// EvalConfig describes the evaluation.
type EvalConfig struct {
	Recall   []int    `yaml:"recall" help:"k of Recall@k"`
	Every    int      `yaml:"every" help:"evaluate after every n-th epoch, and after the last"`
	Metrics  []string `yaml:"metrics" help:"further metrics after the last epoch, named as in kindred eval; fine:nmi or label:nmi+30 for one column of labels"`
	Distance string   `yaml:"distance" help:"euclidean, cosine"`
	Train    int      `yaml:"train" help:"also score the first n training samples; 0: none, -1: all"`
	Keep     bool     `yaml:"keep" help:"keep the embeddings of every evaluation in snapshots/, the first of them before training"`
	Batch    int      `yaml:"batch" help:"images per batch in evaluation"`
}

// Default returns the configuration of a run for which nothing is set.
func Default() Config {
	return Config{
		Network: NetworkConfig{Normalize: Auto, FrozenNorm: Auto},
		Sample:  SampleConfig{Name: balanced, Views: 1},
		Mine:    Section{},
		Loss:    Section{},
		Train: TrainConfig{
			Optimizer: "adam", Momentum: 0.9,
			Schedule: "constant", Gamma: 0.1, Seed: 1,
		},
		Eval: EvalConfig{Recall: []int{1, 5, 10}, Every: 1, Distance: "euclidean", Batch: 256},
	}
}
