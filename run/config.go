package run

// Config describes a run. Start from Default; Parse reads it from YAML, where a key is the
// field's name in small letters with underscores: data.train_limit is Data.TrainLimit.
// Reference and docs/training.md say what each key means. The zero value of some keys
// leaves the choice to the data or to the start; Train fills these in, and the run
// folder's config.yaml contains the values chosen.
type Config struct {
	Data    DataConfig
	Network NetworkConfig
	Sample  SampleConfig
	// objective.Parse reads Mine and Loss; it knows the keys of every loss. Without a name
	// the loss is triplet. If neither Mine nor Loss sets anything, it is multisimilarity
	// from a pretrained start, and supcon with spread between two views for grey images
	// from scratch.
	Mine  Section
	Loss  Section
	Train TrainConfig
	Eval  EvalConfig
}

// Section is a part of a configuration whose keys depend on its content.
type Section map[string]any

// only tells whether no key is set but perhaps this one.
func (s Section) only(key string) bool {
	_, there := s[key]
	return len(s) == 0 || there && len(s) == 1
}

// Switch is true, false, or auto, the zero value, which leaves the choice to the data.
type Switch string

// Values of a Switch.
const (
	Auto Switch = ""
	On   Switch = "true"
	Off  Switch = "false"
)

// DataConfig says what to train and test on.
type DataConfig struct {
	Name         string
	Path         string
	Labels       string
	Crop         bool
	Size         int // pixels
	Channels     int
	Label        string
	Fine         string
	Split        string
	TrainClasses string
	TestClasses  string
	TrainLimit   int // samples of each fine class
	TestLimit    int
	Fit          string
	Shorter      int // pixels
	Augment      string
	Views        int
	Pixels       string
	Chroma       string
	Rounded      bool
	Validation   string
	Fold         string
	Group        string
	Cache        bool
	Outside      bool
	Strict       bool
}

// NetworkConfig describes the network.
type NetworkConfig struct {
	Name       string
	Dim        int
	Normalize  Switch
	Pretrained string
	Cut        string
	Head       string
	HeadNorm   bool
	Width      int
	Multiple   float64
	Stem       string
	Pool       string
	Patch      int // pixels
	Registers  int
	Resample   string
	DropPath   float64
	Dropout    float64
	Freeze     []string
	Precision  string
	FrozenNorm Switch
}

// SampleConfig describes batches of Classes x PerClass samples, or hierarchical ones of
// Coarse x Fine x PerClass, each sample in Views rows.
type SampleConfig struct {
	Name     string
	Classes  int
	PerClass int
	Coarse   int
	Fine     int
	Views    int
	Batches  int
}

// TrainConfig describes the optimization.
type TrainConfig struct {
	Epochs      int
	Budget      string // a time.Duration
	Optimizer   string
	LR          float64
	LossLR      float64
	Momentum    float64
	WeightDecay float64
	Depth       float64
	Clip        float64
	Schedule    string
	Steps       []int // epochs
	Gamma       float64
	Warmup      float64 // epochs
	Groups      []Group // the first that matches a parameter applies
	Seed        uint64
	Best        string
	Smooth      int    // evaluations
	Patience    int    // evaluations
	Average     string // epochs, or steps
	Line        int
	Chunk       int // samples
	TensorBoard bool
	Checkpoint  int // steps
}

// Group gives the parameters whose names start with Prefix their own rate: Scale times
// train.lr, and no weight decay with NoDecay.
type Group struct {
	Prefix  string  `yaml:"prefix"`
	Scale   float64 `yaml:"scale"`
	NoDecay bool    `yaml:"no_decay"`
}

// EvalConfig describes the evaluation.
type EvalConfig struct {
	Recall   []int
	Every    int // epochs
	Metrics  []string
	Distance string
	Train    int // samples
	Keep     bool
	Batch    int // samples
}
