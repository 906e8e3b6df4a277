package paper

import (
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/report"
	"github.com/kindred-ml/kindred/train"
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
	// Published are the paper's numbers, one per measure; nil where it has none.
	Published []float64
}

// Experiment is a table of a paper.
type Experiment struct {
	Name   string // as kindred reproduce knows it
	Title  string
	Source string // paper, section, table
	// About says in plain words what is done and what the paper claims.
	About string
	// Base are the settings that all arms share, where they differ from
	// train.Default.
	Base     []string
	Arms     []Arm
	Measures []Measure
	// Pictures, if set, makes the first section of the report and the figures
	// that are also written as files, by name.
	Pictures      func(*Outcome) ([]report.Block, map[string]report.Figure, error)
	PicturesTitle string
	// Fast are the overrides of a run on a subset that checks direction only.
	Fast []string
}

// arm returns the position of the named arm, or -1.
func (e *Experiment) arm(name string) int {
	return slices.IndexFunc(e.Arms, func(a Arm) bool { return a.Name == name })
}

// Config returns the settings of the first arm as o asks for them, or the error
// in o.Set.
func (e *Experiment) Config(o Options) (train.Config, error) {
	return e.config(&e.Arms[0], o.Seed, o.overrides(e))
}

// config returns the settings of an arm with one seed; more come last.
func (e *Experiment) config(a *Arm, seed uint64, more []string) (train.Config, error) {
	set := slices.Concat(e.Base, a.Set, more, []string{fmt.Sprintf("train.seed=%d", seed)})
	cfg, err := train.Parse("", nil, set...)
	if err != nil {
		return cfg, fmt.Errorf("%s, %s: %w", e.Name, a.Name, err)
	}
	return cfg, nil
}
