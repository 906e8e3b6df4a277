package eval

import "math"

// key is a distance rounded up to 20 significant bits: the upper bits of a float64, so
// that keys are ordered as the distances are, and the number after a key is the next of
// 20 bits. Negative distances, which products have, are negative keys.
type key int32

// dropped is the number of low bits of a float64 that a key does without.
const dropped = 52 - 19

const signBit = 1 << 63

// up is the smallest key whose value is at least d.
func up(d float64) key {
	b := math.Float64bits(d)
	if b&signBit == 0 {
		return key((b + (1<<dropped - 1)) >> dropped)
	}
	return -key(b &^ signBit >> dropped)
}

// down is the largest key whose value is at most d.
func down(d float64) key { return -up(-d) }

// value is the number that a key stands for.
func (k key) value() float64 {
	if k < 0 {
		return -math.Float64frombits(uint64(-k) << dropped)
	}
	return math.Float64frombits(uint64(k) << dropped)
}
