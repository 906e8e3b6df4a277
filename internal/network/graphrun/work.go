package graphrun

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// The work of a run is counted in multiply-adds of a matrix product, which two cores make 5e10 of in a second. What
// takes about as long as several of them counts as several.
const (
	nodeWork  = 1 << 15 // of a node by itself
	moveWork  = 4       // of a value that a node takes or makes
	plainWork = 16      // of an operation outside of a product
	// A graph may take minWork, which is twice the 500 GFLOP of a large image model, and more if every weight is
	// used at every value of its input, as in convolutions, but at most maxWork.
	minWork, maxWork = 1 << 39, 1 << 42
)

// WorkError is the error of a graph whose run takes more work than is allowed. The error around it names the node.
type WorkError struct{ Limit int64 }

func (e *WorkError) Error() string {
	return fmt.Sprintf("with it the run takes more than %.1e multiply-adds, which are allowed for a model of this "+
		"size: give an input with fewer pixels, or a model with fewer rounds in its loops", float64(e.Limit))
}

// limitWork sets the limit on the work of one run from the weights that are there and the input.
func (p *Program) limitWork(shape []int) {
	weights, values := int64(0), int64(1)
	for _, v := range p.values {
		if v.constant != nil {
			weights = budget.Sum(weights, int64(v.constant.len()))
		}
	}
	for _, d := range shape {
		values = budget.Product(values, int64(d))
	}
	p.maxWork = min(max(budget.Product(weights, values), minWork), maxWork)
}

// spend counts work before it is done, and fails if it is too much.
func (c *call) spend(factors ...int) {
	n := int64(1)
	for _, f := range factors {
		n = budget.Product(n, int64(f))
	}
	c.work = budget.Sum(c.work, n)
	if c.maxWork > 0 && c.work > c.maxWork { // 0: Eval, which computes one node
		panic(failure{&WorkError{c.maxWork}})
	}
}
