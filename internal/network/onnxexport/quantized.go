package onnxexport

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn"
)

// A network in 8 bits is written with QuantizeLinear and DequantizeLinear (QDQ): weights are
// constants of signed bytes with a scale for each output channel, activations pass through
// unsigned bytes with a zero point, and the operators between have float32. Programs such as
// ONNX Runtime replace an operator between the two by one of bytes.

// value writes what node i of the network makes, and what its stage computes along with it.
func (e *exporter) value(g *nn.Graph, i int, values []wire) (wire, error) {
	st := e.stages[i]
	if st == nil || st.Sum == nil {
		y, err := e.layer(&g.Nodes[i], values)
		if err == nil && st != nil && i == st.Nodes[len(st.Nodes)-1] && st.Out != nil {
			y.name = e.roundToBytes(y.name, *st.Out)
			e.bytes[i+1] = y.name
		}
		return y, err
	}
	if i != st.Nodes[0] { // written with the first
		return values[i], nil
	}
	return e.sum(g, st, values)
}

// sum writes a stage of bytes.
func (e *exporter) sum(g *nn.Graph, st *nn.Stage, values []wire) (wire, error) {
	n := g.Nodes[st.Nodes[0]]
	n.Layer = st.Sum.Layer
	u := newLayerWriter(e, &n, values)
	u.x.name = e.quantized(n.From[0], u.x.name, st.Sum.In)
	var y wire
	if n.Layer.Kind == nn.Conv {
		y = u.byteConv(st.Sum)
	} else {
		y = u.byteProduct(st.Sum)
	}
	last := st.Nodes[len(st.Nodes)-1]
	out := g.Nodes[last].Out
	y.h, y.w, y.c = out.H, out.W, out.C
	rounds := n.Layer.Kind == nn.Conv && st.Sum.Before != nil // products of matrices may stay float32
	for _, k := range st.Nodes[1:] {
		next := &g.Nodes[k]
		switch next.Kind {
		case nn.Conv, nn.BatchNorm, nn.Scale: // in the sum
			continue
		}
		if rounds && (next.Kind == nn.Residual || next.Kind != nn.ReLU && next.Kind != nn.ReLU6) {
			y.name, rounds = e.roundToBytes(y.name, *st.Sum.Before), false
		}
		with := make([]wire, len(g.Nodes)+1)
		copy(with, values)
		with[next.From[0]] = y
		var err error
		if y, err = e.layer(next, with); err != nil {
			return y, err
		}
		rounds = false
	}
	if st.Out != nil {
		y.name = e.roundToBytes(y.name, *st.Out)
		e.bytes[last+1] = y.name
	}
	return y, nil
}

// quantized returns the value v, named x, as one that has passed through bytes.
func (e *exporter) quantized(v int, x string, s nn.ByteScale) string {
	if e.bytes[v] == "" {
		e.bytes[v] = e.roundToBytes(x, s)
	}
	return e.bytes[v]
}

// roundToBytes writes the way through bytes.
func (e *exporter) roundToBytes(x string, s nn.ByteScale) string {
	scale, zero := e.number(float32(s.Unit)), e.zeroPoint(s.Zero)
	q := e.op(x, "QuantizeLinear", []string{x, scale, zero})
	return e.op(x, "DequantizeLinear", []string{q, scale, zero})
}

func (e *exporter) zeroPoint(zero uint8) string {
	return e.constant(onnx.Tensor{Name: "zero" + strconv.Itoa(int(zero)), Type: onnx.Uint8, Shape: []int64{},
		Data: []byte{zero}})
}

// constant adds a tensor, one for all of its name, and returns that.
func (e *exporter) constant(t onnx.Tensor) string {
	if !e.used[t.Name] {
		e.used[t.Name] = true
		e.initializers = append(e.initializers, t)
	}
	return t.Name
}

// filters are the weights and the bias of a sum in the units of ONNX.
type filters struct {
	q    []int8
	unit []float32
	bias []int32 // in units of unit times that of the input
}

// maxBias bounds a bias, so that its sum with the products fits 32 bits.
const maxBias = 1 << 30

// filtersOf fits a sum to what ONNX asks for: units above zero, and a bias that is an integer
// multiple of the products' unit. A channel whose bias is too large for that has larger
// units, in which its weights are rounded again: they hardly count.
func filtersOf(s *nn.ByteSum) *filters {
	channels := len(s.Unit)
	depth := len(s.Q) / channels
	f := &filters{q: make([]int8, len(s.Q)), unit: make([]float32, channels), bias: make([]int32, channels)}
	for k := range channels {
		unit := s.Unit[k]
		own := math.Max(math.Abs(unit), math.Abs(s.Offset[k])/maxBias)
		if own/s.In.Unit < 0x1p-120 {
			own = s.In.Unit
		}
		f.unit[k] = float32(own / s.In.Unit)
		own = float64(f.unit[k]) * float64(float32(s.In.Unit))
		f.bias[k] = int32(math.RoundToEven(s.Offset[k] / own))
		for i, q := range s.Q[k*depth : (k+1)*depth] {
			f.q[k*depth+i] = int8(math.RoundToEven(float64(q) * (unit / own)))
		}
	}
	return f
}

// weights adds the filters of the layer as constants, of the given shape in the order of
// ONNX, with the channels along axis.
func (u *layerWriter) weights(f *filters, shape []int64, axis int) string {
	path := u.n.Prefix + "weight"
	data := make([]byte, len(f.q))
	for i, v := range f.q {
		data[i] = byte(v)
	}
	channels := []int64{int64(len(f.unit))}
	q := u.constant(onnx.Tensor{Name: path + "_quantized", Type: onnx.Int8, Shape: shape, Data: data})
	scale := u.floats(path+"_scale", channels, f.unit)
	zero := u.constant(onnx.Tensor{Name: path + "_zero_point", Type: onnx.Int8, Shape: channels,
		Data: make([]byte, len(f.unit))})
	return u.op("DequantizeLinear", []string{q, scale, zero}, intAttr("axis", axis))
}

// bias adds the bias of the layer as bytes' sums have it.
func (u *layerWriter) bias(f *filters, in nn.ByteScale) string {
	path, channels := u.n.Prefix+"bias", []int64{int64(len(f.bias))}
	var data []byte
	scale := make([]float32, len(f.bias))
	for k, b := range f.bias {
		data = binary.LittleEndian.AppendUint32(data, uint32(b))
		scale[k] = f.unit[k] * float32(in.Unit)
	}
	q := u.constant(onnx.Tensor{Name: path + "_quantized", Type: onnx.Int32, Shape: channels, Data: data})
	return u.op("DequantizeLinear", []string{q, u.floats(path+"_scale", channels, scale), u.constant(onnx.Tensor{
		Name: path + "_zero_point", Type: onnx.Int32, Shape: channels, Data: make([]byte, 4*len(f.bias))})},
		intAttr("axis", 0))
}

// byteConv writes a convolution.
func (u *layerWriter) byteConv(s *nn.ByteSum) wire {
	x, l, f := u.convert(u.x, asImage), u.l, filtersOf(s)
	f.q = permuted(f.q, l.Out, l.Kernel*l.KernelW)
	depth := len(f.q) / l.Out / (l.Kernel * l.KernelW)
	w := u.weights(f, []int64{int64(l.Out), int64(depth), int64(l.Kernel), int64(l.KernelW)}, 0)
	return x.named(u.op("Conv", []string{x.name, w, u.bias(f, s.In)}, u.window(intAttr("group", l.Groups))...))
}

// permuted turns rows of positions x channels into rows of channels x positions.
func permuted(q []int8, rows, positions int) []int8 {
	to := make([]int8, len(q))
	n := len(q) / rows
	channels := n / positions
	for k := range rows {
		for p := range positions {
			for c := range channels {
				to[k*n+c*positions+p] = q[k*n+p*channels+c]
			}
		}
	}
	return to
}

// byteProduct writes a dense layer, or a linear one over tokens.
func (u *layerWriter) byteProduct(s *nn.ByteSum) wire {
	x, out, f := u.x, u.l.Out, filtersOf(s)
	if u.l.Kind == nn.Dense || x.h*x.w == 1 {
		f.q = permuted(f.q, out, x.h*x.w)
		x = u.convert(x, asVector)
		w := u.weights(f, []int64{int64(out), int64(len(f.q) / out)}, 0)
		x.name = u.op("Gemm", []string{x.name, w, u.bias(f, s.In)}, intAttr("transB", 1))
		return x
	}
	x = u.convert(x, asTokens)
	f.q = permuted(f.q, 1, out)
	w := u.weights(f, []int64{int64(x.c), int64(out)}, 1)
	x.name = u.op("MatMul", []string{x.name, w})
	bias := make([]float32, out)
	for k, b := range s.Offset {
		bias[k] = float32(b)
	}
	if len(u.n.Names) > 1 {
		x.name = u.op("Add", []string{x.name, u.floats(u.n.Prefix+"bias_sum", []int64{int64(out)}, bias)})
	}
	return x
}
