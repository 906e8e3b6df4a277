package operator

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/par"
)

// The work of a run is counted in multiply-adds of a matrix product, which two cores make 5e10 of in a second. What
// takes about as long as several of them counts as several.
const (
	NodeWork  = 1 << 15 // of a node by itself
	MoveWork  = 4       // of a value that a node takes or makes
	PlainWork = 16      // of an operation outside of a product
)

// WorkError is the error of a graph whose run takes more work than is allowed. The error around it names the node.
type WorkError struct{ Limit int64 }

func (e *WorkError) Error() string {
	return fmt.Sprintf("with it the run takes more than %.1e multiply-adds, which are allowed for a model of this "+
		"size: give an input with fewer pixels, or a model with fewer rounds in its loops", float64(e.Limit))
}

// Spend counts work before it is done, and fails if it is too much.
func (c *Call) Spend(factors ...int) {
	n := int64(1)
	for _, f := range factors {
		n = budget.Product(n, int64(f))
	}
	c.Work = budget.Sum(c.Work, n)
	if c.MaxWork > 0 && c.Work > c.MaxWork {
		Check(&WorkError{c.MaxWork})
	}
}

// RunRanges cuts 0..n-1 into ranges and runs body on each, on all cores if the work, a number of
// simple operations, is worth it. The ranges depend on n alone.
func (c *Call) RunRanges(n, work int, body func(lo, hi int)) {
	c.Spend(PlainWork, work)
	c.Divide(n, work, body)
}

// Divide is RunRanges for work that has been counted.
func (c *Call) Divide(n, work int, body func(lo, hi int)) {
	const worth, parts = 1 << 15, 32
	if work < worth || n < 2 {
		body(0, n)
		return
	}
	par.For(n, (n+parts-1)/parts, body)
}
