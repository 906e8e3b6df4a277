package run

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/nn/safetensors"
)

// goldenNetwork is a network of testdata/published/gen.py and what PyTorch computes.
type goldenNetwork struct {
	Name            string
	Config          json.RawMessage
	Side, Dim, Step int
	Embedding       [][]float64
	Tensors         map[string][]int
}

func readGoldens(t *testing.T) (all []goldenNetwork) {
	t.Helper()
	f, err := os.Open("testdata/published/goldens.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&all); err != nil || len(all) < 10 {
		t.Fatalf("%d networks, %v", len(all), err)
	}
	return all
}

// uniform returns the n numbers in [-1, 1) that gen.py makes of a name.
func uniform(name string, n int) []float32 {
	s, out := crc32.ChecksumIEEE([]byte(name)), make([]float32, n)
	for i := range out {
		s = s*1664525 + 1013904223
		out[i] = float32(s>>8)/(1<<23) - 1
	}
	return out
}

// goldenTensor returns the tensor that gen.py makes of a name.
func goldenTensor(name string, shape []int) safetensors.Tensor {
	n, fan := 1, 1
	for i, d := range shape {
		n *= d
		if i > 0 {
			fan *= d
		}
	}
	v, last := uniform(name, n), name[strings.LastIndexByte(name, '.')+1:]
	has := func(part string) bool { return strings.Contains(name, part) }
	base, by := float32(0), float32(2/math.Sqrt(float64(fan)))
	switch {
	case strings.HasSuffix(name, "running_var"):
		base, by = 0.3, 0.25
	case len(shape) == 1 && slices.Contains([]string{"weight", "gamma", "lambda1", "layer_scale_parameter"}, last):
		base, by = 1, 0.25
	case len(shape) == 1:
		by = 0.125
	case slices.ContainsFunc([]string{"pos", "token", "class_embedding", "probe", "latent"}, has):
		by = 0.5
	}
	for i, u := range v {
		v[i] = base + by*u
	}
	return safetensors.Float32(name, shape, v)
}

// write makes the folder of a network, with a change of its configuration.
func (g *goldenNetwork) write(t *testing.T, change ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var f safetensors.File
	for name, shape := range g.Tensors {
		f.Tensors = append(f.Tensors, goldenTensor(name, shape))
	}
	config := strings.NewReplacer(change...).Replace(string(g.Config))
	if len(change) > 0 && config == string(g.Config) {
		t.Fatalf("%s: nothing to change by %q in %s", g.Name, change, config)
	}
	name, weights := "config.json", "model.safetensors"
	if strings.Contains(config, "model_cfg") {
		name, weights = "open_clip_config.json", "open_clip_model.safetensors"
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{name: config, weights: b.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// distance returns the largest cosine distance of the network's embeddings from PyTorch's.
func (g *goldenNetwork) distance(t *testing.T, m *Model) (largest float64) {
	t.Helper()
	n := len(g.Embedding)
	first := uniform("images", n*3*g.Side*g.Side)
	x := make([]float32, len(first)) // channels last
	for i, v := range first {
		plane := g.Side * g.Side
		x[(i/(3*plane)*plane+i%plane)*3+i/plane%3] = v
	}
	out := m.Net.Infer(x, n)
	if out.Cols != g.Dim {
		t.Fatalf("%s: %d numbers, want %d", g.Name, out.Cols, g.Dim)
	}
	for i, want := range g.Embedding {
		var ab, aa, bb float64
		for k, w := range want {
			v := float64(out.Row(i)[k*g.Step])
			ab, aa, bb = ab+v*w, aa+v*v, bb+w*w
		}
		largest = max(largest, 1-ab/math.Sqrt(aa*bb))
	}
	return largest
}

// TestGoldenPublished: networks with the heads, activations, epsilons and paddings of published ones are computed as
// PyTorch computes them.
func TestGoldenPublished(t *testing.T) {
	for _, g := range readGoldens(t) {
		m, _, err := Import(g.write(t), "", DataConfig{Pixels: "unit", Size: g.Side})
		if err != nil {
			t.Errorf("%s: %v", g.Name, err)
			continue
		}
		d := g.distance(t, m)
		t.Logf("%-26s %.1e  %s", g.Name, d, m.Net.Spec().Meta[computationMeta])
		if !(d < 1e-9) {
			t.Errorf("%s: %.2g from PyTorch: %s", g.Name, d, m.Net.Spec().Meta[computationMeta])
		}
	}
}

// TestPublishedKeysCount: what the goldens compute depends on each of these keys, and keys that cannot be followed are
// refused by their names.
func TestPublishedKeysCount(t *testing.T) {
	byName := map[string]goldenNetwork{}
	for _, g := range readGoldens(t) {
		byName[g.Name] = g
	}
	for _, c := range []struct {
		name, old, by string
		want          string // in the error; "" if the key is followed
	}{
		{"vit_huge_patch14", `"num_attention_heads":2`, `"num_attention_heads":4`, ""},
		{"vit_huge_patch14", `"hidden_act":"gelu"`, `"hidden_act":"quick_gelu"`, ""},
		{"vit_huge_patch14", `"layer_norm_eps":1e-12`, `"layer_norm_eps":0.1`, ""},
		{"vit_huge_patch14", `"num_attention_heads":2`, `"num_attention_heads":3`, "num_attention_heads gives 3 heads"},
		{"vit_huge_patch14", `"hidden_act":"gelu"`, `"hidden_act":"mish"`, "hidden_act is mish"},
		{"vit_huge_patch14", `"intermediate_size":640`, `"intermediate_size":600`, "intermediate_size is 600"},
		{"vit_huge_patch14", `"qkv_bias":true`, `"qkv_bias":false`, "qkv_bias is false"},
		{"vit_huge_patch14", `"model_type":"vit"`, `"model_type":"swin"`, "model_type is swin"},
		{"vit_huge_patch14", `"patch_size":14`, `"patch_size":16`, "patch_size is 16"},
		{"vit_huge_patch14", `"image_size":28`, `"image_size":56`, "image_size is 56"},
		{"vit_huge_patch14", `"qkv_bias":true`, `"use_window_attention":true`, "use_window_attention"},
		{"vit_huge_patch14", `"qkv_bias":true`, `"use_window_attention":false`, "same"},
		{"laion_clip_h14", `"hidden_act":"gelu"`, `"hidden_act":"quick_gelu"`, ""},
		{"laion_clip_h14", `"num_attention_heads":2`, `"num_attention_heads":1`, ""},
		{"laion_clip_h14", `"num_attention_heads":2`, `"heads_of_attention":1`,
			"vision_config.heads_of_attention is 1"},
		{"laion_clip_h14", `"projection_dim":24`, `"projection_dim":32`, "same"},
		{"laion_clip_h14", `"projection_dim":24`, `"projection_dim":24,"made_by":"us"`, "same"},
		{"laion_clip_h14", `"hidden_act":"gelu",`, ``, ""}, // CLIP's is quick GELU
		{"dinov2_base", `"use_swiglu_ffn":false`, `"use_swiglu_ffn":true`, "use_swiglu_ffn is true"},
		{"siglipso400m", `gelu_pytorch_tanh`, `gelu`, ""},
		{"open_clip_bigG14", `"head_width":104`, `"head_width":52`, ""},
		{"open_clip_bigG14", `"head_width":104,`, ``, "3 heads"},
		{"open_clip_bigG14", `"embed_dim":24`, `"quick_gelu":true,"embed_dim":24`, ""},
		{"open_clip_bigG14", `"mlp_ratio":4.9231`, `"mlp_ratio":4`, "mlp_ratio is 4"},
		{"open_clip_bigG14", `"layers":2,"width"`, `"attentional_pool":true,"width"`, "attentional_pool is true"},
		{"open_clip_bigG14", `"layers":2,"width"`, `"norm_kwargs":{"eps":0.1},"width"`, ""},
		{"timm_huge_clip_quickgelu", `_quickgelu`, ``, ""},
		{"timm_huge_clip_quickgelu", `vit_huge_patch14_clip_quickgelu_224`, `vit_7b`, "architecture is vit_7b"},
		{"timm_huge_clip_quickgelu", `"num_classes":0`, `"model_args":{"num_heads":4}`, ""},
		{"timm_huge_clip_quickgelu", `"num_classes":0`, `"model_args":{"depth":4}`, "model_args.depth is 4"},
		{"timm_huge_clip_quickgelu", `"token"`, `"max"`, "global_pool is max"},
		{"timm_huge_clip_quickgelu", `"token"`, `"avg"`, ""},
		{"timm_huge_clip_quickgelu", `"crop_pct"`, `"crop_part"`, "pretrained_cfg.crop_part"},
		{"tf_efficientnet_b0", `tf_`, ``, ""},
		{"mobilenetv3_small_100", `mobilenetv3`, `tf_mobilenetv3`, ""},
		{"convnext_tiny", `"depths":[3,3,9,3]`, `"depths":[3,3,27,3]`, "depths is [3 3 27 3]"},
		{"convnext_tiny", `"hidden_act":"gelu"`, `"hidden_act":"relu"`, ""},
	} {
		g := byName[c.name]
		m, notes, err := Import(g.write(t, c.old, c.by), "", DataConfig{Pixels: "unit", Size: g.Side})
		switch {
		case c.want == "same" && (err != nil || g.distance(t, m) > 1e-9):
			t.Errorf("%s %s: %v %q", c.name, c.by, err, notes)
		case c.want == "same":
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400):
			t.Errorf("%s %s: %v, want %q", c.name, c.by, err, c.want)
		case c.want == "" && (err != nil || g.distance(t, m) < 1e-9):
			t.Errorf("%s %s: %v, and the same embeddings", c.name, c.by, err)
		}
	}
}

// TestTensorsWithoutLayers: a network that has more weights than it has layers here is refused by the first of them.
func TestTensorsWithoutLayers(t *testing.T) {
	for _, g := range readGoldens(t) {
		extra := map[string]string{"vit_base_patch16": "vit.encoder.layer.0.attention.q_norm.weight",
			"mobilenetv3_small_100": "blocks.0.0.shuffle.weight"}[g.Name]
		if extra == "" {
			continue
		}
		g.Tensors[extra] = []int{8}
		_, _, err := Import(g.write(t), "", DataConfig{Pixels: "unit", Size: g.Side})
		if err == nil || !strings.Contains(err.Error(), extra) {
			t.Errorf("%s: %v", g.Name, err)
		}
	}
}

// TestTrainPublished: training from a folder of weights computes as its configuration says, with and without a name
// of the network, and keeps that in the run's configuration.
func TestTrainPublished(t *testing.T) {
	for _, g := range readGoldens(t) {
		want, ok := map[string]NetworkConfig{
			"laion_clip_h14":     {Name: "clip_vit_b32", Heads: 2, Act: "gelu", Eps: 1e-5, Resample: "torch"},
			"tf_efficientnet_b0": {Name: "efficientnet_b0", Eps: 1e-3, Padding: "same"},
			"open_clip_bigG14":   {Name: "clip_vit_b32", Heads: 2, Act: "gelu", Eps: 1e-5},
		}[g.Name]
		if !ok {
			continue
		}
		dir := g.write(t)
		for _, name := range []string{"", want.Name} {
			cfg := Default()
			cfg.Network.Pretrained, cfg.Network.Name, cfg.Data.Size = dir, name, g.Side
			if name != "" && want.Heads > 0 {
				cfg.Network.Width, cfg.Network.Patch, cfg.Network.Depth = 160, 14, 2
				cfg.Network.Hidden = 640
				if g.Name == "open_clip_bigG14" {
					cfg.Network.Width, cfg.Network.Hidden = 208, 1024
				}
			}
			s, err := Plan(t.Context(), cfg, Options{Dataset: newPhotos(8, 10, 64)})
			if err != nil {
				t.Errorf("%s %q: %v", g.Name, name, err)
				continue
			}
			n := s.Config.Network
			got := NetworkConfig{Name: n.Name, Heads: n.Heads, Act: n.Act, Eps: n.Eps, Padding: n.Padding,
				Resample: n.Resample}
			said := strings.Contains(strings.Join(s.Notes, "\n"), "config.json: ")
			if !reflect.DeepEqual(got, want) || !said || s.Imported == nil || len(s.Imported.MisShaped) > 0 {
				t.Errorf("%s %q: %+v, want %+v; %q", g.Name, name, got, want, s.Notes)
			}
		}
	}
}
