package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// DefaultMinutes is the default training time of each run of the table of recipes.
const DefaultMinutes = 10

// kindredArm is kindred train within the minutes of a row of the table of recipes.
const kindredArm = "kindred"

// recipe is an arm that the recipe of another toolkit trains.
type recipe struct {
	arm  string
	name string // name for the script
	from string // toolkit
}

func recipes() []recipe {
	return []recipe{{"Multi-similarity", "multi-similarity", "pytorch-metric-learning"},
		{"Multi-similarity on the features", "multi-similarity-features", "pytorch-metric-learning"},
		{"Hard triplets", "hard-triplets", "open-metric-learning"},
		{"ArcFace", "arcface", "open-metric-learning"}}
}

// Peer is a script that trains by the recipes of other toolkits: bench/recipes.py, which documents
// its input and output.
type Peer struct {
	Python, Script string
	Log            io.Writer // what the script prints; nil: nowhere
}

// makeRecipeRow makes e a row of the table of recipes. Experiment.addRecipeTasks adds the tasks of its arms.
func (s *UnseenDataset) makeRecipeRow(e *Experiment) {
	e.Title = "Beside the recipes of others: " + s.Row
	e.Tuning += " The recipes are those of their toolkits' examples, with the division and the image size of kindred."
	e.Arms = []Arm{{Name: untrainedArm, Task: s.untrainedTask()}, {Name: kindredArm, Baseline: untrainedArm}}
	for _, r := range recipes() {
		e.Arms = append(e.Arms, Arm{Name: r.arm, Baseline: untrainedArm})
		e.Claims = append(e.Claims, Claim{
			Text: fmt.Sprintf("kindred train is above the recipe %s of %s in R@1 of %s.", r.arm, r.from, s.Things),
			Arms: []string{kindredArm, r.arm},
			Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
				ours, theirs := out.meanPercent(kindredArm, s.recallKey()), out.meanPercent(r.arm, s.recallKey())
				return fmt.Sprintf("R@1 %.1f against %.1f", ours, theirs),
					[]PairedTest{out.compareArms(s.recallKey(), kindredArm, r.arm)}
			},
		})
	}
}

// addRecipeTasks adds the tasks to the arms of a row of the table of recipes, by the minutes and the script
// of o. Other experiments must have neither.
func (e *Experiment) addRecipeTasks(o Options) (*Experiment, error) {
	if e.Table() != RecipesTable {
		if o.Minutes != 0 || o.Peer.Script != "" {
			return nil, fmt.Errorf("experiment %s has no minutes and no script of a peer: only those of the table %s "+
				"have", e.Name, RecipesTable)
		}
		return e, nil
	}
	if o.Runner != nil {
		return nil, fmt.Errorf("experiment %s is timed on this machine: --queue does not apply", e.Name)
	}
	limit := time.Duration(cmp.Or(o.Minutes, DefaultMinutes) * float64(time.Minute))
	if limit <= 0 {
		return nil, fmt.Errorf("minutes is %v: must be above 0", o.Minutes)
	}
	timed := *e
	timed.Arms = slices.Clone(e.Arms)
	plans := &configPlanner{}
	if k := timed.arm(kindredArm); k >= 0 {
		timed.Arms[k].Task = e.Stranger.limitedTask(limit)
	}
	for _, r := range recipes() {
		k := timed.arm(r.arm)
		if k < 0 {
			continue
		}
		if o.Peer.Script == "" {
			return nil, errors.New("no script that trains by the recipes of others: name it by --peer " +
				"bench/recipes.py, or leave them out by --arm " + kindredArm)
		}
		timed.Arms[k].Task = e.Stranger.peerTask(r, limit, o.Peer, plans)
	}
	return &timed, nil
}
