package main

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/run"
)

// writeShapes writes small pictures to dir/COARSE/FINE/k.png: the coarse class is a
// colour, the fine one where a spot lies.
func writeShapes(t *testing.T, dir string, coarse, fine, each int) (paths []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for c := range coarse {
		for f := range fine {
			for k := range each {
				im := image.NewNRGBA(image.Rect(0, 0, 20, 20))
				x0, y0 := 2+f*14/max(fine-1, 1)+rng.IntN(3), 4+rng.IntN(12)
				for y := range 20 {
					for x := range 20 {
						v := uint8(rng.IntN(60))
						if max(x-x0, x0-x, y-y0, y0-y) < 3 {
							v = 255
						}
						p := [3]uint8{30, 30, 30}
						p[c%3] = v
						im.Set(x, y, color.NRGBA{p[0], p[1], p[2], 255})
					}
				}
				path := filepath.Join(fmt.Sprintf("coarse%d", c), fmt.Sprintf("fine%d", f), fmt.Sprintf("%d.png", k))
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o777); err != nil {
					t.Fatal(err)
				}
				w, err := os.Create(filepath.Join(dir, path))
				if err != nil {
					t.Fatal(err)
				}
				if err := png.Encode(w, im); err != nil {
					t.Fatal(err)
				}
				w.Close()
				paths = append(paths, filepath.ToSlash(path))
			}
		}
	}
	return paths
}

// trainSummary runs kindred train on small pictures and returns what it printed.
func trainSummary(t *testing.T, args ...string) (s run.Summary, said string) {
	t.Helper()
	args = append([]string{"train", "--json", "--out", filepath.Join(t.TempDir(), "run"), "--set", "network.width=8",
		"--set", "train.epochs=1", "--set", "eval.recall=1"}, args...)
	code, out, said := runArgs(t, args...)
	if code != exitOK {
		t.Fatalf("%v: status %d: %s", args, code, said)
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	return s, said
}

// The examples of docs/training.md, on pictures that the test makes.
func TestTrainByRelations(t *testing.T) {
	dir := t.TempDir()
	paths := writeShapes(t, dir, 4, 4, 6)
	for _, set := range [][]string{
		{"sample.name=hierarchical", "sample.coarse=2", "sample.fine=4", "sample.per_class=4"},
		{"loss.relation=coarse-not-fine", "sample.name=hierarchical", "sample.fine=4"},
	} {
		args := []string{"--data", dir}
		for _, s := range set {
			args = append(args, "--set", s)
		}
		if s, _ := trainSummary(t, args...); s.NoPositive != 0 || s.ActiveShare == 0 || s.Steps == 0 {
			t.Errorf("%v: %+v", set, s)
		}
	}
	// Every picture has its coarse and its fine class for labels, the first of
	// one coarse class neither.
	list := filepath.Join(dir, "shapes.csv")
	text := "path,label,labels\n"
	for i, p := range paths {
		part := strings.Split(p, "/")
		labels := part[0] + "|" + part[1]
		if i < 6 {
			labels = ""
		}
		text += fmt.Sprintf("%s,%s-%s,%s\n", p, part[0], part[1], labels)
	}
	if err := os.WriteFile(list, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s, _ := trainSummary(t, "--data", list, "--set", "loss.relation=shares-label")
	if s.NoPositive == 0 || s.NoPositive >= 6*s.Steps+1 || s.ActiveShare == 0 {
		t.Errorf("shares-label: %+v", s)
	}
	if code, _, said := runArgs(t, "train", "--data", dir, "--set", "loss.relation=shares-label", "--out",
		filepath.Join(t.TempDir(), "x")); code == exitOK || !strings.Contains(said, "labels") {
		t.Errorf("shares-label on folders: status %d: %s", code, said)
	}
}

// The folders in the top ones are the labels of training, in the run's files and of clean.
func TestTrainOnFoldersInFolders(t *testing.T) {
	dir := t.TempDir()
	paths := writeShapes(t, dir, 5, 4, 6)
	// A red picture of the other place: a wrong label within a top folder.
	odd := filepath.Join("coarse0", "fine0", "odd.png")
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(paths[3*6])))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, odd), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]struct{ label, other string }{
		"data.label=":       {"fine", "kindred train --set data.label=coarse"},
		"data.label=coarse": {"coarse", "kindred train --set data.label=fine"},
	} {
		out := filepath.Join(t.TempDir(), "run")
		code, _, said := runArgs(t, "train", dir, "--out", out, "--set", "network.width=8", "--set", "train.epochs=1",
			"--set", "eval.recall=1", "--set", set)
		said = strings.Join(strings.Fields(said), " ")
		if code != exitOK || !strings.Contains(said, "labels "+want.label+", ") ||
			!strings.Contains(said, want.other) || !strings.Contains(said, "5 top folders with 20 folders in them") {
			t.Fatalf("%s: status %d: %s", set, code, said)
		}
		f, err := run.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		if cfg, err := f.Config(); err != nil || cfg.Data.Label != want.label || cfg.Data.Fine != "fine" {
			t.Errorf("%s: config.yaml has %q and %q, %v", set, cfg.Data.Label, cfg.Data.Fine, err)
		}
		for _, label := range []string{"", "fine", "coarse"} {
			args := []string{"clean", out, "--out", filepath.Join(t.TempDir(), "suspects"), "--json", "--no-pictures",
				"--least", "0"}
			judged := want.label
			if label != "" {
				args, judged = append(args, "--label", label), label
			}
			code, found, said := runArgs(t, args...)
			if code != exitOK || !strings.Contains(said, "labels: "+judged+", ") ||
				strings.Contains(found, `"label": "coarse0/fine0"`) != (judged == "fine") {
				t.Errorf("%s, --label %q: status %d: %s%s", set, label, code, said, found)
			}
		}
	}
	code, info, said := runArgs(t, "data", "info", dir, "--no-images")
	if code != exitOK || !strings.Contains(info, "labels: fine, ") ||
		!strings.Contains(info, "kindred train --set data.label=coarse takes the top folders") {
		t.Errorf("data info: status %d: %s%s", code, info, said)
	}
}

// A run that has nothing to learn from says so on standard error and in its
// summary: relatives make the pairs here, and batches hold none.
func TestTrainSaysWhatIsIdle(t *testing.T) {
	dir := t.TempDir()
	writeShapes(t, dir, 4, 2, 6)
	s, said := trainSummary(t, "--data", dir, "--set", "loss.relation=coarse-not-fine", "--set",
		"sample.name=hierarchical",
		"--set", "sample.fine=1")
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "no sample had a positive") ||
		!strings.Contains(said, "warning: epoch 1: there was nothing to learn from") {
		t.Errorf("warnings %q; said %q", s.Warnings, said)
	}
}
