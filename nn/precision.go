package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
)

// Precision is the arithmetic in which a network multiplies. Parameters, norms and
// gradients of parameters are float32 in both precisions.
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
)

// parsePrecision returns the precision of a name: "", float32 or bfloat16.
func parsePrecision(name string) (Precision, error) {
	switch name {
	case "", "float32":
		return Float32, nil
	case string(BFloat16):
		return BFloat16, nil
	}
	return Float32, fmt.Errorf("unknown precision %q; there are float32 and bfloat16", name)
}

// Fast tells whether this processor has instructions for the precision. Without them
// BFloat16 is slower than Float32.
func (p Precision) Fast() bool { return p != BFloat16 || bf16.Active() > bf16.Generic }
