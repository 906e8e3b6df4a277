package nn

import (
	"fmt"
	"strconv"
)

// maxDepth bounds the blocks of a transformer.
const maxDepth = 512

// transformer is a vision transformer that is known by name.
type transformer struct {
	width, depth, heads, patch int
	scale                      float64 // start of the layer scales; 0: none
	clip                       bool    // as CLIP has it: norm first, quick GELU, no biases at either end
}

// transformerOf returns the transformer of a name with what o says otherwise.
func transformerOf(name string, o NetworkOptions) (transformer, bool) {
	var t transformer
	switch name {
	case "vit_t16":
		t = transformer{width: 192, patch: 16}
	case "vit_s16":
		t = transformer{width: 384, patch: 16}
	case "vit_b16":
		t = transformer{width: 768, patch: 16}
	case "vit_t14":
		t = transformer{width: 192, patch: 14, scale: 1e-5}
	case "vit_s14":
		t = transformer{width: 384, patch: 14, scale: 1e-5}
	case "vit_b14":
		t = transformer{width: 768, patch: 14, scale: 1e-5}
	case "clip_vit_b32":
		t = transformer{width: 768, patch: 32, clip: true}
	case "clip_vit_b16":
		t = transformer{width: 768, patch: 16, clip: true}
	default:
		return t, false
	}
	t.width, t.depth, t.patch = or(o.Width, t.width), or(o.Depth, 12), or(o.Patch, t.patch)
	t.heads = or(o.Heads, max(1, t.width/64))
	if o.LayerScale != 0 {
		t.scale = o.LayerScale
	}
	return t, true
}

// layers builds it with timm's names.
func (t transformer) layers(o NetworkOptions) ([]Layer, error) {
	for _, side := range []int{o.Input.H, o.Input.W} {
		if side%t.patch != 0 {
			return nil, fmt.Errorf("images of %d x %d are not whole patches of %d x %d; sides of %d or %d are",
				o.Input.H, o.Input.W, t.patch, t.patch, max(1, side/t.patch)*t.patch, (side/t.patch+1)*t.patch)
		}
	}
	if o.Pool == PoolGEM {
		return nil, fmt.Errorf("a transformer has no pool %q", o.Pool)
	}
	eps := 1e-6
	if t.clip {
		eps = 1e-5
	}
	l := []Layer{
		{Kind: Conv, Name: "patch_embed.proj", Out: t.width, Kernel: t.patch, Stride: t.patch, NoBias: t.clip},
		{Kind: Tokens, Name: "cls_token", Out: 1},
		{Kind: Positions, Name: "pos_embed"},
	}
	if o.Registers > 0 {
		l = append(l, Layer{Kind: Tokens, Name: "reg_token", Out: o.Registers, At: 1})
	}
	if t.clip {
		l = append(l, Layer{Kind: LayerNorm, Name: "norm_pre", Eps: eps})
	}
	for i := range t.depth {
		l = append(l, t.block("blocks."+strconv.Itoa(i), eps, o.DropPath*float64(i)/float64(max(1, t.depth-1)))...)
	}
	norm := Layer{Kind: LayerNorm, Name: "norm", Eps: eps}
	if o.Pool == PoolMean {
		l = append(l, norm, Layer{Kind: GlobalAvgPool, At: 1 + o.Registers})
	} else {
		l = append(l, Layer{Kind: TakeToken}, norm)
	}
	end := head(o, "head", InitTruncated)
	for i := range end {
		end[i].NoBias = t.clip && end[i].Kind == Dense
	}
	return append(l, end...), nil
}

// block is attention and a perceptron, each with its norm before and its residual
// sum behind.
func (t transformer) block(name string, eps, drop float64) []Layer {
	linear := func(name string, out int) Layer {
		return Layer{Kind: Linear, Name: name, Out: out, Init: InitTruncated}
	}
	act := GELU
	if t.clip {
		act = QuickGELU
	}
	residual := func(n string, layers ...Layer) Layer {
		l := append([]Layer{{Kind: LayerNorm, Name: "norm" + n, Eps: eps}}, layers...)
		if t.scale != 0 {
			l = append(l, Layer{Kind: Scale, Name: "ls" + n + ".gamma", Start: t.scale})
		}
		if drop > 0 {
			l = append(l, Layer{Kind: StochasticDepth, Rate: drop})
		}
		return Layer{Kind: Residual, Name: name, Layers: l}
	}
	return []Layer{
		residual("1", linear("attn.qkv", 3*t.width), Layer{Kind: Attention, Heads: t.heads},
			linear("attn.proj", t.width)),
		residual("2", linear("mlp.fc1", 4*t.width), Layer{Kind: act}, linear("mlp.fc2", t.width)),
	}
}
