package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/format/yamltext"
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

// Setting is a key of a configuration, "loss.margin", with its value as written.
type Setting struct{ Key, Value string }

// Settings lists every key of the configuration with its value, as
// Folder.Settings does.
func (c Config) Settings() ([]Setting, error) { return parseSettings(c.YAML()) }

// parseSettings flattens a YAML document of nested maps and keeps its order.
func parseSettings(text []byte) ([]Setting, error) {
	if _, err := yamltext.Parse(text); err != nil {
		return nil, err
	}
	var doc yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &doc, yaml.UseOrderedMap()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, true))
	}
	var out []Setting
	var walk func(prefix string, m yaml.MapSlice)
	walk = func(prefix string, m yaml.MapSlice) {
		for _, item := range m {
			key := prefix + fmt.Sprint(item.Key)
			if sub, ok := item.Value.(yaml.MapSlice); ok {
				walk(key+".", sub)
				continue
			}
			out = append(out, Setting{key, valueText(item.Value)})
		}
	}
	walk("", doc)
	return out, nil
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = valueText(e)
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v)
}

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
