package netcases

import "hash/fnv"

// Values returns the same as values() of nn/testdata/gen_reference.py: n values in
// [-1, 1) that depend only on name.
func Values(name string, n int) []float32 {
	h := fnv.New64a()
	h.Write([]byte(name))
	seed := h.Sum64()
	v := make([]float32, n)
	for i := range v {
		z := (uint64(i) + 1 + seed) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		v[i] = float32(float64(z>>40)/(1<<23) - 1)
	}
	return v
}
