package objective

import (
	"math/bits"
	"math/rand/v2"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// TripletRule says where the triplets of a loss come from.
type TripletRule uint8

// The rules. SharedTriplets and IntraTriplets draw one triplet for each anchor, at
// random among the other samples of the batch, if there is one. DiVA trains the
// further parts of its embedding with them (Milbich et al. 2020, "DiVA: diverse
// visual feature aggregation for deep metric learning").
const (
	// MinedTriplets takes the triplets of the mining policies.
	MinedTriplets TripletRule = iota
	// SharedTriplets are of three classes: they teach what holds across classes.
	SharedTriplets
	// IntraTriplets are of one class: they teach what tells its samples apart.
	IntraTriplets
)

var tripletRuleNames = enum.New[TripletRule]("TripletRule", "triplets", "mined", "shared", "intra")

func (r TripletRule) String() string { return tripletRuleNames.Name(r) }

// MarshalText returns the rule's name.
func (r TripletRule) MarshalText() ([]byte, error) { return tripletRuleNames.Marshal(r) }

// UnmarshalText reads a name.
func (r *TripletRule) UnmarshalText(text []byte) error { return tripletRuleNames.Unmarshal(r, text) }

// tripletSampler draws triplets, into memory that is reused.
type tripletSampler struct {
	triplets   [][3]int32
	candidates []int32
}

// sample returns the triplets of a batch in a step.
func (d *tripletSampler) sample(rule TripletRule, b Batch, seed, step uint64) [][3]int32 {
	rng := rand.New(rand.NewPCG(seed^uint64(rule)<<32, step))
	same := func(i, j int) bool { return i == j || b.IDs != nil && b.IDs[i] == b.IDs[j] }
	if d.triplets == nil {
		d.triplets = [][3]int32{} // nil would stand for mined ones
	}
	d.triplets = d.triplets[:0]
	for i, y := range b.Labels {
		p := d.drawFitting(len(b.Labels), rng, func(j int) bool {
			return !same(i, j) && (b.Labels[j] == y) == (rule == IntraTriplets)
		})
		if p < 0 {
			continue
		}
		n := d.drawFitting(len(b.Labels), rng, func(j int) bool {
			if same(i, j) || same(p, j) {
				return false
			}
			if rule == IntraTriplets {
				return b.Labels[j] == y
			}
			return b.Labels[j] != y && b.Labels[j] != b.Labels[p]
		})
		if n >= 0 {
			d.triplets = append(d.triplets, [3]int32{int32(i), int32(p), int32(n)})
		}
	}
	return d.triplets
}

// drawFitting draws one of the rows that fit; -1 if none does.
func (d *tripletSampler) drawFitting(n int, rng *rand.Rand, fits func(j int) bool) int {
	d.candidates = d.candidates[:0]
	for j := range n {
		if fits(j) {
			d.candidates = append(d.candidates, int32(j))
		}
	}
	if len(d.candidates) == 0 {
		return -1
	}
	return int(d.candidates[rng.IntN(len(d.candidates))])
}

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
