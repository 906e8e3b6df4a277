package zoo

import (
	"fmt"
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

// maxDepth bounds the blocks of a transformer.
const maxDepth = 512

// transformer is a vision transformer that is known by name.
type transformer struct {
	width, depth, heads, patch int
	scale                      float64 // start of the layer scales; 0: none
	clip                       bool    // as CLIP has it: norm first, quick GELU, no biases at either end
}

// with is the transformer with what o says otherwise.
func (t transformer) with(o Options) transformer {
	t.width, t.depth, t.patch = or(o.Width, t.width), or(o.Depth, 12), or(o.Patch, t.patch)
	t.heads = or(o.Heads, max(1, t.width/64))
	if o.LayerScale != 0 {
		t.scale = o.LayerScale
	}
	return t
}

// layers builds it with timm's names.
func (t transformer) layers(o Options) ([]nn.Layer, error) {
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
	l := []nn.Layer{
		{Kind: nn.Conv, Name: "patch_embed.proj", Out: t.width, Kernel: t.patch, Stride: t.patch, NoBias: t.clip},
		{Kind: nn.Tokens, Name: "cls_token", Out: 1},
		{Kind: nn.Positions, Name: "pos_embed"},
	}
	if o.Registers > 0 {
		l = append(l, nn.Layer{Kind: nn.Tokens, Name: "reg_token", Out: o.Registers, At: 1})
	}
	if t.clip {
		l = append(l, nn.Layer{Kind: nn.LayerNorm, Name: "norm_pre", Eps: eps})
	}
	for i := range t.depth {
		l = append(l, t.block("blocks."+strconv.Itoa(i), eps, o.DropPath*float64(i)/float64(max(1, t.depth-1)))...)
	}
	norm := nn.Layer{Kind: nn.LayerNorm, Name: "norm", Eps: eps}
	if o.Pool == PoolMean {
		l = append(l, norm, nn.Layer{Kind: nn.GlobalAvgPool, At: 1 + o.Registers})
	} else {
		l = append(l, nn.Layer{Kind: nn.TakeToken}, norm)
	}
	end := head(o, "head", nn.InitTruncated)
	for i := range end {
		end[i].NoBias = t.clip && end[i].Kind == nn.Dense
	}
	return append(l, end...), nil
}

// block is attention and a perceptron, each with its norm before and its residual
// sum behind.
func (t transformer) block(name string, eps, drop float64) []nn.Layer {
	linear := func(name string, out int) nn.Layer {
		return nn.Layer{Kind: nn.Linear, Name: name, Out: out, Init: nn.InitTruncated}
	}
	act := nn.GELU
	if t.clip {
		act = nn.QuickGELU
	}
	residual := func(n string, layers ...nn.Layer) nn.Layer {
		l := append([]nn.Layer{{Kind: nn.LayerNorm, Name: "norm" + n, Eps: eps}}, layers...)
		if t.scale != 0 {
			l = append(l, nn.Layer{Kind: nn.Scale, Name: "ls" + n + ".gamma", Start: t.scale})
		}
		if drop > 0 {
			l = append(l, nn.Layer{Kind: nn.StochasticDepth, Rate: drop})
		}
		return nn.Layer{Kind: nn.Residual, Name: name, Layers: l}
	}
	return []nn.Layer{
		residual("1", linear("attn.qkv", 3*t.width), nn.Layer{Kind: nn.Attention, Heads: t.heads},
			linear("attn.proj", t.width)),
		residual("2", linear("mlp.fc1", 4*t.width), nn.Layer{Kind: act}, linear("mlp.fc2", t.width)),
	}
}
