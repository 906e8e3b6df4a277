package onnx

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// decoder counts the memory that the decoded structures take: a message of two
// bytes may become a structure of two hundred.
type decoder struct{ used, limit int64 }

// charge adds bytes that are about to be taken.
func (d *decoder) charge(bytes int) error {
	if d.used += int64(bytes); d.used > d.limit {
		return &budget.Error{What: "the parts of the model", Limit: d.limit}
	}
	return nil
}

// errForeign ends the messages about bytes that are no messages of the format.
var errForeign = errors.New("is this an ONNX model, and is it whole?")

// What the structures take in memory, about, while the lists that they are in grow and are copied.
const (
	nodeBytes   = 360
	attrBytes   = 450
	tensorBytes = 216
	valueBytes  = 144
	textBytes   = 48
)

// field is one field of a message: a number or, of type bytes, a text or message.
type field struct {
	number protowire.Number
	typ    protowire.Type
	n      uint64
	data   []byte
}

// forEachField calls f with the fields of a message in their order.
func forEachField(msg []byte, f func(field) error) error {
	for len(msg) > 0 {
		number, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return fmt.Errorf("not a message: %v (%w)", protowire.ParseError(n), errForeign)
		}
		msg = msg[n:]
		v := field{number: number, typ: typ}
		switch typ {
		case protowire.VarintType:
			v.n, n = protowire.ConsumeVarint(msg)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(msg)
			v.n = uint64(x)
		case protowire.Fixed64Type:
			v.n, n = protowire.ConsumeFixed64(msg)
		case protowire.BytesType:
			v.data, n = protowire.ConsumeBytes(msg)
		default:
			n = protowire.ConsumeFieldValue(number, typ, msg)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %v (%w)", number, protowire.ParseError(n), errForeign)
		}
		msg = msg[n:]
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// fields says what becomes of the fields of a message, by their numbers in the format's onnx.proto: a text, a number
// or a list of these goes where the pointer is; a function takes the field itself. Other fields are left out.
type fields map[protowire.Number]any

// message decodes the fields of a message.
func (d *decoder) message(msg []byte, to fields) error {
	return forEachField(msg, func(v field) error {
		switch to := to[v.number].(type) {
		case *string:
			return d.text(v, to)
		case *[]string:
			return d.addText(v, to)
		case *int64:
			return v.integer(to)
		case *[]int64:
			return d.integers(v, to)
		case func(field) error:
			return to(v)
		}
		return nil
	})
}

// checkType checks a field's type, which a file of another kind does not have.
func (v field) checkType(typ protowire.Type) error {
	if v.typ != typ {
		return fmt.Errorf("field %d is of another kind than the format says (%w)", v.number, errForeign)
	}
	return nil
}

// text sets s, of a field that holds a text.
func (d *decoder) text(v field, s *string) error {
	if err := errors.Join(v.checkType(protowire.BytesType), d.charge(len(v.data))); err != nil {
		return err
	}
	*s = string(v.data)
	return nil
}

func (d *decoder) addText(v field, list *[]string) error {
	var s string
	if err := errors.Join(d.text(v, &s), d.charge(textBytes)); err != nil {
		return err
	}
	*list = append(*list, s)
	return nil
}

func (v field) integer(n *int64) error {
	*n = int64(v.n)
	return v.checkType(protowire.VarintType)
}

// integers adds the values of a repeated integer field, packed or one by one.
func (d *decoder) integers(v field, list *[]int64) error {
	if v.typ == protowire.VarintType {
		*list = append(*list, int64(v.n))
		return d.charge(8)
	}
	if err := v.checkType(protowire.BytesType); err != nil {
		return err
	}
	count := 0
	for _, b := range v.data {
		if b < 0x80 { // the last byte of a number
			count++
		}
	}
	if err := d.charge(8 * count); err != nil {
		return err
	}
	for rest := v.data; len(rest) > 0; {
		x, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return fmt.Errorf("field %d: %v (%w)", v.number, protowire.ParseError(n), errForeign)
		}
		*list = append(*list, int64(x))
		rest = rest[n:]
	}
	return nil
}

// words adds the bytes of a repeated field of fixed size, packed or one by one.
// Packed ones, which may be most of the file, are not copied.
func (d *decoder) words(v field, size int, list *[]byte) error {
	one := protowire.Fixed32Type
	if size == 8 {
		one = protowire.Fixed64Type
	}
	if v.typ == one {
		*list = binary.LittleEndian.AppendUint64(*list, v.n)
		*list = (*list)[:len(*list)-8+size]
		return d.charge(size)
	}
	if err := v.checkType(protowire.BytesType); err != nil {
		return err
	}
	if len(v.data)%size != 0 {
		return fmt.Errorf("field %d: %d bytes are not a whole number of values of %d", v.number, len(v.data), size)
	}
	if len(*list) == 0 {
		*list = v.data[:len(v.data):len(v.data)]
		return nil
	}
	*list = append(*list, v.data...)
	return d.charge(len(v.data))
}

// elements decodes each message of a field into a new element of a list, which takes so many bytes.
func elements[T any](d *decoder, bytes int, list *[]T, decode func([]byte, *T) error) func(field) error {
	return func(v field) error {
		if err := errors.Join(v.checkType(protowire.BytesType), d.charge(bytes)); err != nil {
			return err
		}
		var x T
		if err := decode(v.data, &x); err != nil {
			return err
		}
		*list = append(*list, x)
		return nil
	}
}

// externalPlace says where a tensor's values lie if not in the model's own file.
type externalPlace struct {
	location       string
	offset, length int64 // length -1: to the end
}

// parsedModel is a model whose external tensors are not read yet: outside maps a
// tensor to the place of its values.
type parsedModel struct {
	Model
	externals map[*Tensor]externalPlace
	functions []function
	decoder   decoder
	depth     int // of the graph that is read, within others
}

func parse(data []byte) (*parsedModel, error) {
	p := &parsedModel{externals: map[*Tensor]externalPlace{}, decoder: decoder{limit: budget.Limit()}}
	d := &p.decoder
	if err := d.charge(len(data)); err != nil { // the model's bytes stay, since tensors refer to them
		return nil, err
	}
	m := &p.Model
	graphs := 0
	err := d.message(data, fields{1: &m.IRVersion, 2: &m.Producer, 3: &m.ProducerVersion, 4: &m.Domain, 5: &m.Version,
		6: &m.Doc, 7: func(v field) error {
			if graphs++; graphs > 1 {
				return errors.New("it holds more than one graph")
			}
			if err := v.checkType(protowire.BytesType); err != nil {
				return err
			}
			return p.graph(v.data, &m.Graph)
		},
		8: elements(d, valueBytes, &m.Opsets, func(msg []byte, o *Opset) error {
			return d.message(msg, fields{1: &o.Domain, 2: &o.Version})
		}),
		14: elements(d, textBytes, &m.Meta, d.entry), 25: elements(d, nodeBytes, &p.functions, p.function)})
	if err == nil && graphs == 0 {
		err = fmt.Errorf("it holds no graph (%w)", errForeign)
	}
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return p, nil
}

func (d *decoder) entry(msg []byte, e *Entry) error {
	return d.message(msg, fields{1: &e.Key, 2: &e.Value})
}

// maxDepth bounds the graphs within graphs, and the functions that call functions.
const maxDepth = 16

func (p *parsedModel) graph(msg []byte, g *Graph) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("graphs are nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	d := &p.decoder
	var outside []externalPlace // of the initializers, while their list still moves
	initializer := elements(d, tensorBytes, &g.Initializers, func(msg []byte, t *Tensor) error {
		return d.tensor(msg, t, &outside[len(outside)-1])
	})
	err := d.message(msg, fields{1: elements(d, nodeBytes, &g.Nodes, p.node), 2: &g.Name, 5: func(v field) error {
		outside = append(outside, externalPlace{})
		return initializer(v)
	}, 10: &g.Doc, 11: elements(d, valueBytes, &g.Inputs, d.value), 12: elements(d, valueBytes, &g.Outputs, d.value),
		13: elements(d, valueBytes, &g.Values, d.value), 15: func(field) error {
			return errors.New("it holds a sparse initializer, which is not read: store it densely")
		}})
	if err != nil {
		return err
	}
	for i, e := range outside {
		if e.location != "" {
			p.externals[&g.Initializers[i]] = e
		}
	}
	return nil
}

func (p *parsedModel) node(msg []byte, n *Node) error {
	d := &p.decoder
	err := d.message(msg, fields{1: &n.Inputs, 2: &n.Outputs, 3: &n.Name, 4: &n.Op,
		5: elements(d, attrBytes, &n.Attrs, p.attr), 7: &n.Domain})
	if err != nil {
		return fmt.Errorf("%s: %w", n, err)
	}
	return nil
}

func (p *parsedModel) attr(msg []byte, a *Attr) error {
	d := &p.decoder
	seen := AttrType(0) // by the fields, for models older than the field type
	err := forEachField(msg, func(v field) error {
		guess := func(t AttrType, err error) error {
			seen = t
			return err
		}
		switch v.number {
		case 1:
			return d.text(v, &a.Name)
		case 2:
			a.Float = math.Float32frombits(uint32(v.n))
			return guess(AttrFloat, v.checkType(protowire.Fixed32Type))
		case 3:
			return guess(AttrInt, v.integer(&a.Int))
		case 4:
			return guess(AttrString, d.text(v, &a.String))
		case 5:
			a.Tensor = new(Tensor)
			if err := errors.Join(v.checkType(protowire.BytesType), d.charge(tensorBytes)); err != nil {
				return err
			}
			var e externalPlace
			err := d.tensor(v.data, a.Tensor, &e)
			if e.location != "" {
				p.externals[a.Tensor] = e
			}
			return guess(AttrTensor, err)
		case 7:
			var raw []byte
			if err := errors.Join(d.words(v, 4, &raw), d.charge(len(raw))); err != nil {
				return err
			}
			for ; len(raw) > 0; raw = raw[4:] {
				a.Floats = append(a.Floats, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
			}
			return guess(AttrFloats, nil)
		case 6:
			a.Graph = new(Graph)
			if err := errors.Join(v.checkType(protowire.BytesType), d.charge(nodeBytes)); err != nil {
				return err
			}
			return guess(AttrGraph, p.graph(v.data, a.Graph))
		case 21:
			return d.text(v, &a.ref)
		case 8:
			return guess(AttrInts, d.integers(v, &a.Ints))
		case 9:
			return guess(AttrStrings, d.addText(v, &a.Strings))
		case 20:
			var t int64
			err := v.integer(&t)
			a.Type = AttrType(t)
			return err
		}
		return nil
	})
	a.Type = cmp.Or(a.Type, seen)
	switch a.Type {
	case AttrFloat, AttrInt, AttrString, AttrFloats, AttrInts, AttrStrings:
	case AttrTensor:
		if a.Tensor == nil && a.ref == "" && err == nil {
			err = errors.New("its type is tensor, but it holds no tensor")
		}
	case AttrGraph:
		if a.Graph == nil && a.ref == "" && err == nil {
			err = errors.New("its type is graph, but it holds no graph")
		}
	default:
		a.raw = msg
	}
	if err != nil {
		return fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	return nil
}

func (d *decoder) value(msg []byte, o *Value) error {
	shape := func(v field) error {
		o.Shape = []Dim{}
		return d.message(v.data, fields{1: elements(d, valueBytes, &o.Shape, d.dim)})
	}
	err := d.message(msg, fields{1: &o.Name, 2: func(v field) error { // TypeProto; its field 1 is the type of a tensor
		return d.message(v.data, fields{1: func(v field) error {
			return d.message(v.data, fields{1: func(v field) error { o.Type = DataType(v.n); return nil }, 2: shape})
		}})
	}})
	if err != nil {
		return fmt.Errorf("value %q: %w", o.Name, err)
	}
	return nil
}

func (d *decoder) dim(msg []byte, o *Dim) error {
	err := d.message(msg, fields{1: &o.Size, 2: &o.Name})
	o.Size = max(o.Size, 0) // some exporters write -1 for any
	return err
}

// tensor decodes a tensor and checks it, unless its values lie elsewhere.
func (d *decoder) tensor(msg []byte, t *Tensor, where *externalPlace) error {
	var raw, floats, doubles []byte
	var ints, longs, unsigned []int64
	isOutside := false
	where.length = -1
	err := d.message(msg, fields{1: &t.Shape, 2: func(v field) error {
		t.Type = DataType(v.n)
		return v.checkType(protowire.VarintType)
	}, 3: func(field) error {
		return errors.New("it is a segment of a larger tensor, which is not read")
	}, 4: func(v field) error {
		return d.words(v, 4, &floats)
	}, 5: &ints, 7: &longs, 8: &t.Name, 9: func(v field) error {
		raw = v.data
		return v.checkType(protowire.BytesType)
	}, 10: func(v field) error {
		return d.words(v, 8, &doubles)
	}, 11: &unsigned, 13: func(v field) error {
		return d.readLocation(v, where)
	}, 14: func(v field) error {
		isOutside = v.n == 1
		return v.checkType(protowire.VarintType)
	}})
	if err != nil {
		return fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	if isOutside {
		if where.location == "" {
			return fmt.Errorf("tensor %q: its values lie in another file that it does not name", t.Name)
		}
		return nil
	}
	where.location = ""
	switch {
	case len(raw) > 0:
		t.Data = raw
	case t.Type == Float32:
		t.Data = floats
	case t.Type == Float64:
		t.Data = doubles
	case t.Type == Int64:
		t.Data, err = d.narrow(longs, 8)
	case t.Type == Uint64 || t.Type == Uint32:
		t.Data, err = d.narrow(unsigned, t.Type.Size())
	case t.Type.Size() > 0:
		t.Data, err = d.narrow(ints, t.Type.Size())
	}
	if err != nil {
		return err
	}
	return t.check()
}

// narrow writes integers little endian with size bytes each.
func (d *decoder) narrow(values []int64, size int) ([]byte, error) {
	if err := d.charge(len(values) * size); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(values)*size+8)
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
		out = out[:len(out)-8+size]
	}
	return out, nil
}

// readLocation takes one line of a tensor's external_data.
func (d *decoder) readLocation(v field, where *externalPlace) error {
	var e Entry
	if err := errors.Join(v.checkType(protowire.BytesType), d.entry(v.data, &e)); err != nil {
		return err
	}
	number := func(to *int64) error {
		if _, err := fmt.Sscanf(e.Value, "%d", to); err != nil || *to < 0 {
			return fmt.Errorf("external_data: %s %q is not a number of bytes", e.Key, e.Value)
		}
		return nil
	}
	switch e.Key {
	case "location":
		where.location = e.Value
	case "offset":
		return number(&where.offset)
	case "length":
		return number(&where.length)
	}
	return nil
}
