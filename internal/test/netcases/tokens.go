package netcases

import (
	"slices"

	"github.com/kindred-ml/kindred/nn"
)

// tokenCases returns the layers of transformers, alone and fused.
func tokenCases() map[string]*nn.Spec {
	linear := func(name string, out int) nn.Layer { return nn.Layer{Kind: nn.Linear, Name: name, Out: out} }
	norm := func(name string) nn.Layer { return nn.Layer{Kind: nn.LayerNorm, Name: name, Eps: 1e-6} }
	attention := func(heads int) nn.Layer { return nn.Layer{Kind: nn.Attention, Heads: heads} }
	causal := nn.Layer{Kind: nn.Attention, Heads: 2, Causal: true}
	rotary, rotary1 := nn.Layer{Kind: nn.Rotary, Heads: 2}, nn.Layer{Kind: nn.Rotary, Base: 10}
	pool := func(heads int, name string) nn.Layer {
		return nn.Layer{Kind: nn.AttentionPool, Name: name, Heads: heads}
	}
	patches := nn.Layer{Kind: nn.Conv, Name: "patch", Out: 6, Kernel: 2, Stride: 2}
	class, registers := newNamedLayer(nn.Tokens, "cls"), nn.Layer{Kind: nn.Tokens, Name: "reg", Out: 2, At: 1}
	class.Out = 1
	positions, take := newNamedLayer(nn.Positions, "pos"), newLayer(nn.TakeToken)
	scale := func(name string) nn.Layer { return newNamedLayer(nn.Scale, name) }
	bare := nn.Layer{Kind: nn.Linear, Name: "bare", Out: 3, NoBias: true}
	attn := branch(nn.Residual, "attn", norm("n"), linear("qkv", 18), attention(2), linear("proj", 6))
	scaled := branch(nn.Residual, "attn", norm("n"), linear("qkv", 18), attention(3), linear("proj", 6), scale("ls"))
	mlp := branch(nn.Residual, "mlp", norm("n"), linear("fc1", 9), newLayer(nn.GELU), linear("fc2", 6))
	deepMLP := branch(nn.Residual, "mlp", norm("n"), linear("fc1", 9), newLayer(nn.QuickGELU), linear("fc2", 6),
		scale("ls"), newDropPath(0.3))
	transformer := func(blocks ...nn.Layer) *nn.Spec {
		return newCase(4, 6, 2, slices.Concat([]nn.Layer{patches, class, positions}, blocks,
			[]nn.Layer{norm("post"), take, dense("b", 2)})...)
	}
	return map[string]*nn.Spec{
		"linear":             newDenseCase(3, 4, 2, linear("l", 5)),
		"linear relu":        newDenseCase(3, 4, 2, linear("l", 5), newLayer(nn.ReLU)),
		"linear gelu linear": newDenseCase(3, 4, 2, linear("l", 5), newLayer(nn.GELU), bare),
		"linear scale":       newDenseCase(3, 4, 2, linear("l", 5), scale("s"), bare, scale("t")),
		"linear residual": newDenseCase(3, 4, 2, linear("x", 5), branch(nn.Residual, "r", linear("l", 5)),
			newLayer(nn.ReLU)),
		"linear on a vector":    newCase(3, 4, 2, newLayer(nn.GlobalAvgPool), linear("l", 5), dense("b", 2)),
		"layer norm":            newDenseCase(3, 4, 5, linear("x", 4), norm("n"), linear("y", 3)),
		"layer norm first":      newDenseCase(3, 4, 5, norm("n"), norm("m")),
		"layer norm of vectors": newCase(2, 3, 2, linear("x", 4), newLayer(nn.Flatten), norm("n"), dense("b", 2)),
		"layer norm branch":     newDenseCase(3, 4, 2, linear("x", 4), branch(nn.Residual, "r", norm("n")), norm("m")),
		"attention":             newDenseCase(2, 3, 4, linear("qkv", 12), attention(1)),
		"attention of heads":    newDenseCase(3, 3, 4, linear("qkv", 18), attention(3)),
		"attention causal":      newDenseCase(2, 3, 4, linear("qkv", 12), causal),
		"rotary":                newDenseCase(2, 3, 4, linear("qkv", 24), rotary, attention(2)),
		"rotary first":          newDenseCase(2, 3, 12, rotary1),
		"rotary branch": newDenseCase(2, 3, 2, linear("x", 12), branch(nn.Residual, "r", rotary1),
			linear("y", 3)),
		"rotary of tokens": newCase(4, 6, 2, patches, class, registers, branch(nn.Residual, "attn", norm("n"),
			nn.Layer{Kind: nn.Linear, Name: "qkv", Out: 24, NoKeyBias: true}, rotary, attention(2), linear("proj", 6),
			scale("ls")), norm("post"), take, dense("b", 2)),
		"attention pool":       newCase(2, 3, 4, linear("kv", 12), pool(2, "p"), dense("b", 2)),
		"attention pool first": newCase(3, 5, 8, pool(4, "p"), linear("proj", 3)),
		"attention pool branch": newCase(2, 3, 2, linear("x", 8), nn.Layer{Kind: nn.Residual, Name: "r",
			Layers: []nn.Layer{pool(1, "p")}, Shortcut: []nn.Layer{pool(2, "q")}}, branch(nn.Residual, "mlp", norm("n"),
			linear("fc1", 5), newLayer(nn.GELUTanh), linear("fc2", 4))),
		"gated": newDenseCase(2, 3, 4, nn.Layer{Kind: nn.Multiply,
			Layers:   []nn.Layer{linear("gate", 6), newLayer(nn.SiLU)},
			Shortcut: []nn.Layer{linear("up", 6)}}, linear("down", 4)),
		"attention first": newDenseCase(2, 3, 6, attention(2)),
		"attention branch": newDenseCase(2, 3, 2, linear("x", 6), nn.Layer{Kind: nn.Residual, Name: "r",
			Layers: []nn.Layer{attention(2)}, Shortcut: []nn.Layer{bare, linear("z", 2)}}),
		"tokens":       newCase(4, 6, 2, patches, class, positions, take, dense("b", 2)),
		"tokens first": newCase(2, 2, 3, class, linear("l", 3), take, dense("b", 2)),
		"tokens and mean": newCase(4, 6, 2, patches, positions, class, registers, norm("n"),
			nn.Layer{Kind: nn.GlobalAvgPool, At: 3}),
		"registers": newCase(4, 6, 2, patches, class, positions, registers, attn,
			nn.Layer{Kind: nn.TakeToken, At: 2}),
		"transformer":        transformer(norm("pre"), attn, mlp),
		"transformer scaled": transformer(scaled, mlp),
		"transformer drops":  transformer(attn, deepMLP),
		"convnext": newCase(4, 6, 2, linear("x", 4), branch(nn.Residual, "r",
			nn.Layer{Kind: nn.Conv, Name: "dw", Out: 4, Kernel: 7, Pad: 3, Groups: -1}, norm("n"), linear("fc1", 8),
			newLayer(nn.GELU), linear("fc2", 4), scale("gamma")), newLayer(nn.GlobalAvgPool), norm("post")),
	}
}
