package run

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/format/safetensors"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// aCheckpoint returns a trainer of faultConfig and the checkpoint of its run
// after the first epoch.
func aCheckpoint(t testing.TB) (*trainer, *safetensors.File) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	cfg := faultConfig(t)
	cfg.Train.Epochs = 1
	if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newFeatures(4, 8, 6)}); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Read(CheckpointPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newTrainer(t.Context(), faultConfig(t), Options{Dataset: newFeatures(4, 8, 6)})
	if err != nil {
		t.Fatal(err)
	}
	return tr, f
}

// changed is the state's text with one value changed.
func changed(t testing.TB, text, key string, value any) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	m[key] = value
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestStatesThatCannotBe are refused, whether or not the checksum is right, and
// the last ones that can are taken.
func TestStatesThatCannotBe(t *testing.T) {
	tr, f := aCheckpoint(t)
	good := f.Meta["state"]
	for _, c := range []struct {
		key   string
		value any
		want  string // "": fine
	}{
		{"step", 0, ""}, {"step", 3, ""}, {"step", 4, "step 4"}, {"step", -1, "step -1"},
		{"epoch", 0, "1 rows of history"}, {"epoch", 2, "1 rows of history"}, {"epoch", -1, "epoch -1"},
		{"history", []any{}, "0 rows of history"},
		{"data", "x", "training samples"},
		{"epoch", "one", "state: "},
	} {
		f.Meta["state"] = changed(t, good, c.key, c.value)
		if err := tr.load(f); err == nil || !strings.Contains(err.Error(), "checksum of the state") {
			t.Errorf("%s = %v under the old checksum: %v", c.key, c.value, err)
		}
		f.Meta["crc32c_state"] = stateChecksum(f)
		if err := tr.load(f); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %v: %v, want %q", c.key, c.value, err, c.want)
		}
		f.Meta["state"] = good
		f.Meta["crc32c_state"] = stateChecksum(f)
	}
	// An older file says nothing of its state's checksum.
	delete(f.Meta, "crc32c_state")
	if err := tr.load(f); err != nil {
		t.Error(err)
	}
	for key, c := range map[string][2]string{
		"format": {"x", "not a checkpoint"}, "version": {"9", `version "9"`}, "crc32c": {"x", "damaged"},
		"optimizer": {"{", "optimizer: "},
	} {
		old := f.Meta[key]
		f.Meta[key] = c[0]
		if err := tr.load(f); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s = %q: %v", key, c[0], err)
		}
		f.Meta[key] = old
	}
}

// FuzzState loads checkpoints whose state and optimizer's text say anything.
func FuzzState(f *testing.F) {
	tr, file := aCheckpoint(f)
	var b bytes.Buffer
	if err := file.Write(&b); err != nil {
		f.Fatal(err)
	}
	delete(file.Meta, "crc32c_state")
	state, optimizer := file.Meta["state"], file.Meta["optimizer"]
	f.Add(state, optimizer)
	f.Add("{}", "{}")
	f.Add("null", "null")
	f.Add(`{"epoch":-1,"step":9}`, `{"steps":"-1"}`)
	for _, key := range []string{"sampler", "objective", "network", "sums", "history"} {
		f.Add(changed(f, state, key, nil), optimizer)
		f.Add(changed(f, state, key, -1), optimizer)
		f.Add(changed(f, state, key, map[string]any{"memory": []any{1}}), optimizer)
	}
	f.Fuzz(func(t *testing.T, state, optimizer string) {
		file.Meta["state"], file.Meta["optimizer"] = state, optimizer
		_ = tr.load(file) // an error or not: no panic
	})
}
