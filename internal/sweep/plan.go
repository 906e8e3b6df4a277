package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run"
)

// Plan describes a sweep: the settings to try, the search, and the budget. ParsePlan reads it from YAML and
// fills in the defaults.
type Plan struct {
	// Set are the settings of all trials, Ranges the keys that are searched. Start are
	// values for the first trial of every arm; it draws the keys that Start leaves out.
	Set    []Setting `json:"set"`
	Ranges []Range   `json:"ranges"`
	Start  []Setting `json:"start,omitempty"`
	// Arms are the methods to compare: each gets its own trials, equally many. Without
	// arms there is one, called "trial".
	Arms []Arm `json:"arms"`

	Search Search `json:"search"` // default TPE
	Stop   Stop   `json:"stop"`   // default ASHA
	// Trials is the largest number of trials of an arm; default 20. Budget is the largest
	// number of epochs of all its trials together, on every fold; default Trials times
	// Epochs.
	Trials int `json:"trials,omitempty"`
	Budget int `json:"budget,omitempty"`
	// Epochs is train.epochs of a trial that is not stopped. ASHA stops trials first
	// after First epochs (default 1, or what Reduction leaves of Epochs), then after
	// about Reduction times as many, and so on. Each time one in Reduction (default 3) of
	// the trials goes on.
	Epochs    int `json:"epochs,omitempty"`
	First     int `json:"first,omitempty"`
	Reduction int `json:"reduction,omitempty"`
	// Folds is the number of parts that the training part is divided into; default 3: by
	// classes or, with Images, by the images of every class.
	Folds  int  `json:"folds,omitempty"`
	Images bool `json:"images,omitempty"`
	// Use is the number of folds, from the first, on which a trial is trained and scored;
	// 0: all.
	Use int `json:"use,omitempty"`
	// Metric is the metric to maximise: "recall@1" of the fine classes or
	// "label:recall@1" of the labels; default recall@1.
	Metric string `json:"metric"`
	// Seed determines trials and folds and is the train.seed of trials; default 1. Seeds
	// is how often a winner is trained, with the seeds from Seed on; default 3. With 0,
	// winners are not tested.
	Seed  uint64 `json:"seed"`
	Seeds int    `json:"seeds"`
	// AtOnce is the number of trials that run when the next decision is made; default 4.
	// It changes the result; the number of jobs does not.
	AtOnce int `json:"at_once,omitempty"`
}

// Arm is one of the methods to compare.
type Arm struct {
	Name string `json:"name"`
	// Set, Ranges and Start are added to the plan's; the arm's value of a key overrides
	// the plan's.
	Set    []Setting `json:"set,omitempty"`
	Ranges []Range   `json:"ranges,omitempty"`
	Start  []Setting `json:"start,omitempty"`
	// Search and Stop are the plan's if nil. Arms with the same ranges draw the same
	// settings at random.
	Search *Search `json:"search,omitempty"`
	Stop   *Stop   `json:"stop,omitempty"`
}

// Setting is a key of the configuration with its value, as JSON.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`

	place string // file:line
}

func (s Setting) override() string { return s.Key + "=" + s.Value }

// Range holds the values to try for a key: Values, each as JSON, or the numbers from Low
// to High.
type Range struct {
	Key    string   `json:"key"`
	Values []string `json:"values,omitempty"`
	Low    float64  `json:"low,omitempty"`
	High   float64  `json:"high,omitempty"`
	// Log draws the logarithm evenly, Whole gives whole numbers, and Step, if not 0, only
	// numbers that are whole steps above Low.
	Log   bool    `json:"log,omitempty"`
	Whole bool    `json:"whole,omitempty"`
	Step  float64 `json:"step,omitempty"`

	place string
}

// Search is the method that draws settings.
type Search int

// The searches.
const (
	// TPE draws the first trials at random, and later trials where good ones were more
	// frequent than bad ones: Bergstra et al. 2011, "Algorithms for hyper-parameter
	// optimization".
	TPE Search = iota
	Random
)

var searches = enum.New[Search]("Search", "search", "tpe", "random")

// String returns the search's name.
func (s Search) String() string { return searches.Name(s) }

// MarshalText returns the search's name.
func (s Search) MarshalText() ([]byte, error) { return searches.Marshal(s) }

// UnmarshalText sets the search by name.
func (s *Search) UnmarshalText(text []byte) error { return searches.Unmarshal(s, text) }

// Stop is the rule that ends trials early.
type Stop int

// The ways to stop.
const (
	// ASHA lets a trial go on while it is among the best: Li et al. 2020, "A system
	// for massively parallel hyperparameter tuning".
	ASHA Stop = iota
	Never
)

var stops = enum.New[Stop]("Stop", "stop", "asha", "never")

// String returns the name.
func (s Stop) String() string { return stops.Name(s) }

// MarshalText returns the name.
func (s Stop) MarshalText() ([]byte, error) { return stops.Marshal(s) }

// UnmarshalText sets it by name.
func (s *Stop) UnmarshalText(text []byte) error { return stops.Unmarshal(s, text) }

func (p *Plan) searchOf(a *Arm) Search {
	if a.Search != nil {
		return *a.Search
	}
	return p.Search
}

func (p *Plan) stopOf(a *Arm) Stop {
	if a.Stop != nil {
		return *a.Stop
	}
	return p.Stop
}

// rungs returns the epochs after which trials are compared; the last is Epochs.
func (p *Plan) rungs(a *Arm) []int {
	if p.stopOf(a) == Never {
		return []int{p.Epochs}
	}
	var out []int
	for left := float64(p.Epochs); ; left /= float64(p.Reduction) {
		r := int(math.Round(left))
		if r < max(p.First, 1) || len(out) > 0 && r >= out[len(out)-1] {
			break
		}
		out = append(out, r)
	}
	slices.Reverse(out)
	return out
}

// Column returns the metric's column in metrics.csv.
func (p *Plan) Column() string { return metricColumn(p.Metric) }

func metricColumn(metric string) string {
	if name, ok := strings.CutPrefix(metric, "label:"); ok {
		return "test_label_" + name
	}
	return "test_" + metric
}

// rangesOf returns the ranges of an arm: its own, and the plan's for other keys.
func (p *Plan) rangesOf(a *Arm) []Range {
	return slices.Concat(slices.DeleteFunc(slices.Clone(p.Ranges), func(r Range) bool {
		return slices.ContainsFunc(a.Ranges, func(o Range) bool { return o.Key == r.Key }) ||
			slices.ContainsFunc(a.Set, func(s Setting) bool { return s.Key == r.Key })
	}), a.Ranges)
}

// startOf returns the settings of an arm's first trial that are not drawn: the arm's own, and the plan's for
// keys that have a range in the arm.
func (p *Plan) startOf(a *Arm) []Setting {
	ranges := p.rangesOf(a)
	return slices.Concat(slices.DeleteFunc(slices.Clone(p.Start), func(s Setting) bool {
		return !slices.ContainsFunc(ranges, func(r Range) bool { return r.Key == s.Key }) ||
			slices.ContainsFunc(a.Start, func(o Setting) bool { return o.Key == s.Key })
	}), a.Start)
}

// config returns the configuration of an arm's trial with the given settings. Errors
// name the places in the plan.
func (p *Plan) config(a *Arm, own []Setting, more ...string) (run.Config, error) {
	all := slices.Concat(p.Set, a.Set, own)
	var set []string
	for _, s := range all {
		set = append(set, s.override())
	}
	cfg, err := run.Parse("", nil, append(set, more...)...)
	if err == nil {
		cfg.Train.Epochs = cfg.Train.NumEpochs() // a budget needs a number
		return cfg, nil
	}
	// run.Parse names an override, but the reader of a plan needs the line.
	var given, placed objective.KeyErrors
	if !errors.As(err, &given) {
		return cfg, err
	}
	for _, e := range given {
		k := slices.IndexFunc(all, func(s Setting) bool { return s.place != "" && s.override() == e.Override })
		if k >= 0 {
			e = &objective.KeyError{Place: all[k].place, Key: e.Key, Text: e.Text}
		}
		placed.Add(e)
	}
	return cfg, placed.Err()
}

// trialSet returns the overrides of an arm's trial on a fold, from 1.
func (p *Plan) trialSet(a *Arm, fold int) []string {
	every := p.Epochs
	if p.stopOf(a) == ASHA {
		every = 1
	}
	return []string{p.foldSet(fold), fmt.Sprintf("train.seed=%d", p.Seed), fmt.Sprintf("eval.every=%d", every)}
}

// foldSet returns the override of a fold, from 1.
func (p *Plan) foldSet(fold int) string {
	deal := fmt.Sprintf("%d/%d", fold, p.Folds)
	if p.Images {
		deal = "images:" + deal
	}
	return "data.fold=" + deal
}

// NumScoredFolds returns the number of folds on which a trial is trained and scored.
func (p *Plan) NumScoredFolds() int { return cmp.Or(p.Use, p.Folds) }

const defaultMetric = "recall@1"

// setDefaults fills in the defaults.
func (p *Plan) setDefaults() {
	p.Trials = cmp.Or(p.Trials, 20)
	p.Budget = cmp.Or(p.Budget, p.Trials*p.Epochs)
	p.Reduction = cmp.Or(p.Reduction, 3)
	p.First = cmp.Or(p.First, 1)
	p.Folds = cmp.Or(p.Folds, 3)
	p.Metric = cmp.Or(p.Metric, defaultMetric)
	p.AtOnce = cmp.Or(p.AtOnce, 4)
	if len(p.Arms) == 0 {
		p.Arms = []Arm{{Name: "trial"}}
	}
}
