package arm

import "github.com/kindred-ml/kindred/internal/kernel/gen/neon"

// transpose emits the transposition of a strip of eight rows, eight columns at a
// time.
func transpose(f *neon.File) {
	k := f.Func("transposeNEON", "writes eight rows of 8*n values as 8*n rows of eight; steps are in bytes.",
		"dst *float32, dstStep int, src *float32, srcStep int, n int", "")
	dst, dstStep, src, srcStep, n := k.Arg("dst"), k.Arg("dstStep"), k.Arg("src"), k.Arg("srcStep"), k.Arg("n")
	p, in, pairs := k.R(), k.Vs(8), k.Vs(8)
	k.Label("loop")
	for half := range 2 { // four columns
		k.Go("ADD $%d, %v, %v", 16*half, src, p)
		for _, v := range in {
			k.Op("ldr", v.Q(), neon.At(p, 0))
			k.Go("ADD %v, %v", srcStep, p)
		}
		for i := 0; i < 8; i += 2 {
			k.Op("trn1", pairs[i].S4(), in[i].S4(), in[i+1].S4())
			k.Op("trn2", pairs[i+1].S4(), in[i].S4(), in[i+1].S4())
		}
		for i := range 4 { // of each four rows; the first four come back in 0 to 3, the others in 4 to 7
			for _, at := range []int{0, 4} {
				op := []string{"zip1", "zip2"}[i/2]
				k.Op(op, in[at+i].D2(), pairs[at+i%2].D2(), pairs[at+2+i%2].D2())
			}
		}
		// In order, as a narrow destination has later rows overwrite the excess of
		// earlier ones.
		for i := range 4 {
			k.Op("stp", in[i].Q(), in[4+i].Q(), neon.At(dst, 0))
			k.Go("ADD %v, %v", dstStep, dst)
		}
	}
	k.Go("ADD $32, %v", src)
	k.Go("SUBS $1, %v", n)
	k.Go("BNE loop")
	k.Go("RET")
}
