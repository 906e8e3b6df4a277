package sample

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"
)

// digest identifies the batches of three epochs.
func digest(epoch func() [][]int) string {
	h := fnv.New64a()
	for range 3 {
		for _, b := range epoch() {
			binary.Write(h, binary.LittleEndian, int32(len(b)))
			for _, i := range b {
				binary.Write(h, binary.LittleEndian, int32(i))
			}
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// Where no class is short of samples the batches are those of the first
// release, to the last index: earlier runs can be repeated.
func TestBatchesStay(t *testing.T) {
	y := labelsOf(20, 31, 17, 16, 64, 40, 16, 25, 90, 33)
	for want, cfg := range map[string]BalancedConfig{
		"4d3920ae3d7e82a4": {Classes: 2, PerClass: 16, Seed: 1},
		"962972eed8dc424a": {Classes: 8, PerClass: 16, Seed: 1},
		"ca90ec1208a7384e": {Classes: 10, PerClass: 2, Seed: 7},
		"3e837c64255c8fa8": {Classes: 3, PerClass: 15, Batches: 9, Seed: 3},
		"bc8351bca19a14d6": {Classes: 4, PerClass: 5, Batches: 30, Power: 0.5, Seed: 2},
	} {
		s, err := NewBalanced(y, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := digest(s.Epoch); got != want {
			t.Errorf("%+v: batches %s, were %s", cfg, got, want)
		}
	}
	// Coarse classes of 2 to 6 fine ones, of 8 to 12 samples.
	var coarse, fine []int64
	for c := range 5 {
		for f := range 2 + c {
			for range 8 + (c+f)%5 {
				coarse, fine = append(coarse, int64(c)), append(fine, int64(10*c+f))
			}
		}
	}
	for want, cfg := range map[string]HierarchyConfig{
		"f52ae80da4d1e7ec": {Coarse: 3, Fine: 2, PerClass: 8, Seed: 5},
		"2731807e4d967cc1": {Coarse: 5, Fine: 1, PerClass: 3, Seed: 1},
		"203c427ee4d0de0f": {},
	} {
		s, err := NewHierarchical(coarse, fine, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := digest(s.Epoch); got != want {
			t.Errorf("%+v: batches %s, were %s", cfg, got, want)
		}
	}
}
