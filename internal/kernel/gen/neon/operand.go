package neon

import "fmt"

// R is a general register.
type R int

// Stack is the stack pointer.
const Stack R = 31

// String is the register's name in Go's assembly.
func (r R) String() string {
	if r == Stack {
		return "RSP"
	}
	return fmt.Sprintf("R%d", int(r))
}

// X and W are the register, and its lower half, as operands of Op.
func (r R) X() Operand { return Operand{kind: general, reg: int(r), arr: "x"} }
func (r R) W() Operand { return Operand{kind: general, reg: int(r), arr: "w"} }

// V is a vector register.
type V int

// A whole register seen as lanes of bytes, of 16, 32 and 64 bits, or half of one.
func (v V) B16() Operand { return Operand{kind: vector, reg: int(v), arr: "16b"} }
func (v V) B8() Operand  { return Operand{kind: vector, reg: int(v), arr: "8b"} }
func (v V) H8() Operand  { return Operand{kind: vector, reg: int(v), arr: "8h"} }
func (v V) H4() Operand  { return Operand{kind: vector, reg: int(v), arr: "4h"} }
func (v V) S4() Operand  { return Operand{kind: vector, reg: int(v), arr: "4s"} }
func (v V) S2() Operand  { return Operand{kind: vector, reg: int(v), arr: "2s"} }
func (v V) D2() Operand  { return Operand{kind: vector, reg: int(v), arr: "2d"} }

// Its lowest 128, 64, 32, 16 and 8 bits.
func (v V) Q() Operand { return Operand{kind: scalar, reg: int(v), arr: "q"} }
func (v V) D() Operand { return Operand{kind: scalar, reg: int(v), arr: "d"} }
func (v V) S() Operand { return Operand{kind: scalar, reg: int(v), arr: "s"} }
func (v V) H() Operand { return Operand{kind: scalar, reg: int(v), arr: "h"} }
func (v V) B() Operand { return Operand{kind: scalar, reg: int(v), arr: "b"} }

// One lane of it.
func (v V) BLane(i int) Operand { return Operand{kind: lane, reg: int(v), arr: "b", n: i} }
func (v V) HLane(i int) Operand { return Operand{kind: lane, reg: int(v), arr: "h", n: i} }
func (v V) SLane(i int) Operand { return Operand{kind: lane, reg: int(v), arr: "s", n: i} }
func (v V) DLane(i int) Operand { return Operand{kind: lane, reg: int(v), arr: "d", n: i} }

// B4Lane is lane i of four bytes, as SDOT and UDOT take it.
func (v V) B4Lane(i int) Operand { return Operand{kind: lane, reg: int(v), arr: "4b", n: i} }

// Imm is a constant.
func Imm(n int) Operand { return Operand{kind: immediate, n: n} }

// At is memory so many bytes behind what a register points to.
func At(base R, off int) Operand { return Operand{kind: memory, reg: int(base), n: off} }

// Indexed is memory as many bytes behind it as another register says.
func Indexed(base, index R) Operand { return Operand{kind: indexed, reg: int(base), n: int(index)} }

// Post is memory that a register points to, which is then moved by so many bytes.
func Post(base R, by int) Operand { return Operand{kind: post, reg: int(base), n: by} }

type kind int

const (
	general kind = iota + 1
	vector
	scalar
	lane
	immediate
	memory
	indexed
	post
)

// Operand is an operand of Op.
type Operand struct {
	kind kind
	reg  int
	arr  string // the arrangement of lanes, or which part of a register
	n    int    // lane, constant, offset or index register
}

// String is the operand in Arm's notation.
func (o Operand) String() string {
	base := fmt.Sprintf("x%d", o.reg)
	if o.reg == int(Stack) {
		base = "sp"
	}
	switch o.kind {
	case general, scalar:
		return fmt.Sprintf("%s%d", o.arr, o.reg)
	case vector:
		return fmt.Sprintf("v%d.%s", o.reg, o.arr)
	case lane:
		return fmt.Sprintf("v%d.%s[%d]", o.reg, o.arr, o.n)
	case immediate:
		return fmt.Sprintf("#%d", o.n)
	case indexed:
		return fmt.Sprintf("[%s, x%d]", base, o.n)
	case post:
		return fmt.Sprintf("[%s], #%d", base, o.n)
	}
	if o.n == 0 {
		return "[" + base + "]"
	}
	return fmt.Sprintf("[%s, #%d]", base, o.n)
}
