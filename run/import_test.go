package run

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// copyTinyModel copies a small residual network, with a classifier, to a folder of the test.
func copyTinyModel(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "internal", "network", "onnxnet", "testdata", "residual.onnx"))
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
	path := copyTinyModel(t)
	cfg := smallConfig(t)
	cfg.Data = DataConfig{Augment: "none"}
	cfg.Network = NetworkConfig{Dim: 5, Normalize: Auto, Pretrained: path}
	cfg.Train.Epochs = 1
	dir := filepath.Join(t.TempDir(), "run")
	var begun Setup
	res, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newBlobs(4, 12, 16),
		OnSetup: func(s Setup) { begun = s }})
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
	if e, err := m.EmbedPart(t.Context(), p); err != nil || e.X.Cols != 5 || e.X.Rows != 48 {
		t.Errorf("%v", err)
	}
}

// Without training, the features are those before the classifier, at any size.
func TestImport(t *testing.T) {
	path := copyTinyModel(t)
	p := newBlobs(3, 2, 16).All()
	for _, c := range []struct {
		size, dim int
		cut       string
	}{{0, 12, ""}, {48, 12, ""}, {0, 5, "logits"}} {
		m, notes, err := Import(path, c.cut, DataConfig{Size: c.size})
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.EmbedPart(context.Background(), p)
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

// colourMeans writes a model that gives the means of the three channels of an image. With norm, it
// normalises values of 0 to 255 itself, as for ImageNet.
func colourMeans(t *testing.T, dir string, norm bool) string {
	t.Helper()
	m := onnx.Model{Opsets: []onnx.Opset{{Version: 13}}}
	g := &m.Graph
	g.Inputs = []onnx.Value{{Name: "x", Type: onnx.Float32, Shape: []onnx.Dim{{}, {Size: 3}, {Size: 16}, {Size: 16}}}}
	g.Outputs = []onnx.Value{{Name: "features"}}
	g.Initializers = []onnx.Tensor{onnx.Floats("one", []int64{3, 3, 1, 1}, []float32{1, 0, 0, 0, 1, 0, 0, 0, 1})}
	x := "x"
	if norm {
		g.Initializers = append(g.Initializers,
			onnx.Floats("mean", []int64{1, 3, 1, 1}, []float32{123.675, 116.28, 103.53}),
			onnx.Floats("std", []int64{1, 3, 1, 1}, []float32{58.395, 57.12, 57.375}))
		g.Nodes = []onnx.Node{{Op: "Sub", Inputs: []string{x, "mean"}, Outputs: []string{"centred"}},
			{Op: "Div", Inputs: []string{"centred", "std"}, Outputs: []string{"normed"}}}
		x = "normed"
	}
	g.Nodes = append(g.Nodes, onnx.Node{Op: "Conv", Inputs: []string{x, "one"}, Outputs: []string{"same"}},
		onnx.Node{Op: "GlobalAveragePool", Inputs: []string{"same"}, Outputs: []string{"features"}})
	path := filepath.Join(dir, "model.onnx")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := m.Write(f); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNormalisedOnce: a model that normalises its input gets pixels as they are, so that it gives what
// the model without these layers gives for normalised pixels. Files beside it do not change that, and
// data.pixels does.
func TestNormalisedOnce(t *testing.T) {
	p := newBlobs(3, 2, 16).All()
	features := func(path, pixels string) ([]float32, *Config, string) {
		t.Helper()
		m, notes, err := Import(path, "", DataConfig{Pixels: pixels})
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.EmbedPart(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return e.X.Data, &m.Config, strings.Join(notes, "\n")
	}
	apart := func(a, b []float32) (most float64) {
		for i := range a {
			most = max(most, math.Abs(float64(a[i]-b[i])))
		}
		return most
	}
	dir := t.TempDir()
	bare, itself := colourMeans(t, t.TempDir(), false), colourMeans(t, dir, true)
	want, _, notes := features(bare, "")
	if !strings.Contains(notes, "imagenet is assumed") {
		t.Errorf("bare: %q", notes)
	}
	got, cfg, notes := features(itself, "")
	if d := apart(got, want); cfg.Data.Pixels != "byte" || d > 1e-5 {
		t.Errorf("pixels %s, features differ by %g", cfg.Data.Pixels, d)
	}
	if !strings.Contains(notes, "data.pixels is byte, from the network's first layers") {
		t.Errorf("notes %q", notes)
	}
	twice, _, notes := features(itself, "imagenet")
	if apart(twice, want) < 0.5 || strings.Contains(notes, "data.pixels") {
		t.Errorf("with data.pixels the features differ by %g; notes %q", apart(twice, want), notes)
	}
	processor := filepath.Join(dir, "preprocessor_config.json")
	for text, note := range map[string]string{
		`{"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}`: "but by the network's first layers they are byte",
		`{"do_normalize": false, "do_rescale": false}`:                              "data.pixels is byte, from preprocessor_config.json",
	} {
		if err := os.WriteFile(processor, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, cfg, notes := features(itself, ""); cfg.Data.Pixels != "byte" || apart(got, want) > 1e-5 ||
			!strings.Contains(notes, note) {
			t.Errorf("%s: pixels %s, features differ by %g, notes %q", text, cfg.Data.Pixels, apart(got, want), notes)
		}
	}
	// Beside a model without such layers, the file decides.
	bareDir := filepath.Dir(bare)
	for text, pixels := range map[string]string{
		`{"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}`: "imagenet",
		`{"image_mean": [0.25, 0.5, 0.75], "image_std": 2}`:                         "0.25,0.5,0.75/2,2,2",
	} {
		if err := os.WriteFile(filepath.Join(bareDir, "preprocessor_config.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, cfg, notes := features(bare, ""); cfg.Data.Pixels != pixels ||
			!strings.Contains(notes, "data.pixels is "+pixels+", from preprocessor_config.json") {
			t.Errorf("%s: pixels %s, notes %q", text, cfg.Data.Pixels, notes)
		}
	}
	if err := os.WriteFile(processor, []byte(`{"image_mean": 1, "image_std": 0}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Import(itself, "", DataConfig{}); err == nil || !strings.Contains(err.Error(), processor) ||
		!strings.Contains(err.Error(), "image_std") {
		t.Errorf("%v", err)
	}
}

// TestWeightsInAFolder: a run from a folder of weights takes its images as the folder's
// preprocessor_config.json says, and the configuration goes before.
func TestWeightsInAFolder(t *testing.T) {
	spec, err := zoo.Network("conv4", zoo.Options{Input: nn.Shape{H: 16, W: 16, C: 3}, Dim: 4})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	text := `{"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "size": {"shortest_edge": 20}, ` +
		`"crop_size": 16, "resample": 3}`
	if err := os.WriteFile(filepath.Join(dir, "preprocessor_config.json"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	train := func(path string, d DataConfig) (DataConfig, string, error) {
		cfg := smallConfig(t)
		d.Augment = none
		cfg.Data = d
		cfg.Network = NetworkConfig{Name: "conv4", Dim: 4, Normalize: Auto, Pretrained: path}
		cfg.Train.Epochs = 1
		var begun Setup
		res, err := Train(t.Context(), cfg, Options{Dataset: newBlobs(4, 12, 16), OnSetup: func(s Setup) { begun = s }})
		if err != nil {
			return d, "", err
		}
		return res.Config.Data, strings.Join(begun.Notes, "\n"), nil
	}
	for _, path := range []string{dir, filepath.Join(dir, nn.WeightsFile)} {
		d, notes, err := train(path, DataConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Pixels != "imagenet" || d.Size != 16 || d.Shorter != 20 || d.Fit != "cover" || d.Channels != 3 ||
			d.Resample != "bicubic" || !strings.Contains(notes,
			"data.pixels is imagenet, from preprocessor_config.json") {
			t.Errorf("%s: %+v, notes %q", path, d, notes)
		}
	}
	d, notes, err := train(dir, DataConfig{Pixels: "symmetric", Size: 32, Fit: "stretch", Resample: "lanczos"})
	if err != nil || d.Pixels != "symmetric" || d.Size != 32 || d.Fit != "stretch" || d.Shorter != 0 ||
		d.Resample != "lanczos" || strings.Contains(notes, "data.pixels") {
		t.Errorf("%+v, notes %q, %v", d, notes, err)
	}
	if _, _, err := train(t.TempDir(), DataConfig{}); err == nil || !strings.Contains(err.Error(), nn.WeightsFile) {
		t.Errorf("of an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"image_size": -1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := train(dir, DataConfig{}); err == nil ||
		!strings.Contains(err.Error(), "config.json: image_size is -1") {
		t.Errorf("%v", err)
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
	m, err := LoadPretrained("mobilenet_v3_small", weights, DataConfig{Size: 48, Pixels: "imagenet"})
	if err != nil {
		t.Fatal(err)
	}
	p := newBlobs(3, 2, 16).All()
	if e, err := m.EmbedPart(t.Context(), p); err != nil || e.X.Cols != spec.OutDim() || e.X.Rows != 6 {
		t.Errorf("%v", err)
	}
	prepared, err := m.Preparation()
	if err != nil || prepared.Pixels != "imagenet" || prepared.Mean[0] != 0.485 || prepared.Fit != "cover" {
		t.Errorf("%+v, %v", prepared, err)
	}
	if _, err := LoadPretrained("mobilenet_v2", weights, DataConfig{Size: 48}); err == nil ||
		!strings.Contains(err.Error(), "mobilenet_v2") {
		t.Errorf("of another network: %v", err)
	}
}

// saveUntrained writes an untrained network with the given remarks and returns its folder.
func saveUntrained(t *testing.T, in nn.Shape, meta map[string]string) string {
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
		{"resampling", map[string]string{"pixels": "unit", "resample": "lanczos"}, "", DataConfig{},
			DataConfig{Size: 12, Channels: 1, Pixels: "unit", Fit: "stretch", Resample: "lanczos"}, ""},
		{"the caller's resampling", map[string]string{"pixels": "unit", "resample": "lanczos"}, "",
			DataConfig{Resample: "box"},
			DataConfig{Size: 12, Channels: 1, Pixels: "unit", Fit: "stretch", Resample: "box"}, ""},
		{"the caller", map[string]string{"pixels": "inverted", "fit": "cover", "shorter": "14"}, nn.SpecFile,
			DataConfig{Size: 12, Pixels: "clip", Shorter: 13},
			DataConfig{Size: 12, Channels: 1, Pixels: "clip", Fit: "cover", Shorter: 13}, ""},
	} {
		m, notes, err := Import(filepath.Join(saveUntrained(t, square, c.meta), c.file), "", c.given)
		if err != nil || m.Config.Data != c.want || (len(notes) > 0) != (c.note != "") ||
			!strings.Contains(strings.Join(notes, " "), c.note) {
			t.Errorf("%s: %+v, notes %q, %v", c.name, m, notes, err)
			continue
		}
		heard := []int{}
		m.Config.Eval.Batch = 10
		m.Progress = func(done, total int) { heard = append(heard, done, total) }
		e, err := m.EmbedPart(t.Context(), newBlobs(4, 6, 9).All())
		if err != nil || e.X.Rows != 24 || e.X.Cols != 3 || !slices.Equal(heard, []int{10, 24, 20, 24, 24, 24}) {
			t.Errorf("%s: %v, heard %v", c.name, err, heard)
		}
	}
	m, _, err := Import(saveUntrained(t, nn.Shape{H: 1, W: 1, C: 6}, nil), "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := m.EmbedPart(t.Context(), newFeatures(4, 6, 6).All()); err != nil || e.X.Cols != 3 {
		t.Errorf("of features: %v", err)
	}
	for want, of := range map[string]func() (string, DataConfig){
		"takes images of 12 x 12 x 1": func() (string, DataConfig) {
			return saveUntrained(t, square, nil), DataConfig{Size: 13}
		},
		"takes images of 8 x 12 x 1": func() (string, DataConfig) {
			return saveUntrained(t, nn.Shape{H: 8, W: 12, C: 1}, nil), DataConfig{}
		},
		"data.pixels": func() (string, DataConfig) {
			return saveUntrained(t, square, map[string]string{"pixels": "loud"}), DataConfig{}
		},
		`shorter is "x"`: func() (string, DataConfig) {
			return saveUntrained(t, square, map[string]string{"shorter": "x"}), DataConfig{}
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

// A preparation that is not known is an error before any photo is read, wherever the network is from.
func TestImportOfUnknownPreparation(t *testing.T) {
	folder := saveUntrained(t, nn.Shape{H: 12, W: 12, C: 3}, map[string]string{"pixels": "unit"})
	for word, data := range map[string]DataConfig{"coverr": {Fit: "coverr"}, "adobe": {Colours: "adobe"},
		"cubic": {Resample: "cubic"}, "imagnet": {Pixels: "imagnet"}} {
		for _, path := range []string{copyTinyModel(t), folder} {
			if _, _, err := Import(path, "", data); err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s, %s: %v", path, word, err)
			}
		}
	}
}
