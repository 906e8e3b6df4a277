package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTunePage: the sweep behind chosen settings leaves its page, also where it was done
// before, and says where.
func TestTunePage(t *testing.T) {
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "tune")
	writeDigits(t, filepath.Join(home, "mnist"), 240)
	page := filepath.Join(dir, "sweep", "report.html")
	tune := []string{"reproduce", "tune", "mnist", "--trials", "2", "--set", "train.epochs=2", "--set",
		"sample.batches=2", "--set", "network.name=conv4", "--set", "network.width=4", "--set", "network.dim=8",
		"--data-dir", home, "--out", dir}
	for range 2 {
		said := mustRun(t, tune...)
		if !strings.Contains(said, "chosen: "+filepath.Join(dir, "chosen.json")) || !strings.Contains(said,
			"report: "+page) {
			t.Errorf("where things are: %s", said)
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Trip+EPS", "kindred reproduce tune mnist --trials 2", "loss.margin", "<svg"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		if err := os.Remove(page); err != nil {
			t.Fatal(err)
		}
	}
	var chosen struct{ Experiment string }
	said := mustRun(t, append(tune, "--json")...)
	if err := json.Unmarshal([]byte(said), &chosen); err != nil || chosen.Experiment != "mnist" {
		t.Errorf("%v: %s", err, said)
	}
	if _, err := os.Stat(page); err != nil {
		t.Errorf("with --json: %v", err)
	}
}

// writeDigits writes n pictures in MNIST's files for each of its two parts: a bright square
// in a place of each class.
func writeDigits(t *testing.T, dir string, n int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	head := func(sizes ...uint32) (b []byte) {
		for _, v := range sizes {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return b
	}
	for _, part := range []string{"train", "t10k"} {
		images, labels := head(0x803, uint32(n), 28, 28), head(0x801, uint32(n))
		for i := range n {
			class := i % 10
			picture := make([]byte, 28*28)
			for k := range 49 {
				picture[(3+class/5*12+k/7)*28+3+class%5*4+k%7] = byte(150 + i%100)
			}
			images, labels = append(images, picture...), append(labels, byte(class))
		}
		for name, b := range map[string][]byte{"-images-idx3-ubyte": images, "-labels-idx1-ubyte": labels} {
			if err := os.WriteFile(filepath.Join(dir, part+name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSweepWithFailedTrials: what failed is named at the end and in the JSON, and the
// status says so unless it may fail.
func TestSweepWithFailedTrials(t *testing.T) {
	makeFeatureSet(t)
	plan := `set:
  data: {path: features.npy}
  network: {name: linear, dim: 3}
  sample.batches: 2
  train.epochs: 2
  eval.recall: [1]
ranges:
  sample.per_class: [2, 1]
stop: never
trials: 6
folds: 2
seeds: 0
`
	if err := os.WriteFile("plan.yaml", []byte(plan), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, said := runArgs(t, "sweep", "plan.yaml", "--out", "s")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := lines[len(lines)-1]
	if code != exitFailure || !strings.Contains(last, "of 6 trials failed") || !strings.Contains(last,
		"--allow-failed") || !strings.Contains(lines[len(lines)-2], "trial: trial ") ||
		!strings.Contains(lines[len(lines)-2], "sample.per_class") ||
		!strings.Contains(out, "report: ") {
		t.Errorf("status %d, printed %s\nsaid %s", code, out, said)
	}
	code, out, said = runArgs(t, "sweep", "plan.yaml", "--out", "s", "--json", "--allow-failed")
	var got struct{ Failed []struct{ Error string } }
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || len(got.Failed) == 0 ||
		!strings.Contains(got.Failed[0].Error, "fold 1: sample.per_class") {
		t.Errorf("status %d, %v, said %s\n%s", code, err, said, out)
	}
	if code, _, _ := runArgs(t, "sweep", "plan.yaml", "--out", "s", "--json"); code != exitFailure {
		t.Errorf("with --json: status %d", code)
	}
}
