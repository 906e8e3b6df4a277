package onnxnet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/nn"
)

// lifter turns stretches of the graph into layers. It goes along the values that
// everything between two points runs through (dominators), and asks at each
// what the stretch to the next ones computes: the same operators in another order
// or spelling are the same layer.
type lifter struct {
	g     *graph
	above map[*value]*value // the dominator of a value: the last one that all it depends on runs through
	depth map[*value]int
	order map[*node]int
	nest  int
	steps int // that were lifted
}

func newLifter(g *graph) *lifter {
	l := &lifter{g: g, above: map[*value]*value{}, depth: map[*value]int{}, order: map[*node]int{}}
	for i, n := range g.nodes {
		l.order[n] = i
		var at *value
		for k, v := range n.sources() {
			if k == 0 {
				at = v
				continue
			}
			at = l.common(at, v)
		}
		for _, v := range n.out {
			l.above[v], l.depth[v] = at, l.depth[at]+1
		}
	}
	return l
}

// common returns the deepest value that both run through, or nil if there is no such value.
func (l *lifter) common(a, b *value) *value {
	for a != b {
		if a == nil || b == nil {
			return nil
		}
		if l.depth[a] < l.depth[b] {
			a, b = b, a
		}
		a = l.above[a]
	}
	return a
}

// chain lists the values that everything from one to the other runs through,
// both included.
func (l *lifter) chain(from, to *value) ([]*value, error) {
	var out []*value
	for v := to; v != from; v = l.above[v] {
		if v == nil {
			return nil, fmt.Errorf("%q is not computed from %q alone", to.name, from.name)
		}
		out = append(out, v)
	}
	out = append(out, from)
	slices.Reverse(out)
	return out, nil
}

// unknown returns the first unknown node among those that a value needs.
func (l *lifter) unknown(to *value) *node {
	var first *node
	seen := map[*node]bool{}
	var visit func(v *value)
	visit = func(v *value) {
		if v.by == nil || seen[v.by] {
			return
		}
		seen[v.by] = true
		if v.shape == nil && (first == nil || l.order[v.by] < l.order[first]) {
			first = v.by
		}
		for _, s := range v.by.sources() {
			visit(s)
		}
	}
	visit(to)
	return first
}

// region lists the nodes between two values of a chain in their order.
func (l *lifter) region(from, to *value) []*node {
	var out []*node
	seen := map[*node]bool{}
	var visit func(v *value)
	visit = func(v *value) {
		if v == from || v.by == nil || seen[v.by] {
			return
		}
		seen[v.by] = true
		for _, s := range v.by.sources() {
			visit(s)
		}
		out = append(out, v.by)
	}
	visit(to)
	return out
}

// endPoint is a point of a stretch up to which it is layers.
type endPoint struct {
	at     *value
	layers int // how many
	form   imageLayout
}

// layerChain is a sequence of layers under construction.
type layerChain struct {
	chain  []*value
	i      int // the point that is reached
	form   imageLayout
	layers []*layer
	marks  []endPoint
}

// maxNest bounds sums within sums, maxSteps the layers that are lifted: what several
// branches need is lifted for each.
const (
	maxNest  = 100
	maxSteps = 20_000
)

// sequence lifts what computes to from from, which lies as f says. On an error
// the stretch holds what was lifted.
func (l *lifter) sequence(from, to *value, f imageLayout) (*layerChain, error) {
	s := &layerChain{form: f}
	if l.nest++; l.nest > maxNest {
		return s, fmt.Errorf("sums are nested more than %d deep", maxNest)
	}
	defer func() { l.nest-- }()
	var err error
	if s.chain, err = l.chain(from, to); err != nil {
		if n := l.unknown(to); n != nil {
			return s, l.g.fail(n, errNoOperator)
		}
		return s, err
	}
	for s.i+1 < len(s.chain) {
		if l.steps++; l.steps > maxSteps {
			return s, fmt.Errorf("its branches need each other's values so often that it would take more than %d "+
				"layers", maxSteps)
		}
		s.marks = append(s.marks, endPoint{s.chain[s.i], len(s.layers), s.form})
		next := s.chain[s.i+1]
		if next.shape == nil {
			return s, l.g.fail(next.by, errNoOperator)
		}
		at := s.i
		if err := l.step(s); err != nil {
			return s, l.g.fail(s.chain[at+1].by, err)
		}
		if s.i == at {
			return s, l.g.fail(next.by, errNoOperator)
		}
	}
	s.marks = append(s.marks, endPoint{s.chain[s.i], len(s.layers), s.form})
	return s, nil
}

// step lifts the next layers of a stretch: what takes the most operators first. What it tries may fail as operators do.
func (l *lifter) step(s *layerChain) (err error) {
	defer operator.Catch(&err)
	for _, try := range []func(*layerChain) (bool, error){
		l.attention, l.generalizedMean, l.activation, l.normalization, l.mean, l.movement, l.tokens,
	} {
		if done, err := try(s); done || err != nil {
			return err
		}
	}
	n := s.chain[s.i+1].by
	if len(n.sources()) > 1 {
		return l.join(s, n)
	}
	l.operator(s, n)
	return nil
}

// add appends a layer, after which the values lie as f says.
func (s *layerChain) add(made *layer, f imageLayout) {
	s.layers = append(s.layers, made)
	s.form = f
}

// last is the layer before, nil at the start.
func (s *layerChain) last() *layer {
	if len(s.layers) == 0 {
		return nil
	}
	return s.layers[len(s.layers)-1]
}

// maxBranches bounds the branches of one Concat.
const maxBranches = 1024

// liftConcat lifts a Concat of the channels of branches.
func (l *lifter) liftConcat(s *layerChain, n *node) error {
	to := s.chain[s.i+1]
	if len(n.in) > maxBranches {
		return fmt.Errorf("it joins %d branches; at most %d are read", len(n.in), maxBranches)
	}
	for _, v := range n.in {
		if v == nil || v.known != nil {
			return fmt.Errorf("it joins constants with what is computed: %w", errNoOperator)
		}
	}
	made, f, err := l.branches(s.chain[s.i], n.in, s.form)
	if err != nil {
		return err
	}
	// The axis must be that of the channels.
	x := to.shape
	axis := l.g.call(n).Axis("axis", 0, len(x))
	before, after := tensor.Size(x[:axis]), tensor.Size(x[axis+1:])
	if tensor.Size(x) != f.len() || x[axis] != f.c || f.first && before != 1 || !f.first && after != 1 ||
		before*after != f.positions() {
		return fmt.Errorf("it joins along axis %d of %d, not the channels of %s", axis, x, f)
	}
	made.from = n
	s.i++
	s.add(made, f)
	return nil
}

// branches lifts what computes each of to from from. Neighbours that begin with the
// same layers are one branch that divides behind them.
func (l *lifter) branches(from *value, to []*value, start imageLayout) (*layer, imageLayout, error) {
	made := &layer{Layer: nn.Layer{Kind: nn.Concat}}
	var f imageLayout
	for i := 0; i < len(to); {
		at, n := to[i], 1
		for i+n < len(to) {
			c := l.common(at, to[i+n])
			if c == nil || c == from || l.depth[c] <= l.depth[from] {
				break
			}
			at, n = c, n+1
		}
		branch, err := l.sequence(from, at, start)
		if err != nil {
			return nil, f, err
		}
		b := branch.form
		if !b.isSettled() {
			return nil, f, errors.New("a branch of it begins or ends with padding or a part of the positions")
		}
		if n > 1 {
			inner, g, err := l.branches(at, to[i:i+n], b)
			if err != nil {
				return nil, f, err
			}
			branch.layers, b = append(branch.layers, inner), g
		}
		if i > 0 && (b.h != f.h || b.w != f.w || b.first != f.first && b.positions() > 1) {
			return nil, f, fmt.Errorf("its branches make %s and %s", f, b)
		}
		b.c += f.c
		f = b
		if len(branch.layers) == 1 {
			made.layers = append(made.layers, branch.layers[0])
		} else {
			made.layers = append(made.layers, &layer{Layer: nn.Layer{Kind: nn.Sequential}, layers: branch.layers})
		}
		i += n
	}
	return made, f, nil
}

// join lifts a sum or a product of two branches.
func (l *lifter) join(s *layerChain, n *node) error {
	if !s.form.isSettled() {
		return errors.New("its branches start with padding or a part of the positions, which layers here do not")
	}
	d := s.chain[s.i]
	if n.Op == "Concat" {
		return l.liftConcat(s, n)
	}
	if n.Op != "Add" && n.Op != "Mul" && n.Op != "Sum" || len(n.in) != 2 {
		return fmt.Errorf("it joins branches: networks here are sequences, sums and gates: %w", errNoOperator)
	}
	var branch [2]*layerChain
	for i, v := range n.in {
		var err error
		if branch[i], err = l.sequence(d, v, s.form); err != nil {
			return err
		}
		if !branch[i].form.isSettled() {
			return errors.New("a branch of it ends with padding or a part of the positions")
		}
	}
	a, b := branch[0], branch[1]
	made := &layer{Layer: nn.Layer{Kind: nn.Residual}, from: n}
	if n.Op == "Mul" {
		made.Kind = nn.Multiply
		if b.form.positions() == 1 && a.form.positions() > 1 || b.form.positions() == a.form.positions() &&
			len(a.layers) == 0 {
			a, b = b, a // a is the gate
		}
		if a.form.c != b.form.c || a.form.positions() != 1 && !a.form.equals(b.form) {
			return fmt.Errorf("its branches make %s and %s", a.form, b.form)
		}
	} else {
		if len(a.layers) < len(b.layers) {
			a, b = b, a // b is the shortcut
		}
		if !a.form.equals(b.form) {
			return fmt.Errorf("its branches make %s and %s", a.form, b.form)
		}
	}
	if tensor.Size(s.chain[s.i+1].shape) != b.form.len() {
		return fmt.Errorf("its branches make %s and %s, but it %d", a.form, b.form, s.chain[s.i+1].shape)
	}
	if len(a.layers) == 0 {
		return fmt.Errorf("none of its branches computes anything: %w", errNoOperator)
	}
	made.layers, made.shortcut = a.layers, b.layers
	s.i++
	s.add(made, b.form)
	return nil
}
