package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// irVersion is written where a model states none: that of opsets up to 18.
const irVersion = 8

// Write writes the model with all its weights into one file. It is an error if
// that exceeds the 2 GiB that the format allows, or if the model does not pass
// Check.
func (m *Model) Write(w io.Writer) error {
	if err := m.Check(); err != nil {
		return err
	}
	var e encoder
	ir := m.IRVersion
	ir = cmp.Or(ir, irVersion)
	e.integer(1, ir)
	e.text(2, m.Producer)
	e.text(3, m.ProducerVersion)
	e.text(4, m.Domain)
	e.integer(5, m.Version)
	e.text(6, m.Doc)
	e.message(7, func(e *encoder) { e.graph(&m.Graph) })
	for _, o := range m.Opsets {
		e.message(8, func(e *encoder) {
			e.text(1, o.Domain)
			e.integer(2, o.Version)
		})
	}
	for _, x := range m.Meta {
		e.message(14, func(e *encoder) {
			e.text(1, x.Key)
			e.text(2, x.Value)
		})
	}
	if e.size > math.MaxInt32 {
		return errors.New("onnx: the model exceeds the 2 GiB that the format allows in one file")
	}
	for _, piece := range e.pieces {
		if _, err := w.Write(piece); err != nil {
			return fmt.Errorf("onnx: %w", err)
		}
	}
	return nil
}

// encoder gathers a message as pieces: the values of tensors are among them as
// they are, not copied.
type encoder struct {
	pieces [][]byte
	size   int
}

func (e *encoder) add(b []byte) {
	e.pieces = append(e.pieces, b)
	e.size += len(b)
}

// integer writes a number unless it is 0, which is what its absence means.
func (e *encoder) integer(field protowire.Number, v int64) {
	if v != 0 {
		e.add(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), uint64(v)))
	}
}

func (e *encoder) text(field protowire.Number, s string) {
	if s != "" {
		e.item(field, s)
	}
}

// item writes a text of a list, the empty one too.
func (e *encoder) item(field protowire.Number, s string) {
	e.add(protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), s))
}

func (e *encoder) message(field protowire.Number, content func(*encoder)) {
	var inner encoder
	content(&inner)
	e.add(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.BytesType), uint64(inner.size)))
	e.pieces = append(e.pieces, inner.pieces...)
	e.size += inner.size
}

func (e *encoder) integers(field protowire.Number, values []int64) {
	if len(values) == 0 {
		return
	}
	var packed []byte
	for _, v := range values {
		packed = protowire.AppendVarint(packed, uint64(v))
	}
	e.add(protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), packed))
}

func (e *encoder) graph(g *Graph) {
	for i := range g.Nodes {
		e.message(1, func(e *encoder) { e.node(&g.Nodes[i]) })
	}
	e.text(2, g.Name)
	for i := range g.Initializers {
		e.message(5, func(e *encoder) { e.tensor(&g.Initializers[i]) })
	}
	e.text(10, g.Doc)
	for _, list := range []struct {
		field  protowire.Number
		values []Value
	}{{11, g.Inputs}, {12, g.Outputs}, {13, g.Values}} {
		for i := range list.values {
			e.message(list.field, func(e *encoder) { e.value(&list.values[i]) })
		}
	}
}

func (e *encoder) node(n *Node) {
	for _, s := range n.Inputs {
		e.item(1, s)
	}
	for _, s := range n.Outputs {
		e.item(2, s)
	}
	e.text(3, n.Name)
	e.text(4, n.Op)
	for i := range n.Attrs {
		a := &n.Attrs[i]
		if a.raw != nil {
			e.add(protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), a.raw))
			continue
		}
		e.message(5, func(e *encoder) { e.attr(a) })
	}
	e.text(7, n.Domain)
}

func (e *encoder) attr(a *Attr) {
	e.text(1, a.Name)
	float := func(field protowire.Number, v float32) {
		e.add(protowire.AppendFixed32(protowire.AppendTag(nil, field, protowire.Fixed32Type), math.Float32bits(v)))
	}
	switch a.Type {
	case AttrFloat:
		float(2, a.Float)
	case AttrInt:
		e.add(protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(a.Int)))
	case AttrString:
		e.item(4, a.String)
	case AttrTensor:
		e.message(5, func(e *encoder) { e.tensor(a.Tensor) })
	case AttrFloats:
		for _, v := range a.Floats {
			float(7, v)
		}
	case AttrInts:
		for _, v := range a.Ints { // one by one, as the format's own libraries write them
			e.add(protowire.AppendVarint(protowire.AppendTag(nil, 8, protowire.VarintType), uint64(v)))
		}
	case AttrGraph:
		e.message(6, func(e *encoder) { e.graph(a.Graph) })
	case AttrStrings:
		for _, v := range a.Strings {
			e.item(9, v)
		}
	}
	e.integer(20, int64(a.Type))
}

func (e *encoder) tensor(t *Tensor) {
	e.integers(1, t.Shape)
	e.integer(2, int64(t.Type))
	e.text(8, t.Name)
	e.add(protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.BytesType), uint64(len(t.Data))))
	e.add(t.Data)
}

func (e *encoder) value(v *Value) {
	e.text(1, v.Name)
	if v.Type == 0 {
		return
	}
	e.message(2, func(e *encoder) {
		e.message(1, func(e *encoder) {
			e.integer(1, int64(v.Type))
			if v.Shape == nil {
				return
			}
			e.message(2, func(e *encoder) {
				for _, d := range v.Shape {
					e.message(1, func(e *encoder) {
						e.integer(1, d.Size)
						e.text(2, d.Name)
					})
				}
			})
		})
	})
}
