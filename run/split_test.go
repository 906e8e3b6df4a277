package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/train"
)

// A set without a split of its own trains all classes, and the folder says so. A
// run that was begun when classes were kept apart, and nothing was written of it,
// goes on as it was.
func TestSplitIsWrittenAndKept(t *testing.T) {
	own := func() *data.Dataset {
		d := newFeatures(6, 10, 6)
		d.Splits = nil
		return d
	}
	cfg := Default()
	cfg.Network.Dim, cfg.Train.Epochs, cfg.Data.TrainLimit = 4, 2, 6
	split := func(dir string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, configFile))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse("", text)
		if err != nil {
			t.Fatal(err)
		}
		return c.Data.Split
	}
	dir := t.TempDir()
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: own()}); err != nil {
		t.Fatal(err)
	}
	if got := split(dir); got != "images:0.2" {
		t.Errorf("split %q", got)
	}
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: own(), Resume: true}); err != nil {
		t.Error(err)
	}

	earlier := t.TempDir()
	apart := cfg
	apart.Data.Split = "classes"
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Train(ctx, apart, Options{Dir: earlier, Dataset: own(), Observe: func(e train.Event) {
		if e.Epoch == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	path := filepath.Join(earlier, configFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	silent := strings.Replace(string(text), "split: classes", `split: ""`, 1)
	if err := os.WriteFile(path, []byte(silent), 0o666); err != nil || silent == string(text) {
		t.Fatal(err)
	}
	forgetSettings(t, earlier)
	if _, err := Train(t.Context(), cfg, Options{Dir: earlier, Dataset: own(), Resume: true}); err != nil {
		t.Error(err)
	}
	if got := split(earlier); got != "classes" {
		t.Errorf("went on with split %q", got)
	}
}
