package paper

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/run"
)

// Measure is one number taken from a run: a score after the last epoch.
type Measure struct {
	Key   string // as in metrics.csv: "seen_recall@1"
	Name  string // heading in tables: "R@1"
	Group string // heading above neighbouring measures
}

// Arm is one row of a paper's table: the experiment's settings with a few of
// them changed.
type Arm struct {
	Name string
	Set  []string // key=value, as kindred train takes them
	// Baseline names the arm that this one is compared with; empty: none.
	Baseline string
	// Untrained, if set, names an arm: this one trains nothing and has the scores
	// that the runs of that arm start from.
	Untrained string
	// Published are the paper's numbers, one per measure, NaN for those it does
	// not have; nil where it has none at all.
	Published []float64
	// Ranges are the arm's own in the experiment's Space, and Start what it has for keys
	// of ranges where nothing is set: the defaults.
	Ranges, Start []string
	// Tuned names the arm whose settings, of those that a sweep chose, this one has; "":
	// this arm.
	Tuned string
	// Change is what the arm changes of those, key=value: they come after Set.
	Change []string
	// Task, if set, is what the runs do instead of training alone.
	Task *Task
	// Alike names an arm that comes before this one. Where its run with the same seed chose by
	// itself the positives that this arm sets, that is this arm's run too.
	Alike string
	// Series and At place the arm in the experiment's Sweep.
	Series string
	At     float64
}

// tuned names the arm that the settings were chosen for.
func (a *Arm) tuned() string { return cmp.Or(a.Tuned, a.Name) }

// searched reports whether Tune looks for settings of the arm: it trains, with its own.
func (a *Arm) searched() bool { return a.Untrained == "" && a.Tuned == "" }

// Sweep is a figure of measures against a number that the arms vary.
type Sweep struct {
	Measures []string // keys of those that are drawn; none: all
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

// Scale is a size in which an experiment can be run, as overrides of its base.
type Scale struct {
	Name, About string
	Set         []string
}

// Claim is a sentence of a paper that the numbers can confirm or contradict.
type Claim struct {
	Text string
	// Arms are those that it is about; none: all of the experiment's.
	Arms []string
	// Check returns the numbers that it goes by, as text, and the comparisons that
	// must all come out for it, signed so that a gain speaks for the claim.
	Check func(context.Context, *Outcome) (evidence string, tests []Paired)
	// NotBelow tells that the statement is true of equal numbers, too.
	NotBelow bool
}

// Experiment is a table or a figure of a paper.
type Experiment struct {
	Name   string // as kindred reproduce knows it
	Title  string // without the data set, which Heading adds
	Source string // paper, section, table
	// Dataset is what the published numbers are about.
	Dataset Dataset
	// About says in one or two plain sentences what is compared.
	About string
	// Terms explains the arms and the measures; "" if About is enough.
	Terms string
	// Brief is what the page of all experiments shows; nil for the defaults.
	Brief *Brief
	// Base are the settings that all arms share, where they differ from
	// run.Default.
	Base     []string
	Arms     []Arm
	Measures []Measure
	Lower    []string // keys of the measures for which less is better
	// Scales are the sizes of the experiment, the usual one first; none: there
	// is one size only.
	Scales []Scale
	// Claims are checked on every outcome.
	Claims []Claim
	// Sweep, if set, is drawn from the arms' Series and At.
	Sweep *Sweep
	// Pictures, if set, draws what stands in the report between its figure and
	// its settings.
	Pictures func(context.Context, *Outcome, *Shown) error
	// Fast are the overrides of a run of seconds on a subset.
	Fast []string
	// Space is where Tune looks for settings; nil: Tuning says where they are from.
	Space *Space
	// Tuning says on what the settings were chosen that the paper leaves open, and
	// so how far the scores can be trusted.
	Tuning string
	// Own marks an experiment that no paper has: its statements are ours.
	Own bool
	// Pretrained marks an experiment that needs a network to start from, named by
	// network.pretrained.
	Pretrained bool
	// PretrainedScale names a scale that needs one where the others do not.
	PretrainedScale string
	// Stranger, if set, makes the experiment a row of a table of many sets: nothing is set
	// that a paper would, not even how the data are split.
	Stranger *Stranger
	// Seeds is how many runs of each arm a usual run has; 0 stands for three, the
	// fewest that can decide a statement.
	Seeds int
}

// Heading is the title with the data set.
func (e *Experiment) Heading() string { return e.Title + ", on " + e.Dataset.Title }

// DefaultSeeds is how many runs each arm has unless Options.Seeds says otherwise.
func (e *Experiment) DefaultSeeds(fast bool) int {
	if fast {
		return 1
	}
	return cmp.Or(e.Seeds, judgedSeeds)
}

// published returns the paper's number of an arm for a measure; NaN for none.
func (e *Experiment) published(arm, measure int) Number {
	if p := e.Arms[arm].Published; p != nil {
		return Number(p[measure])
	}
	return missing
}

// scale returns the named scale, the usual one for "".
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
		return Scale{}, fmt.Errorf("experiment %s has one scale only, and not %q", e.Name, name)
	}
	return Scale{}, fmt.Errorf("experiment %s has no scale %q; it has %s", e.Name, name, strings.Join(names, ", "))
}

// only returns the experiment with the named arms, in its own order; all for no
// names. What compares with an arm that is left out compares with nothing, and
// statements about the whole or about such an arm are left out.
func (e *Experiment) only(names []string) (*Experiment, error) {
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

// Config returns the settings of the first arm that o asks for, or the error in
// o.Arms, o.Scale or o.Set.
func (e *Experiment) Config(o Options) (run.Config, error) {
	e, err := e.only(o.Arms)
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

// papersSplit divides any data set as papers do: by its own split, or else into
// classes to train on and others to test on.
const papersSplit = "data.split=benchmark"

// config returns the settings of an arm with one seed; more come last.
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
