// Package scalar has the float32 parameters of a function, for the generators of all
// packages. avo's own Load fills registers of one number.
package scalar

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// At is where a parameter lies.
func At(name string) operand.Mem {
	p, err := build.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// Broadcast loads a parameter into all lanes of dst, which it returns.
func Broadcast(name string, dst reg.VecVirtual) reg.VecVirtual {
	build.VBROADCASTSS(At(name), dst)
	return dst
}
