// Package product has the operators of ONNX that multiply matrices: products of tensors, Einsum, attention, and
// products of integers.
package product

import "github.com/kindred-ml/kindred/internal/network/graphrun/operator"

// Table has the operators of this package. MatMul and Gemm are the program's, which keeps their weights packed.
var Table = map[string]operator.Operator{
	"Einsum": einsum, "Attention": attention, "RotaryEmbedding": rotary,
	"MatMulInteger": matMulInteger, "QLinearMatMul": qlinearMatMul,
}
