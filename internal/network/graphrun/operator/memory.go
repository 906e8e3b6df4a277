package operator

import (
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
)

// Clone copies a tensor out of the memory that is used again. What is copied so in one run counts
// towards the limit on memory.
func (c *Call) Clone(t *tensor.Tensor) *tensor.Tensor {
	c.collected = budget.Sum(c.collected, 4*int64(len(t.Floats)), 8*int64(len(t.Ints)), 128)
	if limit := c.Pool.Limit(); c.collected > limit {
		Check(&budget.Error{What: "what the model's loops and sequences collect", Need: c.collected, Limit: limit})
	}
	return t.Clone()
}

// NewFloats makes a tensor whose values are undefined.
func (c *Call) NewFloats(shape []int) *tensor.Tensor { return c.New(shape, onnx.Float32) }

// New is NewFloats for values of a type.
func (c *Call) New(shape []int, typ onnx.DataType) *tensor.Tensor {
	t := Must(c.Pool.New(shape, typ))
	c.fresh = append(c.fresh, t)
	return t
}

// NewLike makes a tensor of the type of t.
func (c *Call) NewLike(t *tensor.Tensor, shape []int) *tensor.Tensor { return c.New(shape, t.Type) }

// ReclaimUnheld gives the memory back of what the call made and nobody holds.
func (c *Call) ReclaimUnheld() {
	for _, t := range c.fresh {
		c.Pool.Reclaim(t)
	}
	c.fresh = nil
}

// Contiguous returns t with its values in the order of its shape.
func (c *Call) Contiguous(t *tensor.Tensor) *tensor.Tensor {
	if t == nil || !t.Last {
		return t
	}
	n, ch, area := t.Shape[0], t.Shape[1], t.Shape[2]*t.Shape[3]
	if ch == 1 || area == 1 {
		v := *t
		v.Last = false
		return &v
	}
	out := c.NewFloats(t.Shape)
	c.Turn(out.Floats, t.Floats, n, area, ch)
	return out
}

// ChannelsLast returns an image of floating-point values with its channels last.
func (c *Call) ChannelsLast(t *tensor.Tensor) *tensor.Tensor {
	if t.Last {
		return t
	}
	n, ch, area := t.Shape[0], t.Shape[1], t.Shape[2]*t.Shape[3]
	if ch == 1 || area == 1 {
		v := *t
		v.Last = true
		return &v
	}
	out := c.NewFloats(t.Shape)
	c.Turn(out.Floats, t.Floats, n, ch, area)
	out.Last = true
	return out
}

// Turn transposes n matrices of rows x cols.
func (c *Call) Turn(dst, src []float32, n, rows, cols int) {
	const band = 64
	bands := (rows + band - 1) / band
	c.RunRanges(n*bands, rows*cols*n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			m, r := i/bands, i%bands*band
			few := min(band, rows-r)
			simd.Transpose(dst[m*rows*cols+r:], rows, src[m*rows*cols+r*cols:], cols, few, cols)
		}
	})
}

// TransposeTo writes dst[i][j] = src[j*stride+i] for rows x cols values of dst.
func TransposeTo(dst, src []float32, rows, cols, stride int) {
	simd.Transpose(dst, cols, src, stride, cols, rows)
}
