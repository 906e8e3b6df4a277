package objective

import "math/bits"

// stream is splitmix64: small enough to start one for every anchor.
type stream uint64

// newStream returns the stream of one anchor in one step.
func newStream(seed, step, anchor uint64) stream {
	s := stream(seed)
	s = stream(s.next() ^ step*0xd1342543de82ef95)
	return stream(s.next() ^ anchor*0xaf251af3b0f025b5)
}

func (s *stream) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// intN returns a number in [0, n), uniform up to 2^-64 n.
func (s *stream) intN(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}

// uniform returns a number in [0, 1).
func (s *stream) uniform() float64 { return float64(s.next()>>11) / (1 << 53) }
