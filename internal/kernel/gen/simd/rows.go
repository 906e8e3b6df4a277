package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/simd/layout"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

// rowKernel is a kernel over rows that follow each other.
type rowKernel struct {
	layout.Kernel
	body rowBody
}

func (k rowKernel) emit(v isa) {
	words := strings.Fields
	params, _ := k.RowParams()
	x86.Begin(k.Name+v.suffix, "func("+params+")", k.Name+v.suffix+" "+k.Doc)
	rows, cols := x86.Arg("rows"), x86.Arg("cols")
	SHLQ(U8(2), cols)
	m, vec, s := map[string]reg.Register{}, map[string]reg.Register{}, map[string]reg.Register{}
	for _, n := range words(k.Mats) {
		m[n] = x86.Arg(n)
	}
	for _, n := range words(k.Vecs) {
		vec[n] = x86.Arg(n)
	}
	for _, n := range words(k.Scalars) {
		s[n] = v.broadcast(n)
	}
	if k.Sums == "" {
		k.maps(v, rows, cols, m, vec, s)
	} else {
		k.reduces(v, cols, m, vec, s)
	}
	x86.Return()
}

// maps goes row by row.
func (k rowKernel) maps(v isa, rows reg.Register, cols reg.GPVirtual, m, vec, s map[string]reg.Register) {
	Label("row")
	j, rest := GP64(), GP64()
	XORQ(j, j)
	MOVQ(cols, rest)
	Label("full")
	CMPQ(rest, U8(v.bytes()))
	JLT(LabelRef("tail"))
	k.body(lanes{isa: v, index: j}, m, vec, s, nil)
	ADDQ(U8(v.bytes()), j)
	SUBQ(U8(v.bytes()), rest)
	JMP(LabelRef("full"))
	Label("tail")
	TESTQ(rest, rest)
	JEQ(LabelRef("next"))
	SHRQ(U8(2), rest)
	k.body(lanes{isa: v, index: j, masked: true, k: v.partial(rest)}, m, vec, s, nil)
	Label("next")
	for _, n := range strings.Fields(k.Mats) {
		ADDQ(cols, m[n])
	}
	x86.Loop(rows, "row")
}

// reduces goes down a block of columns at a time, four registers wide, then
// one, then what is left.
func (k rowKernel) reduces(v isa, cols reg.GPVirtual, m, vec, s map[string]reg.Register) {
	stride, j := x86.Arg("stride"), GP64()
	SHLQ(U8(2), stride)
	rest := cols
	XORQ(j, j)
	block := func(label string, n int, mask reg.Register) {
		sums := make([]map[string]reg.Register, n)
		for i := range sums {
			sums[i] = map[string]reg.Register{}
			for _, name := range strings.Fields(k.Sums) {
				r := v.vec()
				v.zero(r)
				sums[i][name] = r
			}
		}
		at := func(names string, from map[string]reg.Register) map[string]reg.Register {
			p := map[string]reg.Register{}
			for _, name := range strings.Fields(names) {
				c := GP64()
				LEAQ(Mem{Base: from[name], Index: j, Scale: 1}, c)
				p[name] = c
			}
			return p
		}
		p, c := at(k.Mats, m), at(k.Vecs, vec)
		left := x86.Arg("rows")
		Label(label + "row")
		for i := range n {
			k.body(lanes{isa: v, disp: i * v.bytes(), masked: mask != nil, k: mask}, p, c, s, sums[i])
		}
		for _, name := range strings.Fields(k.Mats) {
			ADDQ(stride, p[name])
		}
		x86.Loop(left, label+"row")
		for _, name := range strings.Fields(k.Sums) {
			to := x86.Arg(name)
			for i := range n {
				lanes{isa: v, index: j, disp: i * v.bytes(), masked: mask != nil, k: mask}.store(sums[i][name], to)
			}
		}
	}
	wide := 4 * v.bytes()
	Label("wide")
	CMPQ(rest, U32(wide))
	JLT(LabelRef("narrow"))
	block("wide", 4, nil)
	ADDQ(U32(wide), j)
	SUBQ(U32(wide), rest)
	JMP(LabelRef("wide"))
	Label("narrow")
	CMPQ(rest, U8(v.bytes()))
	JLT(LabelRef("tail"))
	block("narrow", 1, nil)
	ADDQ(U8(v.bytes()), j)
	SUBQ(U8(v.bytes()), rest)
	JMP(LabelRef("narrow"))
	Label("tail")
	TESTQ(rest, rest)
	JEQ(LabelRef("done"))
	SHRQ(U8(2), rest)
	block("tail", 1, v.partial(rest))
	Label("done")
}
