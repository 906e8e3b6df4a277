package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/kernel/bf16"
)

// Precision says in what arithmetic a network multiplies. Parameters, norms and
// gradients of parameters are float32 in either.
type Precision string

const (
	// Float32 rounds products and sums to float32: the zero value, and what "float32"
	// also names.
	Float32 Precision = ""
	// BFloat16 rounds the operands of convolutions, of dense and linear layers and of
	// attention's products to bfloat16, forward and back, and sums their products in
	// float32: two to three significant digits for several times the speed where the
	// processor has instructions for it (AMX, AVX512_BF16). Without them the same
	// rounding is done slowly; see Fast. Activations and their gradients are kept
	// in bfloat16 between convolutions, and between them and batch norms. Depthwise
	// convolutions, and those whose outputs sum fewer than 32 products, stay in float32.
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
	return Float32, fmt.Errorf("no precision %q: float32 or bfloat16", name)
}

// Fast tells whether this processor has instructions for the precision: without those
// BFloat16 is slower than Float32.
func (p Precision) Fast() bool { return p != BFloat16 || bf16.Active() > bf16.Generic }
