package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/nn"
)

// twoStarts finds the network small of smallStart and blind, for which all images are the same.
func twoStarts(t *testing.T, side int) func(context.Context, string) (Start, error) {
	t.Helper()
	small := smallStart(t, side)
	s, err := small(t.Context(), "small")
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.Load(filepath.Dir(s.Path), nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range net.Params() {
		if strings.HasSuffix(p.Name, "weight") {
			clear(p.Value)
		}
	}
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, name string) (Start, error) {
		if name == "blind" {
			b := s
			b.Name, b.Path = name, filepath.Join(dir, nn.WeightsFile)
			return b, nil
		}
		return small(ctx, name)
	}
}

// fromSmall is a run from a pretrained conv4 of width 16.
func fromSmall(t *testing.T, set ...string) Config {
	t.Helper()
	cfg, err := Parse("", nil, append([]string{"network.width=16", "train.epochs=1", "eval.recall=[1]",
		"data.split=images:0.5", "data.validation=images:0.3", "sample.classes=2", "sample.per_class=4"}, set...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestChooseEncoder: the network that finds more is kept, in whatever order they are named, and the run is the one
// that names it.
func TestChooseEncoder(t *testing.T) {
	find := twoStarts(t, 16)
	named := filepath.Join(t.TempDir(), "named")
	if _, err := Train(t.Context(), fromSmall(t, "network.pretrained=small"),
		Options{Dir: named, Dataset: newPhotos(4, 12, 16), Weights: find}); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"blind,small", "small, blind", "small,missing,blind"} {
		cfg, opts := fromSmall(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Dataset: newPhotos(4, 12, 16),
			Weights: find}
		cfg.Network.Pretrained = list
		if strings.Contains(list, "missing") {
			cfg.Network.Pretrained, opts.Encoders = "", strings.Split(list, ",")
		}
		res, err := Train(t.Context(), cfg, opts)
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		sameFolders(t, named, opts.Dir)
		notes := strings.Join(res.Notes, "\n")
		for _, want := range []string{"network.pretrained is small, the best one", "small 83.3 ± 7.6 (16 px, ",
			"blind ",
			"on 24 training images", "network.pretrained=NAME"} {
			if !strings.Contains(notes, want) {
				t.Errorf("%s: no %q in\n%s", list, want, notes)
			}
		}
		if strings.Contains(list, "missing") != strings.Contains(notes, "network missing is not tried: ") {
			t.Errorf("%s: notes\n%s", list, notes)
		}
	}
}

// TestKeepEncoder: a difference counts if chance does not explain it; else the faster network is kept.
func TestKeepEncoder(t *testing.T) {
	// score makes an encoder that finds all but the images from..from+missed-1 of 1000.
	score := func(name string, from, missed int, ms float64) *encoder {
		e := &encoder{name: name, hits: map[int]float64{}, inferenceTime: time.Duration(ms * 1e6)}
		for i := range 1000 {
			e.hits[i] = 1
			if i >= from && i < from+missed {
				e.hits[i] = 0
			}
		}
		return e
	}
	for want, tried := range map[string][]*encoder{
		"better":          {score("worse", 0, 200, 1), score("better", 0, 100, 50)},
		"fast":            {score("better", 500, 100, 50), score("fast", 0, 105, 1)},
		"alike":           {score("slow", 0, 100, 50), score("alike", 0, 100, 49)},
		"paired":          {score("fast", 0, 110, 1), score("paired", 0, 100, 50)}, // ten images, all of them lost
		"only":            {score("only", 0, 1000, 1)},
		"fast enough":     {score("best", 500, 100, 9), score("fast enough", 0, 105, 2), score("fast", 0, 300, 1)},
		"fast and better": {score("fast and better", 0, 10, 1), score("slow", 0, 11, 2)},
	} {
		if kept := selectEncoder(tried); kept.name != want {
			t.Errorf("kept %s, want %s", kept.name, want)
		}
	}
	tried := []*encoder{score("a", 0, 10, 9), score("b", 0, 1000, 1), score("c", 5, 10, 3)}
	text := describeEncoders(tried, selectEncoder(tried), 1000)
	for _, want := range []string{"is c, the fastest of the 2 best", "b 0.0 ± 0.0 (0 px, 1 ms an image)",
		"a 99.0 ± 0.3"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// TestEncodersRefused: lists that cannot be compared are errors that say what is wrong.
func TestEncodersRefused(t *testing.T) {
	find := twoStarts(t, 16)
	for want, c := range map[string]struct {
		pretrained string
		change     func(*Config, *Options)
	}{
		"network missing of the list in network.pretrained": {"small,missing", nil},
		"a list has names":       {"small,,blind", nil},
		`"small,none"`:           {"small,none", nil},
		"9 networks: at most 8":  {"a,b,c,d,e,f,g,h,i", nil},
		"a run that has begun":   {"small,blind", func(_ *Config, o *Options) { o.Resume = true }},
		"machines differ":        {"small,blind", func(_ *Config, o *Options) { o.Ranks = stubRanks{} }},
		"ready features":         {"small,blind", func(_ *Config, o *Options) { o.Dataset = newFeatures(4, 8, 3) }},
		"leave network.name out": {"small,blind", func(c *Config, _ *Options) { c.Network.Name = "conv4" }},
		"set only one":           {"small", func(_ *Config, o *Options) { o.Encoders = []string{"blind"} }},
		"run.Options.Encoders: none of the networks": {"", func(_ *Config, o *Options) {
			o.Encoders = []string{"x", "y"}
		}},
		"no class has two training images": {"small,blind", func(c *Config, o *Options) {
			c.Data.TrainLimit, c.Data.Validation = 1, none
		}},
	} {
		cfg, opts := fromSmall(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Dataset: newPhotos(4, 12, 16),
			Weights: find}
		cfg.Network.Pretrained = c.pretrained
		if c.change != nil {
			c.change(&cfg, &opts)
		}
		if opts.Resume {
			if _, err := Train(t.Context(), fromSmall(t, "network.pretrained=small"),
				Options{Dir: opts.Dir, Dataset: opts.Dataset, Weights: find}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Plan(t.Context(), cfg, opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", c.pretrained, err, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	opts := Options{Dataset: newPhotos(4, 12, 16), Weights: find, Encoders: []string{"small", "blind"}}
	if _, err := Plan(ended, fromSmall(t), opts); err == nil || strings.Contains(err.Error(), "none of") {
		t.Errorf("interrupted: %v", err)
	}
}

// TestCommaInAFile: a file whose name has a comma is one network.
func TestCommaInAFile(t *testing.T) {
	find := smallStart(t, 16)
	s, err := find(t.Context(), "small")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a,b.safetensors")
	writeFile(t, path, string(text))
	setup, err := Plan(t.Context(), fromSmall(t, "network.name=conv4", fmt.Sprintf("network.pretrained=%q", path)),
		Options{Dataset: newPhotos(4, 12, 16)})
	if err != nil || setup.Config.Network.Pretrained != path {
		t.Errorf("starts from %+v, %v", setup, err)
	}
}
