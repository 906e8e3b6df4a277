package run

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
)

// What a run says before its first step: the parts, how they came about, the
// network with its start, batches, the objective and why, what is kept.
func TestSetupSaysWhatIsAboutToBeDone(t *testing.T) {
	cfg := Default()
	cfg.Network.Width = 16
	heard := ""
	small, err := Plan(t.Context(), cfg, Options{Dataset: newPhotos(8, 10, 64), Weights: smallStart(t, 64),
		Dir:             filepath.Join(t.TempDir(), "a"),
		FeatureProgress: func(done, total int) { heard += fmt.Sprintln(done, total) }})
	if heard != "48 48\n" {
		t.Errorf("heard %q before", heard)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := []PartSize{{"training", 48, 8, 8}, {"validation", 16, 8, 8}, {"test", 16, 8, 8}}
	if !slices.Equal(small.Parts, want) || small.Batch != 32 || small.Batches != 32 || len(small.Reasons) != 2 {
		t.Errorf("%+v", small)
	}
	scratch, features := cfg, cfg
	scratch.Mine["positives"], scratch.Loss["name"], scratch.Loss["margin"] = "random", "triplet", 0.5
	scratch.Data.Label, scratch.Data.Split = "mod:2", "classes"
	other, err := Plan(t.Context(), scratch, Options{Dataset: newBlobs(8, 6, 16)})
	if err != nil {
		t.Fatal(err)
	}
	features.Mine, features.Loss = Section{}, Section{}
	rows, err := Plan(t.Context(), features, Options{Dataset: newFeatures(4, 10, 6)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    *Setup
		says []string
	}{
		{small, []string{
			"data         photos: 80 images\ntraining     48 images of 8 classes\n" +
				"validation   16 images of 8 classes\n" +
				"test         16 images of 8 classes\ndivision     all 8 classes train (64 images), and other images",
			" 16 images of the training part, 20 % of each class of three or more, are kept for validation\n",
			"network      conv4, from images of 64 x 64 x 3 to embeddings of ", "pretrained weights small: all ",
			"batches      32 an epoch, of up to 32: 8 classes x 4\nobjective    cosface; each image is pulled " +
				"towards the proxy of its class and pushed away from " +
				"those of the others (train.proxies means)\n",
			"; the embedding layer begins as wccn\n",
			"training     4 epochs, adam, ",
			", light augmentation; keeps the average of the weights over 192 steps, of the epoch with the " +
				"highest validation_map@r (rises of up to 0.005 do not count)",
			"memory       about ", "run folder   " + small.Dir + "\n"}},
		{other, []string{"training     24 images of 4 classes, under 2 labels\n",
			"4 classes that training does not see are the test (24 images)",
			"objective    triplet margin=0.5; each image is pulled towards one of its class at random " +
				"(positives random) and pushed away from one of another class that is slightly farther than the " +
				"positive (negatives facenet), as configured\n",
			"; from scratch\n",
			"training     10 epochs, adam, rate 0.001, seed 1; keeps the last epoch\n"}},
		{rows, []string{"blobs: 40 rows\n", "training     20 rows of 4 classes\n",
			"network      mlp, from rows of 6 values to ",
			"; each row is pulled towards the nearest one of its class (positives easy) and pushed ",
			" (negatives facenet), the default of this loss\n"}},
	} {
		text := c.s.String()
		for _, line := range strings.Split(text, "\n") {
			if len(line) > 100 && !strings.Contains(line, c.s.Dir) {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
		flat := strings.ReplaceAll(text, "\n"+strings.Repeat(" ", 13), " ")
		for _, w := range c.says {
			if !strings.Contains(flat, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}
	if strings.Contains(other.String(), "run folder") {
		t.Errorf("nothing is written:\n%s", other)
	}
}

// TestSetupOfViews: views and further losses are in the banner.
func TestSetupOfViews(t *testing.T) {
	cfg := Default()
	cfg.Data.Label, cfg.Data.Split = "mod:2", "classes"
	further := cfg.clone()
	further.Loss["name"], further.Loss["plus"] = "triplet", []any{map[string]any{"name": "vicreg", "weight": 0.5}}
	for _, c := range []struct {
		cfg  Config
		says []string
	}{
		{cfg, []string{" classes x 12, each in 2 views (characters)\n",
			"objective    supcon + spread; each image is pulled towards all of its class (positives all) and\n"}},
		{further, []string{" classes x 12\n", "objective    triplet + 0.5 vicreg; each image "}},
	} {
		setup, err := Plan(t.Context(), c.cfg, Options{Dataset: newBlobs(8, 6, 16)})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if text := setup.String(); !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

// A test split with queries and a gallery, and classes seen.
func TestSetupOfAGallery(t *testing.T) {
	d := newBlobs(4, 12, 16)
	for i := range d.Splits {
		d.Splits[i] = []data.Split{data.Train, data.Query, data.Gallery}[i%3]
	}
	cfg := Default()
	cfg.Data.TestLimit = 3
	s, err := Plan(t.Context(), cfg, Options{Dataset: d})
	if err != nil {
		t.Fatal(err)
	}
	if want := []PartSize{{"training", 16, 4, 4}, {"test", 12, 4, 4}, {"gallery", 16, 4, 4}}; !slices.Equal(s.Parts,
		want) {
		t.Errorf("%+v", s.Parts)
	}
	if want := "data.test_limit uses only the first 3 of each class"; !slices.Contains(s.Reasons, want) {
		t.Errorf("%q", s.Reasons)
	}
}
