package nn

import "fmt"

// sequentialLayer is the descriptor of layers one after the other, which is no node.
type sequentialLayer struct{ plain }

func (sequentialLayer) fields() []string { return []string{"layers"} }

func (sequentialLayer) add(g *graph, l *Layer, _, inner string, in int) (int, error) {
	return g.sequence(l.Layers, inner, in)
}

func (sequentialLayer) step(_ *compiler, i int) (step, int) { return nil, i }

// residualLayer is the descriptor of a sum of layers and their shortcut.
type residualLayer struct{ plain }

func (residualLayer) fields() []string { return []string{"layers", "shortcut"} }

func (k residualLayer) add(g *graph, l *Layer, path, inner string, in int) (int, error) {
	return g.join(k, l, path, inner, in, false)
}

func (residualLayer) kept(*graph, int) int64 { return 0 }

func (residualLayer) step(c *compiler, i int) (step, int) {
	return c.sum(i, c.ref(c.g.nodes[i].in()), nil)
}

// sum makes the step of the residual node i, with the activation that follows,
// over in, which drop, if any, leaves out at random.
func (c *compiler) sum(i int, in *tensorRef, drop *dropPath) (step, int) {
	n := &c.g.nodes[i]
	a := &addStep{path: n.path, in: in, short: c.ref(n.short()), drop: drop}
	last := i
	a.act, last = c.nextAct(i, activation.clamps)
	a.out = c.ref(c.g.nodes[last].out)
	a.out.needs = in.needs || a.short.needs
	return a, last
}

// multiplyLayer is the descriptor of a product of layers and their shortcut.
type multiplyLayer struct{ plain }

func (multiplyLayer) fields() []string { return []string{"layers", "shortcut"} }

func (k multiplyLayer) add(g *graph, l *Layer, path, inner string, in int) (int, error) {
	return g.join(k, l, path, inner, in, true)
}

func (multiplyLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.at(i)
	m := &mulStep{path: n.path, in: in, short: c.ref(n.short()), out: out}
	m.out.needs = m.short.needs
	return m, i
}

// join appends a shortcut, layers and what joins both values. With gate the layers
// may make one value a channel.
func (g *graph) join(kind descriptor, l *Layer, path, inner string, in int, gate bool) (int, error) {
	short, err := g.sequence(l.Shortcut, inner, in)
	if err != nil {
		return 0, err
	}
	out, err := g.sequence(l.Layers, inner, in)
	if err != nil {
		return 0, err
	}
	a, b := g.values[out], g.values[short]
	perChannel := gate && a.shape == Shape{1, 1, b.shape.C} && !b.flat
	if (a.shape != b.shape || a.flat != b.flat) && !perChannel {
		return 0, fmt.Errorf("layer %s (%s): its layers make %s but its shortcut %s", path, l.Kind, a.shape, b.shape)
	}
	if out == short {
		return 0, fmt.Errorf("layer %s (%s): neither its layers nor its shortcut compute anything", path, l.Kind)
	}
	return g.emit(node{kind: kind, given: l, layer: l, path: path, prefix: inner, from: []int{out, short}}, b), nil
}
