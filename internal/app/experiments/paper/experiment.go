package paper

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/run"
)

// Measure is one number of a run: a score after the last epoch.
type Measure struct {
	Key   string // as in metrics.csv: "seen_recall@1"
	Name  string // heading in tables: "R@1"
	Group string // heading above neighbouring measures
}

// Arm is one row of a paper's table: the experiment's settings with a few changes.
type Arm struct {
	Name string
	Set  []string // key=value, as kindred train takes them
	// Baseline names the arm that this one is compared with, or is empty.
	Baseline string
	// Untrained, if set, names an arm. This arm trains nothing and has the scores from before
	// training of that arm's runs.
	Untrained string
	// Published are the paper's numbers, one per measure, NaN for a missing one; nil if the paper
	// has none.
	Published []float64
	// Ranges are the arm's own ranges in the experiment's Space. Start are the values that the first
	// trial has for ranged keys that are not set: the defaults.
	Ranges, Start []string
	// Tuned names the arm whose swept settings this arm has; "" for its own.
	Tuned string
	// Change is what the arm changes of the swept settings (key=value). It comes after Set.
	Change []string
	// Task, if set, replaces training alone.
	Task *Task
	// Alike names an earlier arm. If its run with the same seed chose by itself the positives that
	// this arm sets, it is this arm's run, too.
	Alike string
	// Series and At place the arm in the experiment's Sweep.
	Series string
	At     float64
}

// tunedArm names the arm whose swept settings the arm has.
func (a *Arm) tunedArm() string { return cmp.Or(a.Tuned, a.Name) }

// isSearched reports whether Tune searches settings of the arm: it trains, with settings of its own.
func (a *Arm) isSearched() bool { return a.Untrained == "" && a.Tuned == "" }

// Sweep is a figure of measures against a number that differs between the arms.
type Sweep struct {
	Measures []string // keys of the drawn measures; nil for all
	X        string   // label of the axis
	Caption  string
}

// Brief says what the page of all experiments shows of one.
type Brief struct {
	// Title is the heading of a section of several experiments; "" for the first one's title.
	Title string
	// Measures are the keys of the columns; nil for the first measure of each group.
	Measures []string
	// Series are the rows where each is the mean of a series of arms; nil for a row per arm.
	Series []string
	// With names the experiment in whose section this one is shown; "" for a section of its own.
	// About then continues that one's.
	With string
}

// Scale is a size of an experiment, as overrides of its base settings.
type Scale struct {
	Name, About string
	Set         []string
}

// Claim is a statement that the numbers can confirm or contradict.
type Claim struct {
	Text string
	// Arms names the arms that the claim is about; nil for all.
	Arms []string
	// Check returns the evidence as text and the comparisons that must all support the claim, signed
	// so that a gain supports it.
	Check func(context.Context, *Outcome) (evidence string, tests []PairedTest)
	// NotBelow tells that the claim holds for equal numbers, too.
	NotBelow bool
}

// Experiment is a table or a figure of a paper.
type Experiment struct {
	Name   string // name for kindred reproduce
	Title  string // without the data set, which Heading adds
	Source string // paper, section, table
	// Dataset is the data set of the published numbers.
	Dataset Dataset
	// About says in one or two plain sentences what is compared.
	About string
	// Terms explains the arms and the measures; "" if About is enough.
	Terms string
	// Brief is what the page of all experiments shows; nil for the defaults.
	Brief *Brief
	// Base are the settings that all arms share and that differ from run.Default.
	Base     []string
	Arms     []Arm
	Measures []Measure
	Lower    []string // keys of the measures for which less is better
	// Scales are the sizes of the experiment, the usual one first; nil if there is one size.
	Scales []Scale
	// Claims are checked on every outcome.
	Claims []Claim
	// Sweep, if set, is drawn from the arms' Series and At.
	Sweep *Sweep
	// Pictures, if set, draws the report's sections between its figure and its settings.
	Pictures func(context.Context, *Outcome, *Illustrations) error
	// Fast are the overrides of a run of seconds on a subset.
	Fast []string
	// Space is the search space of Tune; nil if Tuning says where the settings come from.
	Space *Space
	// Tuning says on which data the settings were chosen that the paper leaves open, and so how far
	// the scores can be trusted.
	Tuning string
	// Own marks an experiment without a paper: its statements are ours.
	Own bool
	// Pretrained marks an experiment that needs a network to start from, named by
	// network.pretrained.
	Pretrained bool
	// PretrainedScale names the one scale that needs such a network.
	PretrainedScale string
	// Stranger, if set, makes the experiment a row of a table of many sets. Such a row sets nothing
	// that a paper would set, not even the split.
	Stranger *UnseenDataset
	// Seeds is the number of runs of each arm; 0 means three, the fewest that can decide a
	// statement.
	Seeds int
}

// Heading is the title with the data set.
func (e *Experiment) Heading() string { return e.Title + ", on " + e.Dataset.Title }

// DefaultSeeds is the number of runs of each arm if Options.Seeds is 0.
func (e *Experiment) DefaultSeeds(fast bool) int {
	if fast {
		return 1
	}
	return cmp.Or(e.Seeds, minSeeds)
}

// published returns the paper's number of an arm for a measure, or NaN.
func (e *Experiment) published(arm, measure int) Number {
	if p := e.Arms[arm].Published; p != nil {
		return Number(p[measure])
	}
	return missing
}

// scale returns the named scale, or the usual one for "".
func (e *Experiment) scale(name string) (Scale, error) {
	if name == "" && len(e.Scales) == 0 {
		return Scale{}, nil
	}
	var names []string
	for i, s := range e.Scales {
		if name == s.Name || name == "" && i == 0 {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if names == nil {
		return Scale{}, fmt.Errorf("experiment %s has no scale %q: it has one size only", e.Name, name)
	}
	return Scale{}, fmt.Errorf("experiment %s has no scale %q; it has %s", e.Name, name, strings.Join(names, ", "))
}

// withArms returns the experiment with the named arms in its own order, or with all arms if names is
// empty. It drops baselines that are left out, and claims about arms that are left out or about all
// arms.
func (e *Experiment) withArms(names []string) (*Experiment, error) {
	if len(names) == 0 {
		return e, nil
	}
	var all []string
	for _, a := range e.Arms {
		all = append(all, a.Name)
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, fmt.Errorf("experiment %s has no arm %q; it has %s", e.Name, n, strings.Join(all, "; "))
		}
	}
	part := *e
	part.Arms = nil
	for _, a := range e.Arms {
		if !slices.Contains(names, a.Name) {
			continue
		}
		if !slices.Contains(names, a.Baseline) {
			a.Baseline = ""
		}
		part.Arms = append(part.Arms, a)
	}
	if len(part.Arms) < len(e.Arms) {
		part.Claims = slices.DeleteFunc(slices.Clone(e.Claims), func(c Claim) bool {
			return c.Arms == nil || slices.ContainsFunc(c.Arms, func(a string) bool { return part.arm(a) < 0 })
		})
	}
	return &part, nil
}

// arm returns the position of the named arm, or -1.
func (e *Experiment) arm(name string) int {
	return slices.IndexFunc(e.Arms, func(a Arm) bool { return a.Name == name })
}

// Config returns the settings of the first arm of o.Arms. It returns the error in o.Arms, o.Scale
// or o.Set.
func (e *Experiment) Config(o Options) (run.Config, error) {
	e, err := e.withArms(o.Arms)
	if err != nil {
		return run.Config{}, err
	}
	if o, err = o.resolve(e); err != nil {
		return run.Config{}, err
	}
	cfg, err := e.config(&e.Arms[0], o.Seed, o.settings(&e.Arms[0]))
	if err != nil || cfg.Network.Pretrained != "" {
		return cfg, err
	}
	s, err := e.scale(o.Scale)
	if err == nil && (e.Pretrained || s.Name != "" && s.Name == e.PretrainedScale) {
		err = fmt.Errorf("experiment %s starts from a pretrained network: name it by --set network.pretrained=FILE, "+
			"an ONNX file or weights that 'kindred weights list' has", strings.TrimSpace(e.Name+" "+s.Name))
	}
	return cfg, err
}

// papersSplit divides any data set as papers do: by its own split, or into training classes and
// test classes.
const papersSplit = "data.split=benchmark"

// config returns the settings of an arm with one seed; the settings in more come last.
func (e *Experiment) config(a *Arm, seed uint64, more []string) (run.Config, error) {
	set := slices.Concat(e.Base, a.Set, more, []string{fmt.Sprintf("train.seed=%d", seed)})
	if e.Stranger == nil {
		set = slices.Insert(set, 0, papersSplit)
	}
	cfg, err := run.Parse("", nil, set...)
	if err != nil {
		return cfg, fmt.Errorf("%s, %s: %w", e.Name, a.Name, err)
	}
	return cfg, nil
}
