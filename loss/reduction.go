package loss

import "fmt"

// Reduction turns the sum of a loss's terms into its value.
type Reduction uint8

// The reductions. The value of a batch without terms is 0.
const (
	DefaultReduction Reduction = iota // what the loss's definition says
	Mean                              // sum / number of terms
	MeanActive                        // sum / number of terms that are not 0
	Sum
)

var reductionNames = [...]string{"default", "mean", "mean-active", "sum"}

// ReductionNames returns the names of the reductions other than the default.
func ReductionNames() []string { return append([]string(nil), reductionNames[1:]...) }

func (r Reduction) String() string {
	if int(r) < len(reductionNames) {
		return reductionNames[r]
	}
	return fmt.Sprintf("Reduction(%d)", uint8(r))
}

// ParseReduction returns the reduction with the given name.
func ParseReduction(name string) (Reduction, bool) {
	for i, s := range reductionNames[1:] {
		if s == name {
			return Reduction(i + 1), true
		}
	}
	return 0, false
}

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
