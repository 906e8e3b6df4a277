package zoo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// target says which parameter a tensor of a file belongs to. If the parameter is stored in
// several tensors, whose rows follow each other, the tensor is number part (from 1) of parts.
type target struct {
	name        string
	part, parts int
	transpose   bool
}

// naming is one toolkit's way of naming a network's parameters: modules maps its
// names of layers, or of single tensors, to the network's. Names that are not
// there are the network's own if own is set.
type naming struct {
	name    string
	own     bool
	modules map[string]target
	rename  func(name string) string // instead
}

// namingByFunc is the dialect of a function; see ImportOptions.
func namingByFunc(f func(name string) string) naming { return naming{rename: f} }

// find returns what a tensor stands for, and false if it is to be left alone.
func (d *naming) find(name, prefix string) (target, bool) {
	if d.rename != nil {
		as := target{name: d.rename(name)}
		return as, as.name != ""
	}
	// What stands beside the wrapped network, such as a classifier, has no prefix.
	rest, wrapped := strings.CutPrefix(name, prefix)
	if as, ok := d.modules[rest]; ok {
		return as, true
	}
	if dot := strings.LastIndexByte(rest, '.'); dot > 0 {
		if as, ok := d.modules[rest[:dot]]; ok {
			as.name += rest[dot:]
			return as, true
		}
	}
	if !d.own && wrapped {
		return target{}, true
	}
	return target{name: rest}, true
}

func (d *naming) add(theirs, ours string) { d.modules[theirs] = target{name: ours} }

// addParts says that a layer of ours is stored as several of theirs.
func (d *naming) addParts(ours string, theirs ...string) {
	for i, name := range theirs {
		d.modules[name] = target{name: ours, part: i + 1, parts: len(theirs)}
	}
}

func newNaming(name string) naming { return naming{name: name, modules: map[string]target{}} }

// wrappers are names that toolkits put before a network's own.
func wrappers() []string {
	return []string{"module", "model", "backbone", "state_dict", "teacher", "net", "network", "encoder_q", "base_model",
		"_orig_mod", "feature_extractor", "vit", "deit", "dinov2", "dinov3_vit", "convnext", "student"}
}

// splitTensors returns the file with each tensor that several parameters are stored in as one
// tensor for each: SigLIP's pool has queries, keys and values in one, which are two layers.
func splitTensors(f *safetensors.File) *safetensors.File {
	all := &safetensors.File{Meta: f.Meta}
	for _, t := range f.Tensors {
		at, kind, ok := strings.Cut(t.Name, "head.attention.in_proj_")
		if !ok || len(t.Shape) == 0 || t.Shape[0]%3 != 0 {
			all.Tensors = append(all.Tensors, t)
			continue
		}
		q, kv := t, t
		q.Shape, kv.Shape = slices.Clone(t.Shape), slices.Clone(t.Shape)
		q.Shape[0], kv.Shape[0] = t.Shape[0]/3, t.Shape[0]/3*2
		q.Name, kv.Name = at+"head.attention.in_proj.q."+kind, at+"head.attention.in_proj.kv."+kind
		q.Data, kv.Data = t.Data[:len(t.Data)/3], t.Data[len(t.Data)/3:]
		all.Tensors = append(all.Tensors, q, kv)
	}
	return all
}

// openCLIPTrunk is what OpenCLIP puts before a network of timm.
const openCLIPTrunk = "visual.trunk."

// prefixes returns the chains of wrappers that names of the file start with; ""
// is one of them.
func prefixes(f *safetensors.File) []string {
	const most = 16
	known := wrappers()
	found := []string{""}
	for i := range f.Tensors {
		rest, prefix := f.Tensors[i].Name, ""
		if after, ok := strings.CutPrefix(rest, openCLIPTrunk); ok {
			rest, prefix = after, openCLIPTrunk
			if !slices.Contains(found, prefix) {
				found = append(found, prefix)
			}
		}
		for range 3 {
			first, after, ok := strings.Cut(rest, ".")
			if !ok || !slices.Contains(known, first) {
				break
			}
			prefix, rest = prefix+first+".", after
			if !slices.Contains(found, prefix) && len(found) < most {
				found = append(found, prefix)
			}
		}
	}
	// Of equals the first is taken: a teacher's weights before a student's.
	slices.SortStableFunc(found, func(a, b string) int {
		return slices.Index(known, outerPrefix(a)) - slices.Index(known, outerPrefix(b))
	})
	return found
}

func outerPrefix(prefix string) string {
	name, _, _ := strings.Cut(prefix, ".")
	return name
}

// bestNaming returns the dialect and the prefix by which the most tensors of a
// file fit parameters, the first of equals.
func bestNaming(f *safetensors.File, all []naming, params map[string]*nn.Param) (best naming, prefix string) {
	most := -1
	for _, p := range prefixes(f) {
		for _, d := range all {
			n := 0
			for i := range f.Tensors {
				t := &f.Tensors[i]
				as, _ := d.find(t.Name, p)
				if q := params[as.name]; q != nil {
					if s := (source{t, as}); sameShape(q.Shape, s.shape()) {
						n += 1000 // more than all that fit by name alone
					} else {
						n++
					}
				}
			}
			if n > most {
				best, prefix, most = d, p, n
			}
		}
	}
	return best, prefix
}

// namings returns the ways in which the parameters of a network may be named,
// its own first.
func namings(s *nn.Spec) []naming {
	all := []naming{{own: true}}
	depth := 0
	for i := range s.Layers {
		if n, ok := strings.CutPrefix(s.Layers[i].Name, "blocks."); ok && s.Layers[i].Kind == nn.Residual {
			if k, err := strconv.Atoi(n); err == nil && k < maxDepth {
				depth = max(depth, k+1)
			}
		}
	}
	if depth > 0 {
		all = append(all, vitNamings(depth)...)
	}
	named := func(l nn.Layer) bool { return l.Name == "features" && l.Kind == nn.Sequential }
	if i := slices.IndexFunc(s.Layers, named); i >= 0 {
		features := s.Layers[i].Layers
		if depths := convNeXtDepths(features); depths != nil {
			return append(all, convNeXtNamings(depths)...)
		}
		if d, ok := timmMobileNet(s.Name, features); ok {
			all = append(all, d)
		}
	}
	return all
}

// vitNamings are the other names of transformers that have timm's.
func vitNamings(depth int) []naming {
	dino := newNaming("DINO")
	dino.own = true
	dino.add("register_tokens", "reg_token")
	dino.add("storage_tokens", "reg_token")
	torch, vit, dino2 := newNaming("torchvision"), newNaming("Hugging Face"), newNaming("Hugging Face")
	for theirs, ours := range map[string]string{"conv_proj": "patch_embed.proj", "class_token": "cls_token",
		"encoder.pos_embedding": "pos_embed", "encoder.ln": "norm", "heads.head": "head"} {
		torch.add(theirs, ours)
	}
	for _, d := range []*naming{&vit, &dino2} {
		d.add("embeddings.cls_token", "cls_token")
		d.add("embeddings.position_embeddings", "pos_embed")
		d.add("embeddings.register_tokens", "reg_token")
		d.add("embeddings.patch_embeddings.projection", "patch_embed.proj")
		d.add("layernorm", "norm")
		d.add("classifier", "head")
	}
	for i := range depth {
		ours := fmt.Sprintf("blocks.%d.", i)
		for chunk := range 4 { // as DINOv2 stores them in training
			for _, part := range strings.Fields("norm1 attn.qkv attn.proj ls1 norm2 mlp.fc1 mlp.fc2 ls2") {
				dino.add(fmt.Sprintf("blocks.%d.%d.%s", chunk, i, part), ours+part)
			}
		}
		for a, b := range map[string]string{"mlp.w1": "mlp.fc1_g", "mlp.w2": "mlp.fc1_x", "mlp.w3": "mlp.fc2"} {
			dino.add(ours+a, ours+b)
		}
		theirs := fmt.Sprintf("encoder.layers.encoder_layer_%d.", i)
		for a, b := range map[string]string{"ln_1": "norm1", "ln_2": "norm2", "self_attention.out_proj": "attn.proj",
			"self_attention.in_proj_weight": "attn.qkv.weight", "self_attention.in_proj_bias": "attn.qkv.bias",
			"mlp.0": "mlp.fc1", "mlp.3": "mlp.fc2", "mlp.linear_1": "mlp.fc1", "mlp.linear_2": "mlp.fc2"} {
			torch.add(theirs+a, ours+b)
		}
		theirs = fmt.Sprintf("encoder.layer.%d.", i)
		for _, d := range []*naming{&vit, &dino2} {
			d.add(theirs+"attention.output.dense", ours+"attn.proj")
			self := theirs + "attention.attention."
			d.addParts(ours+"attn.qkv", self+"query", self+"key", self+"value")
		}
		for a, b := range map[string]string{"layernorm_before": "norm1", "layernorm_after": "norm2",
			"intermediate.dense": "mlp.fc1", "output.dense": "mlp.fc2"} {
			vit.add(theirs+a, ours+b)
		}
		for a, b := range map[string]string{"norm1": "norm1", "norm2": "norm2", "mlp.fc1": "mlp.fc1",
			"mlp.fc2": "mlp.fc2", "layer_scale1.lambda1": "ls1.gamma", "layer_scale2.lambda1": "ls2.gamma"} {
			dino2.add(theirs+a, ours+b)
		}
	}
	all := []naming{dino, torch, vit, dino2, timmDINO3(depth), huggingDINO3(depth, false),
		huggingDINO3(depth, true)}
	for _, tower := range []string{"visual.", ""} {
		all = append(all, openCLIP(tower, depth))
	}
	for _, tower := range []string{"vision_model.", ""} {
		all = append(all, huggingCLIP(tower, depth))
	}
	return all
}

// timmDINO3 has the names of timm's DINOv3. Keys have no bias there.
func timmDINO3(depth int) naming {
	d := newNaming("timm")
	d.own = true
	for i := range depth {
		at := fmt.Sprintf("blocks.%d.", i)
		d.add(at+"gamma_1", at+"ls1.gamma")
		d.add(at+"gamma_2", at+"ls2.gamma")
		d.modules[at+"attn.q_bias"] = target{name: at + "attn.qkv.bias", part: 1, parts: 3}
		d.modules[at+"attn.v_bias"] = target{name: at + "attn.qkv.bias", part: 3, parts: 3}
	}
	return d
}

// huggingDINO3 has the names of Hugging Face's DINOv3, with or without a gate.
func huggingDINO3(depth int, gated bool) naming {
	d, up := newNaming("Hugging Face"), "mlp.fc1"
	if gated {
		up = "mlp.fc1_x"
	}
	for theirs, ours := range map[string]string{"embeddings.cls_token": "cls_token", "norm": "norm",
		"embeddings.register_tokens": "reg_token", "embeddings.patch_embeddings": "patch_embed.proj"} {
		d.add(theirs, ours)
	}
	for i := range depth {
		ours := fmt.Sprintf("blocks.%d.", i)
		for _, theirs := range []string{fmt.Sprintf("layer.%d.", i), fmt.Sprintf("model.layer.%d.", i)} {
			for a, b := range map[string]string{"norm1": "norm1", "norm2": "norm2", "attention.o_proj": "attn.proj",
				"layer_scale1.lambda1": "ls1.gamma", "layer_scale2.lambda1": "ls2.gamma",
				"mlp.gate_proj": "mlp.fc1_g", "mlp.up_proj": up, "mlp.down_proj": "mlp.fc2"} {
				d.add(theirs+a, ours+b)
			}
			self := theirs + "attention."
			d.addParts(ours+"attn.qkv", self+"q_proj", self+"k_proj", self+"v_proj")
		}
	}
	return d
}

// openCLIP is OpenAI's, and OpenCLIP's.
func openCLIP(tower string, depth int) naming {
	d := newNaming("CLIP")
	for theirs, ours := range map[string]string{"conv1": "patch_embed.proj", "class_embedding": "cls_token",
		"positional_embedding": "pos_embed", "ln_pre": "norm_pre", "ln_post": "norm"} {
		d.add(tower+theirs, ours)
	}
	d.modules[tower+"proj"] = target{name: "head.weight", transpose: true}
	for i := range depth {
		theirs, ours := fmt.Sprintf("%stransformer.resblocks.%d.", tower, i), fmt.Sprintf("blocks.%d.", i)
		for a, b := range map[string]string{"ln_1": "norm1", "ln_2": "norm2", "attn.out_proj": "attn.proj",
			"attn.in_proj_weight": "attn.qkv.weight", "attn.in_proj_bias": "attn.qkv.bias",
			"mlp.c_fc": "mlp.fc1", "mlp.c_proj": "mlp.fc2"} {
			d.add(theirs+a, ours+b)
		}
	}
	return d
}

// huggingCLIP has the names of Hugging Face's CLIP and SigLIP.
func huggingCLIP(tower string, depth int) naming {
	d := newNaming("Hugging Face")
	for theirs, ours := range map[string]string{"embeddings.patch_embedding": "patch_embed.proj",
		"embeddings.class_embedding": "cls_token", "embeddings.position_embedding.weight": "pos_embed",
		"pre_layrnorm": "norm_pre", "post_layernorm": "norm"} {
		d.add(tower+theirs, ours)
	}
	d.add("visual_projection", "head")
	for theirs, ours := range map[string]string{"probe": "latent", "attention.in_proj.q": "q",
		"attention.in_proj.kv": "kv", "attention.out_proj": "proj", "layernorm": "norm", "mlp.fc1": "mlp.fc1",
		"mlp.fc2": "mlp.fc2"} {
		d.add(tower+"head."+theirs, "attn_pool."+ours)
	}
	for i := range depth {
		theirs, ours := fmt.Sprintf("%sencoder.layers.%d.", tower, i), fmt.Sprintf("blocks.%d.", i)
		for a, b := range map[string]string{"layer_norm1": "norm1", "layer_norm2": "norm2",
			"self_attn.out_proj": "attn.proj", "mlp.fc1": "mlp.fc1", "mlp.fc2": "mlp.fc2"} {
			d.add(theirs+a, ours+b)
		}
		self := theirs + "self_attn."
		d.addParts(ours+"attn.qkv", self+"q_proj", self+"k_proj", self+"v_proj")
	}
	return d
}
