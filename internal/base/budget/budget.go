// Package budget is the limit on memory of every reader and every plan: the size
// that a file's header, a compressed stream or a setting asks for is compared with
// it before memory is allocated.
//
// The limit is the Go runtime's soft memory limit where one is set (the
// variable GOMEMLIMIT, the command's flag --memory, debug.SetMemoryLimit), else
// half of the memory of the machine, its container or ulimit. It bounds each file,
// stream or plan separately. Only a Gate adds up what those need who work at a time.
package budget

import (
	"fmt"
	"math"
	"runtime/debug"
	"sync"
)

// defaultMemory is used where the memory of the machine is not known.
const defaultMemory = 4 << 30

// machineMemory is the memory of the machine in bytes, asked once.
var machineMemory = sync.OnceValue(func() int64 {
	if m := physicalMemory(); m > 0 {
		return m
	}
	return defaultMemory
})

// Limit returns the limit in bytes.
func Limit() int64 {
	if l := debug.SetMemoryLimit(-1); l != math.MaxInt64 { // -1 asks and sets nothing
		return l
	}
	return machineMemory() / 2
}

// Error says that something needs more memory than the limit.
type Error struct {
	What  string // what asked: a file, an array in it, a setting
	Need  int64  // bytes; 0 if all that is known is that they exceed the limit
	Limit int64
}

func (e *Error) Error() string {
	limit := Format(e.Limit) + ": raise --memory (or GOMEMLIMIT)"
	switch e.Need {
	case 0:
		return fmt.Sprintf("%s: needs more than the limit of %s", e.What, limit)
	case math.MaxInt64:
		return fmt.Sprintf("%s: needs more than 8 EiB, the limit is %s", e.What, limit)
	}
	return fmt.Sprintf("%s: needs %s, the limit is %s", e.What, Format(e.Need), limit)
}

// Check returns an *Error if need bytes are more than the limit.
func Check(what string, need int64) error {
	if l := Limit(); need > l {
		return &Error{What: what, Need: need, Limit: l}
	}
	return nil
}

// CheckProduct is Check for the product of counts and sizes; see Product.
func CheckProduct(what string, factors ...int64) error { return Check(what, Product(factors...)) }

// Product multiplies counts and sizes, which must not be negative: a product
// that int64 cannot hold, or a negative factor, gives math.MaxInt64, which no
// limit allows. Without factors it is 1.
func Product(factors ...int64) int64 {
	p := int64(1)
	for _, f := range factors {
		if f < 0 {
			return math.MaxInt64
		}
	}
	for _, f := range factors {
		if f == 0 {
			return 0
		}
	}
	for _, f := range factors {
		if p > math.MaxInt64/f {
			return math.MaxInt64
		}
		p *= f
	}
	return p
}

// Sum adds sizes: a sum that int64 cannot hold, or a negative term, gives
// math.MaxInt64.
func Sum(terms ...int64) int64 {
	var s int64
	for _, t := range terms {
		if t < 0 || s > math.MaxInt64-t {
			return math.MaxInt64
		}
		s += t
	}
	return s
}
