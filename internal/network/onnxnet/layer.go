package onnxnet

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// layer is a layer of the network under construction, with its weights.
type layer struct {
	nn.Layer
	params           []param
	from             *node  // that it stands for, for its name
	hint             string // the name of an initializer, if it is known
	layers, shortcut []*layer
}

// param is one tensor of a layer: "weight", "bias", or "" for one that is named
// as its layer.
type param struct {
	name   string
	shape  []int
	values []float32
}

func (l *layer) param(name string) *param {
	for i := range l.params {
		if l.params[i].name == name {
			return &l.params[i]
		}
	}
	return nil
}

func (l *layer) set(name string, shape []int, values []float32) {
	if p := l.param(name); p != nil {
		p.shape, p.values = shape, values
		return
	}
	l.params = append(l.params, param{name, shape, values})
}

// isWeighted tells layers whose outputs are weighted sums.
func (l *layer) isWeighted() bool {
	return l.Kind == nn.Conv || l.Kind == nn.Dense || l.Kind == nn.Linear
}

// affine multiplies every channel of a weighted layer's output by scale and adds
// shift; either may be nil.
func (l *layer) affine(scale, shift []float32) {
	w := l.param("weight")
	if scale != nil {
		n := len(w.values) / l.Out
		for i := range w.values {
			w.values[i] *= scale[i/n]
		}
		if b := l.param("bias"); b != nil {
			for i := range b.values {
				b.values[i] *= scale[i]
			}
		}
	}
	if shift == nil {
		return
	}
	if l.NoBias {
		l.NoBias = false
		l.set("bias", []int{l.Out}, make([]float32, l.Out))
	}
	b := l.param("bias")
	for i, v := range shift {
		b.values[i] += v
	}
}

// namer gives layers with parameters names that no other has.
type namer struct{ taken map[string]bool }

// name takes what the exporter called the weights ("layer1.0.conv1.weight"), else
// the node ("/layer1/layer1.0/conv1/Conv"), else the kind.
func (n *namer) name(l *layer) string {
	base := ""
	for _, end := range []string{".weight", ".kernel", "/kernel", ".bias", ".gamma", "_weight"} {
		if s, ok := strings.CutSuffix(l.hint, end); ok && len(l.params) > 1 || ok && l.params[0].name != "" {
			base = s
			break
		}
	}
	if base == "" && len(l.params) == 1 && l.params[0].name == "" {
		base = l.hint
	}
	if strings.Contains(base, "::") { // torch's names for weights without one: onnx::Conv_123
		base = ""
	}
	if base == "" && l.from != nil {
		base = scopePath(l.from.Name)
	}
	base = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == ':' || r == ' ':
			return '.'
		case r < ' ' || r > '~':
			return '_'
		}
		return r
	}, base), ".")
	for strings.Contains(base, "..") {
		base = strings.ReplaceAll(base, "..", ".")
	}
	if len(base) > 200 {
		base = ""
	}
	base = cmp.Or(base, string(l.Kind))
	name := base
	for i := 2; n.taken[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	n.taken[name] = true
	return name
}

// scopePath is the path that a node's name gives: blocks.0.mlp.fc1 for
// /blocks/blocks.0/mlp/fc1/MatMul.
func scopePath(name string) string {
	parts := strings.Split(strings.Trim(name, "/"), "/")
	var path []string
	for i, p := range parts[:len(parts)-1] {
		if i+1 < len(parts) && strings.HasPrefix(parts[i+1], p+".") {
			continue // the name of a list, which its elements repeat
		}
		path = append(path, p)
	}
	return strings.Join(path, ".")
}

// finish turns layers into a description's and lists their weights.
func (n *namer) finish(layers []*layer, weights *safetensors.File) []nn.Layer {
	var out []nn.Layer
	for _, l := range layers {
		made := l.Layer
		if len(l.params) > 0 {
			made.Name = n.name(l)
		}
		for _, p := range l.params {
			name := made.Name
			if p.name != "" {
				name += "." + p.name
			}
			weights.Tensors = append(weights.Tensors, safetensors.Float32(name, p.shape, p.values))
		}
		// The shortcut comes first, as in the order of execution.
		made.Shortcut = n.finish(l.shortcut, weights)
		made.Layers = n.finish(l.layers, weights)
		out = append(out, made)
	}
	return out
}

// shortestFloat64 returns the float64 with the shortest decimal form of a float32:
// 1e-5, not 9.99999974738e-06.
func shortestFloat64(v float32) float64 {
	x, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	return x
}

// describe lists kinds for a message.
func describe(layers []*layer) string {
	var kinds []string
	for _, l := range layers {
		kinds = append(kinds, string(l.Kind))
	}
	return fmt.Sprint(kinds)
}
