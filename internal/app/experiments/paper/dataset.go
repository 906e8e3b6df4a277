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

// Dataset is the data set of an experiment's published numbers.
type Dataset struct {
	Name   string // as data.name
	Title  string
	About  string // which part the experiment uses; may be empty
	Images int    // in the whole set
}

// Data names the data of an outcome's numbers.
type Data struct {
	On string `json:"on"`
	// InsteadOf is the data set of the published numbers if it is another one; published numbers are
	// not shown then. It is empty for the same data, and for experiments of our own.
	InsteadOf string `json:"instead_of,omitempty"`
}

// String is the end of a title: "on cub100 instead of CUB-200-2011".
func (d Data) String() string {
	if d.InsteadOf == "" {
		return "on " + d.On
	}
	return "on " + d.On + " instead of " + d.InsteadOf
}

// forExperiment returns d for experiment e. An experiment of our own has no paper's data to replace.
func (d Data) forExperiment(e *Experiment) Data {
	if e.Own {
		d.InsteadOf = ""
	}
	return d
}

// usedData reports whether the settings o run e on the paper's own complete data: the set was opened by
// its name and not by a path, it has the official number of images, and the classes, labels, split
// and limits are the experiment's. Data that cannot be shown to be the paper's count as other data.
func (e *Experiment) usedData(ctx context.Context, o Options) (Data, error) {
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
	if changed := e.changedSettings(&own, &cfg); len(changed) > 0 {
		d.On += " with " + strings.Join(changed, ", ")
		d.InsteadOf = cmp.Or(d.InsteadOf, set.Title+" as in the paper")
	}
	return d.forExperiment(e), nil
}

// changedSettings lists the settings (key=value) by which cfg selects other samples or labels than own.
func (e *Experiment) changedSettings(own, cfg *run.Config) []string {
	of := func(c *run.Config) []string {
		d := &c.Data
		s := []string{
			"data.crop=" + fmt.Sprint(d.Crop), "data.label=" + d.Label, "data.fine=" + d.Fine, "data.split=" + d.Split,
			"data.train_classes=" + d.TrainClasses, "data.test_classes=" + d.TestClasses,
			fmt.Sprintf("data.train_limit=%d", d.TrainLimit), fmt.Sprintf("data.test_limit=%d", d.TestLimit),
		}
		// The part of the training set that is scored matters where its scores are shown.
		if slices.ContainsFunc(e.Measures, func(m Measure) bool { return strings.HasPrefix(m.Key, "train_") }) {
			s = append(s, fmt.Sprintf("eval.train=%d", c.Eval.Train))
		}
		return s
	}
	was := of(own)
	return slices.DeleteFunc(of(cfg), func(s string) bool { return slices.Contains(was, s) })
}
