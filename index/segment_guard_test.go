package index

import (
	"errors"
	"hash/crc32"
	"strings"
	"testing"
)

// Rows are compared with the checksums of the blocks that hold them, and with no others: damage
// to a block whose rows were all removed is in nobody's way.
func TestGuardOfRows(t *testing.T) {
	const n = 128
	damaged := func(sums int) *guard { // its second block
		s := &segment{path: "1.seg", n: n, d: 1, group: 64, x: make([]float32, n)}
		for k := range sums {
			s.sums = append(s.sums, crc32.Checksum(bytesOf(s.x[64*k:64*(k+1)]), castagnoli())+uint32(k))
		}
		return newGuard(s)
	}
	for _, c := range []struct {
		sums, lo, hi int
		want         string // "" for none
	}{
		{2, 0, 64, ""}, {2, 63, 64, ""}, {2, 64, 64, ""}, {2, 63, 65, "block 1 of its vectors (rows 64 to 127)"},
		{2, 127, 128, "block 1 of its vectors"}, {1, 64, 65, "block 1 of its vectors"}, {0, 0, 1, "rows 0 to 63"},
	} {
		var damage *DamageError
		if err := damaged(c.sums).Rows(c.lo, c.hi); (err == nil) != (c.want == "") ||
			err != nil && !(errors.As(err, &damage) && strings.Contains(err.Error(), c.want)) {
			t.Errorf("rows %d to %d: %v, want %q", c.lo, c.hi-1, err, c.want)
		}
		live := newBitmap(n)
		for r := c.lo; r < c.hi; r++ {
			live.set(r)
		}
		if err := damaged(c.sums).compareRows(live); (err == nil) != (c.want == "") {
			t.Errorf("each of the rows %d to %d: %v, want %q", c.lo, c.hi-1, err, c.want)
		}
	}
}

// A checksum is of as many vectors, a power of two up to 64, as take up 8 KiB.
func TestSumRows(t *testing.T) {
	for d, want := range map[int]int{1: 64, 32: 64, 33: 32, 64: 32, 65: 16, 512: 4, 1024: 2, 1025: 1, 1 << 20: 1} {
		if got := rowsPerSum(d); got != want {
			t.Errorf("%d rows of dimension %d, want %d", got, d, want)
		}
	}
}

// Blocks that were seen are known one by one.
func TestSeen(t *testing.T) {
	s := newComparedBlocks(65)
	if len(s) != 2 || len(newComparedBlocks(64)) != 1 {
		t.Errorf("%d and %d words", len(s), len(newComparedBlocks(64)))
	}
	s.add(1)
	s.add(64)
	for b := range 65 {
		if s.has(b) != (b == 1 || b == 64) {
			t.Errorf("block %d was seen: %v", b, s.has(b))
		}
	}
}
