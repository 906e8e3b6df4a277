package onnx

import (
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// function is a node's computation that a model defines itself.
type function struct {
	name, domain    string
	inputs, outputs []string
	body            Graph
	defaults        []Attr // of its attributes
}

func (p *parsedModel) function(msg []byte, f *function) error {
	d := &p.decoder
	err := d.message(msg, fields{1: &f.name, 4: &f.inputs, 5: &f.outputs,
		7: elements(d, nodeBytes, &f.body.Nodes, p.node), 10: &f.domain,
		11: elements(d, attrBytes, &f.defaults, p.attr)})
	if err != nil {
		return fmt.Errorf("function %s: %w", escape.Quote(f.name), err)
	}
	return nil
}

// inlineFunctions puts the nodes of functions in the place of their calls.
func (p *parsedModel) inlineFunctions() error {
	if len(p.functions) == 0 {
		return nil
	}
	x := &inliner{p: p, known: map[[2]string]*function{}}
	for i := range p.functions {
		f := &p.functions[i]
		if err := f.body.sort(); err != nil {
			return fmt.Errorf("function %s: %w", escape.Quote(f.name), err)
		}
		x.known[[2]string{f.domain, f.name}] = f
	}
	nodes, err := x.nodes(p.Graph.Nodes, 0)
	p.Graph.Nodes = nodes
	return err
}

type inliner struct {
	p     *parsedModel
	known map[[2]string]*function
	calls int // so far; each gives the names of its values a number
}

// nodes expands the calls among nodes, and in the graphs of their attributes.
func (x *inliner) nodes(list []Node, depth int) ([]Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("functions call each other more than %d deep", maxDepth)
	}
	var out []Node
	for _, n := range list {
		if err := x.p.decoder.charge(nodeBytes + len(n.Attrs)*attrBytes); err != nil {
			return nil, err
		}
		for i := range n.Attrs {
			if g := n.Attrs[i].Graph; g != nil {
				inner := *g
				var err error
				if inner.Nodes, err = x.nodes(g.Nodes, depth+1); err != nil {
					return nil, err
				}
				n.Attrs[i].Graph = &inner
			}
		}
		f := x.known[[2]string{n.Domain, n.Op}]
		if f == nil {
			out = append(out, n)
			continue
		}
		body, err := x.call(f, &n)
		if err == nil {
			body, err = x.nodes(body, depth+1)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", &n, err)
		}
		out = append(out, body...)
	}
	return out, nil
}

// call returns the nodes of a function with the names and attributes of a call.
func (x *inliner) call(f *function, n *Node) ([]Node, error) {
	if len(n.Inputs) > len(f.inputs) || len(n.Outputs) > len(f.outputs) {
		return nil, fmt.Errorf("%d inputs and %d outputs for a function of %d and %d", len(n.Inputs), len(n.Outputs),
			len(f.inputs), len(f.outputs))
	}
	x.calls++
	prefix := fmt.Sprintf("%s.%d/", f.name, x.calls)
	r := &callNames{names: map[string]string{"": ""}, prefix: prefix, call: n, f: f, x: x}
	for i, name := range f.inputs {
		r.names[name] = ""
		if i < len(n.Inputs) {
			r.names[name] = n.Inputs[i]
		}
	}
	var copies []Node
	for i, name := range f.outputs {
		if i >= len(n.Outputs) || n.Outputs[i] == "" {
			continue
		}
		if given, ok := r.names[name]; ok { // an input that is returned, or one value twice
			copies = append(copies, Node{Op: "Identity", Inputs: []string{given}, Outputs: []string{n.Outputs[i]}})
			continue
		}
		r.names[name] = n.Outputs[i]
	}
	body, err := r.substitute(RenameValues(f.body.Nodes, r.name)) // the call's own attributes have its names already
	return append(body, copies...), err
}

// callNames gives the values of a function the names of one call.
type callNames struct {
	names  map[string]string
	prefix string
	call   *Node
	f      *function
	x      *inliner
}

func (r *callNames) name(s string) string {
	to, ok := r.names[s]
	if !ok {
		to = r.prefix + s
		r.names[s] = to
	}
	return to
}

// substitute returns nodes with the attributes of the call, in graphs within them too.
func (r *callNames) substitute(list []Node) ([]Node, error) {
	out := make([]Node, len(list))
	for i, n := range list {
		if err := r.x.p.decoder.charge(nodeBytes + len(n.Attrs)*attrBytes); err != nil {
			return nil, err
		}
		var attrs []Attr
		for _, a := range n.Attrs {
			made, ok, err := r.attr(a)
			if err != nil {
				return nil, err
			}
			if ok {
				attrs = append(attrs, made)
			}
		}
		n.Attrs = attrs
		out[i] = n
	}
	return out, nil
}

// attr is an attribute of a function's node in a call: one that stands for the call's is left out
// where the call has none and the function no default.
func (r *callNames) attr(a Attr) (Attr, bool, error) {
	if a.ref != "" {
		given := r.call.Attr(a.ref)
		if given == nil {
			i := slices.IndexFunc(r.f.defaults, func(d Attr) bool { return d.Name == a.ref })
			if i < 0 {
				return a, false, nil
			}
			given = &r.f.defaults[i]
		}
		made := *given
		made.Name = a.Name
		return made, true, nil
	}
	if a.Graph == nil {
		return a, true, nil
	}
	g := *a.Graph
	var err error
	g.Nodes, err = r.substitute(g.Nodes)
	a.Graph = &g
	return a, true, err
}

// RenameValues returns nodes whose values have other names, in graphs within them too. It leaves out what
// these graphs say about the values between.
func RenameValues(list []Node, name func(string) string) []Node {
	all := func(list []string) []string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = name(s)
		}
		return out
	}
	values := func(list []Value) []Value {
		list = slices.Clone(list)
		for i := range list {
			list[i].Name = name(list[i].Name)
		}
		return list
	}
	out := make([]Node, len(list))
	for i, n := range list {
		n.Inputs, n.Outputs, n.Attrs = all(n.Inputs), all(n.Outputs), slices.Clone(n.Attrs)
		for k := range n.Attrs {
			if n.Attrs[k].Graph == nil {
				continue
			}
			g := *n.Attrs[k].Graph
			g.Inputs, g.Outputs, g.Values = values(g.Inputs), values(g.Outputs), nil
			g.Initializers = slices.Clone(g.Initializers)
			for t := range g.Initializers {
				g.Initializers[t].Name = name(g.Initializers[t].Name)
			}
			g.Nodes = RenameValues(g.Nodes, name)
			n.Attrs[k].Graph = &g
		}
		out[i] = n
	}
	return out
}
