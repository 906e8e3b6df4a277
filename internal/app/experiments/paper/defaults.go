package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// The tables of many sets. The names of a table's rows begin with the table's name.
const (
	DefaultsTable = "defaults" // what the defaults give
	RecipesTable  = "recipes"  // the defaults beside the recipes of other toolkits
)

// Arms of a row of the table of the defaults.
const (
	untrainedArm = "Untrained"
	pixelsArm    = "Raw pixels"
	defaultArm   = "Default"
	easyArm      = "Easy positives"
	plainArm     = "Without easy positives"
)

// Stranger is a row of the table of what kindred train gives if only the data are set.
type Stranger struct {
	Row    string   // name of the row in the table
	Set    []string // settings of the data besides the set's name
	Things string   // what is scored
	Labels string   // training labels if they are coarser than Things; else ""
	// Photos tells that the images are photographs, which start from a pretrained network by
	// default.
	Photos bool
	// Recipes makes it a row of the table of recipes instead of the table of the defaults.
	Recipes bool
	// Draw, if set, draws a folder of photographs from the training part. kindred train divides that
	// folder as any other; the whole test part of the set scores it.
	Draw *drawing
}

// set is the name of the scored set of samples. A drawn folder has a test part of its own, so its
// scored set has another name.
func (s *Stranger) set() string {
	if s.Draw != nil {
		return "further"
	}
	return "test"
}

// recall is the key of the measure that a row's statement is about.
func (s *Stranger) recall() string { return s.set() + "_recall@1" }

// experiment returns what the rows of both tables share.
func (s *Stranger) experiment(name string, set Dataset) *Experiment {
	return &Experiment{
		Name: name, Dataset: set, Own: true,
		Source:     "kindred, docs/reproduction/defaults.md",
		About:      s.about() + " " + s.start(),
		Stranger:   s,
		Pretrained: s.Photos,
		Tuning: "Only the data are set. The size of the images, the network, the loss, the rate, the length and the " +
			"validation part are the defaults'.",
		Base: append([]string{"data.name=" + set.Name}, s.Set...),
		Scales: []Scale{{"full", "kindred train without settings", nil},
			{"quick", "a few images of each class for one epoch, to check that everything works", s.quick()}},
		Fast:     s.quick(),
		Measures: []Measure{{s.recall(), "R@1", s.Things}, {s.set() + "_map@r", "MAP@R", s.Things}},
	}
}

// stranger returns the experiment of a row.
func stranger(name string, set Dataset, s Stranger) *Experiment {
	e := s.experiment(name, set)
	if s.Recipes {
		s.compare(e)
		return e
	}
	e.Title = "What the defaults give: " + s.Row
	e.Tuning += " The arms on positives set only the positives."
	if s.Labels != "" {
		e.Measures = append(e.Measures, Measure{s.set() + "_label_recall@1", "R@1", s.Labels})
	}
	e.Arms = []Arm{{Name: untrainedArm, Task: s.untrained()}}
	plain := "mine.positives=ms" // of multi-similarity, the loss of pairs of a pretrained start
	if !s.Photos {
		plain = "mine.positives=random"
		e.Arms = append(e.Arms, Arm{Name: pixelsArm, Task: s.pixels()})
	}
	e.Arms = append(e.Arms, Arm{Name: defaultArm, Task: s.train(), Baseline: untrainedArm},
		Arm{Name: easyArm, Task: s.train(), Set: []string{"mine.positives=easy"}, Baseline: plainArm,
			Alike: defaultArm},
		Arm{Name: plainArm, Task: s.train(), Set: []string{plain}, Alike: defaultArm})
	e.Claims = []Claim{{
		Text:     "The default is not below the untrained network in R@1 of " + s.Things + ".",
		Arms:     []string{untrainedArm, defaultArm},
		NotBelow: true,
		Check: func(_ context.Context, out *Outcome) (string, []Paired) {
			gain := out.ahead(s.recall(), defaultArm, untrainedArm)
			return fmt.Sprintf("R@1 %.1f against %.1f, below in %d of %d seeds", out.mean(defaultArm, s.recall()),
				out.mean(untrainedArm, s.recall()), out.below(s.recall(), defaultArm, untrainedArm),
				gain.Gain.N), []Paired{gain}
		},
	}}
	return e
}

// below counts the seeds in which an arm's measure is below that of the baseline.
func (out *Outcome) below(key, arm, baseline string) int {
	a, b := out.measure(arm, key).Values, out.measure(baseline, key).Values
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] < b[i] {
			n++
		}
	}
	return n
}

// about says what a row trains on and what is scored.
func (s *Stranger) about() string {
	return fmt.Sprintf("Trained on: %s. The %s of the set's test part are scored: each test image is searched among "+
		"the others by cosine.", s.trainedOn(), s.Things)
}

// trainedOn names the labels, and the photos of a drawn folder.
func (s *Stranger) trainedOn() string {
	if s.Draw != nil {
		return s.Draw.about()
	}
	if s.Labels != "" {
		return "labels of " + s.Labels + " only"
	}
	return "labels of " + s.Things
}

// start says what a row's untrained network is.
func (s *Stranger) start() string {
	if !s.Photos {
		return "The untrained network is the one that training starts from, with random weights. Raw pixels are its " +
			"inputs."
	}
	return "The untrained network is the pretrained one, at its own image size, whatever size training uses."
}

// quick returns the settings of a run of seconds.
func (s *Stranger) quick() []string {
	set := []string{"data.train_limit=8", "data.test_limit=6", "train.epochs=1"}
	if s.Photos {
		set = append(set, "data.size=64")
	} else if s.Labels == "alphabets" { // of a thousand letters
		set = []string{"data.train_limit=2", "data.test_limit=2", "train.epochs=1"}
	}
	return set
}

// Table names the table that the experiment is a row of: DefaultsTable or RecipesTable; ""
// for other experiments.
func (e *Experiment) Table() string {
	switch {
	case e.Stranger == nil:
		return ""
	case e.Stranger.Recipes:
		return RecipesTable
	}
	return DefaultsTable
}

// Row is the name of a row without that of its table; "" for other experiments.
func (e *Experiment) Row() string {
	if e.Stranger == nil {
		return ""
	}
	return strings.TrimPrefix(e.Name, e.Table()+"-")
}

// Fitting returns the settings in set that apply to a row: network.pretrained applies only to
// photographs.
func (e *Experiment) Fitting(set []string) []string {
	if e.Stranger == nil || e.Stranger.Photos {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), func(s string) bool {
		return strings.HasPrefix(s, "network.pretrained=")
	})
}
