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

// UnseenDataset is a row of the table of what kindred train gives if only the data are set.
type UnseenDataset struct {
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
	Draw *folderSample
}

// setName is the name of the scored set of samples. A drawn folder has a test part of its own, so its
// scored set has another name.
func (s *UnseenDataset) setName() string {
	if s.Draw != nil {
		return "further"
	}
	return "test"
}

// recallKey is the key of the measure that a row's statement is about.
func (s *UnseenDataset) recallKey() string { return s.setName() + "_recall@1" }

// newExperiment returns what the rows of both tables share.
func (s *UnseenDataset) newExperiment(name string, set Dataset) *Experiment {
	return &Experiment{
		Name: name, Dataset: set, Own: true,
		Source:     "kindred, docs/reproduction/defaults.md",
		About:      s.describe() + " " + s.describeStart(),
		Stranger:   s,
		Pretrained: s.Photos,
		Tuning: "Only the data are set. The size of the images, the network, the loss, the rate, the length and the " +
			"validation part are the defaults'.",
		Base: append([]string{"data.name=" + set.Name}, s.Set...),
		Scales: []Scale{{"full", "kindred train without settings", nil},
			{"quick", "a few images of each class for one epoch, to check that everything works", s.quickSettings()}},
		Fast:     s.quickSettings(),
		Measures: []Measure{{s.recallKey(), "R@1", s.Things}, {s.setName() + "_map@r", "MAP@R", s.Things}},
	}
}

// newRow returns the experiment of a row.
func newRow(name string, set Dataset, s UnseenDataset) *Experiment {
	e := s.newExperiment(name, set)
	if s.Recipes {
		s.makeRecipeRow(e)
		return e
	}
	e.Title = "What the defaults give: " + s.Row
	e.Tuning += " The arms on positives set only the positives."
	if s.Labels != "" {
		e.Measures = append(e.Measures, Measure{s.setName() + "_label_recall@1", "R@1", s.Labels})
	}
	e.Arms = []Arm{{Name: untrainedArm, Task: s.untrainedTask()}}
	plain := "mine.positives=ms" // of multi-similarity, the loss of pairs of a pretrained start
	if !s.Photos {
		plain = "mine.positives=random"
		e.Arms = append(e.Arms, Arm{Name: pixelsArm, Task: s.pixelTask()})
	}
	e.Arms = append(e.Arms, Arm{Name: defaultArm, Task: s.trainTask(), Baseline: untrainedArm},
		Arm{Name: easyArm, Task: s.trainTask(), Set: []string{"mine.positives=easy"}, Baseline: plainArm,
			Alike: defaultArm},
		Arm{Name: plainArm, Task: s.trainTask(), Set: []string{plain}, Alike: defaultArm})
	e.Claims = []Claim{{
		Text:     "The default is not below the untrained network in R@1 of " + s.Things + ".",
		Arms:     []string{untrainedArm, defaultArm},
		NotBelow: true,
		Check: func(_ context.Context, out *Outcome) (string, []PairedTest) {
			gain := out.compareArms(s.recallKey(), defaultArm, untrainedArm)
			return fmt.Sprintf("R@1 %.1f against %.1f, below in %d of %d seeds",
				out.meanPercent(defaultArm, s.recallKey()),
				out.meanPercent(untrainedArm, s.recallKey()), out.seedsBelow(s.recallKey(), defaultArm, untrainedArm),
				gain.Gain.N), []PairedTest{gain}
		},
	}}
	return e
}

// seedsBelow counts the seeds in which an arm's measure is below that of the baseline.
func (out *Outcome) seedsBelow(key, arm, baseline string) int {
	a, b := out.measure(arm, key).Values, out.measure(baseline, key).Values
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] < b[i] {
			n++
		}
	}
	return n
}

// describe says what a row trains on and what is scored.
func (s *UnseenDataset) describe() string {
	return fmt.Sprintf("Trained on: %s. The %s of the set's test part are scored: each test image is searched among "+
		"the others by cosine.", s.trainedOn(), s.Things)
}

// trainedOn names the labels, and the photos of a drawn folder.
func (s *UnseenDataset) trainedOn() string {
	if s.Draw != nil {
		return s.Draw.about()
	}
	if s.Labels != "" {
		return "labels of " + s.Labels + " only"
	}
	return "labels of " + s.Things
}

// describeStart says what a row's untrained network is.
func (s *UnseenDataset) describeStart() string {
	if !s.Photos {
		return "The untrained network is the one that training starts from, with random weights. Raw pixels are its " +
			"inputs."
	}
	return "The untrained network is the pretrained one, at its own image size, whatever size training uses."
}

// quickSettings returns the settings of a run of seconds.
func (s *UnseenDataset) quickSettings() []string {
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

// RowName is the name of a row without that of its table; "" for other experiments.
func (e *Experiment) RowName() string {
	if e.Stranger == nil {
		return ""
	}
	return strings.TrimPrefix(e.Name, e.Table()+"-")
}

// ApplicableSettings returns the settings in set that apply to a row: network.pretrained applies only to
// photographs.
func (e *Experiment) ApplicableSettings(set []string) []string {
	if e.Stranger == nil || e.Stranger.Photos {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), func(s string) bool {
		return strings.HasPrefix(s, "network.pretrained=")
	})
}
