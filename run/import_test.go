package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// tiny copies a small residual network, with a classifier, to a folder of the test.
func tiny(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "nn", "onnxnet", "testdata", "residual.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "resnet_tiny.onnx")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file of ONNX brings its network: size, channels and range of pixels follow
// from it, the head from the configuration. The run's folder needs the file no
// longer.
func TestTrainingFromONNX(t *testing.T) {
	path := tiny(t)
	cfg := smallConfig(t)
	cfg.Data = DataConfig{Augment: "none"}
	cfg.Network = NetworkConfig{Dim: 5, Normalize: Auto, Pretrained: path}
	cfg.Train.Epochs = 1
	dir := filepath.Join(t.TempDir(), "run")
	var begun Setup
	res, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newBlobs(4, 12, 16),
		Begin: func(s Setup) { begun = s }})
	if err != nil {
		t.Fatal(err)
	}
	if d := res.Config.Data; d.Size != 32 || d.Channels != 3 || d.Pixels != "imagenet" || d.Fit != "cover" ||
		res.Config.Network.Name != "" {
		t.Errorf("resolved to %+v, network %q", d, res.Config.Network.Name)
	}
	if r := begun.Imported; r == nil || !slices.Equal(r.Missing, []string{"head.weight", "head.bias"}) ||
		len(r.Unexpected)+len(r.MisShaped) != 0 {
		t.Errorf("imported %v", r)
	}
	if notes := strings.Join(begun.Notes, "\n"); !strings.Contains(notes, "classifier behind it is left out") ||
		!strings.Contains(notes, "data.pixels is imagenet, from the file's name") {
		t.Errorf("notes %s", notes)
	}
	if got := res.Net.Spec(); got.Name != "resnet_tiny" || res.Net.Dim() != 5 ||
		got.Layers[len(got.Layers)-1].Kind != nn.L2Normalize {
		t.Errorf("network %s of %d values", got.Name, res.Net.Dim())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range m.Net.Params() {
		if !slices.Equal(p.Value, res.Net.Params()[i].Value) {
			t.Errorf("%s was not kept", p.Name)
		}
	}
	p := newBlobs(4, 12, 16).All()
	if e, err := m.Embed(t.Context(), p); err != nil || e.X.Cols != 5 || e.X.Rows != 48 {
		t.Errorf("%v", err)
	}
}

// Without training, the features are those before the classifier, at any size.
func TestImport(t *testing.T) {
	path := tiny(t)
	p := newBlobs(3, 2, 16).All()
	for _, c := range []struct {
		size, dim int
		cut       string
	}{{0, 12, ""}, {48, 12, ""}, {0, 5, "logits"}} {
		m, notes, err := Import(path, c.cut, DataConfig{Size: c.size})
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.Embed(context.Background(), p)
		if err != nil || e.X.Cols != c.dim || e.X.Rows != 6 {
			t.Errorf("%+v: %v", c, err)
		}
		if len(notes) == 0 || m.Config.Data.Pixels != "imagenet" {
			t.Errorf("%+v: notes %q, pixels %s", c, notes, m.Config.Data.Pixels)
		}
	}
	if m, _, err := Import(path, "", DataConfig{Pixels: "symmetric", Fit: "stretch"}); err != nil ||
		m.Config.Data.Pixels != "symmetric" || m.Config.Data.Fit != "stretch" {
		t.Errorf("%v", err)
	}
	for want, try := range map[string]func() error{
		"data.channels is 1": func() error { _, _, err := Import(path, "", DataConfig{Channels: 1}); return err },
		"network.cut":        func() error { _, _, err := Import(path, "nowhere", DataConfig{}); return err },
		".onnx":              func() error { _, _, err := Import("weights.pth", "", DataConfig{}); return err },
		"no such file":       func() error { _, _, err := Import("none.onnx", "", DataConfig{}); return err },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// What a configuration cannot ask of a file that brings its network.
func TestProblemsOfONNX(t *testing.T) {
	for _, c := range []struct {
		n    NetworkConfig
		want string
	}{
		{NetworkConfig{Name: "resnet18", Dim: 5, Pretrained: "x.onnx"}, "includes its own network"},
		{NetworkConfig{Name: "resnet18", Dim: 5, Cut: "pool"}, "only with an ONNX file as network.pretrained"},
		{NetworkConfig{Name: "resnet18", Dim: -1}, "-1: must be 0 or more"},
		{NetworkConfig{Pretrained: "x.ONNX"}, ""},
	} {
		cfg := Default()
		c.n.Normalize = Auto
		cfg.Network = c.n
		p := table.Problems(&cfg)
		switch {
		case c.want == "" && len(p) > 0:
			t.Errorf("%+v: %v", c.n, p)
		case c.want != "" && (len(p) != 1 || !strings.Contains(p[0].Text, c.want)):
			t.Errorf("%+v: %v", c.n, p)
		}
	}
}

// A network known by name runs with the weights of a file, without a head; what
// it lacks is an error.
func TestPretrainedByName(t *testing.T) {
	spec, err := zoo.Network("mobilenet_v3_small", zoo.Options{Input: nn.Shape{H: 64, W: 64, C: 3}, NoHead: true})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(dir, nn.WeightsFile)
	m, err := Pretrained("mobilenet_v3_small", weights, DataConfig{Size: 48, Pixels: "imagenet"})
	if err != nil {
		t.Fatal(err)
	}
	p := newBlobs(3, 2, 16).All()
	if e, err := m.Embed(t.Context(), p); err != nil || e.X.Cols != spec.OutDim() || e.X.Rows != 6 {
		t.Errorf("%v", err)
	}
	prepared, err := m.Preparation()
	if err != nil || prepared.Pixels != "imagenet" || prepared.Mean[0] != 0.485 || prepared.Fit != "cover" {
		t.Errorf("%+v, %v", prepared, err)
	}
	if _, err := Pretrained("mobilenet_v2", weights, DataConfig{Size: 48}); err == nil ||
		!strings.Contains(err.Error(), "mobilenet_v2") {
		t.Errorf("of another network: %v", err)
	}
}

// save writes an untrained network with the given remarks and returns its folder.
func save(t *testing.T, in nn.Shape, meta map[string]string) string {
	t.Helper()
	spec, err := zoo.Network("mlp", zoo.Options{Input: in, Width: 4, Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	spec.Meta = meta
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// How a saved network's images are prepared: as the caller says, as its remarks
// say, and what is left is assumed and said.
func TestSaved(t *testing.T) {
	square := nn.Shape{H: 12, W: 12, C: 1}
	for _, c := range []struct {
		name  string
		meta  map[string]string
		file  string
		given DataConfig
		want  DataConfig
		note  string
	}{
		{"nothing known", nil, "", DataConfig{}, DataConfig{Size: 12, Channels: 1, Pixels: "unit", Fit: "stretch"},
			"unit is assumed"},
		{"remarks", map[string]string{"pixels": "inverted", "fit": "cover", "shorter": "14"}, nn.WeightsFile,
			DataConfig{}, DataConfig{Size: 12, Channels: 1, Pixels: "inverted", Fit: "cover", Shorter: 14}, ""},
		{"the caller", map[string]string{"pixels": "inverted", "fit": "cover", "shorter": "14"}, nn.SpecFile,
			DataConfig{Size: 12, Pixels: "clip", Shorter: 13},
			DataConfig{Size: 12, Channels: 1, Pixels: "clip", Fit: "cover", Shorter: 13}, ""},
	} {
		m, notes, err := Import(filepath.Join(save(t, square, c.meta), c.file), "", c.given)
		if err != nil || m.Config.Data != c.want || (len(notes) > 0) != (c.note != "") ||
			!strings.Contains(strings.Join(notes, " "), c.note) {
			t.Errorf("%s: %+v, notes %q, %v", c.name, m, notes, err)
			continue
		}
		heard := []int{}
		m.Config.Eval.Batch = 10
		m.Progress = func(done, total int) { heard = append(heard, done, total) }
		e, err := m.Embed(t.Context(), newBlobs(4, 6, 9).All())
		if err != nil || e.X.Rows != 24 || e.X.Cols != 3 || !slices.Equal(heard, []int{10, 24, 20, 24, 24, 24}) {
			t.Errorf("%s: %v, heard %v", c.name, err, heard)
		}
	}
	m, _, err := Import(save(t, nn.Shape{H: 1, W: 1, C: 6}, nil), "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := m.Embed(t.Context(), newFeatures(4, 6, 6).All()); err != nil || e.X.Cols != 3 {
		t.Errorf("of features: %v", err)
	}
	for want, of := range map[string]func() (string, DataConfig){
		"takes images of 12 x 12 x 1": func() (string, DataConfig) {
			return save(t, square, nil), DataConfig{Size: 13}
		},
		"takes images of 8 x 12 x 1": func() (string, DataConfig) {
			return save(t, nn.Shape{H: 8, W: 12, C: 1}, nil), DataConfig{}
		},
		"data.pixels": func() (string, DataConfig) {
			return save(t, square, map[string]string{"pixels": "loud"}), DataConfig{}
		},
		`shorter is "x"`: func() (string, DataConfig) {
			return save(t, square, map[string]string{"shorter": "x"}), DataConfig{}
		},
		"holds no network": func() (string, DataConfig) { return t.TempDir(), DataConfig{} },
	} {
		dir, d := of()
		_, _, err := Import(dir, "", d)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if none := want == "holds no network"; errors.Is(err, fs.ErrNotExist) != none {
			t.Errorf("%v wraps fs.ErrNotExist: %v", err, !none)
		}
	}
}
