package zoo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// namesOf lists how a toolkit calls each parameter of a network: "theirs = ours",
// N standing for the number of each block. Where a parameter is stored in parts
// there are several lines. They are written down from the toolkits' own state
// dicts.
func namesOf(t *testing.T, depth int, table string) map[string]string {
	t.Helper()
	names := map[string]string{}
	for line := range strings.Lines(table) {
		theirs, ours, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		if !strings.Contains(theirs, "N") {
			names[theirs] = ours
			continue
		}
		for i := range depth {
			n := fmt.Sprint(i)
			names[strings.ReplaceAll(theirs, "N", n)] = strings.ReplaceAll(ours, "N", n)
		}
	}
	return names
}

const torchvisionViT = `
	class_token = cls_token
	conv_proj.weight = patch_embed.proj.weight
	conv_proj.bias = patch_embed.proj.bias
	encoder.pos_embedding = pos_embed
	encoder.layers.encoder_layer_N.ln_1.weight = blocks.N.norm1.weight
	encoder.layers.encoder_layer_N.ln_1.bias = blocks.N.norm1.bias
	encoder.layers.encoder_layer_N.self_attention.in_proj_weight = blocks.N.attn.qkv.weight
	encoder.layers.encoder_layer_N.self_attention.in_proj_bias = blocks.N.attn.qkv.bias
	encoder.layers.encoder_layer_N.self_attention.out_proj.weight = blocks.N.attn.proj.weight
	encoder.layers.encoder_layer_N.self_attention.out_proj.bias = blocks.N.attn.proj.bias
	encoder.layers.encoder_layer_N.ln_2.weight = blocks.N.norm2.weight
	encoder.layers.encoder_layer_N.ln_2.bias = blocks.N.norm2.bias
	encoder.layers.encoder_layer_N.mlp.0.weight = blocks.N.mlp.fc1.weight
	encoder.layers.encoder_layer_N.mlp.0.bias = blocks.N.mlp.fc1.bias
	encoder.layers.encoder_layer_N.mlp.3.weight = blocks.N.mlp.fc2.weight
	encoder.layers.encoder_layer_N.mlp.3.bias = blocks.N.mlp.fc2.bias
	encoder.ln.weight = norm.weight
	encoder.ln.bias = norm.bias
	heads.head.weight = head.weight
	heads.head.bias = head.bias`

const huggingViT = `
	vit.embeddings.cls_token = cls_token
	vit.embeddings.position_embeddings = pos_embed
	vit.embeddings.patch_embeddings.projection.weight = patch_embed.proj.weight
	vit.embeddings.patch_embeddings.projection.bias = patch_embed.proj.bias
	vit.encoder.layer.N.attention.attention.query.weight = blocks.N.attn.qkv.weight
	vit.encoder.layer.N.attention.attention.query.bias = blocks.N.attn.qkv.bias
	vit.encoder.layer.N.attention.attention.key.weight = blocks.N.attn.qkv.weight
	vit.encoder.layer.N.attention.attention.key.bias = blocks.N.attn.qkv.bias
	vit.encoder.layer.N.attention.attention.value.weight = blocks.N.attn.qkv.weight
	vit.encoder.layer.N.attention.attention.value.bias = blocks.N.attn.qkv.bias
	vit.encoder.layer.N.attention.output.dense.weight = blocks.N.attn.proj.weight
	vit.encoder.layer.N.attention.output.dense.bias = blocks.N.attn.proj.bias
	vit.encoder.layer.N.intermediate.dense.weight = blocks.N.mlp.fc1.weight
	vit.encoder.layer.N.intermediate.dense.bias = blocks.N.mlp.fc1.bias
	vit.encoder.layer.N.output.dense.weight = blocks.N.mlp.fc2.weight
	vit.encoder.layer.N.output.dense.bias = blocks.N.mlp.fc2.bias
	vit.encoder.layer.N.layernorm_before.weight = blocks.N.norm1.weight
	vit.encoder.layer.N.layernorm_before.bias = blocks.N.norm1.bias
	vit.encoder.layer.N.layernorm_after.weight = blocks.N.norm2.weight
	vit.encoder.layer.N.layernorm_after.bias = blocks.N.norm2.bias
	vit.layernorm.weight = norm.weight
	vit.layernorm.bias = norm.bias
	classifier.weight = head.weight
	classifier.bias = head.bias`

const huggingDINO = `
	embeddings.cls_token = cls_token
	embeddings.register_tokens = reg_token
	embeddings.position_embeddings = pos_embed
	embeddings.patch_embeddings.projection.weight = patch_embed.proj.weight
	embeddings.patch_embeddings.projection.bias = patch_embed.proj.bias
	encoder.layer.N.norm1.weight = blocks.N.norm1.weight
	encoder.layer.N.norm1.bias = blocks.N.norm1.bias
	encoder.layer.N.attention.attention.query.weight = blocks.N.attn.qkv.weight
	encoder.layer.N.attention.attention.query.bias = blocks.N.attn.qkv.bias
	encoder.layer.N.attention.attention.key.weight = blocks.N.attn.qkv.weight
	encoder.layer.N.attention.attention.key.bias = blocks.N.attn.qkv.bias
	encoder.layer.N.attention.attention.value.weight = blocks.N.attn.qkv.weight
	encoder.layer.N.attention.attention.value.bias = blocks.N.attn.qkv.bias
	encoder.layer.N.attention.output.dense.weight = blocks.N.attn.proj.weight
	encoder.layer.N.attention.output.dense.bias = blocks.N.attn.proj.bias
	encoder.layer.N.layer_scale1.lambda1 = blocks.N.ls1.gamma
	encoder.layer.N.norm2.weight = blocks.N.norm2.weight
	encoder.layer.N.norm2.bias = blocks.N.norm2.bias
	encoder.layer.N.mlp.fc1.weight = blocks.N.mlp.fc1.weight
	encoder.layer.N.mlp.fc1.bias = blocks.N.mlp.fc1.bias
	encoder.layer.N.mlp.fc2.weight = blocks.N.mlp.fc2.weight
	encoder.layer.N.mlp.fc2.bias = blocks.N.mlp.fc2.bias
	encoder.layer.N.layer_scale2.lambda1 = blocks.N.ls2.gamma
	layernorm.weight = norm.weight
	layernorm.bias = norm.bias`

// vitBlock is a block as timm, DINO and DINOv2 spell it, behind P.
const vitBlock = `
	PN.norm1.weight = blocks.N.norm1.weight
	PN.norm1.bias = blocks.N.norm1.bias
	PN.attn.qkv.weight = blocks.N.attn.qkv.weight
	PN.attn.qkv.bias = blocks.N.attn.qkv.bias
	PN.attn.proj.weight = blocks.N.attn.proj.weight
	PN.attn.proj.bias = blocks.N.attn.proj.bias
	PN.ls1.gamma = blocks.N.ls1.gamma
	PN.norm2.weight = blocks.N.norm2.weight
	PN.norm2.bias = blocks.N.norm2.bias
	PN.mlp.fc1.weight = blocks.N.mlp.fc1.weight
	PN.mlp.fc1.bias = blocks.N.mlp.fc1.bias
	PN.mlp.fc2.weight = blocks.N.mlp.fc2.weight
	PN.mlp.fc2.bias = blocks.N.mlp.fc2.bias
	PN.ls2.gamma = blocks.N.ls2.gamma`

const dinoEnds = `
	teacher.backbone.cls_token = cls_token
	teacher.backbone.pos_embed = pos_embed
	teacher.backbone.register_tokens = reg_token
	teacher.backbone.patch_embed.proj.weight = patch_embed.proj.weight
	teacher.backbone.patch_embed.proj.bias = patch_embed.proj.bias
	teacher.backbone.norm.weight = norm.weight
	teacher.backbone.norm.bias = norm.bias`

const openAI = `
	visual.class_embedding = cls_token
	visual.positional_embedding = pos_embed
	visual.proj = head.weight
	visual.conv1.weight = patch_embed.proj.weight
	visual.ln_pre.weight = norm_pre.weight
	visual.ln_pre.bias = norm_pre.bias
	visual.transformer.resblocks.N.attn.in_proj_weight = blocks.N.attn.qkv.weight
	visual.transformer.resblocks.N.attn.in_proj_bias = blocks.N.attn.qkv.bias
	visual.transformer.resblocks.N.attn.out_proj.weight = blocks.N.attn.proj.weight
	visual.transformer.resblocks.N.attn.out_proj.bias = blocks.N.attn.proj.bias
	visual.transformer.resblocks.N.ln_1.weight = blocks.N.norm1.weight
	visual.transformer.resblocks.N.ln_1.bias = blocks.N.norm1.bias
	visual.transformer.resblocks.N.mlp.c_fc.weight = blocks.N.mlp.fc1.weight
	visual.transformer.resblocks.N.mlp.c_fc.bias = blocks.N.mlp.fc1.bias
	visual.transformer.resblocks.N.mlp.c_proj.weight = blocks.N.mlp.fc2.weight
	visual.transformer.resblocks.N.mlp.c_proj.bias = blocks.N.mlp.fc2.bias
	visual.transformer.resblocks.N.ln_2.weight = blocks.N.norm2.weight
	visual.transformer.resblocks.N.ln_2.bias = blocks.N.norm2.bias
	visual.ln_post.weight = norm.weight
	visual.ln_post.bias = norm.bias`

const huggingCLIP = `
	vision_model.embeddings.class_embedding = cls_token
	vision_model.embeddings.patch_embedding.weight = patch_embed.proj.weight
	vision_model.embeddings.position_embedding.weight = pos_embed
	vision_model.pre_layrnorm.weight = norm_pre.weight
	vision_model.pre_layrnorm.bias = norm_pre.bias
	vision_model.encoder.layers.N.self_attn.q_proj.weight = blocks.N.attn.qkv.weight
	vision_model.encoder.layers.N.self_attn.q_proj.bias = blocks.N.attn.qkv.bias
	vision_model.encoder.layers.N.self_attn.k_proj.weight = blocks.N.attn.qkv.weight
	vision_model.encoder.layers.N.self_attn.k_proj.bias = blocks.N.attn.qkv.bias
	vision_model.encoder.layers.N.self_attn.v_proj.weight = blocks.N.attn.qkv.weight
	vision_model.encoder.layers.N.self_attn.v_proj.bias = blocks.N.attn.qkv.bias
	vision_model.encoder.layers.N.self_attn.out_proj.weight = blocks.N.attn.proj.weight
	vision_model.encoder.layers.N.self_attn.out_proj.bias = blocks.N.attn.proj.bias
	vision_model.encoder.layers.N.layer_norm1.weight = blocks.N.norm1.weight
	vision_model.encoder.layers.N.layer_norm1.bias = blocks.N.norm1.bias
	vision_model.encoder.layers.N.mlp.fc1.weight = blocks.N.mlp.fc1.weight
	vision_model.encoder.layers.N.mlp.fc1.bias = blocks.N.mlp.fc1.bias
	vision_model.encoder.layers.N.mlp.fc2.weight = blocks.N.mlp.fc2.weight
	vision_model.encoder.layers.N.mlp.fc2.bias = blocks.N.mlp.fc2.bias
	vision_model.encoder.layers.N.layer_norm2.weight = blocks.N.norm2.weight
	vision_model.encoder.layers.N.layer_norm2.bias = blocks.N.norm2.bias
	vision_model.post_layernorm.weight = norm.weight
	vision_model.post_layernorm.bias = norm.bias
	visual_projection.weight = head.weight`

// huggingDINO3 has no bias of keys; where U is differs with a gate.
const huggingDINO3 = `
	embeddings.cls_token = cls_token
	embeddings.register_tokens = reg_token
	embeddings.patch_embeddings.weight = patch_embed.proj.weight
	embeddings.patch_embeddings.bias = patch_embed.proj.bias
	layer.N.norm1.weight = blocks.N.norm1.weight
	layer.N.norm1.bias = blocks.N.norm1.bias
	layer.N.attention.q_proj.weight = blocks.N.attn.qkv.weight
	layer.N.attention.k_proj.weight = blocks.N.attn.qkv.weight
	layer.N.attention.v_proj.weight = blocks.N.attn.qkv.weight
	layer.N.attention.q_proj.bias = blocks.N.attn.qkv.bias
	layer.N.attention.v_proj.bias = blocks.N.attn.qkv.bias
	layer.N.attention.o_proj.weight = blocks.N.attn.proj.weight
	layer.N.attention.o_proj.bias = blocks.N.attn.proj.bias
	layer.N.layer_scale1.lambda1 = blocks.N.ls1.gamma
	layer.N.norm2.weight = blocks.N.norm2.weight
	layer.N.norm2.bias = blocks.N.norm2.bias
	layer.N.mlp.up_proj.weight = blocks.N.mlp.fc1.weight
	layer.N.mlp.up_proj.bias = blocks.N.mlp.fc1.bias
	layer.N.mlp.down_proj.weight = blocks.N.mlp.fc2.weight
	layer.N.mlp.down_proj.bias = blocks.N.mlp.fc2.bias
	layer.N.layer_scale2.lambda1 = blocks.N.ls2.gamma
	norm.weight = norm.weight
	norm.bias = norm.bias`

const gateOfHugging = `
	layer.N.mlp.gate_proj.weight = blocks.N.mlp.fc1_g.weight
	layer.N.mlp.gate_proj.bias = blocks.N.mlp.fc1_g.bias`

const gateOfMeta = `
	blocks.N.mlp.w1.weight = blocks.N.mlp.fc1_g.weight
	blocks.N.mlp.w1.bias = blocks.N.mlp.fc1_g.bias
	blocks.N.mlp.w2.weight = blocks.N.mlp.fc1_x.weight
	blocks.N.mlp.w2.bias = blocks.N.mlp.fc1_x.bias
	blocks.N.mlp.w3.weight = blocks.N.mlp.fc2.weight
	blocks.N.mlp.w3.bias = blocks.N.mlp.fc2.bias`

const metaDINO3 = `
	cls_token = cls_token
	storage_tokens = reg_token
	patch_embed.proj.weight = patch_embed.proj.weight
	patch_embed.proj.bias = patch_embed.proj.bias
	norm.weight = norm.weight
	norm.bias = norm.bias`

const timmBias = `
	blocks.N.attn.q_bias = blocks.N.attn.qkv.bias
	blocks.N.attn.v_bias = blocks.N.attn.qkv.bias`

// TestTransformersByOtherNames: weights in the names of each toolkit, stored as it
// stores them, give the network that they were taken from.
func TestTransformersByOtherNames(t *testing.T) {
	const depth = 2
	plain := zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, Dim: 5, Width: 12, Depth: depth, Heads: 3,
		Patch: 16}
	const prefix = "teacher.backbone.blocks."
	dino, bare := plain, plain
	dino.Registers, dino.NoHead = 3, true
	bare.NoHead = true
	for _, c := range []struct {
		what, network string
		o             zoo.Options
		names, found  string
	}{
		{"torchvision", "vit_b16", plain, torchvisionViT, "torchvision"},
		{"Hugging Face's ViT", "vit_b16", plain, huggingViT, "Hugging Face"},
		{"Hugging Face's DINOv2", "vit_s14", dino, huggingDINO, "Hugging Face"},
		{"DINOv2", "vit_s14", dino, dinoEnds + strings.ReplaceAll(vitBlock, "P", prefix), "DINO"},
		{"DINOv2 in chunks", "vit_s14", dino, dinoEnds + strings.ReplaceAll(vitBlock, "P", prefix+"0."), "DINO"},
		{"CLIP", "clip_vit_b16", plain, openAI, "CLIP"},
		{"CLIP's image tower alone", "clip_vit_b16", plain, strings.ReplaceAll(openAI, "visual.", ""), "CLIP"},
		{"Hugging Face's CLIP", "clip_vit_b16", plain, huggingCLIP, "Hugging Face"},
		{"Hugging Face's DINOv3", "dinov3_vit_s16", dino, huggingDINO3, "Hugging Face"},
		{"Hugging Face's DINOv3 with its layers within", "dinov3_vit_s16", dino,
			strings.ReplaceAll(huggingDINO3, "layer.N", "model.layer.N"), "Hugging Face"},
		{"Hugging Face's DINOv3 with a gate", "dinov3_vit_s16plus", dino,
			strings.ReplaceAll(huggingDINO3, "mlp.fc1", "mlp.fc1_x") + gateOfHugging, "Hugging Face"},
		{"DINOv3", "dinov3_vit_s16", dino, metaDINO3 + strings.ReplaceAll(vitBlock, "P", "blocks."), "DINO"},
		{"DINOv3 with a gate", "dinov3_vit_s16plus", dino,
			metaDINO3 + without(strings.ReplaceAll(vitBlock, "P", "blocks."), "mlp.fc") + gateOfMeta, "DINO"},
		{"timm's DINOv3", "dinov3_vit_s16", dino, strings.ReplaceAll(metaDINO3, "storage_tokens", "reg_token") +
			strings.NewReplacer("PN.ls1.gamma", "blocks.N.gamma_1", "PN.ls2.gamma", "blocks.N.gamma_2", "P", "blocks.").
				Replace(without(vitBlock, "qkv.bias")) + timmBias, "timm"},
	} {
		t.Run(c.what, func(t *testing.T) { checkNames(t, c.network, c.o, namesOf(t, depth, c.names), c.found) })
	}
}

// TestTrunksAreRead: OpenCLIP stores SigLIP's image tower by timm's names behind others.
func TestTrunksAreRead(t *testing.T) {
	o := zoo.Options{Input: nn.Shape{H: 32, W: 32, C: 3}, NoHead: true, Width: 12, Depth: 2, Heads: 3, Patch: 16}
	spec, err := zoo.Network("siglip_vit_b16", o)
	if err != nil {
		t.Fatal(err)
	}
	g, err := spec.Graph()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, p := range g.Params {
		names["visual.trunk."+p.Name] = p.Name
	}
	checkNames(t, "siglip_vit_b16", o, names, "")
}

// without returns the lines of a table that do not hold a part.
func without(table, part string) string {
	var kept strings.Builder
	for line := range strings.Lines(table) {
		if !strings.Contains(line, part) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestKeysHaveNoBias: a bias of keys in a file, which DINOv3 masks, is left out; a file without
// that of the values is not complete.
func TestKeysHaveNoBias(t *testing.T) {
	spec, err := zoo.Network("dinov3_vit_s16", zoo.Options{Input: nn.Shape{H: 32, W: 16, C: 3}, Width: 8, Heads: 2,
		Depth: 1, NoHead: true})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := net.State()
	const name = "blocks.0.attn.qkv.bias"
	*f.Tensor(name) = safetensors.Float32(name, []int{24}, slices.Repeat([]float32{3}, 24))
	if _, err := zoo.Import(net, f, zoo.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, v := range net.Param(name).Value {
		if want := float32(3 * (1 - i/8%2)); v != want {
			t.Errorf("bias %d is %g, want %g", i, v, want)
		}
	}
	*f.Tensor(name) = safetensors.Float32("blocks.0.attn.q_bias", []int{8}, slices.Repeat([]float32{3}, 8))
	r, err := zoo.Import(net, f, zoo.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Missing, []string{name}) {
		t.Errorf("missing %q", r.Missing)
	}
}

// checkNames renames the weights of a network to theirs, imports them into another
// and compares; the guess must be the network.
func checkNames(t *testing.T, network string, o zoo.Options, names map[string]string, found string) {
	t.Helper()
	spec, err := zoo.Network(network, o)
	if err != nil {
		t.Fatal(err)
	}
	from, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range from.Params() {
		copy(p.Value, netcases.Values(fmt.Sprint(i), len(p.Value)))
		lo, hi := p.Zeros()
		clear(p.Value[lo:hi])
	}
	f := stored(t, from, names)
	to, err := nn.New(spec, nn.Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	r, err := zoo.Import(to, f, zoo.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsComplete() || r.Names != found || len(r.Renamed) == 0 && found != "" {
		t.Errorf("names of %q, want %q; %d renamed: %s", r.Names, found, len(r.Renamed), r)
	}
	for i, p := range from.Params() {
		if !slices.Equal(p.Value, to.Params()[i].Value) {
			t.Errorf("%s is another", p.Name)
		}
	}
	name, guess, err := zoo.Guess(f)
	if err != nil {
		t.Fatal(err)
	}
	guess.Dim, guess.NoHead, guess.Heads = o.Dim, o.NoHead, o.Heads
	if guess.Multiple == 1 {
		guess.Multiple = 0
	}
	again, err := zoo.Network(name, guess)
	if err != nil {
		t.Fatal(err)
	}
	if again.Name = spec.Name; guess.Patch == 0 || strings.HasPrefix(network, "dinov3") {
		again.Input = spec.Input // convolutions and rotary positions fit any
	}
	if d := cmp.Diff(spec, again); d != "" {
		t.Errorf("guessed %s %+v: %s", name, guess, d)
	}
}

// stored writes the weights under other names, in parts and transposed as those
// say.
func stored(t *testing.T, net *nn.Net, names map[string]string) *safetensors.File {
	t.Helper()
	state := net.State()
	theirs := map[string][]string{}
	for name, ours := range names {
		if state.Tensor(ours) == nil {
			t.Fatalf("no parameter %s", ours)
		}
		theirs[ours] = append(theirs[ours], name)
	}
	order := []string{"quer", "q_proj", "q_bias", "key", "k_proj", "val", "v_proj", "v_bias"} // of parts
	f := &safetensors.File{}
	for i := range state.Tensors {
		s := &state.Tensors[i]
		list := theirs[s.Name]
		if len(list) == 0 {
			t.Fatalf("%s has no other name", s.Name)
		}
		v, err := s.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		if lo, hi := net.Param(s.Name).Zeros(); hi > lo && len(list) == 2 { // without the keys'
			v = append(v[:lo:lo], v[hi:]...)
			s.Shape = []int{len(v)}
		}
		rank := func(name string) int {
			return slices.IndexFunc(order, func(part string) bool { return strings.Contains(name, part) })
		}
		slices.SortFunc(list, func(a, b string) int { return rank(a) - rank(b) })
		shape := slices.Clone(s.Shape)
		shape[0] /= len(list)
		for k, name := range list {
			part := v[k*len(v)/len(list) : (k+1)*len(v)/len(list)]
			switch {
			case strings.HasSuffix(name, "visual.proj") || name == "proj":
				turned := make([]float32, len(part))
				for i, x := range part {
					turned[i%shape[1]*shape[0]+i/shape[1]] = x
				}
				f.Tensors = append(f.Tensors, safetensors.Float32(name, []int{shape[1], shape[0]}, turned))
			case strings.HasSuffix(name, "embedding") && len(shape) == 3: // CLIP's have no dimension of 1
				flat := slices.DeleteFunc(shape, func(n int) bool { return n == 1 })
				f.Tensors = append(f.Tensors, safetensors.Float32(name, flat, part))
			default:
				f.Tensors = append(f.Tensors, safetensors.Float32(name, shape, part))
			}
		}
	}
	return f
}
