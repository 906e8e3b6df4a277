package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
	"github.com/kindred-ml/kindred/internal/kernel/qgemm"
)

// Precision is the arithmetic in which a network multiplies. Parameters, norms and
// gradients of parameters are float32 in all precisions.
type Precision string

const (
	// Float32 rounds products and sums to float32. It is the zero value; its name is
	// also "float32".
	Float32 Precision = ""
	// BFloat16 rounds the operands of convolutions, of dense and linear layers and of
	// attention's products to bfloat16, forward and back, and sums their products in
	// float32: two to three significant digits, at several times the speed if the
	// processor has instructions for it (AMX, AVX512_BF16). Without these the same
	// rounding is slow; see Fast. Activations and their gradients are kept in bfloat16
	// between convolutions, and between them and batch norms. Depthwise convolutions,
	// and convolutions whose outputs sum fewer than 32 products, stay in float32.
	BFloat16 Precision = "bfloat16"
	// Int8 has Infer round weights and activations to 8 bits and sum their products in
	// 32 bits: convolutions, dense and linear layers, with the norm, residual and
	// activation that follow, maximum and global average pools. What flows between them
	// is bytes, each layer's with a scale that Options.Quantization has; the other
	// layers, training, and depthwise convolutions with a curved activation, compute in
	// float32. Weights have a scale for each output channel. Infer packs them when it is
	// first called and after Forward or SetState; whoever changes Param.Value otherwise
	// calls Repack. What the layers of 8 bits make is the same on every processor.
	Int8 Precision = "int8"
)

// parsePrecision returns the precision of a name; "" is float32.
func parsePrecision(name string) (Precision, error) {
	switch name {
	case "", "float32":
		return Float32, nil
	case string(BFloat16), string(Int8):
		return Precision(name), nil
	}
	return Float32, fmt.Errorf("unknown precision %q; there are float32, bfloat16 and int8", name)
}

// IsFast reports whether this processor has instructions for the precision. Without them
// BFloat16 is slower than Float32, and Int8 not faster.
func (p Precision) IsFast() bool {
	switch p {
	case BFloat16:
		return bf16.Active() > bf16.Generic
	case Int8:
		return qgemm.IsFast()
	}
	return true
}
