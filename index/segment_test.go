package index

import (
	"hash/fnv"
	"testing"
)

// Tables of ids are powers of two, from eight on, at most two thirds full; the place of an id
// is that of FNV-1a.
func TestSlots(t *testing.T) {
	for n, want := range map[int]int{1: 8, 5: 8, 6: 16, 10: 16, 11: 32, 21: 32, 22: 64} {
		if got := slotCount(n); got != want {
			t.Errorf("%d places for %d ids, want %d", got, n, want)
		}
	}
	for _, id := range []string{"", "a", "item 00042", "\x00\xff"} {
		h := fnv.New64a()
		h.Write([]byte(id))
		if hashID(id) != h.Sum64() {
			t.Errorf("%q has the hash %x, want %x", id, hashID(id), h.Sum64())
		}
	}
}
