package zoo

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

// maxDepth bounds the blocks of a transformer.
const maxDepth = 512

// transformer is a vision transformer that is known by name.
type transformer struct {
	width, patch         int
	depth, heads, hidden int     // 0: 12, one for each 64 channels, four times the width
	registers            int     // tokens besides the class token
	scale                float64 // start of the layer scales; 0: none
	kind                 family
	act                  nn.Kind // "": the family's
	eps                  float64 // 0: the family's
}

// family says whose transformer it is.
type family int

const (
	// plain is Dosovitskiy's, DINO's and DINOv2's.
	plain family = iota
	// clip has a norm first, quick GELU, and no biases at either end.
	clip
	// dino3 has rotary positions and no biases of keys.
	dino3
	// gated is dino3 with SwiGLU.
	gated
	// siglip has GELU by tanh, no class token, and attention with a learned query at its end.
	siglip
)

func (f family) rotary() bool { return f == dino3 || f == gated }

func (f family) eps() float64 {
	if f == plain || f == siglip {
		return 1e-6
	}
	return 1e-5
}

func (f family) act() nn.Kind {
	switch f {
	case clip:
		return nn.QuickGELU
	case gated:
		return nn.SiLU
	case siglip:
		return nn.GELUTanh
	}
	return nn.GELU
}

func dinov3(width int, kind family) transformer {
	return transformer{width: width, patch: 16, registers: 4, scale: 1e-5, kind: kind}
}

// withOptions is the transformer with what o says otherwise.
func (t transformer) withOptions(o Options) transformer {
	if o.Width != 0 && o.Width != t.width {
		t.width, t.heads, t.hidden = o.Width, 0, 0
	}
	t.depth, t.patch, t.registers = valueOr(o.Depth, valueOr(t.depth, 12)), valueOr(o.Patch, t.patch),
		valueOr(o.Registers, t.registers)
	t.heads, t.hidden = valueOr(o.Heads, valueOr(t.heads, max(1, t.width/64))),
		valueOr(o.Hidden, valueOr(t.hidden, 4*t.width))
	t.act, t.eps = cmp.Or(o.Act, t.kind.act()), cmp.Or(o.Eps, t.kind.eps())
	if o.LayerScale != 0 {
		t.scale = o.LayerScale
	}
	return t
}

// check refuses options that it does not have.
func (t transformer) check(o Options) error {
	for _, side := range []int{o.Input.H, o.Input.W} {
		if side%t.patch != 0 {
			return fmt.Errorf("images of %d x %d are not whole patches of %d x %d; sides of %d or %d are",
				o.Input.H, o.Input.W, t.patch, t.patch, max(1, side/t.patch)*t.patch, (side/t.patch+1)*t.patch)
		}
	}
	switch {
	case o.Padding != PaddingDefault:
		return fmt.Errorf("a transformer has no padding %q", o.Padding)
	case t.width%t.heads != 0:
		return fmt.Errorf("%d channels are not %d heads of whole channels", t.width, t.heads)
	case o.Pool == PoolGEM:
		return fmt.Errorf("a transformer has no pool %q", o.Pool)
	case t.kind == siglip && o.Pool == PoolClass:
		return fmt.Errorf("pool %q: it has no class token", o.Pool)
	case t.kind == siglip && o.Registers > 0:
		return fmt.Errorf("registers %d: it has no tokens besides its positions", o.Registers)
	case t.kind.rotary() && t.width%(4*t.heads) != 0:
		return fmt.Errorf("%d channels are not %d heads with a multiple of 4 channels each", t.width, t.heads)
	}
	return nil
}

// layers builds it with timm's names.
func (t transformer) layers(o Options) ([]nn.Layer, error) {
	if err := t.check(o); err != nil {
		return nil, err
	}
	l := []nn.Layer{{Kind: nn.Conv, Name: "patch_embed.proj", Out: t.width, Kernel: t.patch, Stride: t.patch,
		NoBias: t.kind == clip}}
	if t.kind != siglip {
		l = append(l, nn.Layer{Kind: nn.Tokens, Name: "cls_token", Out: 1})
	}
	if !t.kind.rotary() {
		l = append(l, nn.Layer{Kind: nn.Positions, Name: "pos_embed"})
	}
	if t.registers > 0 {
		l = append(l, nn.Layer{Kind: nn.Tokens, Name: "reg_token", Out: t.registers, At: 1})
	}
	norm := nn.Layer{Kind: nn.LayerNorm, Name: "norm", Eps: t.eps}
	if t.kind == clip {
		pre := norm
		pre.Name = "norm_pre"
		l = append(l, pre)
	}
	for i := range t.depth {
		l = append(l, t.block("blocks."+strconv.Itoa(i), o.DropPath*float64(i)/float64(max(1, t.depth-1)))...)
	}
	switch {
	case o.Pool == PoolMean && t.kind == siglip:
		l = append(l, norm, nn.Layer{Kind: nn.GlobalAvgPool})
	case o.Pool == PoolMean:
		l = append(l, norm, nn.Layer{Kind: nn.GlobalAvgPool, At: 1 + t.registers})
	case t.kind == siglip:
		l = append(append(l, norm), t.attentionPool()...)
	default:
		l = append(l, nn.Layer{Kind: nn.TakeToken}, norm)
	}
	end := head(o, "head", nn.InitTruncated)
	for i := range end {
		end[i].NoBias = t.kind == clip && end[i].Kind == nn.Dense
	}
	return append(l, end...), nil
}

func linear(name string, out int) nn.Layer {
	return nn.Layer{Kind: nn.Linear, Name: name, Out: out, Init: nn.InitTruncated}
}

// block is attention and a perceptron, each with its norm before and its residual
// sum behind.
func (t transformer) block(name string, drop float64) []nn.Layer {
	residual := func(n string, layers ...nn.Layer) nn.Layer {
		l := append([]nn.Layer{{Kind: nn.LayerNorm, Name: "norm" + n, Eps: t.eps}}, layers...)
		if t.scale != 0 {
			l = append(l, nn.Layer{Kind: nn.Scale, Name: "ls" + n + ".gamma", Start: t.scale})
		}
		if drop > 0 {
			l = append(l, nn.Layer{Kind: nn.StochasticDepth, Rate: drop})
		}
		return nn.Layer{Kind: nn.Residual, Name: name, Layers: l}
	}
	qkv := linear("attn.qkv", 3*t.width)
	attend := []nn.Layer{qkv, {Kind: nn.Attention, Heads: t.heads}, linear("attn.proj", t.width)}
	if t.kind.rotary() {
		qkv.NoKeyBias = true
		attend = []nn.Layer{qkv, {Kind: nn.Rotary, Heads: t.heads}, attend[1], attend[2]}
	}
	return []nn.Layer{residual("1", attend...), residual("2", t.perceptron()...)}
}

// perceptron is the two layers behind attention, or SwiGLU.
func (t transformer) perceptron() []nn.Layer {
	act := nn.Layer{Kind: t.act}
	first := []nn.Layer{linear("mlp.fc1", t.hidden), act}
	if t.kind == gated {
		first = []nn.Layer{{Kind: nn.Multiply, Layers: []nn.Layer{linear("mlp.fc1_g", t.hidden), act},
			Shortcut: []nn.Layer{linear("mlp.fc1_x", t.hidden)}}}
	}
	return append(first, linear("mlp.fc2", t.width))
}

// attentionPool makes one vector of all positions.
func (t transformer) attentionPool() []nn.Layer {
	perceptron := append([]nn.Layer{{Kind: nn.LayerNorm, Name: "norm", Eps: t.eps}}, t.perceptron()...)
	return []nn.Layer{
		linear("attn_pool.kv", 2*t.width),
		{Kind: nn.AttentionPool, Name: "attn_pool", Heads: t.heads, Init: nn.InitTruncated},
		linear("attn_pool.proj", t.width),
		{Kind: nn.Residual, Name: "attn_pool", Layers: perceptron},
	}
}
