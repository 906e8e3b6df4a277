// Package x86 has what the generators of kernels for amd64 share, beside avo.
package x86

import (
	"go/types"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Begin begins a function that calls no other and keeps no pointer.
func Begin(name, signature string, doc ...string) {
	build.TEXT(name, attr.NOSPLIT, signature)
	build.Pragma("noescape")
	build.Doc(doc...)
}

// Return ends a function that used wide registers.
func Return() {
	build.VZEROUPPER()
	build.RET()
}

// Loop ends a loop: n counts what is left, down to 0.
func Loop(n operand.Op, label string) {
	build.DECQ(n)
	build.JNE(operand.LabelRef(label))
}

// Arg returns a new register with a parameter of 64 bits.
func Arg(name string) reg.GPVirtual {
	return build.Load(build.Param(name), build.GP64()).(reg.GPVirtual)
}

// LoadArgs loads parameters, whose names are separated by blanks, into registers.
func LoadArgs(names string, to ...reg.Register) {
	for i, name := range strings.Fields(names) {
		build.Load(build.Param(name), to[i])
	}
}

// At is where a parameter lies.
func At(name string) operand.Mem { return resolve(name).Addr }

// Broadcast loads a floating-point parameter into all lanes of dst, which it returns. avo's own Load
// fills registers of one number.
func Broadcast(name string, dst reg.VecVirtual) reg.VecVirtual {
	if p := resolve(name); p.Type.Kind() == types.Float64 {
		build.VBROADCASTSD(p.Addr, dst)
	} else {
		build.VBROADCASTSS(p.Addr, dst)
	}
	return dst
}

func resolve(name string) *gotypes.Basic {
	p, err := build.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p
}

// X returns register i of 128 bits.
func X(i int) reg.VecPhysical { return vectors[i].AsX().(reg.VecPhysical) }

// Y returns register i of 256 bits.
func Y(i int) reg.VecPhysical { return vectors[i].AsY().(reg.VecPhysical) }

// Z returns register i of 512 bits.
func Z(i int) reg.VecPhysical { return vectors[i] }

var vectors = [...]reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}
