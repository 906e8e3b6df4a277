package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is one vector width. Most kernels are written once against it.
type isa struct {
	suffix string
	lanes  int // float32 values in a register
	regs   int // vector registers
	rows   int // rows of the matrix-product tile; it is two registers wide
}

var (
	avx2   = isa{"AVX2", 8, 16, 6}
	avx512 = isa{"AVX512", 16, 32, 14}
)

func (v isa) wide() bool { return v.lanes == 16 }

func (v isa) bytes() int { return 4 * v.lanes }

// phys returns vector register i.
func (v isa) phys(i int) reg.VecPhysical {
	if v.wide() {
		return zs[i]
	}
	return ys[i]
}

// vec returns a virtual vector register.
func (v isa) vec() reg.VecVirtual {
	if v.wide() {
		return ZMM()
	}
	return YMM()
}

var zs = []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

var ys = []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

func (v isa) zero(r Op) {
	if v.wide() {
		VPXORD(r, r, r)
	} else {
		VXORPS(r, r, r)
	}
}
