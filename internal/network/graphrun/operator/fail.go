package operator

import (
	"fmt"
)

// failure is the error of an operator on its way to the run of the node: operators and what they call fail by
// a panic with it, so that each check and each allocation is one line. Whoever computes a node catches it.
type failure struct{ error }

// Fail ends the computation of a node. Only the goroutine that runs the node may call it.
func Fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Must returns a value, and fails if there is an error instead.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check fails if there is an error.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Catch turns a failure into an error. It is deferred.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		panic(r)
	}
}
