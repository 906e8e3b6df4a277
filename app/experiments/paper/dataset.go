package paper

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/run"
)

// Dataset is the data set that an experiment's published numbers are about.
type Dataset struct {
	Name   string // as data.name
	Title  string
	About  string // what the experiment takes of it; may be empty
	Images int    // in the whole set
}

// Data says what an outcome's numbers are about.
type Data struct {
	On string `json:"on"`
	// InsteadOf is what the published numbers are about, where that is something
	// else: then none of them stands beside ours. Empty: the same, or nothing is
	// published because the experiment is our own.
	InsteadOf string `json:"instead_of,omitempty"`
}

// String is the end of a title: "on cub100 instead of CUB-200-2011".
func (d Data) String() string {
	if d.InsteadOf == "" {
		return "on " + d.On
	}
	return "on " + d.On + " instead of " + d.InsteadOf
}

// of is d for experiment e: one of our own has no paper whose data ours could stand
// in for.
func (d Data) of(e *Experiment) Data {
	if e.Own {
		d.InsteadOf = ""
	}
	return d
}

// used tells whether settings o run e on the paper's own data, all of it: the set
// was opened by its name and not by a path, it has the official number of images,
// and classes, labels, split and limits are the experiment's own. What cannot be
// told to be the paper's counts as something else.
func (e *Experiment) used(ctx context.Context, o Options) (Data, error) {
	own, err := e.config(&e.Arms[0], o.Seed, nil)
	if err != nil {
		return Data{}, err
	}
	cfg, err := e.config(&e.Arms[0], o.Seed, o.settings(&e.Arms[0]))
	if err != nil {
		return Data{}, err
	}
	open, err := cfg.Data.Open(ctx, o.Home)
	if err != nil {
		return Data{}, err
	}
	defer open.Close()
	set := &e.Dataset
	d := Data{On: set.Title}
	switch {
	case cfg.Data.Path != "" || cfg.Data.Name != set.Name:
		d.On, d.InsteadOf = filepath.Base(cmp.Or(cfg.Data.Path, cfg.Data.Name)), set.Title
	case open.Len() != set.Images:
		d.On, d.InsteadOf = fmt.Sprintf("%d samples in a folder called %s", open.Len(), set.Name), set.Title
	}
	if changed := e.changed(&own, &cfg); len(changed) > 0 {
		d.On += " with " + strings.Join(changed, ", ")
		d.InsteadOf = cmp.Or(d.InsteadOf, set.Title+" as in the paper")
	}
	return d.of(e), nil
}

// changed lists the settings by which cfg chooses other samples or labels than
// own, as key=value.
func (e *Experiment) changed(own, cfg *run.Config) []string {
	of := func(c *run.Config) []string {
		d := &c.Data
		s := []string{
			"data.crop=" + fmt.Sprint(d.Crop), "data.label=" + d.Label, "data.fine=" + d.Fine, "data.split=" + d.Split,
			"data.train_classes=" + d.TrainClasses, "data.test_classes=" + d.TestClasses,
			fmt.Sprintf("data.train_limit=%d", d.TrainLimit), fmt.Sprintf("data.test_limit=%d", d.TestLimit),
		}
		// How much of the training part is scored matters where its scores are shown.
		if slices.ContainsFunc(e.Measures, func(m Measure) bool { return strings.HasPrefix(m.Key, "train_") }) {
			s = append(s, fmt.Sprintf("eval.train=%d", c.Eval.Train))
		}
		return s
	}
	was := of(own)
	return slices.DeleteFunc(of(cfg), func(s string) bool { return slices.Contains(was, s) })
}
