package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// onnxFile is a small residual network of PyTorch's, for images of 32 x 32.
func onnxFile(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "internal", "network", "onnxnet", "testdata", "residual.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	writeBytes(t, path, data)
	return path
}

// mustRun runs a command line that has to succeed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := runArgs(t, args...)
	if code != exitOK {
		t.Fatalf("%v: status %d\n%s", args, code, stderr)
	}
	return stdout
}

// A run that is exported and read again gives the run's embeddings, as ONNX; the
// safetensors file says what it is.
func TestExport(t *testing.T) {
	dir, tmp := writePhotos(t), t.TempDir()
	at := func(name string) string { return filepath.Join(tmp, name) }
	mustRun(t, "train", "--data", dir, "--out", at("run"), "--set", "train.epochs=1", "--set", "data.size=16",
		"--set", "data.split=images:0.3", "--set", "network.name=conv4", "--set", "network.width=8")
	mustRun(t, "export", "--run", at("run"), "--out", at("m.onnx"))
	mustRun(t, "embed", "--run", at("run"), "--data", dir, "--out", at("a.npy"))
	mustRun(t, "embed", "--network", at("m.onnx"), "--data", dir, "--out", at("b.npy"))
	a, err := embedding.Read(at("a.npy"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := embedding.Read(at("b.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if a.X.Rows != 18 || a.X.Rows != b.X.Rows || a.X.Cols != b.X.Cols {
		t.Fatalf("%d x %d and %d x %d", a.X.Rows, a.X.Cols, b.X.Rows, b.X.Cols)
	}
	for i := range a.X.Rows {
		for k, v := range a.X.Row(i) {
			if math.Abs(float64(v-b.X.Row(i)[k])) > 1e-5 {
				t.Fatalf("row %d: %g and %g", i, v, b.X.Row(i)[k])
			}
		}
	}
	mustRun(t, "export", "--run", at("run"), "--out", at("card/model.safetensors"))
	f, err := safetensors.Read(at("card/model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := nn.ParseSpec([]byte(f.Meta["kindred.network"]))
	if err != nil || spec.Name != "conv4" || f.Meta["kindred.pixels"] != "unit" || f.Meta["preparation"] == "" {
		t.Errorf("metadata %v, %v", f.Meta, err)
	}
	card, err := os.ReadFile(at("card/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# conv4", "library_name: kindred", "## Preparation",
		"shorter side resized to 16 pixels", "std [1 1 1]",
		"from scratch",
		"recall@1", "safe_open(\"model.safetensors\""} {
		if !strings.Contains(string(card), want) {
			t.Errorf("the card lacks %q:\n%s", want, card)
		}
	}
	if strings.Contains(string(card), tmp) || strings.Contains(string(card), dir) {
		t.Errorf("the card holds paths of this machine:\n%s", card)
	}
	code, _, stderr := runArgs(t, "export", "--run", at("run"), "--out", at("card/model.safetensors"), "--seed", "2")
	if code != exitFailure || !strings.Contains(stderr, "--force") {
		t.Errorf("a second card: status %d, %s", code, stderr)
	}
	mustRun(t, "export", "--run", at("run"), "--out", at("card/model.safetensors"), "--force")

	// Where the last epoch is not the one that was kept, the card tells of the other.
	mustRun(t, "train", "--data", dir, "--out", at("best"), "--set", "train.epochs=2", "--set", "data.size=16",
		"--set", "data.split=images:0.3", "--set", "network.width=8", "--set", "train.best=test_recall@1",
		"--set", "network.pretrained=none")
	mustRun(t, "export", "--run", at("best"), "--out", at("best-card/model.safetensors"))
	card, err = os.ReadFile(at("best-card/README.md"))
	if err != nil || !strings.Contains(string(card), ", which was kept.") {
		t.Errorf("%v\n%s", err, card)
	}
}

// Networks of files, runs and names are listed, and files of weights.
func TestNetworkShow(t *testing.T) {
	path := onnxFile(t)
	var s struct {
		Name   string
		Input  nn.Shape
		Dim    int
		Params int64
		MACs   int64
		Layers []struct {
			Path, Kind string
			Out        nn.Shape
			Params     int
			MACs       int64
		}
		Preparation struct{ Pixels, Fit string }
		Notes       []string
	}
	if err := json.Unmarshal([]byte(mustRun(t, "network", "show", path, "--size", "64", "--pixels", "unit", "--json")),
		&s); err != nil {
		t.Fatal(err)
	}
	first := s.Layers[0]
	if s.Name != "model" || s.Input != (nn.Shape{H: 64, W: 64, C: 3}) || s.Dim != 12 || len(s.Notes) != 1 ||
		s.Preparation.Pixels != "unit" || first.Kind != "conv" || first.Out != (nn.Shape{H: 32, W: 32, C: 8}) ||
		first.Params != 8*3*49+8 || first.MACs != 32*32*8*3*49 {
		t.Errorf("%+v", s)
	}
	if err := json.Unmarshal([]byte(mustRun(t, "network", "show", path, "--cut", "logits", "--json")),
		&s); err != nil ||
		s.Dim != 5 {
		t.Errorf("cut at its end: %d values, %v", s.Dim, err)
	}
	text := mustRun(t, "network", "show", "mobilenet_v1", "--size", "128")
	if !strings.Contains(text, "images of 128 x 128 x 3 in, 128 values out") || !strings.Contains(text, "3 338 176") {
		t.Errorf("%s", text)
	}
	if text := mustRun(t, "network", "show", path, "--onnx"); !strings.Contains(text, "opset 13") ||
		!strings.Contains(text, "/body/body.0/Conv") || !strings.Contains(text,
		"input   image: FLOAT [batch, 3, 32, 32]") {
		t.Errorf("%s", text)
	}
	weights := filepath.Join("..", "..", "internal", "network", "onnxnet", "testdata", "residual.safetensors")
	if text := mustRun(t, "network", "show", weights); !strings.Contains(text, "3 tensors, 6 178 values") {
		t.Errorf("%s", text)
	}
}

// What cannot be meant says what can.
func TestNetworkMistakes(t *testing.T) {
	path := onnxFile(t)
	other := filepath.Join(t.TempDir(), "weights.pth")
	writeBytes(t, other, []byte("PK"))
	t.Setenv("KINDRED_WEIGHTS", t.TempDir())
	for _, c := range []struct {
		want string
		code int
		args []string
	}{
		{"missing argument FILE", exitUsage, []string{"network", "show"}},
		{`there are mobilenet_v2`, exitFailure, []string{"network", "show", "renet"}},
		{"network.cut \"nowhere\"", exitFailure, []string{"network", "show", path, "--cut", "nowhere"}},
		{"--onnx needs an ONNX file; resnet18", exitUsage, []string{"network", "show", "resnet18", "--onnx"}},
		{"kindred weights get resnet18", exitFailure, []string{"export", "--network", "resnet18", "--out", "x.onnx"}},
		{"has weights but no network", exitFailure, []string{"export", "--network", other, "--out", "x.onnx"}},
		{"missing argument RUN", exitUsage, []string{"export", "--out", "x.onnx"}},
		{".safetensors", exitUsage, []string{"export", "--run", "r", "--out", "x.pb"}},
		{"--run defines the network", exitUsage, []string{"export", "--run", "r", "--cut", "pool", "--out",
			"x.onnx"}},
		{"not the folder of a run", exitFailure, []string{"export", "--run", t.TempDir(), "--out", "x.onnx"}},
		{"--cut needs an ONNX file; resnet18", exitUsage, []string{"export", "--network", "resnet18", "--cut", "a",
			"--out", "x.onnx"}},
		{"missing argument RUN", exitUsage, []string{"embed", "--data", "d", "--out", "x.npy"}},
		{"made for images", exitFailure, []string{"network", "show",
			filepath.Join("..", "..", "internal", "network", "onnxnet",
				"testdata",
				"dense.onnx"), "--size", "32"}},
	} {
		code, _, stderr := runArgs(t, c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, %s", c.args, code, stderr)
		}
	}
}
