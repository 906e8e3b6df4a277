// Package neon writes Go assembly for arm64, as avo does for amd64.
//
//	file := neon.New("simd")
//	k := file.Func("axpyNEON", "adds a*x to y. n is a positive multiple of 4.", "n int, y, x *float32, a float32", "")
//	n, y, x, a := k.Arg("n"), k.Arg("y"), k.Arg("x"), k.Broadcast("a")
//	k.Label("loop")
//	v, w := k.V(), k.V()
//	k.Op("ldr", v.Q(), neon.Post(x, 16))
//	k.Op("ldr", w.Q(), neon.At(y, 0))
//	k.Op("fmla", w.S4(), v.S4(), a.S4())
//	k.Op("str", w.Q(), neon.Post(y, 16))
//	k.Go("SUBS $4, %v", n)
//	k.Go("BNE loop")
//	k.Go("RET")
//	file.Write("../simd") // kernels_arm64.s and kernels_arm64.go
//
// Whole registers' instructions are given by Op, in Arm's own notation and order: the
// result first. They become WORDs with that notation behind them, as Go's assembler
// lacks most of them; a test has GNU's assembler read every such comment of every
// generated file, and compares. Everything else is Go's assembly, by the method Go:
// the result last.
//
// Registers are handed out by R and V and taken back at the end of a Scope. A leaf
// function may use all vector registers and R0 to R25 but R18; R25 is kept for the
// address of constants, which Number and Word load.
package neon
