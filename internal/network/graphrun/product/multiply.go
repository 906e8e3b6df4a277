package product

import (
	"math"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/graphrun/operator"
	"github.com/kindred-ml/kindred/internal/network/graphrun/tensor"
	"github.com/kindred-ml/kindred/matrix"
)

// matMulShape is the shape of a product x y of stacks of matrices, and that of the stack, to which both are broadcast.
func matMulShape(x, y []int) (shape, batch []int) {
	shape, batch, err := tensor.MatMulShape(x, y)
	return operator.Must(shape, err), batch
}

// Multiply multiplies the matrices of two tensors.
func Multiply(c *operator.Call, x, y *tensor.Tensor, turnX, turnY bool, alpha float32) *tensor.Tensor {
	xs, ys := tensor.TransposedShape(x.Shape, turnX), tensor.TransposedShape(y.Shape, turnY)
	shape, batch := matMulShape(xs, ys)
	out := c.NewFloats(shape)
	if out.Len() == 0 {
		return out
	}
	m, k, n := 1, xs[len(xs)-1], 1
	if len(xs) > 1 {
		m = xs[len(xs)-2]
	}
	if len(ys) > 1 {
		n = ys[len(ys)-1]
	}
	if k == 0 {
		clear(out.Floats)
		return out
	}
	at := batches(c, batch, xs, ys)
	work := 2 * len(out.Floats) * k
	c.Spend(len(out.Floats), k)
	c.Divide(len(at), work, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a, b := x.Floats[at[i][0]*m*k:][:m*k], y.Floats[at[i][1]*k*n:][:k*n]
			matrix.Gemm(turnX && len(xs) > 1, turnY && len(ys) > 1, alpha, DenseOf(a, m, k, turnX && len(xs) > 1),
				DenseOf(b, k, n, turnY && len(ys) > 1),
				0, DenseOf(out.Floats[i*m*n:(i+1)*m*n], m, n, false))
		}
	})
	return out
}

// DenseOf views values as a matrix of rows x cols or, if they are transposed, of cols x rows.
func DenseOf(v []float32, rows, cols int, turned bool) *matrix.Dense {
	if turned {
		rows, cols = cols, rows
	}
	return &matrix.Dense{Rows: rows, Cols: cols, Stride: cols, Data: v}
}

// batches lists, for each matrix of a product, which of the operands' it is made of.
func batches(c *operator.Call, batch, xs, ys []int) [][2]int {
	list := make([][2]int, 0, tensor.Size(batch))
	c.BroadcastEach(batch, [][]int{xs[:max(len(xs)-2, 0)], ys[:max(len(ys)-2, 0)]}, func(_ int, at []int) {
		list = append(list, [2]int{at[0], at[1]})
	})
	return list
}

// MultiplyIntegers computes products of integers exactly: in float32 over so few values that no sum
// needs more than its 24 bits, or, of large integers, one by one.
func MultiplyIntegers(c *operator.Call, x, y *tensor.Tensor, typ onnx.DataType) *tensor.Tensor {
	shape, batch := matMulShape(x.Shape, y.Shape)
	out := c.New(shape, typ)
	if out.Len() == 0 {
		return out
	}
	clear(out.Ints)
	m, k, n := 1, x.Shape[len(x.Shape)-1], 1
	if len(x.Shape) > 1 {
		m = x.Shape[len(x.Shape)-2]
	}
	if len(y.Shape) > 1 {
		n = y.Shape[len(y.Shape)-1]
	}
	c.Spend(operator.PlainWork, out.Len(), k)
	block := 1 << 24 / max(largest(x.Ints)*largest(y.Ints), 1)
	for i, at := range batches(c, batch, x.Shape, y.Shape) {
		a, b, to := x.Ints[at[0]*m*k:][:m*k], y.Ints[at[1]*k*n:][:k*n], out.Ints[i*m*n:(i+1)*m*n]
		if block < 8 {
			for r := range m {
				for p := range k {
					for j := range n {
						to[r*n+j] += a[r*k+p] * b[p*n+j]
					}
				}
			}
			continue
		}
		fa, fb, sum := matrix.New(m, k), matrix.New(k, n), matrix.New(m, n)
		for p, v := range a {
			fa.Data[p] = float32(v)
		}
		for p, v := range b {
			fb.Data[p] = float32(v)
		}
		for p := 0; p < k; p += int(block) {
			few := min(int(block), k-p)
			matrix.Gemm(false, false, 1, &matrix.Dense{Rows: m, Cols: few, Stride: k, Data: fa.Data[p:]},
				&matrix.Dense{Rows: few, Cols: n, Stride: n, Data: fb.Data[p*n:]}, 0, sum)
			for j, v := range sum.Data {
				to[j] += int64(v)
			}
		}
	}
	for i, v := range out.Ints {
		out.Ints[i] = tensor.Wrap(v, typ)
	}
	return out
}

// largest is the largest absolute value, at most 2^25.
func largest(v []int64) int64 {
	most := int64(0)
	for _, x := range v {
		most = max(most, x, -max(x, math.MinInt32))
	}
	return min(most, 1<<25)
}
