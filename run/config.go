package run

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/keys"
)

// Config describes a run. Start from Default. Parse reads it from YAML, where a key is the
// field's name in small letters with underscores: data.train_limit is Data.TrainLimit.
// Reference and docs/training.md say what each key means. For some keys the zero value
// leaves the choice to the data or to the start. Train fills these in, and the run folder's
// config.yaml contains the chosen values.
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

// Section is a part of a configuration whose keys depend on the loss.
type Section map[string]any

// Switch is true, false, or auto. The zero value is auto, which leaves the choice to the data.
type Switch string

// Values of a Switch.
const (
	Auto Switch = ""
	On   Switch = "true"
	Off  Switch = "false"
)

var switches = []string{Auto.String(), On.String(), Off.String()}

// MarshalYAML writes a switch as a plain word.
func (s Switch) MarshalYAML() (any, error) {
	if s == Auto {
		return s.String(), nil
	}
	return s == On, nil
}

// String returns auto, true or false.
func (s Switch) String() string {
	if s == Auto {
		return "auto"
	}
	return string(s)
}

// MarshalText returns auto, true or false.
func (s Switch) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the switch to auto, true or false.
func (s *Switch) UnmarshalText(text []byte) error {
	for _, v := range []Switch{Auto, On, Off} {
		if string(text) == v.String() {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("%q: must be auto, true or false", text)
}

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
	Resample     string
	Chroma       string
	Colours      string
	Rounded      bool
	Validation   string
	Fold         string
	Group        string
	Cache        bool
	Outside      bool
	Strict       bool

	// topFolders says that the configuration is a run's, of a version that always trained with the top ones of two
	// levels of folders and did not record it.
	topFolders bool
}

// LabelColumns returns the columns of d, or rules, to train and to score with: Label and Fine, or what d chooses where
// these are empty. They are "" where d has only one choice.
func (c *DataConfig) LabelColumns(d *data.Dataset) (label, fine string) {
	if c.topFolders && d.Levels != nil {
		return cmp.Or(c.Label, "coarse"), cmp.Or(c.Fine, fineColumn)
	}
	return d.LabelColumns(c.Label, c.Fine)
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
	Depth      int
	Heads      int
	Hidden     int
	Act        string
	Eps        float64
	Padding    string
	Resample   string
	DropPath   float64
	Dropout    float64
	Freeze     []string
	LoRA       LoRA
	Precision  string
	FrozenNorm Switch
}

// LoRA describes adapters of linear layers; see nn.Spec.WithLoRA. The zero value has none.
type LoRA struct {
	Rank  int     `yaml:"rank"`
	Alpha float64 `yaml:"alpha"` // 0: 2 Rank
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
	Minutes     float64
	Budget      string // a time.Duration
	Optimizer   string
	LR          float64
	Proxies     string
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

// table lists all keys, in the order of config.yaml. Package objective has the keys of mine
// and loss that only the loss reads.
var table = keys.Table[Config]{
	Keys:      slices.Concat(dataKeys, networkKeys, sampleKeys, objectiveKeys, trainKeys, evalKeys),
	CheckFree: func(c *Config) error { _, err := c.objective(); return err },

	Sections: []string{"data", "network", "train", "loss", "mine", "sample", "eval"},
	Important: []string{
		"data.name", "data.path", "data.size", "data.split", "data.label", "data.augment",
		"network.name", "network.pretrained", "network.dim",
		"train.epochs", "train.lr", "train.seed",
		"loss.name", "loss.margin", "mine.positives", "mine.negatives",
		"sample.classes", "sample.per_class", "sample.views",
		"eval.recall", "eval.metrics",
	},
	FurtherKeys: furtherKeys,
}

// The entries of the table.
type (
	key    = keys.Key[Config]
	check  = keys.Check
	report = keys.Report
)

// furtherKeys returns a remark that names the keys of the loss which may be set too.
func furtherKeys(section string, m map[string]any) string {
	for _, l := range objective.Losses() {
		if name, _ := m["name"].(string); section == "loss" && (name == l.Name || name == l.Alias) {
			return fmt.Sprintf("its further keys: %s; see docs/losses/%s.md", strings.Join(l.Keys, ", "), l.Name)
		}
	}
	return ""
}

// Default returns the configuration of a run without any settings.
func Default() Config {
	c := Config{Mine: Section{}, Loss: Section{}}
	table.Reset(&c)
	c.Eval.Recall = slices.Clone(c.Eval.Recall) // the caller may change it
	return c
}

// Parse reads a configuration in YAML on top of Default, then applies the
// overrides, each "section.key=value". file names the source in messages.
//
// An unknown key is an error that names the nearest known key. The error is an
// objective.KeyErrors, whose errors name the file and line, or the override.
func Parse(file string, text []byte, overrides ...string) (Config, error) {
	c := Default()
	return c, table.Parse(&c, file, text, overrides...)
}

// Key describes one key of the configuration.
type Key struct {
	Name    string `json:"name"`    // section.key
	Default string `json:"default"` // as written in YAML
	Help    string `json:"help"`
	// Values are the allowed words, or examples; nil if there are too many to list.
	Values []string `json:"-"`
}

// Reference lists every key of the sections with fixed keys. The sections mine and loss are
// not among them, because their keys depend on the loss.
func Reference() []Key {
	var out []Key
	for i := range table.Keys {
		if k := &table.Keys[i]; k.Pointer(new(Config)) != nil {
			out = append(out, Key{Name: k.Name, Default: k.DefaultText(), Help: k.Help, Values: k.Choices()})
		}
	}
	return out
}

// Keys lists every key: those of Reference, and the keys of mine and loss for all losses.
// Some keys of mine and loss have no help.
func Keys() []Key {
	out := Reference()
	mining, ofLoss := objective.Keys("")
	add := func(section string, of []objective.Key) {
		for _, o := range of {
			one := Key{Name: section + "." + o.Name, Values: o.Values}
			if k := table.Lookup(one.Name); k != nil {
				one.Help = k.Help
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(ofLoss, func(a, b objective.Key) int { return strings.Compare(a.Name, b.Name) })
	add("loss", ofLoss)
	add("mine", mining)
	return out
}

// YAML writes the configuration with every key, as Parse reads it.
func (c *Config) YAML() []byte { return table.YAML(c) }

// MarshalYAML returns the keys in the order of YAML.
func (c Config) MarshalYAML() (any, error) { return table.Ordered(&c), nil }

// Annotate writes the configuration given as commented YAML for people to edit. resolved is
// the same configuration with the keys that the data decide filled in (Setup.Config). Every
// section begins with the most important keys and the keys that given changes, at their
// resolved values. The other keys follow as comments with their defaults, and with their
// resolved values if these differ. The help of each key is above it.
//
// Parse reads the result. Removing the comment sign before a key does not change what the
// configuration means.
func (resolved Config) Annotate(given Config) []byte { return table.Annotate(&given, &resolved) }

// clone copies the configuration, so that resolving the copy does not change the caller's.
func (c *Config) clone() Config {
	out := *c
	out.Mine, out.Loss = maps.Clone(c.Mine), maps.Clone(c.Loss)
	if out.Mine == nil {
		out.Mine = Section{}
	}
	if out.Loss == nil {
		out.Loss = Section{}
	}
	return out
}

// Name returns a name for a run with this configuration: the data set, and the loss if the
// configuration names one. A path such as . or .. counts as the folder that it leads to.
func (c *Config) Name() string {
	name := c.Data.Name
	if name == "" {
		name = filepath.Base(c.Data.Path)
		if full, err := filepath.Abs(c.Data.Path); err == nil {
			name = filepath.Base(full)
		}
		name = strings.Trim(name, string(filepath.Separator))
	}
	name = cmp.Or(name, "data")
	if l, ok := c.Loss["name"].(string); ok {
		name += "-" + l
	}
	return name
}

// maxMinutes is the largest train.minutes: a year.
const maxMinutes = 366 * 24 * 60

// none turns a setting off. An empty text leaves the choice to the data or the start.
const none = "none"

// The values of data.chroma. The published networks were trained on pictures whose colours were
// enlarged smoothly; doing the same gains half a point of recall on cub100.
const (
	repeatChroma = "repeat"
	smoothChroma = "smooth"
)

// The values of data.colours.
const (
	srgbColours = "srgb"
	rawColours  = published.Raw
)

// Names of the samplers.
const (
	balanced     = "balanced"
	hierarchical = "hierarchical"
)

var samplers = []string{balanced, hierarchical}

// customValue stands in a configuration for a loss, policy or sampler that a program provides by
// Options.Loss, Positives, Negatives, Miner or Sampler. So config.yaml does not name a loss
// that was not used, and a program that does not provide it cannot resume the run.
const customValue = "own"

// positivesKey is the key of the positive policy, which the features may decide.
const positivesKey = "positives"

// negativesKey is the key of the negative policy; see positivesKey.
const negativesKey = "negatives"

// wholeBody, in network.freeze, means all parameters before the embedding layer.
const wholeBody = "body"

// hasFrozenBody reports whether only the embedding layer is trained.
func (n *NetworkConfig) hasFrozenBody() bool { return slices.Contains(n.Freeze, wholeBody) }

// frozenPrefixes lists the names in network.freeze other than wholeBody.
func (n *NetworkConfig) frozenPrefixes() []string {
	return slices.DeleteFunc(slices.Clone(n.Freeze), func(p string) bool { return p == wholeBody })
}

// includesNetwork reports whether the weights are in a file that includes its network.
func (n *NetworkConfig) includesNetwork() bool {
	return strings.EqualFold(filepath.Ext(n.Pretrained), ".onnx")
}

// PretrainedIsFile reports whether Pretrained is a file instead of a name of weights.
func (n *NetworkConfig) PretrainedIsFile() bool {
	return filepath.Ext(n.Pretrained) != "" || strings.ContainsRune(n.Pretrained, filepath.Separator)
}

// isPretrained reports whether the network starts from pretrained weights.
func (n *NetworkConfig) isPretrained() bool { return n.Pretrained != "" && n.Pretrained != none }

// Values of network.head.
const (
	randomHead   = "random"
	pcaHead      = "pca"
	identityHead = "identity"
	wccnHead     = "wccn"
)

// Values of train.proxies.
const (
	randomProxies = "random"
	meanProxies   = "means"
)

// defaultPositionResampling is the default of network.resample.
const defaultPositionResampling = "timm"

// Names of the columns of labels that are scored.
const (
	fineColumn  = "fine"
	labelColumn = "label"
)

var scoredColumns = []string{fineColumn, labelColumn}

// parseMetric reads "nmi", for both columns of labels, or "fine:nmi" and
// "label:nmi+30" for one.
func parseMetric(name string) (columns []string, m eval.Metric, err error) {
	columns = scoredColumns
	if column, rest, ok := strings.Cut(name, ":"); ok {
		if !slices.Contains(scoredColumns, column) {
			return nil, m,
				fmt.Errorf("%q: the column before the colon must be %s", name, strings.Join(scoredColumns, " or "))
		}
		columns, name = []string{column}, rest
	}
	m, err = eval.ParseMetric(name)
	return columns, m, err
}

// scratchEpochs is the default number of epochs of a run from scratch.
const scratchEpochs = 10

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

// stepsWord ends a train.average that is a number of steps.
const stepsWord = " steps"

// parseAverage reads train.average and returns the number of epochs over which weights are
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

// objective reads the sections mine and loss. It leaves out policies and losses that a program
// provides.
func (c *Config) objective() (objective.Options, error) {
	without := func(s Section, names ...string) Section {
		s = maps.Clone(s)
		for _, n := range names {
			if s[n] == customValue {
				delete(s, n)
			}
		}
		return s
	}
	return objective.Parse(without(c.Mine, positivesKey, negativesKey), without(c.Loss, "name"))
}
