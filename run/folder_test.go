package run

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/run/internal/record"
)

// TestFolder reads back what a run wrote.
func TestFolder(t *testing.T) {
	dir, _ := traceRun(t)
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.Dir() != dir || f.Name() != "whole" || f.ReportPath() != filepath.Join(dir, "report.html") {
		t.Errorf("%s, %s, %s", f.Dir(), f.Name(), f.ReportPath())
	}
	cfg, err := f.Config("train.seed=9")
	if err != nil || cfg.Train.Seed != 9 || cfg.Train.Epochs != 2 {
		t.Errorf("%v, %+v", err, cfg.Train)
	}
	settings, err := f.Settings()
	if err != nil || !slices.Contains(settings, Setting{"loss.memory", "20"}) ||
		!slices.Contains(settings, Setting{"eval.metrics", "map@r"}) {
		t.Errorf("%v, %v", err, settings)
	}
	h, err := f.History()
	if err != nil || !slices.Equal(h.Values["epoch"], []float64{1, 2}) || h.Columns[0] != "epoch" {
		t.Fatalf("%v, %+v", err, h)
	}
	if _, err := h.LastValue("test_map@r"); err != nil || !math.IsNaN(h.Values["test_map@r"][0]) {
		t.Errorf("%v, %v", err, h.Values["test_map@r"])
	}
	if _, err := h.LastValue("nothing"); err == nil {
		t.Error("a last value of nothing")
	}
	if got := fmt.Sprint(h.Metrics()); !strings.HasPrefix(got, "[test_recall@1 test_label_recall@1 ") {
		t.Errorf("metrics %s", got)
	}
	times, err := f.Timing()
	if err != nil || len(times.Values["train_seconds"]) != 2 {
		t.Errorf("%v, %+v", err, times)
	}
	c, err := f.Checkpoint()
	if err != nil || c.Epoch != 2 || len(c.History) != 2 || c.Name != checkpointPath(dir) {
		t.Errorf("%v, %+v", err, c)
	}
	m, err := f.Model()
	if err != nil || m.Net.Dim() != 4 || m.Config.Network.Dim != 4 {
		t.Errorf("%v", err)
	}
	for _, s := range Sets() {
		table, err := f.Embeddings(s)
		kept, err2 := f.Snapshots(s)
		if err2 != nil {
			t.Fatal(err2)
		}
		if s != TestSet && s != TrainSet {
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "kept no "+s.String()) ||
				len(kept) != 0 {
				t.Errorf("%v: %v, %d snapshots", s, err, len(kept))
			}
			continue
		}
		if err != nil || len(kept) != 3 || kept[0].Epoch != 0 || kept[2].Epoch != 2 || kept[1].Set != s {
			t.Fatalf("%v: %v, %+v", s, err, kept)
		}
		last, err := kept[2].Embeddings()
		if err != nil || !slices.Equal(last.X.Data, table.X.Data) || len(last.Columns) != 2 ||
			last.Columns[0].Name != "label" ||
			!strings.HasSuffix(kept[2].Path(), "0002_"+s.String()+"_embeddings.npy") {
			t.Errorf("%v: %v, the last snapshot is not what the run ended with", s, err)
		}
	}
	// Beyond four digits names are no longer in the order of the epochs.
	for _, e := range []string{"10000_seen", "9999_seen", "0003_validation"} {
		if err := writeNameFile(dir, "snapshots/"+e+"_embeddings.npy"); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := f.Snapshots(SeenSet); err != nil || len(kept) != 2 || kept[0].Epoch != 9999 {
		t.Errorf("%v, %+v", err, kept)
	}
	if kept, err := f.Snapshots(ValidationSet); err != nil || len(kept) != 1 || kept[0].Epoch != 3 {
		t.Errorf("%v, %+v", err, kept)
	}
}

// TestFoldersWithoutARun say what is missing.
func TestFoldersWithoutARun(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "none: no such file or folder: give the folder of a run") {
		t.Errorf("no folder: %v", err)
	}
	writeFile(t, filepath.Join(dir, "file"), "")
	if _, err := Open(filepath.Join(dir, "file")); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("a file: %v", err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for what, read := range map[string]func() error{
		"it has no config.yaml":    func() error { _, err := f.Config(); return err },
		"because it has no config": func() error { _, err := f.Settings(); return err },
		"not finished an epoch":    func() error { _, err := f.History(); return err },
		"timing.csv":               func() error { _, err := f.Timing(); return err },
		"not the folder":           func() error { _, err := f.Model(); return err },
		"last.safetensors":         func() error { _, err := f.Checkpoint(); return err },
		"has no embeddings.npy:":   func() error { _, err := f.Embeddings(TestSet); return err },
	} {
		if err := read(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v does not say %q", err, what)
		}
	}
	if kept, err := f.Snapshots(TestSet); err != nil || kept != nil {
		t.Errorf("%v, %v", kept, err)
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"short":    {record.MetricsFile, "epoch,loss\n1\n", "wrong number of fields"},
		"a word":   {record.MetricsFile, "epoch,loss\n1,x\n", `line 2, column "loss": "x" is not a number`},
		"twice":    {record.MetricsFile, "epoch,epoch\n", "twice"},
		"no epoch": {record.MetricsFile, "loss\n1\n", "no column called epoch"},
		"empty":    {record.MetricsFile, "", "empty"},
		"no YAML":  {record.ConfigFile, "a: [1", record.ConfigFile},
	} {
		writeFile(t, filepath.Join(dir, c.file), c.text)
		_, err := f.History()
		if c.file == record.ConfigFile {
			_, err = f.Settings()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v does not say %q", name, err, c.want)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "snapshots"), 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "snapshots", "99999999999999999999_test_embeddings.npy"), "")
	if _, err := f.Snapshots(TestSet); err == nil {
		t.Error("an epoch that no number holds")
	}
}

func TestSetText(t *testing.T) {
	for _, s := range Sets() {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again Set
		if err := again.UnmarshalText(text); err != nil || again != s {
			t.Errorf("%s became %v, %v", text, again, err)
		}
	}
	if _, err := ParseSet("exam"); err == nil || !strings.Contains(err.Error(), "test, seen, train, gallery") {
		t.Errorf("exam: %v", err)
	}
	if Set(9).String() != "Set(9)" || Set(-1).String() != "Set(-1)" {
		t.Error("sets that are none")
	}
}
