package onnxnet

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn"
)

// What a stretch of operators computes is found by computing it: an exporter may
// spell GELU or a layer norm in many ways, but they have the same values.

// maxRegion bounds the operators of one activation or norm.
const maxRegion = 40

// run computes a region for a value of its start.
func (l *lifter) run(nodes []*node, from, to *value, x *tensor.Tensor, squeeze bool) (*tensor.Tensor, error) {
	known := map[*value]*tensor.Tensor{from: x}
	last := map[*value]int{} // the node that needs it last
	for i, n := range nodes {
		for _, v := range n.in {
			last[v] = i
		}
	}
	for k, n := range nodes {
		in := make([]*tensor.Tensor, len(n.in))
		for i, v := range n.in {
			switch {
			case v == nil:
			case v.known == nil:
				in[i] = known[v]
			case squeeze && v.known.Len() == 1: // a single number of whatever rank
				in[i] = v.known.View([]int{})
			default:
				in[i] = v.known
			}
		}
		out, err := l.g.compute(n, in)
		if err != nil {
			return nil, err
		}
		for i, v := range n.out {
			if i < len(out) {
				known[v] = out[i]
			}
		}
		for _, v := range n.in {
			if last[v] == k && v != to {
				delete(known, v)
			}
		}
	}
	if known[to] == nil {
		return nil, errors.New("nothing was computed")
	}
	return known[to], nil
}

// regionEnd is how far ahead of point i of a chain a region may reach that consists
// of nodes that ok allows, most at most.
func (l *lifter) regionEnd(s *layerChain, most int, ok func(*node) bool) int {
	j := s.i
	total := 0
	for j+1 < len(s.chain) {
		nodes := l.region(s.chain[j], s.chain[j+1])
		if total += len(nodes); total > most || !allNodes(nodes, ok) {
			break
		}
		j++
	}
	return j
}

func allNodes(nodes []*node, ok func(*node) bool) bool {
	for _, n := range nodes {
		if !ok(n) {
			return false
		}
	}
	return true
}

// activation lifts the longest stretch that is one of the activations.
func (l *lifter) activation(s *layerChain) (bool, error) {
	scalars := func(n *node) bool {
		if !isElementwise(n.Op) || n.Op == "Cast" && !castsToFloat(n.Node) {
			return false
		}
		for _, v := range n.in {
			if v != nil && v.known != nil && v.known.Len() != 1 {
				return false
			}
		}
		return true
	}
	for j := l.regionEnd(s, maxRegion, scalars); j > s.i; j-- {
		from, to := s.chain[s.i], s.chain[j]
		if !slices.Equal(from.shape, to.shape) {
			continue
		}
		grid := samples()
		y, err := l.run(l.region(from, to), from, to, grid, true)
		if err != nil || !y.IsFloat() || len(y.Floats) != len(grid.Floats) {
			continue
		}
		kind, ok := activationOf(grid.Floats, y.Floats)
		if !ok {
			continue
		}
		s.i = j
		if kind != "" {
			s.add(&layer{Layer: nn.Layer{Kind: kind}, from: to.by}, s.form)
		}
		return true, nil
	}
	return false, nil
}

// castsToFloat reports a Cast to floating-point numbers, which keeps what an activation computes.
func castsToFloat(n *onnx.Node) bool {
	to := n.Attr("to")
	return to == nil || onnx.DataType(min(max(to.Int, 0), 99)).IsFloat()
}

// samples are points at which the activations differ.
func samples() *tensor.Tensor {
	var v []float32
	for x := -12.0; x <= 12; x += 0.25 {
		v = append(v, float32(x))
	}
	v = append(v, -0.1, -0.01, 0.01, 0.1, 100, -100)
	return tensor.Floats([]int{len(v)}, v)
}

// activationOf finds the activation with the values y at x; "" means the identity.
func activationOf(x, y []float32) (nn.Kind, bool) {
	gate := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	hard := func(x float64) float64 { return min(max(x+3, 0), 6) / 6 }
	for _, known := range []struct {
		kind nn.Kind
		f    func(float64) float64
	}{
		{"", func(x float64) float64 { return x }},
		{nn.ReLU, func(x float64) float64 { return max(x, 0) }},
		{nn.ReLU6, func(x float64) float64 { return min(max(x, 0), 6) }},
		{nn.SiLU, func(x float64) float64 { return x * gate(x) }},
		{nn.Sigmoid, gate},
		{nn.HardSigmoid, hard},
		{nn.HardSwish, func(x float64) float64 { return x * hard(x) }},
		{nn.GELU, gelu},
		{nn.GELUTanh, geluTanh},
		{nn.QuickGELU, func(x float64) float64 { return x * gate(1.702*x) }},
	} {
		same := true
		for i := range x {
			v := float64(x[i])
			if !(math.Abs(known.f(v)-float64(y[i])) <= 1e-5*(1+math.Abs(v))) {
				same = false
				break
			}
		}
		if same {
			return known.kind, true
		}
	}
	return "", false
}

// normalization lifts the longest stretch that is a layer norm, with its weight
// and bias, or a division by the length.
func (l *lifter) normalization(s *layerChain) (bool, error) {
	reduces := false
	parts := func(n *node) bool {
		reduces = reduces || isReduction(n.Op)
		return isElementwise(n.Op) || isReduction(n.Op) || n.Op == "Expand"
	}
	f := s.form
	far := l.regionEnd(s, maxRegion, parts)
	if !reduces || !f.isSettled() || tensor.Size(s.chain[s.i].shape) != f.len() || f.c < 2 {
		return false, nil
	}
	for j := far; j > s.i; j-- {
		from, to := s.chain[s.i], s.chain[j]
		nodes := l.region(from, to)
		if !slices.Equal(from.shape, to.shape) || !slices.ContainsFunc(nodes,
			func(n *node) bool { return isReduction(n.Op) }) {
			continue
		}
		var x, y [3]*tensor.Tensor
		rng := rand.New(rand.NewPCG(1, uint64(f.len())))
		failed := false
		for k := range x {
			x[k] = tensor.Floats(from.shape, make([]float32, f.len()))
			for i := range x[k].Floats {
				x[k].Floats[i] = float32(rng.NormFloat64()) + float32(k)
				if k == 1 { // its mirror image, so that the norm of two channels differs too
					x[k].Floats[i] = 1 - x[0].Floats[i]
				}
			}
			var err error
			y[k], err = l.run(nodes, from, to, x[k], false)
			failed = failed || err != nil || len(y[k].Floats) != f.len()
		}
		if failed {
			continue
		}
		made := &layer{Layer: nn.Layer{Kind: nn.L2Normalize}}
		if !isUnit(x, y) {
			made = layerNormOf(f, x, y, smallNumbers(nodes))
		}
		if made == nil {
			continue
		}
		made.from, made.hint = to.by, nameHint(nodes)
		snapToConstants(made, nodes)
		s.i = j
		s.add(made, f)
		return true, nil
	}
	return false, nil
}

// mean lifts means over one axis after another that make a mean over all
// positions.
func (l *lifter) mean(s *layerChain) (bool, error) {
	f := s.form
	if s.chain[s.i+1].by.Op != "ReduceMean" || !f.isSettled() || f.positions() == 1 ||
		tensor.Size(s.chain[s.i].shape) != f.len() {
		return false, nil
	}
	far := l.regionEnd(s, 3, func(n *node) bool { return n.Op == "ReduceMean" })
	from := s.chain[s.i]
	x := tensor.Floats(from.shape, make([]float32, f.len()))
	rng := rand.New(rand.NewPCG(1, uint64(f.len())))
	want := make([]float64, f.c)
	for i := range x.Floats {
		x.Floats[i] = float32(rng.NormFloat64())
		_, c := f.place(i)
		want[c] += float64(x.Floats[i]) / float64(f.positions())
	}
	for j := s.i + 1; j <= far; j++ {
		y, err := l.run(l.region(from, s.chain[j]), from, s.chain[j], x, false)
		if err != nil {
			return false, err
		}
		if len(y.Floats) != f.c {
			continue
		}
		for c, v := range y.Floats {
			if math.Abs(float64(v)-want[c]) > 1e-5 {
				return false, nil
			}
		}
		s.i = j
		s.add(&layer{Layer: nn.Layer{Kind: nn.GlobalAvgPool}, from: s.chain[j].by}, imageLayout{first: true, h: 1, w: 1,
			c: f.c})
		return true, nil
	}
	return false, nil
}

// generalizedMean lifts (mean of max(x, eps)^p over positions)^(1/p).
func (l *lifter) generalizedMean(s *layerChain) (bool, error) {
	if s.i+4 >= len(s.chain) || !s.form.isSettled() || s.form.positions() == 1 {
		return false, nil
	}
	least, power := s.chain[s.i+1].by, s.chain[s.i+2].by
	eps, ok := lowerBound(least)
	p, isPower := exponent(power)
	if !ok || !isPower || !(p > 0) {
		return false, nil
	}
	for j := s.i + 4; j < len(s.chain); j++ {
		root, isPower := exponent(s.chain[j].by)
		if !isPower {
			continue
		}
		inner, err := l.sequence(s.chain[s.i+2], s.chain[j-1], s.form)
		if err != nil || math.Abs(root*p-1) > 1e-5 || len(inner.layers) != 1 ||
			inner.layers[0].Kind != nn.GlobalAvgPool || inner.layers[0].At != 0 {
			return false, nil
		}
		made := &layer{Layer: nn.Layer{Kind: nn.GEMPool, Eps: eps}, from: power, hint: nameHint([]*node{power})}
		made.set("", []int{1}, []float32{float32(p)})
		s.i = j
		s.add(made, inner.form)
		return true, nil
	}
	return false, nil
}

// lowerBound returns the positive number below which a node lets no value.
func lowerBound(n *node) (least float64, ok bool) {
	var several error // bounds that are not single numbers are none
	defer operator.Catch(&several)
	in := n.known()
	switch {
	case n.Op == "Clip" && len(n.sources()) == 1:
		lo, hi := (&operator.Call{Node: n.Node, In: in}).ClipBounds()
		return shortestFloat64(float32(lo)), lo > 0 && (math.IsInf(hi, 1) || hi >= math.MaxFloat32)
	case n.Op == "Max" && len(in) == 2:
		for _, a := range in {
			if a != nil && a.Len() == 1 {
				return shortestFloat64(float32(a.Value(0))), a.Value(0) > 0
			}
		}
	}
	return 0, false
}

// exponent returns the number that a node raises its input to.
func exponent(n *node) (float64, bool) {
	if n.Op != "Pow" || len(n.in) != 2 || n.in[0] == nil || n.in[0].known != nil || n.in[1] == nil ||
		n.in[1].known == nil || n.in[1].known.Len() != 1 {
		return 0, false
	}
	return n.in[1].known.Value(0), true
}

// snapToConstants replaces weights that were computed from values by the constants of the
// region that they come from, which are exact.
func snapToConstants(made *layer, nodes []*node) {
	for i := range made.params {
		p := &made.params[i]
		for _, n := range nodes {
			for _, v := range n.in {
				if v == nil || v.known == nil || !v.known.IsFloat() || v.known.Len() != len(p.values) {
					continue
				}
				same := true
				for k, w := range v.known.Floats {
					same = same && math.Abs(float64(w-p.values[k])) <= 1e-3*(1+math.Abs(float64(w)))
				}
				if same {
					p.values = slices.Clone(v.known.Floats)
				}
			}
		}
	}
}

// smallNumbers lists the constants of a region that may be an epsilon, and 0.
func smallNumbers(nodes []*node) []float32 {
	out := []float32{}
	for _, n := range nodes {
		for _, v := range n.in {
			if v != nil && v.known != nil && v.known.Len() == 1 && v.known.IsFloat() {
				if e := v.known.Floats[0]; e > 0 && e < 0.1 {
					out = append(out, e)
				}
			}
		}
	}
	return append(out, 0)
}

// nameHint is the name of the first initializer of a region with several values.
func nameHint(nodes []*node) string {
	for _, n := range nodes {
		for _, v := range n.in {
			if v != nil && v.tensor != nil && v.known.Len() > 1 {
				return v.name
			}
		}
	}
	return ""
}

// layerNormOf returns the layer norm over channels that gives y for x, or nil.
// Weight and bias follow from the first position of two trials.
func layerNormOf(f imageLayout, x, y [3]*tensor.Tensor, epsilons []float32) *layer {
	normal := func(k, p int, eps float64) []float64 {
		var mean, square float64
		out := make([]float64, f.c)
		for c := range out {
			out[c] = float64(x[k].Floats[f.offset(p, c)])
			mean += out[c] / float64(f.c)
		}
		for c := range out {
			out[c] -= mean
			square += out[c] * out[c] / float64(f.c)
		}
		for c := range out {
			out[c] /= math.Sqrt(square + eps)
		}
		return out
	}
	for _, eps := range epsilons {
		// Two trials in which a channel's value differs enough give its line.
		weight, bias := make([]float32, f.c), make([]float32, f.c)
		var n [3][]float64
		for k := range n {
			n[k] = normal(k, 0, float64(eps))
		}
		for c := range weight {
			i, k := 0, 1
			for _, p := range [][2]int{{0, 2}, {1, 2}} {
				if math.Abs(n[p[0]][c]-n[p[1]][c]) > math.Abs(n[i][c]-n[k][c]) {
					i, k = p[0], p[1]
				}
			}
			if !(math.Abs(n[i][c]-n[k][c]) > 1e-3) { // anything is a line through these
				return nil
			}
			o := f.offset(0, c)
			w := float64(y[i].Floats[o]-y[k].Floats[o]) / (n[i][c] - n[k][c])
			weight[c] = float32(w)
			bias[c] = float32(float64(y[i].Floats[o]) - w*n[i][c])
		}
		if holds(f, y, weight, bias, func(k, p int) []float64 { return normal(k, p, float64(eps)) }) {
			made := &layer{Layer: nn.Layer{Kind: nn.LayerNorm, Eps: shortestFloat64(eps)}}
			if eps == 0 {
				made.Eps = math.SmallestNonzeroFloat32
			}
			made.set("weight", []int{f.c}, weight)
			made.set("bias", []int{f.c}, bias)
			return made
		}
	}
	return nil
}

// holds reports whether y is weight times the normalised values plus bias, at all
// positions of all trials.
func holds(f imageLayout, y [3]*tensor.Tensor, weight, bias []float32,
	normal func(trial, position int) []float64) bool {
	for k := range y {
		for p := range f.positions() {
			for c, v := range normal(k, p) {
				want := v*float64(weight[c]) + float64(bias[c])
				got := float64(y[k].Floats[f.offset(p, c)])
				if !(math.Abs(want-got) <= 2e-4*(1+math.Abs(want)+math.Abs(float64(bias[c])))) {
					return false
				}
			}
		}
	}
	return true
}

// isUnit reports whether y is x divided by its length.
func isUnit(x, y [3]*tensor.Tensor) bool {
	for k := range x {
		var square float64
		for _, v := range x[k].Floats {
			square += float64(v) * float64(v)
		}
		for i, v := range x[k].Floats {
			if !(math.Abs(float64(v)/math.Sqrt(square)-float64(y[k].Floats[i])) <= 1e-4) {
				return false
			}
		}
	}
	return true
}
