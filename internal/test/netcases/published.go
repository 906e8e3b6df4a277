package netcases

import (
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// HuggingFaceCLIP returns the weights of an image tower of CLIP under Hugging Face's names.
func HuggingFaceCLIP(net *nn.Net) []safetensors.Tensor {
	var out []safetensors.Tensor
	names := strings.NewReplacer("blocks.", "vision_model.encoder.layers.", ".norm1.", ".layer_norm1.", ".norm2.",
		".layer_norm2.", "attn.proj", "self_attn.out_proj", "patch_embed.proj",
		"vision_model.embeddings.patch_embedding")
	for _, p := range net.Params() {
		v := make([]float32, len(p.Value))
		p.ToTorch(v)
		add := func(name string, shape []int, v []float32) {
			out = append(out, safetensors.Float32(name, shape, v))
		}
		block, part, isQKV := strings.Cut(p.Name, "attn.qkv.")
		switch {
		case isQKV:
			shape := slices.Clone(p.Shape)
			shape[0] /= 3
			for i, one := range []string{"q", "k", "v"} {
				add(names.Replace(block)+"self_attn."+one+"_proj."+part, shape, v[i*len(v)/3:(i+1)*len(v)/3])
			}
		case p.Name == "cls_token":
			add("vision_model.embeddings.class_embedding", []int{len(v)}, v)
		case p.Name == "pos_embed":
			add("vision_model.embeddings.position_embedding.weight", p.Shape[1:], v)
		case strings.HasPrefix(p.Name, "norm_pre."):
			add("vision_model.pre_layrnorm."+strings.TrimPrefix(p.Name, "norm_pre."), p.Shape, v)
		case strings.HasPrefix(p.Name, "norm."):
			add("vision_model.post_layernorm."+strings.TrimPrefix(p.Name, "norm."), p.Shape, v)
		case p.Name == "head.weight":
			add("visual_projection.weight", p.Shape, v)
		default:
			add(names.Replace(p.Name), p.Shape, v)
		}
	}
	return out
}
