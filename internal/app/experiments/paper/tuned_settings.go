package paper

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/page/report"
	"github.com/kindred-ml/kindred/internal/sweep"
)

// chosenFiles are the results of Tune, a file for each experiment and scale.
//
//go:embed chosen
var chosenFiles embed.FS

// TunedSettings are the settings that a sweep chose, and how it chose them.
type TunedSettings struct {
	Experiment string `json:"experiment"`
	Scale      string `json:"scale,omitempty"`
	Command    string `json:"command"`
	// Set was set for all trials beyond the experiment's settings; the sweep did not choose it.
	Set    []string `json:"set,omitempty"`
	Metric string   `json:"metric"`
	Search string   `json:"search"`
	Start  bool     `json:"start,omitempty"` // the first trial had the settings from before
	Stop   string   `json:"stop"`
	// Trials and Budget (in epochs of one fold) are the limits of every arm. A trial trains for
	// Epochs on Scored of the Folds.
	Trials int        `json:"trials"`
	Budget int        `json:"budget"`
	Epochs int        `json:"epochs"`
	Folds  int        `json:"folds"`
	Scored int        `json:"folds_scored"`
	Images bool       `json:"folds_of_images,omitempty"`
	Seed   uint64     `json:"seed"`
	Arms   []TunedArm `json:"arms"`
}

// TunedArm are the settings of one arm.
type TunedArm struct {
	Name string   `json:"name"`
	Set  []string `json:"set"` // key=value
	// Score is the metric on held-out data, from 0 to 1. Trials and Spent are what the search used.
	Score  float64 `json:"score"`
	Trials int     `json:"trials"`
	Spent  int     `json:"spent_epochs"`
}

func newTunedSettings(e *Experiment, out *sweep.Outcome, set []string) *TunedSettings {
	p := out.Plan
	c := &TunedSettings{Experiment: e.Name, Scale: e.Space.Scale, Set: set, Metric: p.Metric,
		Search: p.Search.String(), Start: e.Space.Start, Stop: p.Stop.String(),
		Trials: p.Trials, Budget: p.Budget, Epochs: p.Epochs, Folds: p.Folds,
		Scored: p.NumScoredFolds(), Images: p.Images, Seed: p.Seed}
	for i := range out.Arms {
		a := &out.Arms[i]
		best := a.BestTrial()
		one := TunedArm{Name: a.Name, Score: best.Score, Trials: len(a.Trials), Spent: a.Spent}
		for _, s := range best.Set {
			one.Set = append(one.Set, s.Key+"="+strings.Trim(s.Value, `"`))
		}
		c.Arms = append(c.Arms, one)
	}
	c.Command = c.command()
	return c
}

// command is the command line that repeats the sweep, without folders.
func (c *TunedSettings) command() string {
	words := []string{"kindred reproduce tune", c.Experiment}
	if c.Scale != "" {
		words = append(words, "--scale "+c.Scale)
	}
	words = append(words, fmt.Sprintf("--trials %d --seed %d", c.Trials, c.Seed))
	for _, s := range c.Set {
		words = append(words, "--set '"+s+"'")
	}
	return strings.Join(words, " ")
}

// chosenName is the name of a file in the folder "chosen", without its extension.
func chosenName(experiment, scale string) string {
	if scale == "" {
		return experiment
	}
	return experiment + "-" + scale
}

// readTuned reads what a sweep chose for an experiment at a scale. It returns nil if there was no
// sweep.
func readTuned(experiment, scale string) (*TunedSettings, error) {
	name := chosenName(experiment, scale)
	text, err := chosenFiles.ReadFile("chosen/" + name + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return parseTuned(name+".json", text)
}

func parseTuned(file string, text []byte) (*TunedSettings, error) {
	var c TunedSettings
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &c, nil
}

// readTuned returns the settings that a sweep chose for e at a scale, or nil.
func (e *Experiment) readTuned(scale string) (*TunedSettings, error) {
	if e.Space == nil || scale != e.Space.Scale {
		return nil, nil
	}
	return readTuned(cmp.Or(e.Space.Of, e.Name), scale)
}

// SettingsSource says where the settings of the arms come from: which experiment's sweep at which scale,
// or that there was none and whether Tune could run one.
func (e *Experiment) SettingsSource() (string, error) {
	if e.Space == nil {
		return "not swept", nil
	}
	c, err := e.readTuned(e.Space.Scale)
	switch {
	case err != nil:
		return "", err
	case c == nil:
		return strings.TrimSpace("to be swept " + e.Space.Scale), nil
	case e.Space.Of != "":
		return "those of " + strings.TrimSpace(e.Space.Of+" "+e.Space.Scale), nil
	}
	return strings.TrimSpace("swept " + e.Space.Scale), nil
}

// arm returns the settings of an arm, or nil.
func (c *TunedSettings) arm(name string) []string {
	if c == nil {
		return nil
	}
	for _, a := range c.Arms {
		if a.Name == name {
			return a.Set
		}
	}
	return nil
}

// origin says how the sweep found the settings.
func (c *TunedSettings) origin(s *Space) string {
	of, folds := "classes", fmt.Sprintf("each of %d folds", c.Folds)
	if c.Images {
		of = "pictures"
	}
	if c.Scored < c.Folds {
		folds = fmt.Sprintf("%d of %d folds", c.Scored, c.Folds)
	}
	text := fmt.Sprintf("A sweep chose the settings of each arm by %s on %s held out of the training part; the test "+
		"took no part. Each arm had %d trials (%s) of up to %d epochs and a budget of %d epochs on %s.", c.Metric, of,
		c.Trials, c.Search, c.Epochs, c.Budget, folds)
	if c.Start {
		text += " The first trial had the settings from before the sweep."
	}
	if c.Stop == sweep.ASHA.String() {
		text += " At each stage the best third of the trials so far went on (ASHA)."
	}
	text += " " + s.Held
	if len(s.Set) > 0 {
		text += fmt.Sprintf(" Only the trials had: %s.", strings.Join(s.Set, ", "))
	}
	return text
}

// table lists the settings that the sweep chose for the arms of e.
func (c *TunedSettings) table(e *Experiment) report.Table {
	t := report.Table{Caption: "Settings that the sweep chose", Columns: []report.Column{{Name: "arm"},
		{Name: c.Metric + ", held out"}, {Name: "trials"}, {Name: "epochs spent"}, {Name: "settings"}}}
	for _, a := range c.Arms {
		if !slices.ContainsFunc(e.Arms, func(own Arm) bool { return own.tunedArm() == a.Name }) {
			continue
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.TextCell(a.Name),
			report.NumberCell(100*a.Score, 1),
			report.NumberCell(float64(a.Trials), 0), report.NumberCell(float64(a.Spent), 0),
			report.TextCell(strings.Join(a.Set, ", "))}})
	}
	return t
}
