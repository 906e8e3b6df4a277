package qgemm

import "testing"

// A processor need not have the levels below its highest: Ice Lake has no AVX-VNNI.
func TestPick(t *testing.T) {
	const iceLake = 1<<VNNI | 1<<AVX2
	for _, c := range []struct {
		top    Level
		levels uint
		want   Level
	}{
		{VNNI, iceLake, VNNI}, {AVXVNNI, iceLake, AVX2}, {AVX2, iceLake, AVX2}, {SDOT, iceLake, Generic},
		{VNNI, iceLake | 1<<AVXVNNI, VNNI}, {AVXVNNI, iceLake | 1<<AVXVNNI, AVXVNNI},
		{VNNI, 1 << AVX2, AVX2}, {VNNI, 0, Generic}, {SDOT, 1 << SDOT, SDOT}, {Generic, 1 << SDOT, Generic},
	} {
		if got := highestUpTo(c.top, c.levels); got != c.want {
			t.Errorf("pick(%v, %b) = %v, want %v", c.top, c.levels, got, c.want)
		}
	}
}
