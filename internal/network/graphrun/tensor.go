package graphrun

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Tensor holds values in row-major order: floating-point ones in Floats, integers and truths
// in Ints. The other is nil.
type Tensor struct {
	Shape  []int
	Floats []float32
	Ints   []int64

	typ  onnx.DataType
	list []*Tensor // of a sequence, which has no values of its own
	used *int      // of a sequence: how much of the memory of list is in use, by this sequence or longer ones
	last bool      // of an image: the values lie as N x H x W x C, whatever Shape says
	mem  *memory
}

// memory is what the values of tensors lie in. Several tensors may share it.
type memory struct {
	floats []float32
	ints   []int64
	refs   int
	own    bool // it goes back to the pool when nothing refers to it any more
}

// maxAxes bounds the axes of a tensor.
const maxAxes = 64

// length multiplies the sides of a shape. What memory cannot hold is an error.
func length(shape []int) (int, error) {
	if len(shape) > maxAxes {
		return 0, fmt.Errorf("a tensor has %d axes: at most %d are supported", len(shape), maxAxes)
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %d is not valid: a side is negative, or it is too large", shape)
		}
		n = budget.Product(n, int64(d))
	}
	if err := budget.Check(fmt.Sprintf("a tensor of %d", shape), budget.Product(n, 4)); err != nil {
		return 0, err
	}
	return int(n), nil
}

// size multiplies sides that length has let through.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (t *Tensor) len() int { return max(len(t.Floats), len(t.Ints)) }

func (t *Tensor) isFloat() bool { return t.typ.IsFloat() }

// value is the value at an offset, of either kind.
func (t *Tensor) value(i int) float64 {
	if t.isFloat() {
		return float64(t.Floats[i])
	}
	return float64(t.Ints[i])
}

// constantOf converts a tensor of a model, whose memory it does not share.
func constantOf(t *onnx.Tensor) (*Tensor, error) {
	out := &Tensor{Shape: make([]int, len(t.Shape)), typ: t.Type, mem: &memory{}}
	for i, d := range t.Shape {
		if d > math.MaxInt32 {
			return nil, fmt.Errorf("shape %d is not valid: a side is negative, or it is too large", t.Shape)
		}
		out.Shape[i] = int(d)
	}
	if _, err := length(out.Shape); err != nil {
		return nil, err
	}
	var err error
	if t.Type.IsFloat() {
		out.typ = onnx.Float32
		out.Floats, err = t.Float32s()
	} else {
		out.Ints, err = t.Int64s()
	}
	return out, err
}

func floatsOf(shape []int, v []float32) *Tensor {
	return &Tensor{Shape: shape, Floats: v, typ: onnx.Float32, mem: &memory{}}
}

func intsOf(shape []int, v []int64) *Tensor {
	return &Tensor{Shape: shape, Ints: v, typ: onnx.Int64, mem: &memory{}}
}

// integers are the values of a tensor of integers.
func (t *Tensor) integers() []int64 {
	if t.isFloat() {
		fail("floating-point numbers stand where integers are expected")
	}
	return t.Ints
}

// only is the value of a tensor of one integer or boolean.
func (t *Tensor) only(what string) int64 {
	if t.isFloat() || len(t.Ints) != 1 {
		fail("%s is not a single integer", what)
	}
	return t.Ints[0]
}

// sides are the values of a tensor of integers as a shape.
func (t *Tensor) sides() []int {
	v := t.integers()
	if len(v) > maxAxes {
		fail("a tensor has %d axes: at most %d are supported", len(v), maxAxes)
	}
	shape := make([]int, len(v))
	for i, d := range v {
		if d < 0 || d > math.MaxInt32 {
			fail("shape %d is not valid: a side is negative, or it is too large", v)
		}
		shape[i] = int(d)
	}
	return shape
}

// pool keeps the memory that no tensor uses, by its length.
type pool struct {
	floats, ints map[int][]*memory
	live, peak   int64 // bytes in use; the most there were
	held         int64 // bytes in use and kept
	most         int64 // that held may be
}

func newPool() *pool {
	return &pool{floats: map[int][]*memory{}, ints: map[int][]*memory{}, most: budget.Limit()}
}

// empty forgets what nobody uses.
func (p *pool) empty() {
	clear(p.floats)
	clear(p.ints)
	p.held = p.live
}

// take returns memory for n values, whose content is undefined.
func (p *pool) take(n int, float bool) (*memory, error) {
	kept, bytes := p.ints, 8*int64(n)
	if float {
		kept, bytes = p.floats, 4*int64(n)
	}
	if list := kept[n]; len(list) > 0 {
		m := list[len(list)-1]
		kept[n] = list[:len(list)-1]
		p.live += bytes
		p.peak = max(p.peak, p.live)
		m.refs = 0
		return m, nil
	}
	if p.held+bytes > p.most {
		p.empty()
	}
	if p.held+bytes > p.most {
		return nil, &budget.Error{What: "the values that the model computes from one input", Need: p.held + bytes,
			Limit: p.most}
	}
	p.live, p.held = p.live+bytes, p.held+bytes
	p.peak = max(p.peak, p.live)
	m := &memory{own: true}
	if float {
		m.floats = make([]float32, n)
	} else {
		m.ints = make([]int64, n)
	}
	return m, nil
}

// give takes memory back.
func (p *pool) give(m *memory) {
	if m.floats != nil {
		p.live -= 4 * int64(len(m.floats))
		p.floats[len(m.floats)] = append(p.floats[len(m.floats)], m)
		return
	}
	p.live -= 8 * int64(len(m.ints))
	p.ints[len(m.ints)] = append(p.ints[len(m.ints)], m)
}

// newFloats makes a tensor whose values are undefined.
func (c *call) newFloats(shape []int) *Tensor {
	m := c.take(shape, true)
	return &Tensor{Shape: shape, Floats: m.floats, typ: onnx.Float32, mem: m}
}

// newInts is newFloats for integers of a type.
func (c *call) newInts(shape []int, typ onnx.DataType) *Tensor {
	m := c.take(shape, false)
	return &Tensor{Shape: shape, Ints: m.ints, typ: typ, mem: m}
}

// take returns memory for the values of a shape, which goes back to the pool unless a result lies in it.
func (c *call) take(shape []int, float bool) *memory {
	m := must(c.pool.take(must(length(shape)), float))
	c.fresh = append(c.fresh, m)
	return m
}

// newLike makes a tensor of the kind and type of t.
func (c *call) newLike(t *Tensor, shape []int) *Tensor {
	if t.isFloat() {
		return c.newFloats(shape)
	}
	return c.newInts(shape, t.typ)
}

// view is t with another shape, over the same values.
func (t *Tensor) view(shape []int) *Tensor {
	v := *t
	v.Shape = shape
	return &v
}

// contiguous returns t with its values in the order of its shape.
func (c *call) contiguous(t *Tensor) *Tensor {
	if t == nil || !t.last {
		return t
	}
	n, ch, area := t.Shape[0], t.Shape[1], t.Shape[2]*t.Shape[3]
	if ch == 1 || area == 1 {
		v := *t
		v.last = false
		return &v
	}
	out := c.newFloats(t.Shape)
	c.turn(out.Floats, t.Floats, n, area, ch)
	return out
}

// channelsLast returns an image of floating-point values with its channels last.
func (c *call) channelsLast(t *Tensor) *Tensor {
	if t.last {
		return t
	}
	n, ch, area := t.Shape[0], t.Shape[1], t.Shape[2]*t.Shape[3]
	if ch == 1 || area == 1 {
		v := *t
		v.last = true
		return &v
	}
	out := c.newFloats(t.Shape)
	c.turn(out.Floats, t.Floats, n, ch, area)
	out.last = true
	return out
}

// turn transposes n matrices of rows x cols.
func (c *call) turn(dst, src []float32, n, rows, cols int) {
	const band = 64
	bands := (rows + band - 1) / band
	c.runRanges(n*bands, rows*cols*n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			m, r := i/bands, i%bands*band
			few := min(band, rows-r)
			simd.Transpose(dst[m*rows*cols+r:], rows, src[m*rows*cols+r*cols:], cols, few, cols)
		}
	})
}

// transposeTo writes dst[i][j] = src[j*stride+i] for rows x cols values of dst.
func transposeTo(dst, src []float32, rows, cols, stride int) {
	simd.Transpose(dst, cols, src, stride, cols, rows)
}
