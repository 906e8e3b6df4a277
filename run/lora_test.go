package run

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
	"github.com/kindred-ml/kindred/run/internal/wccn"
	"github.com/kindred-ml/kindred/train"
)

// vitWeights writes the weights of a narrow transformer for images of 16 pixels.
func vitWeights(t *testing.T, seed uint64) string {
	t.Helper()
	spec, err := zoo.Network("vit_t16", zoo.Options{Input: nn.Shape{H: 16, W: 16, C: 3}, Width: 8, Patch: 8,
		NoHead: true})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := net.Save(dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, nn.WeightsFile)
}

// loraConfig trains adapters in that transformer.
func loraConfig(t *testing.T, set ...string) Config {
	t.Helper()
	cfg, err := Parse("", []byte(`
network: {name: vit_t16, width: 8, patch: 8, dim: 4, head: random, lora: {rank: 2}}
data: {size: 16, augment: light}
sample: {batches: 2}
loss: {name: supcon}
train: {epochs: 2, lr: 0.01}
eval: {recall: [1]}
`), set...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestLoRARun: a run with adapters that is stopped goes on to the same bits, from pretrained
// weights and from random ones. Its checkpoint holds adapters and the head alone, its folder the
// merged network.
func TestLoRARun(t *testing.T) {
	pretrained := vitWeights(t, 3)
	for _, from := range []string{pretrained, "none"} {
		cfg := loraConfig(t, "network.pretrained="+from)
		dir, d := t.TempDir(), newPhotos(8, 10, 16)
		whole := Options{Dir: filepath.Join(dir, "whole"), Dataset: d}
		res, err := Train(t.Context(), cfg, whole)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		halves := Options{Dir: filepath.Join(dir, "halves"), Dataset: d}
		halves.Observe = func(e train.Event) {
			if e.Stage == train.Stepped && e.Epoch == 2 {
				stop()
			}
		}
		if _, err := Train(ctx, cfg, halves); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		halves.Observe, halves.Resume = nil, true
		if from == pretrained {
			other := cfg
			other.Network.Pretrained = vitWeights(t, 4)
			if _, err := Train(t.Context(), other, halves); err == nil ||
				!strings.Contains(err.Error(), "resume with the same network.pretrained") {
				t.Errorf("with other weights: %v", err)
			}
		}
		if _, err := Train(t.Context(), cfg, halves); err != nil {
			t.Fatal(err)
		}
		sameFolders(t, whole.Dir, halves.Dir)
		checkLoRAFolder(t, whole.Dir, res)
	}
}

// checkLoRAFolder reads what a run with adapters has written.
func checkLoRAFolder(t *testing.T, dir string, res *Result) {
	t.Helper()
	f, err := safetensors.Read(checkpointPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	// Of 12 blocks with four layers of 8 channels: two of each are as wide, one makes 24 and
	// two have 32 on one side.
	params := 12*2*(8+24+8+8+8+32+32+8) + 4*8 + 4
	for i := range f.Tensors {
		name := f.Tensors[i].Name
		if rest, ok := strings.CutPrefix(name, "network."); ok {
			n, err := safetensors.ShapeSize(f.Tensors[i].Shape)
			if err != nil {
				t.Fatal(err)
			}
			params -= n
			if !strings.Contains(rest, ".lora_") && !strings.HasPrefix(rest, "head.") {
				t.Errorf("the checkpoint has %s", name)
			}
		}
		if strings.HasPrefix(name, "optimizer.") && name != "optimizer.step" && !strings.Contains(name, ".lora_") &&
			!strings.Contains(name, "head.") {
			t.Errorf("the checkpoint has %s", name)
		}
	}
	if params != 0 {
		t.Errorf("the checkpoint lacks %d values", params)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Net.Params() {
		if p.IsAdapter() || !slices.Equal(p.Value, res.Net.Param(p.Name).Value) {
			t.Errorf("the saved network has another %s", p.Name)
		}
	}
	e, err := m.EmbedPart(t.Context(), res.Test.Part)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range e.X.Data {
		if d := math.Abs(float64(v - res.Test.X.Data[i])); !(d < 1e-5) {
			t.Fatalf("value %d of the saved network's embeddings is %g, in the run %g", i, v, res.Test.X.Data[i])
		}
	}
}

// TestLoRAMoves: training changes the adapted layers and the head, and nothing else.
func TestLoRAMoves(t *testing.T) {
	path := vitWeights(t, 3)
	start, err := safetensors.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Train(t.Context(), loraConfig(t, "network.pretrained="+path, "data.validation=none"),
		Options{Dataset: newPhotos(8, 10, 16)})
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for i := range start.Tensors {
		was, err := start.Tensors[i].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		name := start.Tensors[i].Name
		now := make([]float32, len(was))
		res.Net.Param(name).ToTorch(now)
		linear := slices.ContainsFunc([]string{"qkv", "proj", "fc1", "fc2"}, func(s string) bool {
			return strings.HasPrefix(name, "blocks.") && strings.HasSuffix(name, s+".weight")
		})
		if same := slices.Equal(was, now); same == linear {
			t.Errorf("%s has moved: %v", name, !same)
		}
		if linear {
			moved++
		}
	}
	if want := 12*2*(8+24+8+8+8+32+32+8) + 4*8 + 4; moved != 48 || res.Params != want {
		t.Errorf("%d layers have moved; %d parameters are trained, want %d", moved, res.Params, want)
	}
}

// splitSettings divides a line before every key.
func splitSettings(line string) []string {
	return strings.Split(strings.ReplaceAll(line, " network.", "\nnetwork."), "\n")
}

func TestLoRARefused(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"network.lora={rank: 0, alpha: 3}", "network.lora: rank is 0: must be at least 1"},
		{"network.lora={rank: -2}", "network.lora: rank is -2: must be at least 1"},
		{"network.lora={rank: 2, alpha: -1}", "network.lora: alpha is -1: must not be negative"},
		{"network.lora={ranks: 2}", `network.lora: unknown key "ranks"`},
		{"network.lora={rank: 9}", "network.lora: network vit_t16: layer blocks.0.attn.qkv (linear): rank = 9; a map "},
		{"network.freeze=head", "leave network.freeze out"},
		{"network.freeze=body", "leave network.freeze out"},
		{"network.name=conv4 network.patch=0", "network.lora: network conv4 has no linear layers"},
		{"network.name=resnet18 network.patch=0 network.width=0", "network resnet18 has no linear layers"},
	} {
		cfg, err := Parse("", []byte("network: {name: vit_t16, width: 8, patch: 8, dim: 4, lora: {rank: 2}, "+
			"pretrained: none}\ndata: {size: 16}\n"), splitSettings(c.set)...)
		if err == nil {
			_, err = Plan(t.Context(), cfg, Options{Dataset: newPhotos(4, 6, 16)})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.set, err, c.want)
		}
	}
	s, err := Plan(t.Context(), loraConfig(t, "network.pretrained=none"), Options{Dataset: newPhotos(8, 10, 16)})
	if err != nil || !strings.Contains(s.describeNetwork(), "trained by adapters of rank 2; from scratch") {
		t.Errorf("%v, %v", s, err)
	}
	engine := func(*nn.Net, *Config) (Engine, error) { return nil, errors.New("asked") }
	_, err = Plan(t.Context(), loraConfig(t, "network.pretrained=none"), Options{Dataset: newPhotos(8, 10, 16),
		Engine: engine})
	if err == nil || !strings.Contains(err.Error(), "network.lora: this engine trains whole networks") {
		t.Errorf("on an engine: %v", err)
	}
}

// TestLoRAFallsBack: a run that is no better than its start ends with that, without adapters.
func TestLoRAFallsBack(t *testing.T) {
	path := vitWeights(t, 3)
	cfg := loraConfig(t, "network.pretrained="+path, "network.dim=0", "network.head=", "train.lr=1e-12",
		"data.validation=images:0.3")
	dir := t.TempDir()
	res, err := Train(t.Context(), cfg, Options{Dir: dir, Dataset: newPhotos(8, 20, 16)})
	if err != nil {
		t.Fatal(err)
	}
	if res.Epoch != 0 {
		t.Fatalf("the run ends with epoch %d", res.Epoch)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	start, err := safetensors.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Net.Params() {
		if s := start.Tensor(p.Name); s != nil {
			v, err := s.Float32s()
			if err != nil {
				t.Fatal(err)
			}
			now := make([]float32, len(v))
			if p.ToTorch(now); !slices.Equal(v, now) {
				t.Errorf("%s has moved", p.Name)
			}
		} else if !strings.HasPrefix(p.Name, wccn.LayerName+".") {
			t.Errorf("the saved network has %s", p.Name)
		}
	}
	before := readFolder(t, dir)
	again := Options{Dir: dir, Dataset: newPhotos(8, 20, 16), Resume: true}
	if _, err := Train(t.Context(), readConfig(t, dir), again); err != nil {
		t.Fatal(err)
	}
	for name, content := range readFolder(t, dir) {
		if before[name] != content {
			t.Errorf("%s has changed", name)
		}
	}
}
