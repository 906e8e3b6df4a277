package graphrun

import (
	"github.com/kindred-ml/kindred/internal/base/budget"
)

// A graph may take minWork, which is twice the 500 GFLOP of a large image model, and more if every weight is
// used at every value of its input, as in convolutions, but at most maxWork.
const minWork, maxWork = 1 << 39, 1 << 42

// limitWork sets the limit on the work of one run from the weights that are there and the input.
func (p *Program) limitWork(shape []int) {
	weights, values := int64(0), int64(1)
	for _, v := range p.values {
		if v.constant != nil {
			weights = budget.Sum(weights, int64(v.constant.Len()))
		}
	}
	for _, d := range shape {
		values = budget.Product(values, int64(d))
	}
	p.run.MaxWork = min(max(budget.Product(weights, values), minWork), maxWork)
}
