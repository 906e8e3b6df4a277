package main

import "testing"

func TestCountOfALoop(t *testing.T) {
	const text = "\nTEXT ·f(SB), NOSPLIT, $0-8\nloop:\n\tRET\n\nTEXT ·g(SB), NOSPLIT, $0-8\n\tMOVD\t$4, R0\nloop:\n" +
		"\tWORD\t$0x1 // fmla v0.4s, v1.4s, v2.s[0]\n\tWORD\t$0x1 // fmla v0.2d, v1.2d, v2.2d\nskip:\n" +
		"\tWORD\t$0x1 // fmul v0.4s, v1.4s, v2.4s\n\tSUB\t$1, R0\n\tCBNZ\tR0, loop\n\tRET\n"
	all, adds, sum, err := countInstructions(text, "g", "loop")
	if all != 5 || adds != 2 || sum != 6 || err != nil {
		t.Errorf("%d instructions, %d multiply-adds, %d products, %v", all, adds, sum, err)
	}
	for _, at := range [][2]string{{"f", "loop"}, {"g", "none"}, {"h", "loop"}} {
		if _, _, _, err := countInstructions(text, at[0], at[1]); err == nil {
			t.Errorf("counted %s in %s", at[1], at[0])
		}
	}
}
