package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run in 8 bits is taken as any other, and its embeddings are those of another network.
func TestQuantizedRunIsARun(t *testing.T) {
	base := t.TempDir()
	photos, dir, out := writePhotos(t), filepath.Join(base, "run"), filepath.Join(base, "int8")
	must := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := runArgs(t, args...)
		if code != exitOK {
			t.Fatalf("%v: exit status %d: %s", args, code, stderr)
		}
		return stdout
	}
	must("train", "--data", photos, "--out", dir, "--set", "train.epochs=1", "--set", "data.split=images:0.3", "--set",
		"network.name=conv4", "--set", "network.width=8", "--set", "network.pretrained=none", "--set", "data.size=16")
	var got quantizedRun
	if err := json.Unmarshal([]byte(must("quantize", dir, "--out", out, "--json", "--photos", "8")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Photos != 8 || got.Before.Precision != "float32" || got.After.Precision != "int8" || got.Tested == 0 ||
		len(got.Files) < 6 {
		t.Errorf("%+v", got)
	}
	for _, file := range got.Files {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if code, _, stderr := runArgs(t, "quantize", dir, "--out", out); code != exitFailure ||
		!strings.Contains(stderr, "--force") {
		t.Errorf("a folder that holds a run: exit status %d: %s", code, stderr)
	}
	if text := must("quantize", dir, "--out", out, "--force"); !strings.Contains(text, "Recall@1") {
		t.Errorf("it prints %s", text)
	}
	embed := func(what, dir, file string) []byte {
		must("embed", what, dir, "--data", photos, "--out", file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	whole := embed("--run", dir, filepath.Join(base, "float.npy"))
	eight := embed("--run", out, filepath.Join(base, "eight.npy"))
	if string(whole) == string(eight) {
		t.Error("the embeddings in 8 bits are those in float32")
	}
	if string(embed("--network", out, filepath.Join(base, "again.npy"))) != string(eight) {
		t.Error("the folder as a network embeds otherwise than as a run")
	}
	indices := map[string]string{}
	for _, d := range []string{dir, out} {
		x := d + ".index"
		must("index", "create", "--run", d, "--data", photos, "--out", x)
		var info struct {
			Network struct{ Sum string }
		}
		if err := json.Unmarshal([]byte(must("index", "info", x, "--json")), &info); err != nil {
			t.Fatal(err)
		}
		indices[d] = info.Network.Sum
		must("search", filepath.Join(photos, "c0", "1.png"), "--index", x)
	}
	if indices[dir] == indices[out] || indices[dir] == "" {
		t.Errorf("the networks of the indexes are %q", indices)
	}
	if code, _, stderr := runArgs(t, "quantize", out, "--out", filepath.Join(base, "twice")); code != exitFailure ||
		!strings.Contains(stderr, "already") {
		t.Errorf("twice: exit status %d: %s", code, stderr)
	}
}

// A run in 8 bits is exported in 8 bits, or not at all.
func TestQuantizedRunIsExported(t *testing.T) {
	base := t.TempDir()
	dir, out, file := filepath.Join(base, "run"), filepath.Join(base, "int8"), filepath.Join(base, "m.onnx")
	for _, args := range [][]string{
		{"train", "--data", writePhotos(t), "--out", dir, "--set", "train.epochs=1", "--set", "data.split=images:0.3",
			"--set", "network.name=conv4", "--set", "network.width=8", "--set", "network.pretrained=none", "--set",
			"data.size=16"},
		{"quantize", dir, "--out", out}, {"export", out, "--out", file},
	} {
		if code, _, stderr := runArgs(t, args...); code != exitOK {
			t.Fatalf("%v: exit status %d: %s", args, code, stderr)
		}
	}
	model, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(model, []byte("QuantizeLinear")) {
		t.Errorf("a model of %d bytes without QuantizeLinear: %v", len(model), err)
	}
	if code, _, stderr := runArgs(t, "export", out, "--out", filepath.Join(base, "m.safetensors")); code != exitUsage ||
		!strings.Contains(stderr, "8 bits") {
		t.Errorf("safetensors: exit status %d: %s", code, stderr)
	}
}

func TestQuantizeUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--out":        {"quantize", "run"},
		"--percentile": {"quantize", "run", "--out", "x", "--percentile", "40"},
		"--photos":     {"quantize", "run", "--out", "x", "--photos", "0"},
		"RUN":          {"quantize"},
	} {
		if code, _, stderr := runArgs(t, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit status %d: %s", args, code, stderr)
		}
	}
}
