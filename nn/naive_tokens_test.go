package nn_test

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/nn"
)

// sequenceLayer runs the layers of transformers by their definitions. Position p
// of an image is value p of each channel.
func (r *naive) sequenceLayer(l nn.Layer, w, b, own []float64, x *image) (y image, ok bool) {
	t := x.h * x.w
	switch l.Kind {
	case nn.Linear:
		y = newImage(l.Out, x.h, x.w)
		for k := range l.Out {
			for p := range t {
				if b != nil {
					y.v[k*t+p] = b[k]
				}
				for c := range x.c {
					y.v[k*t+p] += w[k*x.c+c] * x.v[c*t+p]
				}
			}
		}
	case nn.LayerNorm:
		y = newImage(x.c, x.h, x.w)
		eps := l.Eps
		if eps == 0 {
			eps = 1e-5
		}
		for p := range t {
			var mean, variance float64
			for c := range x.c {
				mean += x.v[c*t+p] / float64(x.c)
			}
			for c := range x.c {
				variance += (x.v[c*t+p] - mean) * (x.v[c*t+p] - mean) / float64(x.c)
			}
			for c := range x.c {
				y.v[c*t+p] = (x.v[c*t+p]-mean)/math.Sqrt(variance+eps)*w[c] + b[c]
			}
		}
	case nn.Attention:
		y = attentionOf(max(l.Heads, 1), x)
	case nn.Tokens:
		y = newImage(x.c, 1, t+l.Out)
		for c := range x.c {
			row := y.v[c*(t+l.Out):]
			copy(row, x.v[c*t:c*t+l.At])
			for i := range l.Out {
				row[l.At+i] = own[i*x.c+c]
			}
			copy(row[l.At+l.Out:], x.v[c*t+l.At:(c+1)*t])
		}
	case nn.TakeToken:
		y = newImage(x.c, 1, 1)
		for c := range x.c {
			y.v[c] = x.v[c*t+l.At]
		}
	case nn.Positions:
		y = newImage(x.c, x.h, x.w)
		for i, v := range x.v {
			y.v[i] = v + own[i%t*x.c+i/t]
		}
	default:
		return image{}, false
	}
	return y, true
}

func attentionOf(heads int, x *image) image {
	t, width := x.h*x.w, x.c/3
	dim := width / heads
	y := newImage(width, x.h, x.w)
	for h := range heads {
		at := func(which, c, p int) float64 { return x.v[(which*width+h*dim+c)*t+p] }
		for i := range t {
			weights, sum := make([]float64, t), 0.0
			for j := range weights {
				for c := range dim {
					weights[j] += at(0, c, i) * at(1, c, j) / math.Sqrt(float64(dim))
				}
				weights[j] = math.Exp(weights[j])
				sum += weights[j]
			}
			for j, p := range weights {
				for c := range dim {
					y.v[(h*dim+c)*t+i] += p / sum * at(2, c, j)
				}
			}
		}
	}
	return y
}

// tokenCases are the layers of transformers, alone and as they are fused.
func tokenCases() map[string]*nn.Spec {
	linear := func(name string, out int) nn.Layer { return nn.Layer{Kind: nn.Linear, Name: name, Out: out} }
	norm := func(name string) nn.Layer { return nn.Layer{Kind: nn.LayerNorm, Name: name, Eps: 1e-6} }
	attention := func(heads int) nn.Layer { return nn.Layer{Kind: nn.Attention, Heads: heads} }
	patches := nn.Layer{Kind: nn.Conv, Name: "patch", Out: 6, Kernel: 2, Stride: 2}
	class, registers := named(nn.Tokens, "cls"), nn.Layer{Kind: nn.Tokens, Name: "reg", Out: 2, At: 1}
	class.Out = 1
	positions, take := named(nn.Positions, "pos"), kind(nn.TakeToken)
	scale := func(name string) nn.Layer { return named(nn.Scale, name) }
	bare := nn.Layer{Kind: nn.Linear, Name: "bare", Out: 3, NoBias: true}
	attn := branch(nn.Residual, "attn", norm("n"), linear("qkv", 18), attention(2), linear("proj", 6))
	scaled := branch(nn.Residual, "attn", norm("n"), linear("qkv", 18), attention(3), linear("proj", 6), scale("ls"))
	mlp := branch(nn.Residual, "mlp", norm("n"), linear("fc1", 9), kind(nn.GELU), linear("fc2", 6))
	deepMLP := branch(nn.Residual, "mlp", norm("n"), linear("fc1", 9), kind(nn.QuickGELU), linear("fc2", 6),
		scale("ls"), deep(0.3))
	transformer := func(blocks ...nn.Layer) *nn.Spec {
		return caseOf(4, 6, 2, slices.Concat([]nn.Layer{patches, class, positions}, blocks,
			[]nn.Layer{norm("post"), take, dense("b", 2)})...)
	}
	return map[string]*nn.Spec{
		"linear":             caseTo(3, 4, 2, linear("l", 5)),
		"linear relu":        caseTo(3, 4, 2, linear("l", 5), kind(nn.ReLU)),
		"linear gelu linear": caseTo(3, 4, 2, linear("l", 5), kind(nn.GELU), bare),
		"linear scale":       caseTo(3, 4, 2, linear("l", 5), scale("s"), bare, scale("t")),
		"linear residual": caseTo(3, 4, 2, linear("x", 5), branch(nn.Residual, "r", linear("l", 5)),
			kind(nn.ReLU)),
		"linear on a vector":    caseOf(3, 4, 2, kind(nn.GlobalAvgPool), linear("l", 5), dense("b", 2)),
		"layer norm":            caseTo(3, 4, 5, linear("x", 4), norm("n"), linear("y", 3)),
		"layer norm first":      caseTo(3, 4, 5, norm("n"), norm("m")),
		"layer norm of vectors": caseOf(2, 3, 2, linear("x", 4), kind(nn.Flatten), norm("n"), dense("b", 2)),
		"layer norm branch":     caseTo(3, 4, 2, linear("x", 4), branch(nn.Residual, "r", norm("n")), norm("m")),
		"attention":             caseTo(2, 3, 4, linear("qkv", 12), attention(1)),
		"attention of heads":    caseTo(3, 3, 4, linear("qkv", 18), attention(3)),
		"attention first":       caseTo(2, 3, 6, attention(2)),
		"attention branch": caseTo(2, 3, 2, linear("x", 6), nn.Layer{Kind: nn.Residual, Name: "r",
			Layers: []nn.Layer{attention(2)}, Shortcut: []nn.Layer{bare, linear("z", 2)}}),
		"tokens":       caseOf(4, 6, 2, patches, class, positions, take, dense("b", 2)),
		"tokens first": caseOf(2, 2, 3, class, linear("l", 3), take, dense("b", 2)),
		"tokens and mean": caseOf(4, 6, 2, patches, positions, class, registers, norm("n"),
			nn.Layer{Kind: nn.GlobalAvgPool, At: 3}),
		"registers": caseOf(4, 6, 2, patches, class, positions, registers, attn,
			nn.Layer{Kind: nn.TakeToken, At: 2}),
		"transformer":        transformer(norm("pre"), attn, mlp),
		"transformer scaled": transformer(scaled, mlp),
		"transformer drops":  transformer(attn, deepMLP),
		"convnext": caseOf(4, 6, 2, linear("x", 4), branch(nn.Residual, "r",
			nn.Layer{Kind: nn.Conv, Name: "dw", Out: 4, Kernel: 7, Pad: 3, Groups: -1}, norm("n"), linear("fc1", 8),
			kind(nn.GELU), linear("fc2", 4), scale("gamma")), kind(nn.GlobalAvgPool), norm("post")),
	}
}
