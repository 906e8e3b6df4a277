package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

func identity(t *testing.T, m *Model) embedding.Network {
	t.Helper()
	n, err := m.Identity("net")
	if err != nil || !strings.HasPrefix(n.Fingerprint, "k1:") || len(n.Fingerprint) != 67 {
		t.Fatalf("%+v, %v", n, err)
	}
	return n
}

// TestIdentityOfForms: a network that was imported as layers or as operators keeps its fingerprint when it is saved
// and loaded, as a run and as a network.
func TestIdentityOfForms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "internal", "network", "onnxnet", "testdata", "*.onnx"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	seen := map[string]string{}
	asOperators := 0
	for _, file := range files {
		m, _, err := Import(file, "", DataConfig{Pixels: "imagenet"})
		if err != nil {
			if m, _, err = Import(file, "", DataConfig{Pixels: "imagenet", Size: 32}); err != nil {
				t.Logf("%s: %v", file, err)
				continue
			}
		}
		if slices.ContainsFunc(m.Net.Spec().Layers, func(l nn.Layer) bool { return l.Kind == nn.Operators }) {
			asOperators++
		}
		want := identity(t, m)
		again, _, err := Import(file, "", DataConfig{Pixels: "imagenet", Size: m.Net.Spec().Input.H})
		if err != nil || identity(t, again) != want {
			t.Errorf("%s: imported twice: %v", file, err)
		}
		dir := t.TempDir()
		if err := m.Save(dir); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(dir)
		if err != nil || identity(t, loaded) != want {
			t.Errorf("%s: saved as a run: %v", file, err)
		}
		bare := t.TempDir()
		if err := m.Net.Save(bare); err != nil {
			t.Fatal(err)
		}
		d := m.Config.Data
		saved, _, err := Import(bare, "", DataConfig{Pixels: d.Pixels, Fit: d.Fit, Shorter: d.Shorter,
			Chroma: d.Chroma, Resample: d.Resample})
		if err != nil || identity(t, saved) != want {
			t.Errorf("%s: saved as a network: %v", file, err)
		}
		if other := seen[want.Fingerprint]; other != "" {
			t.Errorf("%s and %s have the same fingerprint", file, other)
		}
		seen[want.Fingerprint] = file
	}
	if len(seen) < 10 || asOperators == 0 {
		t.Errorf("%d networks were imported, %d of them as operators", len(seen), asOperators)
	}
}

// TestIdentityOfIngredients: all that decides an embedding changes the fingerprint, and nothing else does.
func TestIdentityOfIngredients(t *testing.T) {
	path := copyTinyModel(t)
	open := func(data DataConfig) *Model {
		t.Helper()
		m, _, err := Import(path, "", data)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := identity(t, open(DataConfig{}))
	for what, change := range map[string]func(m *Model){
		"a weight":    func(m *Model) { m.Net.Params()[0].Value[1] += 0.5 },
		"pixels":      func(m *Model) { m.Config.Data.Pixels = "symmetric" },
		"fit":         func(m *Model) { m.Config.Data.Fit = "stretch" },
		"the shorter": func(m *Model) { m.Config.Data.Shorter = 40 },
		"chroma":      func(m *Model) { m.Config.Data.Chroma = repeatChroma },
		"crop":        func(m *Model) { m.Config.Data.Crop = true },
		"rounding":    func(m *Model) { m.Config.Data.Rounded = true },
		"resampling":  func(m *Model) { m.Config.Data.Resample = "bicubic" },
		"size":        func(m *Model) { *m = *open(DataConfig{Size: 64, Pixels: "imagenet"}) },
		"a layer": func(m *Model) {
			spec := *m.Net.Spec()
			spec.Layers = append(slices.Clone(spec.Layers), nn.Layer{Kind: nn.L2Normalize})
			net, err := nn.New(&spec, nn.Options{})
			if err == nil {
				err = net.SetState(m.Net.State())
			}
			if err != nil {
				t.Fatal(err)
			}
			m.Net = net
		},
	} {
		m := open(DataConfig{})
		change(m)
		if n := identity(t, m); !n.Differs(want) {
			t.Errorf("%s does not change the fingerprint", what)
		}
	}
	prints := map[string]string{}
	for _, d := range []DataConfig{{Resample: "bilinear"}, {Resample: "bicubic"}, {Resample: "box"}} {
		id := identity(t, open(d))
		if other := prints[id.Fingerprint]; other != "" || !strings.Contains(id.Preparation, d.Resample) {
			t.Errorf("%s has the fingerprint of %s, preparation %q", d.Resample, other, id.Preparation)
		}
		prints[id.Fingerprint] = d.Resample
	}
	if id := identity(t, open(DataConfig{Rounded: true})); prints[id.Fingerprint] != "bilinear" {
		t.Errorf("rounding has another fingerprint than bilinear resampling, for the same pictures")
	}
	for what, change := range map[string]func(m *Model){
		"the name":          func(m *Model) { m.Net.Spec().Name = "other" },
		"meta":              func(m *Model) { m.Net.Spec().Meta = map[string]string{"a": "b"} },
		"pixels as numbers": func(m *Model) { m.Config.Data.Pixels = "0.485,0.456,0.406/0.229,0.224,0.225" },
		"the data set":      func(m *Model) { m.Config.Data.Path, m.Config.Data.Strict = "photos", true },
	} {
		m := open(DataConfig{})
		change(m)
		if n := identity(t, m); !n.IsSame(want) {
			t.Errorf("%s changes the fingerprint", what)
		}
	}
}

// TestIdentityOfAdapters: adapters make another network, and their number and scale count.
func TestIdentityOfAdapters(t *testing.T) {
	spec, err := zoo.Network("vit_t16", zoo.Options{Input: nn.Shape{H: 16, W: 16, C: 3}, Width: 8, Patch: 8,
		NoHead: true})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, adapters := range [][2]int{{0, 0}, {2, 2}, {2, 4}, {3, 3}} {
		s := spec
		if adapters[0] > 0 {
			if s, err = spec.WithLoRA(adapters[0], float64(adapters[1])); err != nil {
				t.Fatal(err)
			}
		}
		net, err := nn.New(s, nn.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		seen[identity(t, &Model{Config: Default(), Net: net}).Fingerprint] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d fingerprints of 4 networks", len(seen))
	}
}

// TestIdentityOfCut: an ONNX file that is cut elsewhere is another network.
func TestIdentityOfCut(t *testing.T) {
	path := copyTinyModel(t)
	whole, _, err := Import(path, "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := onnx.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range slices.Backward(file.Graph.Nodes) {
		m, _, err := Import(path, n.Outputs[0], DataConfig{})
		if err == nil && m.Net.Dim() == whole.Net.Dim() && identity(t, m).IsSame(identity(t, whole)) {
			return // the default cut by its name
		}
	}
	t.Error("no cut is the default one")
}

// TestIdentityOfExport: an exported network is the same network, also when it is saved again, unless the file is
// prepared for otherwise, cut or changed.
func TestIdentityOfExport(t *testing.T) {
	cfg := smallConfig(t)
	cfg.Train.Epochs = 1
	dir := t.TempDir()
	trained := filepath.Join(dir, "run")
	if _, err := Train(t.Context(), cfg, Options{Dir: trained, Dataset: newBlobs(4, 12, 16)}); err != nil {
		t.Fatal(err)
	}
	m, err := Load(trained)
	if err != nil {
		t.Fatal(err)
	}
	want := identity(t, m)
	model, err := m.export()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "out.onnx")
	if err := atomic.WriteFile(path, model.Write); err != nil {
		t.Fatal(err)
	}
	back, _, err := Import(path, "", DataConfig{})
	if err != nil {
		t.Fatal(err)
	}
	own, _, _ := strings.Cut(back.Net.Spec().Meta[exportedMeta], " ")
	if !identity(t, back).IsSame(want) || own == "" || own == want.Fingerprint {
		t.Errorf("exported %+v as %+v, %q", want, identity(t, back), own)
	}
	for _, folder := range []string{"saved", "again"} {
		saved := filepath.Join(dir, folder)
		if err := os.Mkdir(saved, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := back.Save(saved); err != nil {
			t.Fatal(err)
		}
		if back, err = Load(saved); err != nil || !identity(t, back).IsSame(want) {
			t.Fatalf("%s: %v", folder, err)
		}
	}
	other, _, err := Import(path, "", DataConfig{Pixels: "inverted"})
	if err != nil || !identity(t, other).Differs(want) {
		t.Errorf("with other pixels: %v", err)
	}
	back.Net.Params()[0].Value[0]++
	if !identity(t, back).Differs(want) {
		t.Error("with another weight")
	}
}

// TestIdentityOfRun: the saved embeddings of a run name the network in its folder. Another seed makes another one.
func TestIdentityOfRun(t *testing.T) {
	var last embedding.Network
	for seed := range uint64(2) {
		cfg := smallConfig(t)
		cfg.Train.Epochs, cfg.Train.Seed = 1, seed
		dir := filepath.Join(t.TempDir(), "run")
		if _, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newBlobs(4, 12, 16)}); err != nil {
			t.Fatal(err)
		}
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := f.Embeddings(TestSet)
		if err != nil {
			t.Fatal(err)
		}
		m, err := f.Model()
		if err != nil {
			t.Fatal(err)
		}
		if !identity(t, m).IsSame(saved.Network) || !saved.Network.Differs(last) && seed > 0 {
			t.Errorf("seed %d: embeddings of %+v by %+v", seed, saved.Network, identity(t, m))
		}
		as, _, err := Import(dir, "", DataConfig{})
		if err != nil || !identity(t, as).IsSame(saved.Network) {
			t.Errorf("the folder of the run as a network: %+v, %v", as, err)
		}
		last = saved.Network
	}
}

// TestIdentityOfFourChannels: a network of more channels than photos have, whose inputs other programs make, has an
// identity and can be exported.
func TestIdentityOfFourChannels(t *testing.T) {
	net, err := nn.New(&nn.Spec{Input: nn.Shape{H: 4, W: 4, C: 4}, Layers: []nn.Layer{{Kind: nn.Flatten},
		{Kind: nn.Dense, Name: "fc", Out: 3}}}, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Config: Default(), Net: net}
	identity(t, m)
	if p, err := m.preparation(); err != nil || len(p.Mean) != 3 {
		t.Errorf("%+v, %v", p, err)
	}
}
