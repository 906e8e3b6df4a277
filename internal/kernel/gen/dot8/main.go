// Command dot8 writes the assembly of internal/kernel/dot8. Run it by `make gen`.
package main

import (
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/kindred-ml/kindred/internal/kernel/gen/amx"
	"github.com/kindred-ml/kindred/internal/kernel/gen/x86"
)

const (
	panel = 32   // rows and columns of a block of products
	tile  = 1024 // bytes of a tile
)

var zs = []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
}

func main() {
	ConstraintExpr("!noasm")
	stripTiles()
	stripVNNI()
	place()
	quantize()
	squaredDistance()
	squaredDistances()
	fetch()
	Generate()
	if err := armKernels().Write("../dot8"); err != nil {
		log.Fatal(err)
	}
}

// stripTiles emits the product on the matrix unit: two tiles of rows by two of columns,
// whose sums are in tiles 0 to 3.
func stripTiles() {
	x86.Begin("stripAMX", "func(c *int32, a *int8, bias *int32, b *uint8, steps, panels int, start *int32)",
		"stripAMX computes a strip of 32 rows by 32*panels columns of dot products. start has room for two tiles.")
	c, a, b := reg.RAX, reg.RCX, reg.RDX
	sixtyFour, twice, stride := reg.RSI, reg.RDI, reg.RBX
	lower, start := reg.R8, reg.R9
	pa, qa, n, t := reg.R10, reg.R11, reg.R12, reg.R13
	x86.LoadArgs("c a b start bias", c, a, b, start, t)
	for i := range panel { // where the sums start
		VPBROADCASTD(Mem{Base: t, Disp: 4 * i}, reg.Z0)
		VMOVDQU32(reg.Z0, Mem{Base: start, Disp: 64 * i})
	}
	config := GLOBL("tiles", RODATA|NOPTR)
	DATA(0, U64(1)) // palette 1
	DATA(8, U64(0))
	DATA(16, U64(0x0040004000400040)) // bytes of a row of each tile
	DATA(24, U64(0x0040004000400040))
	DATA(32, U64(0))
	DATA(40, U64(0))
	DATA(48, U64(0x1010101010101010)) // rows of each
	DATA(56, U64(0))
	LEAQ(config, pa)
	amx.Configure(pa)
	MOVQ(U32(64), sixtyFour)
	MOVQ(U32(4*panel), twice)
	Load(Param("panels"), stride)
	SHLQ(U8(7), stride)
	Load(Param("steps"), lower) // from the first 16 rows to the others
	SHLQ(U8(10), lower)
	Load(Param("panels"), reg.R15)

	Label("panel")
	for i := range 4 {
		amx.Load(i, start, sixtyFour, tile*(i/2))
	}
	MOVQ(a, pa)
	LEAQ(Mem{Base: a, Index: lower, Scale: 1}, qa)
	Load(Param("steps"), n)
	Label("step")
	amx.Load(6, b, twice, 0)
	amx.Load(4, pa, sixtyFour, 0)
	amx.DotSignedUnsigned(0, 4, 6)
	amx.Load(7, b, twice, 64)
	amx.DotSignedUnsigned(1, 4, 7)
	amx.Load(5, qa, sixtyFour, 0)
	amx.DotSignedUnsigned(2, 5, 6)
	amx.DotSignedUnsigned(3, 5, 7)
	ADDQ(U32(tile), pa)
	ADDQ(U32(tile), qa)
	ADDQ(U32(2*tile), b)
	x86.Loop(n, "step")
	MOVQ(stride, t)
	SHLQ(U8(4), t)
	ADDQ(c, t)
	amx.Store(0, c, stride, 0)
	amx.Store(1, c, stride, 64)
	amx.Store(2, t, stride, 0)
	amx.Store(3, t, stride, 64)
	ADDQ(U32(4*panel), c)
	x86.Loop(reg.R15, "panel")
	amx.Release()
	x86.Return()
}

// stripVNNI emits the same with vectors, eight rows at a time.
func stripVNNI() {
	x86.Begin("stripVNNI", "func(c *int32, a *int8, bias *int32, b *uint8, steps, panels int)",
		"stripVNNI computes a strip of 32 rows by 32*panels columns of dot products.")
	const rows = 8
	c, a, bias, b, steps := x86.Arg("c"), x86.Arg("a"), x86.Arg("bias"), x86.Arg("b"), x86.Arg("steps")
	left := x86.Arg("panels")
	stride := GP64()
	MOVQ(left, stride)
	SHLQ(U8(7), stride)
	next, to, pa, pb, n, q, group := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()

	Label("panel")
	MOVQ(c, to)
	MOVQ(a, next)
	XORQ(group, group)
	Label("group")
	for i := range rows {
		VPBROADCASTD(Mem{Base: bias, Index: group, Scale: 4, Disp: 4 * i}, zs[2*i])
		VMOVDQA32(zs[2*i], zs[2*i+1])
	}
	MOVQ(next, pa)
	MOVQ(b, pb)
	MOVQ(steps, n)
	Label("step")
	MOVQ(U32(16), q)
	Label("quad")
	VMOVDQU32(Mem{Base: pb}, reg.Z16)
	VMOVDQU32(Mem{Base: pb, Disp: 64}, reg.Z17)
	for i := range rows {
		v := []reg.VecPhysical{reg.Z18, reg.Z19}[i%2]
		VPBROADCASTD(Mem{Base: pa, Disp: 64 * i}, v)
		VPDPBUSD(v, reg.Z16, zs[2*i])
		VPDPBUSD(v, reg.Z17, zs[2*i+1])
	}
	ADDQ(U8(4), pa)
	SUBQ(I8(-128), pb)
	x86.Loop(q, "quad")
	ADDQ(U32(tile-64), pa)
	x86.Loop(n, "step")
	for i := range rows {
		VMOVDQU32(zs[2*i], Mem{Base: to})
		VMOVDQU32(zs[2*i+1], Mem{Base: to, Disp: 64})
		ADDQ(stride, to)
	}
	// The second eight rows of a tile lie behind the first, the next tile behind all
	// steps of this one.
	ADDQ(U32(64*rows), next)
	ADDQ(U8(rows), group)
	CMPQ(group, U8(16))
	JNE(LabelRef("same"))
	MOVQ(steps, next)
	SHLQ(U8(10), next)
	ADDQ(a, next)
	Label("same")
	CMPQ(group, U8(panel))
	JNE(LabelRef("group"))
	MOVQ(pb, b)
	ADDQ(U32(4*panel), c)
	x86.Loop(left, "panel")
	x86.Return()
}

// place emits w = x*f - m with its sums.
func place() {
	x86.Begin("placeAVX512", "func(w, x, m *float32, f float32, blocks int, sums *[48]float32)",
		"placeAVX512 writes 16*blocks values w = x*f - m, and the sums of w*w and of w*m and the largest |w| by lane.")
	w, x, m, n, sums := x86.Arg("w"), x86.Arg("x"), x86.Arg("m"), x86.Arg("blocks"), x86.Arg("sums")
	f := x86.Broadcast("f", ZMM())
	sq, dot, largest, sign := ZMM(), ZMM(), ZMM(), ZMM()
	VPXORD(sq, sq, sq)
	VPXORD(dot, dot, dot)
	VPXORD(largest, largest, largest)
	t := GP32()
	MOVL(U32(0x7fffffff), t)
	VPBROADCASTD(t, sign)
	v, mm, p := ZMM(), ZMM(), ZMM()
	Label("block")
	VMOVUPS(Mem{Base: m}, mm)
	VMULPS(Mem{Base: x}, f, v)
	VSUBPS(mm, v, v)
	VMOVUPS(v, Mem{Base: w})
	VMULPS(v, v, p)
	VADDPS(p, sq, sq)
	VMULPS(v, mm, p)
	VADDPS(p, dot, dot)
	VPANDD(v, sign, p)
	VMAXPS(p, largest, largest)
	ADDQ(U8(64), w)
	ADDQ(U8(64), x)
	ADDQ(U8(64), m)
	x86.Loop(n, "block")
	VMOVUPS(sq, Mem{Base: sums})
	VMOVUPS(dot, Mem{Base: sums, Disp: 64})
	VMOVUPS(largest, Mem{Base: sums, Disp: 128})
	x86.Return()
}

// quantize emits q = round(w*s) with the sum of what that loses.
func quantize() {
	x86.Begin("quantizeAVX512", "func(q *int8, w *float32, s, unit float32, blocks int, lost *[16]float32, "+
		"sum *[16]int32)",
		"quantizeAVX512 writes 16*blocks values q = round(w*s), and the sums of (w - unit*q)^2 and of q by lane.")
	q, w, n, lost, sums := x86.Arg("q"), x86.Arg("w"), x86.Arg("blocks"), x86.Arg("lost"), x86.Arg("sum")
	s, unit := x86.Broadcast("s", ZMM()), x86.Broadcast("unit", ZMM())
	loss, sum := ZMM(), ZMM()
	VPXORD(loss, loss, loss)
	VPXORD(sum, sum, sum)
	v, r := ZMM(), ZMM()
	Label("block")
	VMOVUPS(Mem{Base: w}, v)
	VMULPS(v, s, r)
	VCVTPS2DQ(r, r)
	VPMOVDB(r, Mem{Base: q})
	VPADDD(r, sum, sum)
	VCVTDQ2PS(r, r)
	VMULPS(r, unit, r)
	VSUBPS(r, v, v)
	VMULPS(v, v, v)
	VADDPS(v, loss, loss)
	ADDQ(U8(16), q)
	ADDQ(U8(64), w)
	x86.Loop(n, "block")
	VMOVUPS(loss, Mem{Base: lost})
	VMOVDQU32(sum, Mem{Base: sums})
	x86.Return()
}

// squaredDistance emits a sum of squared differences in float32.
func squaredDistance() {
	x86.Begin("squaredDistanceAVX512", "func(x, y *float32, blocks int) float32",
		"squaredDistanceAVX512 sums the squares of 32*blocks differences.")
	x, y, n := x86.Arg("x"), x86.Arg("y"), x86.Arg("blocks")
	acc := []reg.VecPhysical{reg.Z0, reg.Z1}
	for _, a := range acc {
		VPXORD(a, a, a)
	}
	Label("block")
	for i, a := range acc {
		v := ZMM()
		VMOVUPS(Mem{Base: x, Disp: 64 * i}, v)
		VSUBPS(Mem{Base: y, Disp: 64 * i}, v, v)
		VFMADD231PS(v, v, a)
	}
	SUBQ(I8(-128), x)
	SUBQ(I8(-128), y)
	x86.Loop(n, "block")
	VADDPS(reg.Z1, reg.Z0, reg.Z0)
	addLanes(reg.Z0, reg.Z1)
	Store(reg.X0, ReturnIndex(0))
	x86.Return()
}

// addLanes adds the lanes of z into its first one.
func addLanes(z, spare reg.VecPhysical) {
	VEXTRACTF64X4(U8(1), z, spare.AsY())
	VADDPS(spare.AsY(), z.AsY(), z.AsY())
	VEXTRACTF128(U8(1), z.AsY(), spare.AsX())
	VADDPS(spare.AsX(), z.AsX(), z.AsX())
	VMOVHLPS(z.AsX(), z.AsX(), spare.AsX())
	VADDPS(spare.AsX(), z.AsX(), z.AsX())
	VMOVSHDUP(z.AsX(), spare.AsX())
	VADDSS(spare.AsX(), z.AsX(), z.AsX())
}

// squaredDistances emits sums of squared differences of one row and many, four of these
// at a time, which read the one together.
func squaredDistances() {
	x86.Begin("squaredDistancesAVX512", "func(dst, x, y *float32, stride int, at *int32, n, blocks int)",
		"squaredDistancesAVX512 sums the squares of the 16*blocks differences of x and of n rows of y, stride bytes",
		"apart.")
	dst, x, y, stride, at := x86.Arg("dst"), x86.Arg("x"), x86.Arg("y"), x86.Arg("stride"), x86.Arg("at")
	n, end := x86.Arg("n"), x86.Arg("blocks")
	SHLQ(U8(6), end)
	off := GP64()
	for _, rows := range []int{4, 1} {
		name := map[int]string{4: "four", 1: "one"}[rows]
		Label(name)
		CMPQ(n, U8(rows))
		JLT(LabelRef("no" + name))
		row := make([]reg.GPVirtual, rows)
		for r := range row {
			row[r] = GP64()
			MOVLQSX(Mem{Base: at, Disp: 4 * r}, row[r])
			IMULQ(stride, row[r])
			ADDQ(y, row[r])
			VPXORD(zs[r], zs[r], zs[r])
		}
		XORQ(off, off)
		Label(name + "Block")
		VMOVUPS(Mem{Base: x, Index: off, Scale: 1}, reg.Z8)
		for r := range row {
			VSUBPS(Mem{Base: row[r], Index: off, Scale: 1}, reg.Z8, zs[9+r])
			VFMADD231PS(zs[9+r], zs[9+r], zs[r])
		}
		ADDQ(U8(64), off)
		CMPQ(off, end)
		JNE(LabelRef(name + "Block"))
		for r := range row {
			addLanes(zs[r], zs[9+r])
			VMOVSS(zs[r].AsX(), Mem{Base: dst, Disp: 4 * r})
		}
		ADDQ(U8(4*rows), at)
		ADDQ(U8(4*rows), dst)
		SUBQ(U8(rows), n)
		JMP(LabelRef(name))
		Label("no" + name)
	}
	x86.Return()
}

// fetch emits prefetches of lines of 64 bytes into the second-level cache.
func fetch() {
	x86.Begin("fetchLines", "func(b *uint8, lines int)",
		"fetchLines asks for lines of 64 bytes, without waiting for them.")
	b, n := x86.Arg("b"), x86.Arg("lines")
	Label("line")
	PREFETCHT1(Mem{Base: b})
	ADDQ(U8(64), b)
	x86.Loop(n, "line")
	RET()
}
