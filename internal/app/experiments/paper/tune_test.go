package paper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/sweep"
)

// runTune runs the sweep of MNIST's settings on made-up digits.
func runTune(t *testing.T, home, dir string) *TunedSettings {
	t.Helper()
	e := Find("mnist")
	o := Options{Dir: dir, Seed: 1, Jobs: 2, Home: home, Set: []string{"train.epochs=3", "sample.batches=2",
		"network.name=conv4", "network.width=4", "network.dim=8"}}
	text, err := e.TunePlan(o, 4)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sweep.ParsePlan("tune.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, _, err := Tune(t.Context(), e, o, p, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTune chooses settings on made-up digits, and the same settings if the test pictures are
// noise: the test takes no part.
func TestTune(t *testing.T) {
	home, dir := writeDigits(t, 24), t.TempDir()
	c := runTune(t, home, dir)
	if err := c.checkExperiment(Find("mnist")); err != nil {
		t.Error(err)
	}
	for _, a := range c.Arms {
		if a.Trials != 4 || a.Spent == 0 || a.Spent > c.Budget || !(a.Score > 0) {
			t.Errorf("%+v of a budget of %d", a, c.Budget)
		}
	}
	if want := "kindred reproduce tune mnist --trials 4 --seed 1 --set 'train.epochs=3' --set 'sample.batches=2' " +
		"--set 'network.name=conv4' --set 'network.width=4' --set 'network.dim=8'"; c.Command != want {
		t.Errorf("%s, want %s", c.Command, want)
	}
	said := c.origin(Find("mnist").Space)
	for _, want := range []string{"recall@1 on pictures held out", "4 trials (tpe) of up to 3 epochs",
		"a budget of 12 epochs on each of 2 folds", "data.test_limit=1000"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in: %s", want, said)
		}
	}

	images := filepath.Join(home, "mnist", "t10k-images-idx3-ubyte")
	text, err := os.ReadFile(images)
	if err != nil {
		t.Fatal(err)
	}
	for i := 16; i < len(text); i++ {
		text[i] = byte(i * 131)
	}
	if err := os.WriteFile(images, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if blind := runTune(t, home, t.TempDir()); asJSON(t, blind) != asJSON(t, c) {
		t.Errorf("with another test:\n%s\nnot\n%s", asJSON(t, blind), asJSON(t, c))
	}

	// A folder with other contents is refused.
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Tune(t.Context(), Find("mnist"), Options{Dir: dir}, nil, "", nil); err == nil ||
		!strings.Contains(err.Error(), "mine.txt") {
		t.Errorf("a folder with another file: %v", err)
	}
}

// TestTunePlans reads the plan of every experiment that has one. The arms and the settings that are
// not searched are the experiment's. If the first trial has the settings from before the sweep, it
// has a value for every range.
func TestTunePlans(t *testing.T) {
	for _, name := range Names() {
		e := Find(name)
		if e.Space == nil || e.Space.Of != "" {
			continue
		}
		text, err := e.TunePlan(Options{Scale: e.Space.Scale, Seed: 1, Set: []string{"train.weight_decay=0.25"}}, 9)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sweep.ParsePlan(name, []byte(text))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		trained := slices.DeleteFunc(slices.Clone(e.Arms), func(a Arm) bool { return !a.isSearched() })
		if p.Seeds != 0 || len(p.Arms) != len(trained) || !strings.Contains(text, "train.weight_decay: 0.25") {
			t.Errorf("%s: %d seeds, %d arms\n%s", name, p.Seeds, len(p.Arms), text)
		}
		out := sweep.Outcome{Plan: p}
		for i := range p.Arms {
			if r := out.Ranges(i); len(r) < 1 || len(r) > 5 {
				t.Errorf("%s, %s: %d keys are searched", name, trained[i].Name, len(r))
			} else if e.Space.Start && len(p.Arms[i].Start) != len(r) {
				t.Errorf("%s, %s: starts from %v, of %d keys", name, trained[i].Name, p.Arms[i].Start, len(r))
			}
			for _, s := range p.Arms[i].Set {
				if hasKey(s.Key+"=", e.Space.Set) || !hasKey(s.Key+"=", trained[i].Set) {
					t.Errorf("%s, %s: sets %s", name, trained[i].Name, s.Key)
				}
			}
		}
	}
}

// TestChosenSettingsFit reads the kept settings of sweeps: every arm of the experiment has settings
// within its ranges, and no other arm has any.
func TestChosenSettingsFit(t *testing.T) {
	files, err := chosenFiles.ReadDir("chosen")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		text, err := chosenFiles.ReadFile("chosen/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseTuned(f.Name(), text)
		if err != nil {
			t.Fatal(err)
		}
		e := Find(c.Experiment)
		if e == nil || name != c.file() || c.Command != c.command() {
			t.Errorf("%s: of experiment %q, to be called %s, by %s", f.Name(), c.Experiment, c.file(), c.Command)
			continue
		}
		if err := c.checkExperiment(e); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
}

// TestChosenSettingsThatDoNotFit damages settings in all the ways that fits detects.
func TestChosenSettingsThatDoNotFit(t *testing.T) {
	good := func() *TunedSettings {
		return &TunedSettings{Experiment: "mnist", Trials: 3, Seed: 1, Arms: []TunedArm{
			{Name: "Triplet", Set: []string{"train.lr=0.001", "loss.margin=0.2", "loss.distance=squared",
				"sample.per_class=32"}},
			{Name: "Trip+EPS", Set: []string{"train.lr=0.01", "loss.margin=1", "loss.distance=euclidean",
				"sample.per_class=64"}}}}
	}
	if err := good().checkExperiment(Find("mnist")); err != nil {
		t.Fatal(err)
	}
	for says, damage := range map[string]func(c *TunedSettings){
		"nothing was chosen for arm \"Trip+EPS\"": func(c *TunedSettings) { c.Arms = c.Arms[:1] },
		"has no arm \"Other\"":                    func(c *TunedSettings) { c.Arms[0].Name = "Other" },
		"train.lr=1 is not in the range":          func(c *TunedSettings) { c.Arms[0].Set[0] = "train.lr=1" },
		"sample.per_class=5 is not in the range":  func(c *TunedSettings) { c.Arms[0].Set[3] = "sample.per_class=5" },
		"train.clip=1 is not in the range":        func(c *TunedSettings) { c.Arms[1].Set[1] = "train.clip=1" },
		"3 settings for 4 ranges":                 func(c *TunedSettings) { c.Arms[0].Set = c.Arms[0].Set[:3] },
		"no scale \"huge\": it has one size only": func(c *TunedSettings) { c.Scale = "huge" },
	} {
		c := good()
		damage(c)
		if err := c.checkExperiment(Find("mnist")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// TestChosenSettingsAreTrainedWith checks that swept settings come after the experiment's own and
// before the user's.
func TestChosenSettingsAreTrainedWith(t *testing.T) {
	e := Find("mnist")
	o := Options{scaled: []string{"train.lr=0.5", "train.epochs=3"}, Set: []string{"loss.margin=0.7"},
		chosen: &TunedSettings{
			Arms: []TunedArm{{Name: "Triplet", Set: []string{"train.lr=0.004", "loss.margin=0.3"}}}}}
	cfg, err := e.config(&e.Arms[0], 1, o.settings(&e.Arms[0]))
	if err != nil || cfg.Train.LR != 0.004 || cfg.Train.Epochs != 3 || cfg.Loss["margin"] != 0.7 {
		t.Errorf("%+v, %v, %v", cfg.Train, cfg.Loss, err)
	}
	if got := o.settings(&e.Arms[1]); !slices.Equal(got, []string{"train.lr=0.5", "train.epochs=3",
		"loss.margin=0.7"}) {
		t.Errorf("an arm for which nothing was chosen: %v", got)
	}
}

// file names the file of c in the folder "chosen", without its ending.
func (c *TunedSettings) file() string { return chosenName(c.Experiment, c.Scale) }

// checkExperiment checks that the settings belong to e: every arm has settings whose keys are in its ranges
// and whose values lie within them.
func (c *TunedSettings) checkExperiment(e *Experiment) error {
	text, err := e.TunePlan(Options{Scale: c.Scale, Set: c.Set, Seed: c.Seed}, c.Trials)
	if err != nil {
		return err
	}
	p, err := sweep.ParsePlan(tunePlanFile, []byte(text))
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range c.Arms {
		if e.arm(a.Name) < 0 {
			errs = append(errs, fmt.Errorf("experiment %s has no arm %q", e.Name, a.Name))
		}
	}
	out := sweep.Outcome{Plan: p}
	for i := range p.Arms {
		name := p.Arms[i].Name
		set := c.arm(name)
		if set == nil {
			errs = append(errs, fmt.Errorf("nothing was chosen for arm %q", name))
			continue
		}
		ranges := out.Ranges(i)
		if len(set) != len(ranges) {
			errs = append(errs, fmt.Errorf("%s: %d settings for %d ranges", name, len(set), len(ranges)))
			continue
		}
		for k, r := range ranges {
			key, value, _ := strings.Cut(set[k], "=")
			if key != r.Key || !r.Contains(value) {
				errs = append(errs, fmt.Errorf("%s: %s is not in the range of %s", name, set[k], r.Key))
			}
		}
	}
	return errors.Join(errs...)
}
