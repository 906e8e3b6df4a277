package layout

import (
	"slices"
	"strings"
)

// A Kernel goes over matrices of the same shape, with vectors of one value a column and scalars
// for all. Lists of names are separated by spaces.
type Kernel struct {
	Name    string
	Doc     string // what follows the name
	Mats    string
	Vecs    string
	Scalars string
	Sums    string // columns' sums that the kernel leaves, if it is a reduction
}

// Pointers names the float32 pointers that a kernel over rows takes.
func (k *Kernel) Pointers() []string { return strings.Fields(k.Mats + " " + k.Vecs + " " + k.Sums) }

// Sizes names the first parameters of a kernel over rows. Rows of a reduction may lie further apart
// than they are long.
func (k *Kernel) Sizes() []string {
	if k.Sums == "" {
		return []string{"rows", "cols"}
	}
	return []string{"rows", "cols", "stride"}
}

// RowParams returns the parameters of a kernel over rows, and their names.
func (k *Kernel) RowParams() (params string, names []string) {
	return k.params(strings.Join(k.Sizes(), ", ")+" int", k.Sizes(), k.Pointers())
}

// PoolParams returns the parameters of a kernel over windows, and their names.
func (k *Kernel) PoolParams() (params string, names []string) {
	return k.params("n, c int, idx *uint8", []string{"n", "c", "idx"}, append([]string{"x0", "x1"}, k.Pointers()...))
}

func (k *Kernel) params(first string, names, pointers []string) (string, []string) {
	params := first + ", " + strings.Join(pointers, ", ") + " *float32"
	scalars := strings.Fields(k.Scalars)
	if len(scalars) > 0 {
		params += ", " + strings.Join(scalars, ", ") + " float32"
	}
	return params, slices.Concat(names, pointers, scalars)
}

// Rows are the kernels over rows; package simd says what each computes.
var Rows = []Kernel{
	{"scaleShift", "is y = clamp(a*x + b).", "y x", "a b", "lo hi", ""},
	{"scaleShiftAdd", "is y = clamp(a*x + b + z).", "y x z", "a b", "lo hi", ""},
	{"shift", "is y = clamp(x + b).", "y x", "b", "lo hi", ""},
	{"clamp", "is y = clamp(x).", "y x", "", "lo hi", ""},
	{"addClamp", "is y = clamp(x + z).", "y x z", "", "lo hi", ""},
	{"larger", "is y = max(x, z), NaN where either is.", "y x z", "", "", ""},
	{"mask", "clears dy where y is at a bound.", "dy y", "", "lo hi", ""},
	{"normGrad", "is dx = p*dy + q*(x - c) + r, 0 where x is at a bound.", "dx dy x", "p q r c", "lo hi", ""},
	{"columnSums", "sums columns.", "x", "", "", "sum"},
	{"columnMoments", "sums x - c and its square down columns.", "x", "c", "", "sum sq"},
	{"normSums", "clears dy where y is at a bound and sums dy and dy*(x - c) down columns.", "dy y x", "c", "lo hi",
		"sum dot"},
	{"normSumsLinear", "sums dy and dy*(x - c) down columns.", "dy x", "c", "", "sum dot"},
	{"normGradOf", "is dx = p*dy + q*(x - c) + r, dy taken as 0 where a*x + b is at a bound.", "dx dy x", "p q r c a b",
		"lo hi", ""},
	{"normSumsOf", "sums dy and dy*(x - c) down columns, dy taken as 0 where a*x + b is at a bound.", "dy x", "c a b",
		"lo hi", "sum dot"},
	{"axpy", "is y += a*x.", "y x", "", "a", ""},
	{"scale", "is y = a*x.", "y x", "", "a", ""},
	{"adam", "is a step of Adam.", "w grad mean sq", "", "decay shrink b1 b2 root eps step", ""},
	{"gate", "is y = x*sigmoid(a*x + b*x^3).", "y x", "", "a b", ""},
	{"gateGrad", "is gate's way back.", "dx dy x", "", "a b", ""},
	{"gelu", "is y = x times the normal distribution function of x.", "y x", "", "", ""},
	{"geluGrad", "is gelu's way back.", "dx dy x", "", "", ""},
	{"softmaxGrad", "is s = exp(s - less), dp = s*(dp - dot).", "s dp", "", "less dot", ""},
	{"hardSwish", "is y = x*min(max(x + 3, 0), 6)/6.", "y x", "", "", ""},
	{"hardSwishGrad", "is hardSwish's way back.", "dx dy x", "", "", ""},
}

// Pools are the kernels over the 2 x 2 windows of two rows of pixels. Mats have a pixel a window, x0 and
// x1 two.
var Pools = []Kernel{
	{"maxPool", "keeps the largest of each window.", "y", "", "", ""},
	{"maxPoolGrad", "gives dy to the largest of each window and 0 to the others.", "dy", "", "", ""},
	{"normMaxPool", "keeps the largest of each window's clamp(a*x + b).", "y", "a b", "lo hi", ""},
	{"normMaxPoolSums", "adds up dy and dy*(x - c), x each window's largest.", "dy y", "mean", "lo hi", "sum dot"},
	{"normMaxPoolGrad", "is NormGrad in place, dy given to each window's largest.", "dy y", "p q r mean",
		"lo hi inLo inHi", ""},
}

// The parameters of kernels.
const (
	LayerNormParams     = "rows, cols int, y, x, gamma, beta, stats *float32, eps, share float32"
	LayerNormGradParams = "rows, cols int, dx, dy, x, gamma, stats, dgamma, dbeta *float32, share, keep float32"
	ExpSumParams        = "n int, y, x *float32, less float32"
	MaxTapParams        = "n, c, step int, x, y *float32, idx *uint8, tap int"
	WinoFilterParams    = "n, tap, to int, src, dst *float32"
	WinoInputParams     = "n, c, row, pad, to int, src, dst *float32"
	WinoOutputParams    = "n, c, from, row int, src, dst *float32"
)
