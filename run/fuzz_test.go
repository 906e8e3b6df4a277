package run

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/format/safetensors"
)

// fuzzedTrainer is a run on a few features that takes no time, two steps of an
// epoch with a cross-batch memory.
func fuzzedTrainer(t testing.TB) *trainer {
	t.Helper()
	cfg, err := Parse("test", nil, "network.name=linear", "network.dim=2", "sample.classes=2", "sample.per_class=2",
		"sample.batches=2",
		"train.epochs=1", "loss.name=contrastive", "loss.memory=5", "eval.recall=1")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := newTrainer(context.Background(), cfg, Options{Dataset: newFeatures(2, 6, 3)})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// checkpointOf returns the checkpoint of a run after its epoch.
func checkpointOf(t testing.TB, tr *trainer) *safetensors.File {
	t.Helper()
	if err := tr.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	file, err := tr.checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// FuzzCheckpoint restores runs from checkpoints whose metadata hold anything. What
// is accepted can be trained on and saved again to the same metadata.
func FuzzCheckpoint(f *testing.F) {
	good := checkpointOf(f, fuzzedTrainer(f))
	state, optimizer := good.Meta["state"], good.Meta["optimizer"]
	f.Add(state, optimizer)
	f.Add(strings.Replace(state, `"step":0`, `"step":1`, 1), optimizer)
	f.Add(strings.Replace(state, `"dim":2`, `"dim":4611686018427387904`, 1), optimizer)
	f.Add(strings.Replace(state, `"epoch":1`, `"epoch":-1`, 1), optimizer)
	f.Add("{}", `{"optimizer":"sgd"}`)
	f.Add(strings.Repeat("[", 1000), "null")
	f.Fuzz(func(t *testing.T, state, optimizer string) {
		tr := fuzzedTrainer(t)
		file := &safetensors.File{Tensors: good.Tensors, Meta: map[string]string{
			"format": checkpointFormat, "version": checkpointVersion, "state": state, "optimizer": optimizer,
			"crc32c": good.Meta["crc32c"],
		}}
		file.Meta["crc32c_state"] = stateChecksum(file)
		if err := tr.load(file); err != nil {
			return
		}
		again, err := tr.checkpoint()
		if err != nil {
			t.Fatalf("what was loaded cannot be saved: %v", err)
		}
		if again.Meta["crc32c"] != good.Meta["crc32c"] {
			t.Fatal("saving what was loaded changes its tensors")
		}
		other := fuzzedTrainer(t)
		if err := other.load(again); err != nil {
			t.Fatalf("what was saved is refused: %v", err)
		}
		last, err := other.checkpoint()
		if err != nil || last.Meta["state"] != again.Meta["state"] {
			t.Fatalf("the state changes when saved and loaded: %s, then %s (%v)", again.Meta["state"],
				last.Meta["state"], err)
		}
		_ = tr.loop(context.Background()) // may fail, but not panic
	})
}

// FuzzCheckpointFile restores runs from files.
func FuzzCheckpointFile(f *testing.F) {
	good := checkpointOf(f, fuzzedTrainer(f))
	var b bytes.Buffer
	if err := good.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := safetensors.Parse(data)
		if err != nil {
			return
		}
		if err := fuzzedTrainer(t).load(file); err == nil && file.Meta["crc32c"] != checksum(file.Tensors) {
			t.Fatal("a damaged file was loaded")
		}
	})
}

// FuzzTiming reads timing.csv; what is read is written and read again alike.
func FuzzTiming(f *testing.F) {
	f.Add([]byte(timingHeader+"1,0.500,0.100,40,80.0\n2,0.500,0.100,40,80.0\n"), 5)
	f.Add([]byte("1,1e300,nan,-1,inf\n1,inf,0,0,0\n"), 1)
	f.Add([]byte("\ufeff1,1,1,1,1\r\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, epochs int) {
		list := parseTiming(bytes.NewReader(text), epochs)
		last := 0
		for _, l := range list {
			if l.epoch <= last || l.epoch > epochs || l.train < 0 || l.eval < 0 || l.images < 0 {
				t.Fatalf("%+v after epoch %d of %d", l, last, epochs)
			}
			last = l.epoch
		}
		var b, c bytes.Buffer
		if err := writeTiming(&b, list); err != nil {
			t.Fatal(err)
		}
		again := parseTiming(bytes.NewReader(b.Bytes()), epochs)
		if err := writeTiming(&c, again); err != nil || len(again) != len(list) {
			t.Fatalf("%d lines became %d (%v)", len(list), len(again), err)
		}
	})
}

func TestTimingLeavesOutWhatMakesNoSense(t *testing.T) {
	text := timingHeader + "1,1.5,0.25,40,80.0\n1,1,1,1,1\n2,nan,1,1,1\n3,inf,1,1,1\n4,-1,1,1,1\n5,1,-1,1,1\n" +
		"6,1,1,-1,1\n7,1,1000000000,1,1\n8,1000000000,1,1,1\n9,1,1,1\n10,0,0,0,0\n11,1,1,1,1\n"
	list := parseTiming(strings.NewReader(text), 10)
	if len(list) != 2 || list[0].epoch != 1 || list[0].train.Seconds() != 1.5 || list[0].eval.Seconds() != 0.25 ||
		list[0].images != 40 || list[1].epoch != 10 {
		t.Errorf("%+v", list)
	}
}

// A state is refused for what it claims of the cross-batch memory.
func TestCheckpointWithAMemoryThatDoesNotFit(t *testing.T) {
	good := checkpointOf(t, fuzzedTrainer(t))
	for name, change := range map[string]func(m map[string]any){
		"overflowing dimension": func(m map[string]any) {
			m["dim"], m["embeddings"], m["labels"], m["unit"], m["ids"], m["next"] = 1<<62, []int{}, make([]int, 4),
				make([]bool, 4), make([]int, 4), 0
		},
		"negative dimension": func(m map[string]any) { m["dim"] = -2 },
		"too many":           func(m map[string]any) { m["labels"] = make([]int, 6) },
		"next beyond it":     func(m map[string]any) { m["next"] = 5 },
		"negative next":      func(m map[string]any) { m["next"] = -1 },
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
		meta := map[string]string{}
		for k, v := range good.Meta {
			meta[k] = v
		}
		meta["state"] = string(text)
		file := &safetensors.File{Tensors: good.Tensors, Meta: meta}
		file.Meta["crc32c_state"] = stateChecksum(file)
		if err := fuzzedTrainer(t).load(file); err == nil || !strings.Contains(err.Error(), "cross-batch memory") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
