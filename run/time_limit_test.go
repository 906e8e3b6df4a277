package run

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/train"
)

// TestMinutesRepeat: config.yaml repeats a run of train.minutes to the same bytes, though that takes no measurement:
// from scratch with every kind of state, from a pretrained start of the same size, from one of a larger size, and with
// a frozen body.
func TestMinutesRepeat(t *testing.T) {
	pretrained := []string{"network.pretrained=small", "network.width=16", "eval.recall=[1]",
		"data.split=images:0.5", "data.validation=images:0.3", "sample.classes=2", "sample.per_class=4"}
	for name, set := range map[string][]string{
		"from scratch": nil,
		"same size":    pretrained,
		"larger size":  append(slices.Clone(pretrained), "data.size=16"),
		"own head":     append(slices.Clone(pretrained), "data.size=16", "network.dim=4"),
		"frozen":       append(slices.Clone(pretrained), "network.freeze=body", "network.dim=4", "data.augment=none"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			cfg, opts := smallConfig(t), Options{Dir: filepath.Join(t.TempDir(), "a"), Dataset: newBlobs(4, 20, 16)}
			cfg.Train.Epochs, cfg.Train.Schedule = 0, ""
			if set != nil {
				var err error
				if cfg, err = Parse("", nil, set...); err != nil {
					t.Fatal(err)
				}
				opts.Dataset, opts.Weights = newPhotos(4, 12, 32), smallStart(t, 32)
			}
			cfg.Train.Minutes = 0.01
			var setup Setup
			opts.OnSetup = func(s Setup) { setup = s }
			var res *Result
			for range 3 { // other work may slow the machine
				var err error
				if res, err = Train(t.Context(), cfg, opts); err != nil {
					t.Fatal(err)
				}
				opts.Force = true
				if !strings.Contains(res.Verdict, "ended early") {
					break
				}
			}
			if strings.Contains(res.Verdict, "ended early") {
				t.Skip("the machine was too slow")
			}
			if banner := setup.String(); !strings.Contains(banner, "0.01 minutes: ") {
				t.Errorf("no length in\n%s", banner)
			}
			c := readConfig(t, opts.Dir)
			if c.Train.Minutes != 0 || c.Train.Epochs != len(res.History) || c.Train.Schedule != "cosine" ||
				c.Train.canEndEarly() {
				t.Errorf("%d epochs; config.yaml has %+v", len(res.History), c.Train)
			}
			again := opts
			again.Dir, again.Force, again.OnSetup = filepath.Join(t.TempDir(), "b"), false, nil
			// If the untrained network is kept, config.yaml has its image size afterwards.
			if _, err := Train(t.Context(), setup.Config, again); err != nil {
				t.Fatal(err)
			}
			sameFolders(t, opts.Dir, again.Dir)
		})
	}
}

// TestMinutesTooFew: a run has an epoch of a step, however little time there is; that it ended early is said only of
// one that could not take its steps.
func TestMinutesTooFew(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs, cfg.Sample.Batches, cfg.Train.Minutes, cfg.Train.Warmup = 0, 0, 1e-9, 0
	res, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)})
	if err != nil || len(res.History) != 1 || res.History[0].Steps != 1 || res.Config.Sample.Batches != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if len(res.Scores) == 0 || strings.Contains(res.Verdict, "ended early") {
		t.Errorf("scores %v, verdict %q", res.Scores, res.Verdict)
	}
	cfg.Train.Warmup = 2.5 // the cosine begins after it
	res, err = Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)})
	if err != nil || res.Config.Train.Epochs != 4 {
		t.Errorf("%d epochs, the first three of which warm up, %v", res.Config.Train.Epochs, err)
	}
	cfg.Train.Warmup, cfg.Sample.Batches = 0, 3 // as asked
	res, err = Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)})
	if err != nil || len(res.History) != 1 || res.History[0].Steps != 1 || res.Config.Sample.Batches != 3 ||
		!strings.Contains(res.Verdict, "ended early, in epoch 1 of 1") {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestMinutesRefused: what contradicts train.minutes is an error that says what to do.
func TestMinutesRefused(t *testing.T) {
	for set, want := range map[string]string{
		"train.epochs=3":       "leave train.epochs out",
		"train.budget=5m":      "leave train.budget out",
		"train.minutes=-1":     "must not be negative",
		"train.minutes=.nan":   "must be a number",
		"train.minutes=.inf":   "must be a number",
		"train.minutes=600000": "must be at most",
	} {
		if _, err := Parse("", nil, "train.minutes=5", set); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "train.minutes") {
			t.Errorf("%s: error %v, want %q", set, err, want)
		}
	}
	cfg := smallConfig(t)
	opts := Options{Dir: t.TempDir() + "/a", Dataset: newBlobs(4, 20, 16)}
	if _, err := Train(t.Context(), cfg, opts); err != nil {
		t.Fatal(err)
	}
	cfg.Train.Epochs, cfg.Train.Minutes = 0, 1
	resumed, finished := opts, opts
	resumed.Resume, finished.Finish = true, true
	for want, o := range map[string]Options{
		"train.epochs makes the run longer": resumed,
		"leave it out":                      finished,
		"set train.epochs or train.budget": {Dataset: opts.Dataset, Engine: func(*nn.Net, *Config) (Engine, error) {
			panic("the engine was made")
		}},
	} {
		if _, err := Train(t.Context(), cfg, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := cfg.checkMinutes(&Options{Ranks: stubRanks{}}); err == nil {
		t.Error("ranks may measure a pace")
	}
}

// stubRanks is a set of ranks that nothing is asked of.
type stubRanks struct{ train.Ranks }

// TestPlanMinutes: a plan measures nothing, and its configuration can be trained.
func TestPlanMinutes(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs, cfg.Train.Minutes = 0, 0.001
	s, err := Plan(t.Context(), cfg, Options{Dataset: newBlobs(4, 20, 16)})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.String(), "as many epochs as fit into 0.001 minutes") {
		t.Errorf("the plan is\n%s", s)
	}
	again, err := Parse("", s.Config.Annotate(cfg))
	if err != nil || again.Train.Minutes != 0.001 || again.Train.Epochs != 0 {
		t.Errorf("%+v, %v", again.Train, err)
	}
}

// TestFitEpochs: epochs fill the time and no more, shrink only if they may, and evaluations have their share.
func TestFitEpochs(t *testing.T) {
	type fit struct{ epochs, steps, every int }
	const s = time.Second
	for _, c := range []struct {
		left, step, eval, save time.Duration
		batches, every         int
		open                   bool
		want                   fit
	}{
		{100 * s, s, s, 0, 9, 1, false, fit{10, 9, 1}},
		{109 * s, s, s, 0, 9, 1, false, fit{10, 9, 1}},
		{109 * s, s, s, 0, 9, 1, true, fit{11, 8, 1}},       // eleven shorter epochs fill the time
		{100 * s, s, s, 0, 1000, 1, false, fit{1, 1000, 1}}, // as asked, though it is too long
		{100 * s, s, s, 0, 1000, 1, true, fit{4, 24, 1}},
		{100 * s, s, 10 * s, 0, 1000, 1, true, fit{2, 40, 1}}, // evaluations take a fifth
		{100 * s, s, 90 * s, 0, 1000, 1, true, fit{1, 10, 1}},
		{100 * s, s, 10 * s, 0, 10, 1, false, fit{8, 10, 4}}, // 40 steps between evaluations of 10
		{100 * s, s, s, 0, 9, 3, false, fit{10, 9, 3}},
		{120 * s, s, s, 2 * s, 9, 1, false, fit{10, 9, 1}},
		{120 * s, s, s, 2 * s, 90, 1, true, fit{4, 27, 1}},
		{0, s, s, 0, 9, 1, true, fit{1, 1, 1}},
		{-5 * s, s, s, 0, 9, 1, true, fit{1, 1, 1}},
		{-5 * s, s, s, 0, 9, 1, false, fit{1, 9, 1}},
	} {
		e, n, every := fitEpochs(c.left, c.step, c.eval, c.save, c.batches, c.every, c.open)
		if got := (fit{e, n, every}); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	for _, zero := range []time.Duration{0, 1} { // clocks may be coarse
		if e, n, every := fitEpochs(time.Second, zero, zero, zero, 9, 1, true); e < 1 || n < 1 || n > 9 || every < 1 ||
			e == math.MaxInt {
			t.Errorf("%d epochs of %d steps, every %d", e, n, every)
		}
	}
}
