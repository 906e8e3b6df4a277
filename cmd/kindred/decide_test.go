package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/internal/app/cli/calibrate"
	"github.com/kindred-ml/kindred/internal/collection/lookup"
)

// writePatternFolder writes a folder of pictures for each of some classes, and returns it.
func writePatternFolder(t *testing.T, dir string, from, to, each int) string {
	t.Helper()
	for c := from; c < to; c++ {
		for i := range each {
			var b bytes.Buffer
			if err := png.Encode(&b, drawPattern(c, i)); err != nil {
				t.Fatal(err)
			}
			writeBytes(t, filepath.Join(dir, fmt.Sprintf("thing %d", c), fmt.Sprintf("%d.png", i)), b.Bytes())
		}
	}
	return dir
}

// writePatternPhotos writes one picture of each class, which no training has seen.
func writePatternPhotos(t *testing.T, dir string, from, to int) string {
	t.Helper()
	for c := from; c < to; c++ {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, drawPattern(c, 50), &jpeg.Options{Quality: 98}); err != nil {
			t.Fatal(err)
		}
		writeBytes(t, filepath.Join(dir, fmt.Sprintf("thing %d.jpg", c)), b.Bytes())
	}
	return dir
}

// runJSON runs a command with --json, which must not fail.
func runJSON(t *testing.T, to any, args ...string) (stderr string) {
	t.Helper()
	code, out, stderr := runArgs(t, append(args, "--json")...)
	if code != exitOK {
		t.Fatalf("%v: %s", args, stderr)
	}
	if err := json.Unmarshal([]byte(out), to); err != nil {
		t.Fatal(err)
	}
	return stderr
}

// trainDecideRun trains on 20 classes with the default division, for a second.
func trainDecideRun(t *testing.T, more ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	writePatternFolder(t, "photos", 0, 20, 10)
	writePatternPhotos(t, "new", 0, 20)
	writePatternPhotos(t, "strange", 100, 140)
	args := append([]string{"train", "--data", "photos", "--out", "run", "--set", "train.epochs=3", "--set",
		"network.name=mlp", "--set", "network.width=32"}, more...)
	if code, _, stderr := runArgs(t, args...); code != exitOK {
		t.Fatal(stderr)
	}
}

// TestClosedRun: a run with the default division, which trained on all classes, tells which class a photo is of, and an
// index takes that along. What asks about strangers is refused, with the way out.
func TestClosedRun(t *testing.T) {
	trainDecideRun(t)
	var made calibrate.Result
	runJSON(t, &made, "calibrate", "run")
	if k := made.Closed; made.Mode != lookup.ModeClosed || k == nil || k.Classes != 20 || k.Photos != 40 ||
		k.Items != 160 || k.Right < 0.9 {
		t.Fatalf("%+v %+v", made, made.Closed)
	}
	if code, out, stderr := runArgs(t, "calibrate", "run", "--out", "other.json"); code != exitOK ||
		!strings.Contains(out, "closed") || !strings.Contains(out, "kindred calibrate run --force --folds 3") {
		t.Errorf("%s %s", out, stderr)
	}
	if code, _, stderr := runArgs(t, "index", "create", "run", "photos", "--out", "ix"); code != exitOK {
		t.Fatal(stderr)
	}
	for _, gallery := range [][]string{{"--run", "run", "--in", "photos"}, {"--index", "ix"}} {
		var got lookup.Decisions
		runJSON(t, &got, append([]string{"identify", "--data", "new", "--coverage", "0.9"}, gallery...)...)
		right := 0
		for _, q := range got.Queries {
			if !q.Unknown && strings.HasSuffix(q.Query, q.Label+".jpg") && q.Probability > 0.5 {
				right++
			}
		}
		if s := got.Summary; right < 18 || s.Named != 20 || s.Unknown != 0 || s.Mode != lookup.ModeClosed ||
			s.Rates != nil || !strings.Contains(s.Why, "unknown photos too") {
			t.Errorf("%v: %d right, %+v", gallery, right, got.Summary)
		}
	}
	// The way out that a refused index names.
	if code, _, stderr := runArgs(t, "calibrate", "run", "--out", filepath.Join("ix", decide.FileName),
		"--force"); code != exitOK {
		t.Error(stderr)
	}
	if code, _, stderr := runArgs(t, "identify", filepath.Join("new", "thing 3.jpg"), "--index", "ix"); code != exitOK {
		t.Error(stderr)
	}
	for _, e := range []struct {
		args []string
		want string
	}{
		{[]string{"calibrate", "run", "--force", "--fmr", "0.01"}, "needs classes that training did not see"},
		{[]string{"calibrate", "run", "--trials", "2"}, "needs classes that training did not see"},
		{[]string{"calibrate", "run", "--force", "--data", "photos"}, "has classes that training saw (thing 0,"},
		{[]string{"calibrate", "run", "--check", "photos"}, "needs an open calibration"},
		{[]string{"calibrate", "ix", "--force"}, "has classes that training saw (thing 0,"},
		{[]string{"calibrate", "ix", "--force", "--folds", "2"}, "give the folder of a run"},
		{[]string{"calibrate", "run", "--force", "--folds", "2", "--allow-seen"},
			"--allow-seen does not apply to --folds"},
		{[]string{"calibrate", "run", "--force", "--folds", "1000"}, "want 2 to 20"},
		{[]string{"identify", "--data", "new", "--index", "ix", "--fpir", "0.1"}, "--fpir does not apply"},
		{[]string{"identify", "--data", "new", "--index", "ix", "--strangers", "0.1"}, "--strangers does not apply"},
		{[]string{"identify", "--data", "new", "--index", "ix", "--coverage", "0.9", "--by-class"},
			"--by-class does not apply"},
	} {
		if code, _, stderr := runArgs(t, e.args...); code == exitOK || !strings.Contains(stderr, e.want) {
			t.Errorf("%v: status %d, %s", e.args, code, stderr)
		}
	}
	// Without the photos that training saw nothing is promised of other classes.
	if err := os.Rename("photos", "moved"); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{
		"run": "call kindred where it was trained, or set data.path",
		"ix":  "its classes cannot be compared without it; call kindred where it was trained",
	} {
		if code, _, stderr := runArgs(t, "calibrate", arg, "--force"); code == exitOK ||
			!strings.Contains(stderr, want) {
			t.Errorf("%s without its photos: status %d, %s", arg, code, stderr)
		}
	}
	if _, stderr := runProgram(t, "calibrate ix --force --allow-seen"); stderr != "" {
		t.Error(stderr)
	}
}

// TestOpenRun: strangers are told by classes that the training of one of the folds did not see, by photos of other
// classes, or, where that is asked for, by classes that training saw.
func TestOpenRun(t *testing.T) {
	trainDecideRun(t)
	writePatternFolder(t, "others", 200, 230, 5)
	for _, way := range [][]string{{"--folds", "2"}, {"--data", "others"}, {"--allow-seen"}} {
		var made calibrate.Result
		runJSON(t, &made, append([]string{"calibrate", "run", "--force"}, way...)...)
		if made.Mode != lookup.ModeOpen || made.Closed == nil || len(made.Closed.Rates) != len(lookup.SummaryRates()) {
			t.Fatalf("%v: %+v", way, made)
		}
		for _, of := range []struct {
			photos      string
			least, most int // named
		}{{"new", 8, 20}, {"strange", 0, 10}} {
			var got lookup.Decisions
			runJSON(t, &got, "identify", "--data", of.photos, "--run", "run", "--in", "photos", "--fpir", "0.2")
			s := got.Summary
			if s.Mode != lookup.ModeOpen || s.Named < of.least || s.Named > of.most ||
				s.Named+s.Unknown != len(got.Queries) || len(s.Rates) != len(lookup.SummaryRates()) {
				t.Errorf("%v, %s: %+v", way, of.photos, s)
			}
			for _, r := range s.Rates {
				if r.FPIR == 0.2 && (r.Named == nil || *r.Named != s.Named) {
					t.Errorf("%v, %s: %+v, and %d are named", way, of.photos, r, s.Named)
				}
			}
		}
		_, _, stderr := runArgs(t, "identify", "--data", "strange", "--run", "run", "--in", "photos", "--fpir", "0.2")
		if !strings.Contains(stderr, "photos whose nearest item is farther are unknown") ||
			strings.Contains(stderr, "more unknown photos are admitted") != (way[0] == "--allow-seen") {
			t.Errorf("%v: %s", way, stderr)
		}
		var closed lookup.Decisions
		runJSON(t, &closed, "identify", "--data", "new", "--run", "run", "--in", "photos", "--closed")
		if closed.Summary.Named != 20 {
			t.Errorf("%v: --closed names %d of 20", way, closed.Summary.Named)
		}
		// Photos without labels are compared with those that an open set was learned from, which --data names.
		if code, _, stderr := runArgs(t, "calibrate", "run", "--check", "new"); way[0] == "--data" &&
			(code != exitFailure || !strings.Contains(stderr, "run has 0: photos without labels are compared")) {
			t.Errorf("status %d, %s", code, stderr)
		}
	}
}

// cancelWriter ends a context when something is written to it.
type cancelWriter struct {
	said   bytes.Buffer
	at     string
	cancel func()
}

func (c *cancelWriter) Write(p []byte) (int, error) {
	n, err := c.said.Write(p)
	if strings.Contains(c.said.String(), c.at) {
		c.cancel()
	}
	return n, err
}

// TestInterruptedFolds: an interruption leaves the calibration as it was, and the same command goes on to the same
// calibration. Nothing of the folds' networks stays.
func TestInterruptedFolds(t *testing.T) {
	trainDecideRun(t)
	mustRun(t, "calibrate", "run")
	before, err := os.ReadFile(filepath.Join("run", decide.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runArgs(t, "calibrate", "run", "--folds", "2"); code == exitOK ||
		!strings.Contains(stderr, "replace it with --force") || strings.Contains(stderr, "fold 1") {
		t.Fatal(stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	said := &cancelWriter{at: "fold 2/2  epoch 2/3", cancel: cancel}
	args := []string{"calibrate", "run", "--force", "--folds", "2"}
	if code := execute(ctx, args, io.Discard, said); code != exitFailure {
		t.Fatal(said.said.String())
	}
	for _, want := range []string{"2 networks are trained for 3 epochs each", "about 1 minute", "fold 1 of 2",
		"fold 1/2  epoch 3/3", "interrupted: fold 2 of 2, stopped in epoch 3",
		" calibrate run --folds=2 --force=true"} {
		if !strings.Contains(said.said.String(), want) {
			t.Errorf("%q is missing: %s", want, said.said.String())
		}
	}
	if now, err := os.ReadFile(filepath.Join("run", decide.FileName)); err != nil || !bytes.Equal(before, now) {
		t.Error(err, "the calibration has changed")
	}
	if _, stderr := runProgram(t, strings.Join(args, " ")); strings.Contains(stderr, "epoch 1/3") ||
		!strings.Contains(stderr, "fold 2/2  epoch 3/3") {
		t.Error(stderr)
	}
	mustRun(t, "calibrate", "run", "--folds", "2", "--out", "whole.json")
	got, err := os.ReadFile(filepath.Join("run", decide.FileName))
	if want, e := os.ReadFile("whole.json"); err != nil || e != nil || !bytes.Equal(got, want) {
		t.Error(err, e, "another calibration than without the interruption")
	}
	if left, err := filepath.Glob(filepath.Join("run", "*"+foldsSuffix)); len(left) > 0 || err != nil {
		t.Error(left, err)
	}
}

// TestKeptClasses: a run that kept classes apart learns strangers from these, though its test is on all classes.
func TestKeptClasses(t *testing.T) {
	trainDecideRun(t, "--set", "data.validation=classes:0.5")
	var made calibrate.Result
	runJSON(t, &made, "calibrate", "run")
	if made.Mode != lookup.ModeOpen || made.From != "kept for validation" || made.Classes != 10 || made.Closed == nil ||
		made.Closed.StrangerClasses != 10 || made.Closed.Classes != 20 {
		t.Fatalf("%+v %+v", made, made.Closed)
	}
	c, err := decide.Load(filepath.Join("run", decide.FileName))
	if err != nil || len(c.Closed.Names) != 20 {
		t.Fatal(err)
	}
	if code, _, stderr := runArgs(t, "calibrate", "run", "--force", "--folds", "2"); code == exitOK ||
		!strings.Contains(stderr, "but no whole classes") {
		t.Error(stderr)
	}
	// Without the photos the embeddings of the classes that were kept are enough for galleries of other classes.
	if err := os.Rename("photos", "moved"); err != nil {
		t.Fatal(err)
	}
	var again calibrate.Result
	if said := runJSON(t, &again, "calibrate", "run", "--force"); again.Mode != lookup.ModeOpen ||
		again.Closed != nil ||
		!strings.Contains(said, "were not found") {
		t.Errorf("%+v %s", again, said)
	}
}
