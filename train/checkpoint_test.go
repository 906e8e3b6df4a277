package train

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// checkpointFile returns the file of the checkpoint after one epoch of small.
func checkpointFile(t testing.TB) *safetensors.File {
	t.Helper()
	var w written
	cfg := small(t, 1)
	cfg.Store, cfg.Origin = &w, Origin{Data: "these"}
	if _, err := Loop(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(w.files[len(w.files)-1])
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// load goes on from a file, in a run of two epochs.
func load(t testing.TB, f *safetensors.File) (*Trainer, error) {
	t.Helper()
	c, err := parseCheckpoint(f)
	if err != nil {
		return nil, err
	}
	cfg := small(t, 2)
	cfg.Resume, cfg.Origin = c, c.Origin
	return New(cfg)
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
	f := checkpointFile(t)
	good := f.Meta["state"]
	for _, c := range []struct {
		key   string
		value any
		want  string // "": fine
	}{
		{"step", 0, ""}, {"step", 3, ""}, {"step", 4, "step 4"}, {"step", -1, "step -1"},
		{"epoch", 0, "1 rows of history"}, {"epoch", 2, "1 rows of history"}, {"epoch", -1, "epoch -1"},
		{"history", []any{}, "0 rows of history"},
		{"epoch", "one", "state: "},
	} {
		f.Meta["state"] = changed(t, good, c.key, c.value)
		if _, err := load(t, f); err == nil || !strings.Contains(err.Error(), "checksum of the state") {
			t.Errorf("%s = %v under the old checksum: %v", c.key, c.value, err)
		}
		f.Meta["crc32c_state"] = stateChecksum(f)
		if _, err := load(t, f); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %v: %v, want %q", c.key, c.value, err, c.want)
		}
		f.Meta["state"] = good
		f.Meta["crc32c_state"] = stateChecksum(f)
	}
	// One without its state's checksum is of no released version.
	delete(f.Meta, "crc32c_state")
	if _, err := load(t, f); err == nil || !strings.Contains(err.Error(), "start the run again") {
		t.Errorf("without the checksum: %v", err)
	}
	f.Meta["crc32c_state"] = stateChecksum(f)
	for key, c := range map[string][2]string{
		"format": {"x", "not a checkpoint"}, "version": {"9", `version "9"`}, "crc32c": {"x", "damaged"},
		"optimizer": {"{", "optimizer: "},
	} {
		old := f.Meta[key]
		f.Meta[key] = c[0]
		f.Meta["crc32c_state"] = stateChecksum(f)
		if _, err := load(t, f); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s = %q: %v", key, c[0], err)
		}
		f.Meta[key] = old
		f.Meta["crc32c_state"] = stateChecksum(f)
	}
	c := reread(t, encodeFile(t, f))
	c.Epoch, c.History = 3, make([]Epoch, 3)
	cfg := small(t, 2)
	cfg.Resume = c
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "3 epochs are done, more than the 2") {
		t.Errorf("more epochs than asked for: %v", err)
	}
	if err := new(Checkpoint).Write(new(bytes.Buffer)); err == nil {
		t.Error("a checkpoint of nothing was written")
	}
	cfg.Resume = new(Checkpoint)
	if _, err := New(cfg); err == nil {
		t.Error("went on from nothing")
	}
}

func encodeFile(t testing.TB, f *safetensors.File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestOrigin goes through a checkpoint and back, in the keys of old.
func TestOrigin(t *testing.T) {
	f := checkpointFile(t)
	if !strings.HasPrefix(f.Meta["state"], `{"data":"these","epoch":1,"step":0,"sums":{`) {
		t.Errorf("the state begins with %.60s", f.Meta["state"])
	}
	c, err := parseCheckpoint(f)
	if err != nil {
		t.Fatal(err)
	}
	c.Origin = Origin{"d", "now", "before"}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	if again := reread(t, b.Bytes()); again.Origin != c.Origin || again.Epoch != 1 || len(again.History) != 1 {
		t.Errorf("read %+v", again.Origin)
	}
}

// FuzzState goes on from checkpoints whose metadata hold anything. What is accepted
// can be trained on and saved again to the same metadata.
func FuzzState(f *testing.F) {
	good := checkpointFile(f)
	state, optimizer := good.Meta["state"], good.Meta["optimizer"]
	f.Add(state, optimizer)
	f.Add("{}", "{}")
	f.Add("null", "null")
	f.Add(`{"epoch":-1,"step":9}`, `{"steps":"-1"}`)
	f.Add("{}", `{"optimizer":"sgd"}`)
	f.Add(strings.Repeat("[", 1000), "null")
	f.Add(strings.Replace(state, `"step":0`, `"step":1`, 1), optimizer)
	f.Add(strings.Replace(state, `"dim":3`, `"dim":4611686018427387904`, 1), optimizer)
	for _, key := range []string{"sampler", "objective", "network", "sums", "history", "best", "final"} {
		f.Add(changed(f, state, key, nil), optimizer)
		f.Add(changed(f, state, key, -1), optimizer)
		f.Add(changed(f, state, key, map[string]any{"memory": []any{1}}), optimizer)
		f.Add(changed(f, state, key, map[string]any{"epoch": 1, "metric": ""}), optimizer)
	}
	f.Fuzz(func(t *testing.T, state, optimizer string) {
		file := &safetensors.File{Tensors: good.Tensors, Meta: maps.Clone(good.Meta)}
		file.Meta["state"], file.Meta["optimizer"] = state, optimizer
		file.Meta["crc32c_state"] = stateChecksum(file)
		tr, err := load(t, file)
		if err != nil {
			return
		}
		again, err := tr.checkpoint()
		if err != nil {
			t.Fatalf("what was loaded cannot be saved: %v", err)
		}
		first := encodeCheckpoint(t, again)
		if first.Meta["crc32c"] != good.Meta["crc32c"] {
			t.Fatal("saving what was loaded changes its tensors")
		}
		other, err := load(t, first)
		if err != nil {
			t.Fatalf("what was saved is refused: %v", err)
		}
		last, err := other.checkpoint()
		if err != nil || encodeCheckpoint(t, last).Meta["state"] != first.Meta["state"] {
			t.Fatalf("the state changes when saved and loaded: %s (%v)", first.Meta["state"], err)
		}
		_, _ = tr.Run(context.Background()) // may fail, but not panic
	})
}

func encodeCheckpoint(t testing.TB, c *Checkpoint) *safetensors.File {
	t.Helper()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// FuzzCheckpointFile goes on from files that hold anything.
func FuzzCheckpointFile(f *testing.F) {
	good := checkpointFile(f)
	f.Add(encodeFile(f, good))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadCheckpoint(bytes.NewReader(data))
		if err != nil {
			return
		}
		if c.file.Meta["crc32c"] != checksum(c.file.Tensors) {
			t.Fatal("a damaged file was read")
		}
		cfg := small(t, 2)
		cfg.Resume = c
		_, _ = New(cfg) // an error or not: no panic
	})
}

// A state is refused for what it claims of the cross-batch memory.
func TestCheckpointWithAMemoryThatDoesNotFit(t *testing.T) {
	good := checkpointFile(t)
	for name, change := range map[string]func(m map[string]any){
		"overflowing dimension": func(m map[string]any) {
			m["dim"], m["embeddings"], m["labels"], m["unit"], m["ids"], m["next"] = 1<<62, []int{}, make([]int, 4),
				make([]bool, 4), make([]int, 4), 0
		},
		"negative dimension": func(m map[string]any) { m["dim"] = -2 },
		"too many":           func(m map[string]any) { m["labels"] = make([]int, 6) },
		"next beyond it":     func(m map[string]any) { m["next"] = 11 },
		"negative next":      func(m map[string]any) { m["next"] = -1 },
		"without identities": func(m map[string]any) { delete(m, "ids") },
	} {
		var s map[string]any
		if err := json.Unmarshal([]byte(good.Meta["state"]), &s); err != nil {
			t.Fatal(err)
		}
		change(s["objective"].(map[string]any)["memory"].([]any)[0].(map[string]any))
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		file := &safetensors.File{Tensors: good.Tensors, Meta: maps.Clone(good.Meta)}
		file.Meta["state"] = string(text)
		file.Meta["crc32c_state"] = stateChecksum(file)
		if _, err := load(t, file); err == nil || !strings.Contains(err.Error(), "cross-batch memory") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
