package simd

import "testing"

// eachLevel runs f at every level this machine has.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for l := Generic; l <= detect(); l++ {
		restore := Force(l)
		if Active() == l {
			t.Run(l.String(), f)
		}
		restore()
	}
}

func TestForce(t *testing.T) {
	was := Active()
	restore := Force(Generic)
	if Active() != Generic {
		t.Errorf("level %v after forcing plain Go", Active())
	}
	restore()
	if Active() != was {
		t.Errorf("level %v after restoring, %v before", Active(), was)
	}
	defer Force(AVX512)()
	if Active() != detect() {
		t.Errorf("forcing the highest level gives %v, the machine has %v", Active(), detect())
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		best Level
		name string
		want Level
	}{
		{AVX512, "", AVX512}, {AVX512, "avx2", AVX2}, {AVX512, "GO", Generic},
		{AVX2, "avx512", AVX2}, {AVX2, "sse", AVX2}, {Generic, "avx2", Generic},
		{NEON, "", NEON}, {NEON, "go", Generic}, {NEON, "neon", NEON}, {NEON, "avx2", NEON}, {AVX512, "neon", Generic},
		{AVX2, "neon", Generic},
	} {
		if got := choose(c.best, c.name); got != c.want {
			t.Errorf("choose(%v, %q) = %v, want %v", c.best, c.name, got, c.want)
		}
	}
}
