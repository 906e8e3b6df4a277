package paper

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"sync"
)

//go:embed experiments/*.yaml
var experimentFiles embed.FS

// experimentFileNames lists the files of experiments, by method and paper. The shared definitions come first.
func experimentFileNames() []string {
	return []string{"shared", "mnist", "omniglot", "photos", "coarse", "finetune", "cures", "discover", "clean",
		"copies", "decide", "defaults", "recipes"}
}

// parsedDefinitions returns the parsed files, which do not change.
var parsedDefinitions = sync.OnceValues(func() (*definitions, error) {
	d := &definitions{datasets: map[string]Dataset{}, groups: map[string]string{}}
	var errs []error
	for _, name := range experimentFileNames() {
		name = "experiments/" + name + ".yaml"
		text, err := experimentFiles.ReadFile(name)
		if err == nil {
			err = parseDefinitions(name, text, d)
		}
		errs = append(errs, err)
	}
	return d, errors.Join(errs...)
})

// newExperiments returns new copies of the experiments. It panics if the embedded files are invalid.
func newExperiments() []*Experiment {
	d, err := parsedDefinitions()
	if err != nil {
		panic("paper: " + err.Error())
	}
	list, err := d.experiments()
	if err != nil {
		panic("paper: " + err.Error())
	}
	return list
}

// Names lists the experiments' names.
func Names() []string {
	var names []string
	for _, e := range newExperiments() {
		names = append(names, e.Name)
	}
	return names
}

// Find returns the named experiment, or nil.
func Find(name string) *Experiment {
	for _, e := range newExperiments() {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// DefaultRows returns the rows of the table of the defaults.
func DefaultRows() []*Experiment { return TableRows(DefaultsTable) }

// TableRows returns the rows of the named table: DefaultsTable or RecipesTable.
func TableRows(table string) []*Experiment {
	return slices.DeleteFunc(newExperiments(), func(e *Experiment) bool { return e.Table() != table })
}

// experiments builds the experiments in order. Each may be like an earlier one.
func (d *definitions) experiments() ([]*Experiment, error) {
	var list []*Experiment
	find := func(name string) *Experiment {
		for _, e := range list {
			if e.Name == name {
				return e
			}
		}
		return nil
	}
	for _, def := range d.list {
		e, err := d.experiment(def, find)
		if err != nil {
			return nil, fmt.Errorf("experiment %s: %w", def.Name, err)
		}
		list = append(list, e)
	}
	return list, nil
}

// experiment builds an experiment, which shares no slice with others.
func (d *definitions) experiment(def *definition, find func(string) *Experiment) (*Experiment, error) {
	e := def.Experiment
	var was Experiment // the like experiment
	if def.like != "" {
		other := find(def.like)
		if other == nil {
			return nil, fmt.Errorf("no experiment before it is called %q", def.like)
		}
		was = *other
	}
	for _, name := range def.without {
		switch name {
		case "scales":
			was.Scales = nil
		case "figure":
			was.Sweep = nil
		case "space":
			was.Space = nil
		}
	}
	if def.dataset != "" {
		set, ok := d.datasets[def.dataset]
		if !ok {
			return nil, fmt.Errorf("no data set is called %q", def.dataset)
		}
		e.Dataset = set
	} else {
		e.Dataset = was.Dataset
	}
	if def.sampled != nil {
		return newRow(e.Name, e.Dataset, *def.sampled), nil
	}
	e.Title, e.Source, e.About = orInherited(e.Title, was.Title), orInherited(e.Source, was.Source),
		orInherited(e.About, was.About)
	if def.Brief != nil && def.Brief.With != "" && def.About != "" {
		first := find(def.Brief.With)
		if first == nil {
			return nil, fmt.Errorf("no experiment before it is called %q", def.Brief.With)
		}
		if e.About != first.About {
			e.About = first.About + " " + e.About
		}
	}
	e.Terms, e.Brief = orInherited(e.Terms, was.Terms), orInherited(e.Brief, was.Brief)
	e.Tuning, e.PretrainedScale = orInherited(e.Tuning, was.Tuning), orInherited(e.PretrainedScale, was.PretrainedScale)
	e.Own, e.Pretrained = e.Own || was.Own, e.Pretrained || was.Pretrained
	e.Seeds, e.Sweep = orInherited(e.Seeds, was.Seeds), orInherited(e.Sweep, was.Sweep)
	e.Base, e.Fast = orInheritedList(e.Base, was.Base), orInheritedList(e.Fast, was.Fast)
	e.Measures = orInheritedList(e.Measures, was.Measures)
	var err error
	if e.Scales, err = newScales(def, &was); err != nil {
		return nil, err
	}
	if e.Space, err = newSpace(def, &was, find); err != nil {
		return nil, err
	}
	if e.Arms, err = newArms(def, &was); err != nil {
		return nil, err
	}
	for _, a := range e.Arms {
		if a.Published != nil && len(a.Published) != len(e.Measures) {
			return nil, fmt.Errorf("arm %s: %d published numbers for %d measures", a.Name, len(a.Published),
				len(e.Measures))
		}
	}
	addClaims(&e, find)
	return &e, nil
}

// orInherited returns own, or was if own is the zero value.
func orInherited[T comparable](own, was T) T {
	var none T
	if own == none {
		return was
	}
	return own
}

func orInheritedList[T any](own, was []T) []T {
	if own == nil {
		own = was
	}
	return slices.Clone(own)
}

func newScales(def *definition, was *Experiment) ([]Scale, error) {
	if def.scales == nil {
		return slices.Clone(was.Scales), nil
	}
	var out []Scale
	for _, s := range def.scales {
		if s.like != "" {
			k := slices.IndexFunc(was.Scales, func(o Scale) bool { return o.Name == s.like })
			if k < 0 {
				return nil, fmt.Errorf("a scale is like %q, which %s does not have", s.like, def.like)
			}
			other := was.Scales[k]
			s.Name, s.About, s.Set = orInherited(s.Name, other.Name), orInherited(s.About, other.About),
				orInheritedList(s.Set, other.Set)
		}
		s.Set = slices.Clone(s.Set)
		out = append(out, s.Scale)
	}
	return out, nil
}

// newSpace returns the search space of an experiment. The space of another experiment keeps only its
// own Kept.
func newSpace(def *definition, was *Experiment, find func(string) *Experiment) (*Space, error) {
	s := def.space
	switch {
	case s == nil:
		s = was.Space
	case s.Of != "":
		other := find(s.Of)
		if s.Of == def.like {
			other = was
		}
		if other == nil || other.Space == nil {
			return nil, fmt.Errorf("no experiment before it called %q has a space", s.Of)
		}
		return other.Space.forExperiment(s.Of, s.Kept), nil
	}
	if s == nil {
		return nil, nil
	}
	own := *s
	return &own, nil
}

func newArms(def *definition, was *Experiment) ([]Arm, error) {
	if def.arms == nil {
		var out []Arm
		for _, a := range was.Arms {
			out = append(out, a.clone())
		}
		return out, nil
	}
	var out []Arm
	for _, d := range def.arms {
		a := d.Arm
		if d.like != "" {
			k := slices.IndexFunc(slices.Concat(out, was.Arms), func(o Arm) bool { return o.Name == d.like })
			if k < 0 {
				return nil, fmt.Errorf("an arm is like %q, which is not there", d.like)
			}
			other := slices.Concat(out, was.Arms)[k]
			if a.Name == "" {
				a.Baseline = orInherited(a.Baseline, other.Baseline)
			}
			a.Name = orInherited(a.Name, other.Name)
			a.Set, a.Ranges = orInheritedList(a.Set, other.Set), orInheritedList(a.Ranges, other.Ranges)
			a.Start = orInheritedList(a.Start, other.Start)
		}
		var err error
		if a.Task, err = d.task.newTask(); err != nil {
			return nil, fmt.Errorf("arm %s: %w", a.Name, err)
		}
		out = append(out, a.clone())
	}
	return out, nil
}

// clone returns the arm with copies of its slices.
func (a Arm) clone() Arm {
	for _, s := range []*[]string{&a.Set, &a.Ranges, &a.Start, &a.Change} {
		*s = slices.Clone(*s)
	}
	a.Published = slices.Clone(a.Published)
	return a
}
