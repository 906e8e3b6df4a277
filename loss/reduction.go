package loss

import "github.com/kindred-ml/kindred/internal/base/enum"

// Reduction turns the sum of a loss's terms into its value.
type Reduction uint8

// The reductions. The value of a batch without terms is 0.
const (
	DefaultReduction Reduction = iota // the one of the loss's definition
	Mean                              // sum / number of terms
	MeanActive                        // sum / number of terms that are not 0
	Sum
)

var reductionNames = enum.New[Reduction]("Reduction", "reduction", "default", "mean", "mean-active", "sum")

func (r Reduction) String() string { return reductionNames.Name(r) }

// ParseReduction returns the reduction with the given name, which may also be
// default.
func ParseReduction(name string) (Reduction, error) { return reductionNames.Parse(name) }

// MarshalText returns the reduction's name.
func (r Reduction) MarshalText() ([]byte, error) { return reductionNames.Marshal(r) }

// UnmarshalText reads a name.
func (r *Reduction) UnmarshalText(text []byte) error { return reductionNames.Unmarshal(r, text) }

// Or returns r, or def if r is the default.
func (r Reduction) Or(def Reduction) Reduction {
	if r == DefaultReduction {
		return def
	}
	return r
}

// Scale returns the factor by which the sum of terms is multiplied.
func (r Reduction) Scale(terms, active int) float64 {
	switch r {
	case Sum:
		return 1
	case MeanActive:
		return 1 / float64(max(active, 1))
	}
	return 1 / float64(max(terms, 1))
}
